"""The command of an analysis: its flags, their help and their checks follow from its specification."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from assay.analysis.options import make_options, option_fields
from assay.analysis.registry import AnalysisSpec
from assay.api import Analysis
from assay.cli.analyse.show import draw_record, print_record
from assay.cli.analyse.source import on_scores
from assay.cli.derived import KEYWORD, help_of, option_parameters, option_values
from assay.cli.flags import flag_of

__all__ = ["make_command"]


def make_command(spec: AnalysisSpec) -> Callable[..., None]:
    """Return the function of the command `assay analyse NAME`, with all its options in its signature."""
    fields = option_fields(spec.options)
    flags = {flag.replace("-", "_"): flag for flag in spec.figures}

    def command(analysis: Analysis, json: bool, **values: Any) -> None:
        paths = {flag: values.pop(name) for name, flag in flags.items()}
        form = values.pop("format")
        options = make_options(spec.options, option_values(fields, values), flag_of)
        record = spec.compute(analysis.inputs, options)
        draw_record(record, paths)
        print_record(record, json, form)

    parameters = [*(p for field in fields for p in option_parameters(field)), _format(), *_figures(spec)]
    command.__name__ = spec.name
    examples = spec.examples or (f"{spec.name} --store results",)
    command.__doc__ = help_of(spec.help, spec.about, "assay analyse", examples)
    command.__signature__ = inspect.Signature([_shared("analysis"), _shared("json"), *parameters])  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return on_scores(command)


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
