"""`assay status`, `results`, `score`."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import Json, StoreOption
from assay.cli.output import (
    STORE,
    check_target,
    number,
    open_store,
    print_json,
    print_table,
    say,
    seconds,
    short,
    space,
)
from assay.errors import ConfigError
from assay.files import read_tail

if TYPE_CHECKING:
    from assay.jobs.row import Row
    from assay.store.size import StoreSize

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("status")(status)
    app.command("results")(results)
    app.command("score")(score)


def status(
    store: StoreOption = STORE,
    watch: Annotated[
        bool, typer.Option("--watch", help="Refresh every second until the run is finished.")
    ] = False,
    json: Json = False,
) -> None:
    """Show the progress of a run: jobs done, running and failed, by kind; and the size of the store.

    Of a large store the size is an estimate from some of its jobs. It is not shown with --watch.

    \b
    Example:
      assay status --watch
    """
    from assay.store.size import measure_store

    opened = open_store(store)
    if json:
        running_keys = [key for key, _ in opened.running()]
        size = measure_store(opened).to_json()
        print_json({"counts": opened.counts(), "running": running_keys, "size": size})
        return
    while True:
        counts = opened.counts()
        running = opened.running()
        waiting = counts.pop("pending", 0) + counts.pop("running", 0) - len(running)
        parts = [
            f"{waiting} waiting",
            f"{len(running)} running",
            *(f"{n} {name}" for name, n in sorted(counts.items())),
        ]
        say(f"{store}: " + " · ".join(parts), flush=True)
        for key, folder in running:
            say(f"  {key[:10]} attempt {folder.number}: {_last_line(folder.log)}")
        if not watch:
            _print_size(measure_store(opened))
        if not watch or not (waiting or running):
            return
        time.sleep(1.0)


def _print_size(size: StoreSize) -> None:
    about = "about " if size.is_estimate else ""
    sampled = f" (estimated from {size.measured_jobs} of {size.jobs} jobs)" if size.is_estimate else ""
    prunable = f"; `assay store prune` can free {about}{space(size.prunable_bytes)}"
    say(f"size: {about}{space(size.bytes)}{prunable if size.prunable_bytes else ''}{sampled}")


def _last_line(path: Path) -> str:
    lines = (read_tail(path, most=2000).value or "").splitlines()
    return lines[-1][:120] if lines else ""


def results(
    store: StoreOption = STORE,
    format: Annotated[str, typer.Option(help="Output format: table, csv or json.")] = "table",
    failed: Annotated[bool, typer.Option("--failed", help="Only failed jobs.")] = False,
) -> None:
    """List one row per job: status, score, times, memory, conditions.

    \b
    Examples:
      assay results
      assay results --failed
      assay results --format json > rows.json
    """
    rows = open_store(store).rows()
    rows = [row for row in rows if row.status != "ok"] if failed else rows
    if not rows and format == "table":
        say(f"No job of {store} has {'failed' if failed else 'finished'} yet.")
    elif format == "json":
        print_json([row.to_json() for row in rows])
    elif format == "csv":
        from assay.results.scores import write_rows_csv

        write_rows_csv(sys.stdout, rows)
    elif format == "table":
        columns = [
            "key",
            "framework",
            "task",
            ">fold",
            "constraint",
            "status",
            "metric",
            ">score",
            ">fit",
            ">memory",
            "message",
        ]
        print_table("", columns, [_line(row) for row in rows])
    else:
        raise ConfigError(f"--format {format}: choose table, csv or json.")


def _line(row: Row) -> list[object]:
    fold = row.fold if not row.repeat else f"{row.repeat}.{row.fold}"
    memory = f"{row.peak_memory_mb:.0f} MB"
    message = short(row.message)
    return [
        row.key[:10], row.framework, row.task, fold, row.constraint, row.status, row.metric,
        number(row.score), seconds(row.fit_s), memory, message,
    ]  # fmt: skip


def score(
    metric: Annotated[
        list[str] | None, typer.Option("--metric", "-m", help="Metric: a name or file.py:function.")
    ] = None,
    store: StoreOption = STORE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the scores table to a .parquet or .csv file.")
    ] = None,
    json: Json = False,
) -> None:
    """Show the scores table; with --metric, score the stored predictions by other metrics.

    \b
    Examples:
      assay score -o scores.parquet
      assay score --metric brier --metric mcc
    """
    from assay.api import score as make_scores
    from assay.cli.missing import tell_missing

    if output is not None:
        if output.suffix not in (".parquet", ".csv"):
            raise ConfigError(f"-o {output}: the name must end in .parquet or .csv.")
        check_target(output)
    table = make_scores(open_store(store), metric or ())
    records: list[Any] = table.astype(object).where(table.notna(), None).to_dict("records")
    if output is not None:
        table.to_parquet(output) if output.suffix == ".parquet" else table.to_csv(output, index=False)
        say(f"{len(table)} rows written to {output}.")
    elif json:
        print_json(records)
    else:
        _print_scores(records)
    raise typer.Exit(1 if tell_missing(records) else 0)


def _print_scores(records: Sequence[Mapping[str, Any]]) -> None:
    columns = ["framework", "task", ">fold", "status", "metric", ">value"]
    lines = [
        [r["framework"], r["task"], r["fold"], r["status"], r["metric"], number(r["value"], 6)]
        for r in records
    ]
    print_table("", columns, lines)
