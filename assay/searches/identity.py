"""What an estimator is and how it is set, as a text that is the same in every process: kept work is known by it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assay.errors import ConfigError

__all__ = ["identity"]

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def identity(value: Any) -> str:
    """Return the text; raises ConfigError for what cannot be told from others, such as a function made on the spot."""
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, Mapping):
        return f"{{{', '.join(sorted(f'{identity(key)}: {identity(one)}' for key, one in value.items()))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(identity(one) for one in value)}]"
    if hasattr(value, "get_params") and not isinstance(value, type):
        return f"{_name(type(value))}({identity(value.get_params(deep=False))})"
    if hasattr(value, "dist") and hasattr(value, "kwds"):  # a distribution of scipy
        return f"{value.dist.name}({identity([*value.args])}, {identity(value.kwds)})"
    if hasattr(value, "__qualname__"):
        if (
            not isinstance(value, type) and "<" in value.__qualname__
        ):  # <lambda>, or within <locals> of another
            raise ConfigError(_cannot(_name(value)))
        return _name(value)
    return _digest(value)


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _digest(value: Any) -> str:
    from joblib import hash as digest_of

    try:
        return f"{_name(type(value))} {digest_of(value)}"
    except Exception as error:  # whatever pickle raises
        raise ConfigError(_cannot(f"{value!r} ({error})")) from None


def _cannot(what: str) -> str:
    return (
        f"{what} cannot be told from others of its kind, so work with it cannot be kept in a folder. Give functions of "
        "a module, not ones made on the spot, or search without a folder."
    )
