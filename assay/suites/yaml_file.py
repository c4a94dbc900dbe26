"""Read a YAML file of people: safe loader, no key twice, no aliases, and an error that names the line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from assay.errors import ConfigError

__all__ = ["load_yaml"]

_MAX_BYTES = 16 * 2**20


class _StrictLoader(yaml.SafeLoader):
    """The safe loader, which refuses what would silently change the meaning of a file.

    Only true and false are booleans, as in YAML 1.2: a class may be named yes or no.
    """

    def compose_node(self, parent: Any, index: Any) -> Any:
        # Aliases of aliases grow without bound when they are written out.
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(None, None, "an alias (*name), which is not supported", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, (list, dict)):
                raise yaml.MarkedYAMLError(None, None, "a key that is a list or mapping", key_node.start_mark)
            if key in seen:
                raise yaml.MarkedYAMLError(None, None, f"the key '{key}' a second time", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)


_StrictLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_StrictLoader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z"), list("tTfF")
)


def load_yaml(path: Path) -> Any:
    """Return the plain values of a YAML file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ConfigError(f"There is no suite file {path}. Check the path.") from None
    except OSError as error:
        raise ConfigError(
            f"The suite file {path} cannot be read: {error.strerror}. Check the path."
        ) from error
    if len(data) > _MAX_BYTES:
        raise ConfigError(
            f"{path.name} is larger than {_MAX_BYTES // 2**20} MiB. A suite lists tasks; split it."
        )
    try:
        return yaml.load(data.decode("utf-8-sig"), Loader=_StrictLoader)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path.name} is not UTF-8 (byte {error.start}). Save it as UTF-8.") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{path.name}{place}: {error.problem or error.context}. Mend the YAML.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else "too deeply nested"
        raise ConfigError(f"{path.name} is not readable YAML ({reason}). Mend it.") from error
