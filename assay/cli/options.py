"""Options that several commands share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.errors import ConfigError

__all__ = ["Json", "StoreOption", "Tier", "parse_settings"]

StoreOption = Annotated[Path, typer.Option("--store", metavar="DIR", help="The store.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Tier = Annotated[
    str,
    typer.Option(
        "--tier",
        metavar="TIER",
        help="Enforcement: auto (the best this machine has), strict, landlock, plain.",
    ),
]


def parse_settings(words: list[str]) -> dict[str, dict[str, Any]]:
    """Read `framework.key=value` words; values are JSON where they can be, text otherwise."""
    out: dict[str, dict[str, Any]] = {}
    for word in words:
        name, equals, text = word.partition("=")
        framework, dot, key = name.partition(".")
        if not (equals and dot and framework and key):
            raise ConfigError(
                f"--set {word}: write framework.key=value, for example random_forest.n_estimators=100."
            )
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        out.setdefault(framework, {})[key] = value
    return out
