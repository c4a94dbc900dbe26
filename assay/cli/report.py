"""`assay report`, `assay import`, `assay export`: results as a page, and in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.analyse.show import say_notes
from assay.cli.analyse.source import on_scores
from assay.cli.options import StoreOption
from assay.cli.output import STORE, check_target, open_store, print_json, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.api import Analysis

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("report")(on_scores(report))
    imports = typer.Typer(help="Import results of other tools.", no_args_is_help=True)
    imports.command("amlb")(import_amlb)
    app.add_typer(imports, name="import")
    exports = typer.Typer(help="Export results in the formats of other tools.", no_args_is_help=True)
    exports.command("amlb")(export_amlb)
    exports.command("bencheval")(on_scores(export_bencheval))
    app.add_typer(exports, name="export")


def report(
    analysis: Analysis,
    json: bool,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="Title of the page.")] = "Benchmark report",
    add: Annotated[
        list[str] | None, typer.Option("--add", metavar="FILE.py", help="Add your own analysis.")
    ] = None,
) -> None:
    """Write all analyses to one HTML page that works offline.

    \b
    Example:
      assay report --scores results.csv -o report.html
    """
    from assay.api import make_parts, make_report

    if json:
        print_json([part.to_json() for part in make_parts(analysis, add or ())])
        return
    check_target(out)
    text = make_report(analysis, title, add or ())
    out.write_text(text, encoding="utf-8")
    say(f"Wrote {out} ({len(text.encode()) / 1e6:.1f} MB).")


def import_amlb(
    file: Annotated[Path, typer.Argument(help="Results of AMLB: CSV or Parquet.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Parquet file to write; default: next to FILE."),
    ] = None,
) -> None:
    """Convert AMLB's results to a scores table and write it as Parquet.

    \b
    Example:
      assay import amlb results.csv -o scores.parquet && assay analyse ranks --scores scores.parquet
    """
    from assay.results.formats.foreign import read_scores

    target = out or file.with_name(f"{file.name.split('.')[0]}-scores.parquet")
    if target.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"-o {target}: the name must end in .parquet or .csv.")
    check_target(target)
    scores = read_scores(file)
    if not scores.origin.startswith("AMLB"):
        raise ConfigError(
            f"{file} is {scores.origin.split(',')[0]}, not AMLB's results: use it with --scores as it is."
        )
    table = scores.table
    table.to_parquet(target, index=False) if target.suffix == ".parquet" else table.to_csv(
        target, index=False
    )
    say(f"{int(table['optimised'].sum())} jobs with {len(table)} scores written to {target}.")
    say_notes(scores.notes)


def export_amlb(
    file: Annotated[Path, typer.Argument(help="CSV file to write.")], store: StoreOption = STORE
) -> None:
    """Export the results in the format of AMLB's results.csv.

    \b
    Example:
      assay export amlb results.csv
    """
    from assay.results.formats.amlb import write_amlb

    rows = open_store(store).rows()
    if not rows:
        raise ConfigError(f"The store {store} has no finished jobs yet: there is nothing to write.")
    check_target(file)
    write_amlb(file, rows)
    say(f"{len(rows)} rows written to {file}.")


def export_bencheval(
    analysis: Analysis,
    json: bool,
    file: Annotated[Path, typer.Argument(help="CSV or Parquet file to write.")],
) -> None:
    """Export one row per framework, task and fold, in the format of bencheval and TabArena.

    \b
    Example:
      assay export bencheval results.parquet --store results
    """
    from assay.results.formats.bencheval import bencheval_table

    if file.suffix not in (".parquet", ".csv"):
        raise ConfigError(f"{file}: the name must end in .parquet or .csv.")
    check_target(file)
    table = bencheval_table(analysis.inputs.rows)
    table.to_parquet(file, index=False) if file.suffix == ".parquet" else table.to_csv(file, index=False)
    if json:
        print_json({"rows": len(table), "file": str(file)})
    else:
        say(f"{len(table)} rows written to {file}.")
