"""Make a record from JSON, checking every field against its annotation (a file can hold any type), and back."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar

__all__ = ["make_record", "to_plain"]

T = TypeVar("T")
Check = Callable[[object], Any]


def make_record(kind: type[T], value: Mapping[str, object]) -> T:
    """Return a dataclass made from plain JSON values; lists become tuples, keys it does not have are ignored.

    Raises:
        ValueError: a field is missing or of another type; the message names it.
    """
    data: dict[str, Any] = {}
    for name, check, is_needed in _fields(typing.cast(Any, kind)):
        if name in value:
            try:
                data[name] = check(value[name])
            except (ValueError, TypeError) as error:
                raise ValueError(f"{name} {error}") from None
        elif is_needed:
            raise ValueError(f"{name} is missing")
    return kind(**data)


def to_plain(record: Any) -> dict[str, Any]:
    """Return a dataclass as `dataclasses.asdict` does, but with the same values inside, not copies of them."""
    return {name: _plain(getattr(record, name)) for name in _names(record.__class__)}


def _plain(value: object) -> object:
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return to_plain(value) if is_dataclass(value) else value


@cache
def _names(kind: Any) -> tuple[str, ...]:
    return tuple(f.name for f in fields(kind))


@cache
def _fields(kind: Any) -> list[tuple[str, Check, bool]]:
    hints = typing.get_type_hints(kind)
    return [
        (f.name, _check(hints[f.name]), f.default is MISSING and f.default_factory is MISSING)
        for f in fields(kind)
    ]


def _check(hint: object) -> Check:
    """Return a function that returns a value as the annotation wants it, or raises ValueError."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return lambda value: value
    if is_dataclass(hint) and isinstance(hint, type):
        return lambda value: make_record(hint, _of_kind(value, dict))
    if origin in (typing.Union, types.UnionType):
        return _optional([_check(part) for part in inner])
    if origin is typing.Literal:
        return lambda value: _one_of(value, inner)
    if origin is tuple:
        return _tuple(inner)
    if origin is not None and issubclass(origin, Mapping):
        check = _check(inner[1])
        return lambda value: {key: check(item) for key, item in _of_kind(value, dict).items()}
    return lambda value: _of_kind(value, hint)


def _optional(checks: list[Check]) -> Check:
    def check(value: object) -> object:
        for candidate in checks:
            try:
                return candidate(value)
            except ValueError as error:
                problem = error
        raise problem

    return check


def _tuple(inner: tuple[object, ...]) -> Check:
    if inner[-1] is Ellipsis:
        item = _check(inner[0])
        return lambda value: tuple(item(part) for part in _of_kind(value, list))
    parts = [_check(part) for part in inner]

    def check(value: object) -> object:
        items = _of_kind(value, list)
        if len(items) != len(parts):
            raise ValueError(f"has {len(items)} entries, not {len(parts)}")
        return tuple(part(item) for part, item in zip(parts, items, strict=True))

    return check


def _one_of(value: object, known: tuple[object, ...]) -> object:
    if not isinstance(value, str | int) or value not in known:
        raise ValueError(f"is {_shown(value)}, not one of {', '.join(map(str, known))}")
    return value


def _of_kind(value: object, kind: Any) -> Any:
    if kind is float and type(value) is int:
        return value  # 60 stands for 60.0, and keeps its text
    if kind is list and type(value) is tuple:
        return value
    if type(value) is not kind:
        name = "null" if kind is types.NoneType else kind.__name__
        raise ValueError(f"is {_shown(value)}, not {name}")
    return value


def _shown(value: object) -> str:
    return f"{type(value).__name__} {str(value)[:40]!r}"
