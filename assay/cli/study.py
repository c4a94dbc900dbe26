"""`assay study …`: one command for each kind of study that is registered, made when it is asked for."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.analyse import AnalyseGroup, failing
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.studies.registry import StudySpec

__all__ = ["StudyGroup", "register"]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(
        cls=StudyGroup,
        help="Run studies, such as the coverage of interval methods. NAME may also be a Python file with a study.",
        no_args_is_help=True,
    )
    app.add_typer(group, name="study")


class StudyGroup(AnalyseGroup):
    """The commands of all kinds of study; a study is imported when its command is needed, not before."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all kinds of study."""
        from assay.studies.registry import study_names

        return study_names()

    @staticmethod
    def callback_of(name: str) -> Callable[..., None]:
        """Return the function of a command; where there is no such study, it says so."""
        from assay.studies.registry import find_study

        try:
            return make_command(find_study(name))
        except ConfigError as error:
            return failing(str(error))

    @classmethod
    def callbacks(cls) -> dict[str, Callable[..., None]]:
        """Return the functions of all commands by name, for the reference page."""
        from assay.studies.registry import study_names

        return {name: cls.callback_of(name) for name in study_names()}


def make_command(spec: StudySpec) -> Callable[..., None]:
    """Return the function of the command `assay study NAME`, with all its options in its signature."""
    from assay.analysis.options import make_options, option_fields
    from assay.cli.derived import help_of, option_parameters, option_values
    from assay.cli.flags import flag_of

    fields = option_fields(spec.options)

    def command(**values: Any) -> None:
        options: object = make_options(spec.options, option_values(fields, values), flag_of)
        _run(spec, options, **{name: values[name] for name in SHARED})

    parameters = [parameter for field in fields for parameter in option_parameters(field)]
    shared = {**SHARED, "folder": (SHARED["folder"][0], spec.default_folder)}
    parameters += [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
        for name, (kind, default) in shared.items()
    ]
    command.__name__ = spec.name
    command.__doc__ = help_of(spec.help, spec.about, "assay study", spec.examples)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


SHARED: dict[str, tuple[Any, Any]] = {
    "jobs": (Annotated[int, typer.Option("--jobs", "-p", min=1, help="Number of processes.")], 1),
    "folder": (Annotated[Path, typer.Option(help="Folder for finished work, which is not repeated.")], None),
    "output": (
        Annotated[Path | None, typer.Option("-o", "--output", help="Write all numbers to a CSV file.")],
        None,
    ),
    "figure": (
        Annotated[Path | None, typer.Option(metavar="FILE", help="Draw a figure: SVG, PDF or PNG.")],
        None,
    ),
    "json": (Annotated[bool, typer.Option(help="Print JSON instead of a table.")], False),
}


def _run(
    spec: StudySpec,
    options: Any,
    jobs: int,
    folder: Path,
    output: Path | None,
    figure: Path | None,
    json: bool,
) -> None:
    from assay.cli.analyse.show import draw_record, print_record
    from assay.cli.output import check_target
    from assay.cli.progress import Counted
    from assay.studies.registry import StudyRun

    for path in (output, figure):
        if path is not None:
            check_target(path)
    with Counted("pieces of work", json, "Run the same command again to continue.") as progress:
        record = spec.run(options, StudyRun(folder, jobs, progress))
    if output is not None:
        record.to_frame().to_csv(output, index=False, lineterminator="\n")
    draw_record(record, {"figure": figure})
    print_record(record, json)
