"""`assay leaderboard`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.analyse.show import draw_record, print_record, print_tables, say_notes
from assay.cli.analyse.source import Figure, on_scores
from assay.cli.flags import message_of
from assay.cli.missing import tell_missing
from assay.cli.output import print_json, print_table, say, seconds
from assay.errors import UserError

if TYPE_CHECKING:
    from assay.analysis.record import AnalysisRecord
    from assay.api import Analysis
    from assay.jobs.row import Row

__all__ = ["register", "show_leaderboard"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("leaderboard")(on_scores(leaderboard))


def leaderboard(
    analysis: Analysis,
    json: bool,
    draws: Annotated[int, typer.Option(min=1, help="Number of draws of tasks, for the intervals.")] = 1000,
    intervals: Annotated[
        bool,
        typer.Option(
            help="Add the corrected bound of each job's best single model, if its predictions were kept."
        ),
    ] = False,
    figure: Figure = None,
) -> None:
    """Rank the frameworks: average rank and Elo with intervals over tasks, tie groups, wins, times, failures.

    \b
    Examples:
      assay leaderboard --store results
      assay leaderboard --scores results.csv --type binary
    """
    board = analysis.run("leaderboard", draws=draws)
    draw_record(board, {"figure": figure})
    rows: Any = analysis.inputs.rows[["status", "metric", "value", "message"]].to_dict("records")
    tell_missing(rows)
    if not intervals:
        print_record(board, json)
        return
    bounds: AnalysisRecord | None = None
    try:
        bounds = analysis.run("models")
        notes = bounds.notes
    except UserError as error:  # the ranks are there all the same
        notes = (message_of(error),)
    if json:
        values, bounded = board.to_json(), bounds.to_json() if bounds else {"model_bounds": []}
        assert isinstance(values, dict) and isinstance(bounded, dict)
        warnings = [*board.notes, *notes]
        print_json({**values, "warnings": warnings, "model_bounds": bounded["model_bounds"]})
        return
    print_record(board, json)
    if bounds:
        print_tables(bounds)
        for line in bounds.remarks():
            say(line)
    say_notes(notes)


def show_leaderboard(rows: Sequence[Row]) -> None:
    """Print what a run came to: ranks, failures and, where there are few tasks, their scores."""
    import numpy as np

    from assay.analysis.leaderboard import make_leaderboard, shown_name
    from assay.analysis.wording import decimals
    from assay.results.scores import scores_table

    if not rows:
        return
    table = scores_table(rows)
    board = make_leaderboard(table[table["optimised"]], np.random.default_rng(0), draws=0)
    heads, means = board.means()
    lines = [
        [
            shown_name(standing), decimals(standing.rank), standing.wins,
            f"{standing.ok}/{standing.ok + standing.failed}", seconds(standing.fit_s), *cells,
        ]
        for standing, cells in zip(board.standings, means, strict=True)
    ]  # fmt: skip
    print_table("", ["framework", ">rank", ">wins", ">ok", ">fit (median)", *heads], lines)
    for line in board.marks():
        say(line)
    say_notes(board.notes, board.NOTE_WORD)
