"""`assay study …`: recipes on top of the flow."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.analyse.show import write_drawing
from assay.cli.analyse.source import Figure
from assay.cli.output import check_target, print_json, print_table, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.studies.real_coverage import Source
    from assay.uncertainty.coverage import Coverage

__all__ = ["register"]

HEADS = ["method", ">inside", "95 %", ">tightness", ">bias", ">true score", ">CPU time", ">failed"]


def register(app: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Run studies, such as the coverage of interval methods.", no_args_is_help=True)
    group.command("intervals")(intervals)
    app.add_typer(group, name="study")


def intervals(
    preset: Annotated[
        str,
        typer.Argument(
            help="paper (Table 2), beyond (further settings), guided (adaptive searches), times (Figure 3) or real."
        ),
    ] = "paper",
    repetitions: Annotated[int, typer.Option(min=1, help="Number of searches per setting.")] = 200,
    method: Annotated[list[str] | None, typer.Option("--method", "-m", help="Only these methods.")] = None,
    only: Annotated[
        str, typer.Option(help="Only settings whose name contains this text, such as N=50.")
    ] = "",
    data: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE:TARGET", help="For the study real: data file and target."),
    ] = None,
    train: Annotated[
        int,
        typer.Option(min=10, help="For the study real: rows to search on; the rest serve as ground truth."),
    ] = 50,
    configurations: Annotated[
        int, typer.Option(min=2, help="For the study real: number of configurations.")
    ] = 60,
    strategy: Annotated[
        str, typer.Option(help="For the study real: static (from the 766), random, or guided (optuna).")
    ] = "static",
    jobs: Annotated[int, typer.Option("--jobs", "-p", min=1, help="Number of processes.")] = 1,
    folder: Annotated[Path, typer.Option(help="Folder for finished work, which is not repeated.")] = Path(
        "interval-study"
    ),
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write all numbers to a CSV file.")
    ] = None,
    figure: Figure = None,
    json: Annotated[bool, typer.Option(help="Print JSON instead of a table.")] = False,
) -> None:
    """Measure the coverage of each interval method, in simulated searches or on real data.

    On real data a few rows are searched on, with the paper's configurations, and the many others are the truth.

    \b
    Examples:
      assay study intervals paper --repetitions 200 --jobs 2
      assay study intervals beyond -m bbc -m bbc_f --only acc
      assay study intervals real --data spambase.csv:class --train 50 --repetitions 30
    """
    from assay.analysis.record import as_json
    from assay.cli.progress import Counted
    from assay.report.coverage_figures import tightness_drawing, time_drawing
    from assay.studies.interval_coverage import PRESETS, run_coverage, write_table
    from assay.uncertainty.coverage import average_ranks

    for path in (output, figure):
        if path is not None:
            check_target(path)
    methods = tuple(method or ())
    with Counted("pieces of work", json, "The same command goes on from there.") as progress:
        if preset == "real":
            from assay.studies.real_coverage import run_real

            if only:
                raise ConfigError("--only chooses among simulated settings; real data are named by --data.")
            sources = _sources(data, train, configurations, strategy)
            found = run_real(sources, folder, repetitions, methods, jobs, progress)
        elif preset in PRESETS:
            settings = [one for one in PRESETS[preset]() if only in one.name]
            if not settings:
                raise ConfigError(f"No setting of {preset} has '{only}' in its name.")
            found = run_coverage(settings, folder, repetitions, methods, jobs, progress)
        else:
            raise ConfigError(f"There is no preset '{preset}': choose {', '.join(PRESETS)} or real.")
    if output is not None:
        write_table(output, found)
    write_drawing(time_drawing(found) if preset == "times" else tightness_drawing(found), figure)
    if json:
        print_json(as_json(found))
        return
    for name in dict.fromkeys(one.setting for one in found):
        print_table(name, HEADS, [_line(one) for one in found if one.setting == name])
    ranks = sorted((rank, name) for name, rank in average_ranks(found).items())
    if ranks:
        print_table("Average ranks", ["method", ">rank"], [[name, f"{rank:.2f}"] for rank, name in ranks])
    say(
        f"Of {repetitions} searches: the share whose truth was inside; whether a promise of 95 % stands (by an exact "
        "binomial test); how far the bound lay from the truth; how much too good the estimate was; the true score of "
        "whom the method chose."
    )


def _sources(data: list[str] | None, train: int, configurations: int, strategy: str) -> list[Source]:
    from assay.studies.real_coverage import Source

    pairs = [one.rpartition(":") for one in data or ()]
    if not pairs or not all(path and target for path, _, target in pairs):
        raise ConfigError(
            "Name the data: --data FILE:TARGET, as spambase.csv:class; it may be given several times."
        )
    return [
        Source(path, target, train, n_configurations=configurations, strategy=strategy)  # type: ignore[arg-type]
        for path, _, target in pairs
    ]


def _line(one: Coverage) -> list[str]:
    holds = "stands" if one.holds else ""
    took = "–" if one.seconds != one.seconds else f"{1000 * one.seconds:.0f} ms"
    shown = (one.inclusion, one.tightness, one.bias, one.truth)
    inside, *others = (_three(value) for value in shown)
    return [one.method, inside, holds, *others, took, str(one.failed)]


def _three(value: float) -> str:
    return "–" if value != value else f"{value:.3f}"
