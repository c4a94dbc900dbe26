"""The command of an analysis: its flags, their help and their checks follow from its specification."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from assay.analysis.options import OptionField, make_options, option_fields
from assay.analysis.registry import AnalysisSpec
from assay.api import Analysis
from assay.cli.analyse.show import draw_record, print_record
from assay.cli.analyse.source import on_scores
from assay.errors import ConfigError

__all__ = ["make_command"]

EXAMPLES = "\b\n{title}:\n{lines}"
KEYWORD = inspect.Parameter.KEYWORD_ONLY


def make_command(spec: AnalysisSpec) -> Callable[..., None]:
    """Return the function of the command `assay analyse NAME`, with all its options in its signature."""
    fields = option_fields(spec.options)
    flags = {flag.replace("-", "_"): flag for flag in spec.figures}

    def command(analysis: Analysis, json: bool, **values: Any) -> None:
        paths = {flag: values.pop(name) for name, flag in flags.items()}
        form = values.pop("format")
        options = make_options(spec.options, _option_values(fields, values), _flag)
        record = spec.compute(analysis.inputs, options)
        draw_record(record, paths)
        print_record(record, json, form)

    parameters = [*(p for field in fields for p in _parameters(field)), _format(), *_figures(spec)]
    command.__name__ = spec.name
    command.__doc__ = _help(spec)
    command.__signature__ = inspect.Signature([_shared("analysis"), _shared("json"), *parameters])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return on_scores(command)


def _help(spec: AnalysisSpec) -> str:
    title = "Example" if len(spec.examples) == 1 else "Examples"
    lines = "\n".join(
        f"  assay analyse {example}" for example in spec.examples or (f"{spec.name} --store results",)
    )
    paragraphs = (spec.help, spec.about, EXAMPLES.format(title=title, lines=lines))
    return "\n\n".join(text for text in paragraphs if text)


def _flag(name: str) -> str:
    """Return an option of Python's as it is written on the command line."""
    return f"--{name.replace('_', '-')}"


def _shared(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=Any)


def _format() -> inspect.Parameter:
    kind = Annotated[str, typer.Option(help="Output format: table, csv or latex.")]
    return inspect.Parameter("format", KEYWORD, default="table", annotation=kind)


def _figures(spec: AnalysisSpec) -> list[inspect.Parameter]:
    return [
        inspect.Parameter(
            flag.replace("-", "_"), KEYWORD, default=None,
            annotation=Annotated[Path | None, typer.Option(metavar="FILE", help=text)],
        )
        for flag, text in spec.figures.items()
    ]  # fmt: skip


def _parameters(field: OptionField) -> list[inspect.Parameter]:
    """Return the parameters of the command for one option: of a data set, its file and its target column."""
    if field.option.is_dataset:
        file = Annotated[Path, typer.Argument(help="The data set.")]
        target = Annotated[str | None, typer.Option(help="Target column of the data set.")]
        return [
            inspect.Parameter("file", KEYWORD, annotation=file),
            inspect.Parameter("target", KEYWORD, default=None, annotation=target),
        ]
    default, kind = field.default, field.type
    if get_origin(kind) is tuple:  # a list of names is one word with commas
        default, kind = ",".join(default), str
    default = inspect.Parameter.empty if default is MISSING else default
    annotation: Any = Annotated[kind, typer.Option(help=field.option.help)]
    return [inspect.Parameter(field.name, KEYWORD, default=default, annotation=annotation)]


def _option_values(fields: tuple[OptionField, ...], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values of the options: words with commas become names, and a file becomes the facts in it."""
    read = {}
    for field in fields:
        if field.option.is_dataset:
            read[field.name] = _facts(values["file"], values["target"])
        elif get_origin(field.type) is tuple:
            read[field.name] = tuple(name.strip() for name in values[field.name].split(",") if name.strip())
        else:
            read[field.name] = values[field.name]
    return read


def _facts(file: Path, target: str | None) -> Any:
    from assay.api import load_suite, load_tasks

    tasks = load_tasks(load_suite(file, target))
    if len(tasks) != 1:
        raise ConfigError(f"{file} holds {len(tasks)} tasks: name a data file.")
    return tasks[0].facts
