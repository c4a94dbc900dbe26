"""Read a YAML file of people: safe loader, no key twice, no aliases, and an error that names the line."""

from __future__ import annotations

import re
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from assay.errors import ConfigError
from assay.files import follow, read_text

__all__ = ["load_yaml"]

_MAX_BYTES = 16 * 2**20
_MAX_FLOW_DEPTH = 100


class _StrictLoader(yaml.SafeLoader):
    """The safe loader, which refuses what would silently change the meaning of a file.

    Only true and false are booleans, as in YAML 1.2: a class may be named yes or no.
    """

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        # Aliases of aliases grow without bound when they are written out.
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(None, None, "an alias (*name), which is not supported", mark)
        return super().compose_node(parent, index)

    def fetch_flow_collection_start(self, TokenClass: Any) -> None:
        # Each token looks at all open brackets: three thousand of them take minutes.
        if self.flow_level >= _MAX_FLOW_DEPTH:
            mark = self.get_mark()
            raise yaml.MarkedYAMLError(None, None, "brackets that are nested too deeply", mark)
        super().fetch_flow_collection_start(TokenClass)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[Hashable] = set()
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


def _check_text(value: object) -> None:
    """Raise ValueError for what no JSON file can hold: an escape may be half of a character."""
    waiting: list[object] = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += [*part, *part.values()]
        elif isinstance(part, list | set | tuple):
            waiting += part
        elif isinstance(part, str):
            part.encode()


def load_yaml(path: Path) -> object:
    """Return the plain values of a YAML file."""
    content = read_text(follow(path), most=_MAX_BYTES)
    if content.is_missing:
        raise ConfigError(f"There is no suite file {path}. Check the path.")
    if content.value is None:
        raise ConfigError(f"The suite file {path} {content.problem}. Give a UTF-8 file that lists tasks.")
    try:
        value = yaml.load(content.value, Loader=_StrictLoader)
        _check_text(value)
        return value
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f", line {mark.line + 1}" if mark else ""
        raise ConfigError(f"{path.name}{place}: {error.problem or error.context}. Fix the YAML.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else "too deeply nested"
        raise ConfigError(f"{path.name} is not readable YAML ({reason}). Fix it.") from error
