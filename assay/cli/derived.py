"""Commands that follow from a specification: parameters and values of its options, and its help."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from assay.analysis.options import OptionField
from assay.cli.flags import flag_of
from assay.errors import ConfigError

__all__ = ["KEYWORD", "help_of", "option_parameters", "option_values"]

EXAMPLES = "\b\n{title}:\n{lines}"
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def help_of(text: str, about: str, command: str, examples: Sequence[str]) -> str:
    """Return the help page of a command: what it does, more about it, and examples."""
    title = "Example" if len(examples) == 1 else "Examples"
    lines = "\n".join(f"  {command} {example}" for example in examples)
    shown = EXAMPLES.format(title=title, lines=lines) if examples else ""
    return "\n\n".join(part for part in (text, about, shown) if part)


def option_parameters(field: OptionField) -> list[inspect.Parameter]:
    """Return the parameters of the command for one option: of a data set, its file and its target column."""
    if field.option.is_dataset:
        file = Annotated[Path, typer.Argument(help="The data set.")]
        target = Annotated[str | None, typer.Option(help="Target column of the data set.")]
        return [
            inspect.Parameter("file", KEYWORD, annotation=file),
            inspect.Parameter("target", KEYWORD, default=None, annotation=target),
        ]
    default, kind = field.default, field.type
    if get_origin(kind) is tuple:  # a list of names is one word with commas, or a flag that repeats
        default, kind = (None, list[str] | None) if field.option.repeats else (",".join(default), str)
    default = inspect.Parameter.empty if default is MISSING else default
    return [inspect.Parameter(field.name, KEYWORD, default=default, annotation=_annotation(field, kind))]


def _annotation(field: OptionField, kind: Any) -> Any:
    if field.option.is_argument:
        return Annotated[kind, typer.Argument(help=field.option.help)]
    names = (flag_of(field.name), field.option.short) if field.option.short else ()
    return Annotated[kind, typer.Option(*names, help=field.option.help)]


def option_values(fields: tuple[OptionField, ...], values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the options: words with commas become names, and a file becomes the facts in it."""
    read: dict[str, Any] = {}
    for field in fields:
        if field.option.is_dataset:
            read[field.name] = _facts(values["file"], values["target"])
        elif get_origin(field.type) is not tuple:
            read[field.name] = values[field.name]
        elif field.option.repeats:
            read[field.name] = tuple(values[field.name] or ())
        else:
            read[field.name] = tuple(name.strip() for name in values[field.name].split(",") if name.strip())
    return read


def _facts(file: Path, target: str | None) -> Mapping[str, Any]:
    from assay.api import load_suite, load_tasks

    tasks = load_tasks(load_suite(file, target))
    if len(tasks) != 1:
        raise ConfigError(f"{file} holds {len(tasks)} tasks: name a data file.")
    return tasks[0].facts
