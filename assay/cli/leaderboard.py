"""`assay leaderboard`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.analyse.shared import Figure, draw_to, elo, plain, with_shared
from assay.cli.missing import tell_missing
from assay.cli.output import number, print_json, print_table, say, seconds
from assay.errors import ConfigError, UserError

if TYPE_CHECKING:
    from assay.analyses import Analysis
    from assay.analysis.leaderboard import Leaderboard, Standing
    from assay.jobs.row import Row
    from assay.uncertainty.models import ModelBound

__all__ = ["register", "show_leaderboard"]

MARKS = {"marked": "†", "excluded": "††"}
TOLD_OF = {"marked": "", "excluded": ", and no task can be kept out"}
MOST_TASKS = 8  # more columns would not fit


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("leaderboard")(with_shared(leaderboard))


def leaderboard(
    data: Analysis,
    json: bool,
    draws: Annotated[int, typer.Option(min=1, help="Draws of tasks, for the intervals.")] = 1000,
    intervals: Annotated[
        bool,
        typer.Option(
            help="Add the corrected bound of each job's best single model, where it left predictions."
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
    board = data.leaderboard(draws)
    if figure is not None and board.pairs is None:
        raise ConfigError("There are no two frameworks to compare: there is nothing to draw.")
    draw_to(figure, board.pairs)
    tell_missing(data.table[["status", "metric", "value", "message"]].to_dict("records"))
    bounds, notes = _bounds(data) if intervals else ([], [])
    if not json:
        print_leaderboard(board)
        if bounds:
            _print_bounds(bounds)
        for note in notes:
            say(f"note: {note}")
        return
    cells = [
        {"task": t, "framework": f, "metric": board.metrics[t], **asdict(c)}
        for (t, f), c in board.cells.items()
    ]
    same = {"n_tasks": board.n_tasks, "draws": board.draws, "anchor": board.anchor, "trust": board.trust}
    said = {"standings": board.standings, "cells": cells, **same, "warnings": [*board.warnings, *notes]}
    if intervals:
        said["model_bounds"] = [_bound_as_json(one) for one in bounds]
    print_json(plain(said))


def _bounds(data: Analysis) -> tuple[list[ModelBound], list[str]]:
    """Return the bounds, and what is to be said where there are none, or where some cannot be had."""
    try:
        bounds, notes = data.model_bounds()
    except UserError as error:  # the ranks are there all the same
        return [], [str(error)]
    return bounds, list(notes)


def _bound_as_json(one: ModelBound) -> dict[str, Any]:
    found = asdict(one)
    del found["interval"]["distribution"], found["interval"]["probabilities"]
    return {**found, "is_inside": one.is_inside if one.is_same else None}


def _print_bounds(bounds: Sequence[ModelBound]) -> None:
    from assay.report.tables import bounds_text
    from assay.uncertainty.models import share_inside

    print_table(
        "The best of each job's own models, corrected for having been chosen", *bounds_text(bounds, number)
    )
    inside, known = share_inside(bounds)
    say(
        "The framework's score in the test is of whatever it predicts with, mostly an ensemble"
        + (f"; where it is that very model, it lay inside in {inside} of {known} jobs." if known else ".")
    )


def show_leaderboard(rows: Sequence[Row]) -> None:
    """Print what a run came to: ranks, failures and, where there are few tasks, their scores."""
    import numpy as np

    from assay.analysis.leaderboard import make_leaderboard
    from assay.results.scores import scores_table

    if not rows:
        return
    table = scores_table(rows)
    board = make_leaderboard(table[table["optimised"]], np.random.default_rng(0), draws=0)
    heads, means = _means(board)
    lines = [
        [_name(one), _two(one.rank), one.wins, f"{one.ok}/{one.ok + one.failed}", seconds(one.fit_s), *own]
        for one, own in zip(board.standings, means, strict=True)
    ]
    print_table("", ["framework", ">rank", ">wins", ">ok", ">fit (median)", *heads], lines)
    _print_notes(board)


def print_leaderboard(board: Leaderboard) -> None:
    """Print the standings in full and, where there are few tasks, the mean of each one's metric."""
    print_table("", *_table(board))
    if board.draws:
        say(
            f"95 % over {board.draws} draws of {board.n_tasks} tasks; Elo 1000 is {board.anchor}. The first of a group "
            "is not clearly better than the others of it."
        )
    elif sum(standing.rank is not None for standing in board.standings) > 1:
        say(f"Too few tasks in common for intervals, groups and Elo: {board.n_tasks}.")
    heads, means = _means(board)
    if heads:
        lines = [[_name(standing), *own] for standing, own in zip(board.standings, means, strict=True)]
        print_table("", ["framework", *heads], lines)
    _print_notes(board)


def _print_notes(board: Leaderboard) -> None:
    if len(board.metrics) <= MOST_TASKS and any(cell.imputed for cell in board.cells.values()):
        say("* with failed folds imputed")
    levels = {standing.meta_learning for standing in board.standings}
    for level, mark in MARKS.items():
        if level in levels:
            say(f"{mark} {level}: learned from public data sets beforehand{TOLD_OF[level]}")
    say(f"trust: {board.trust}")
    for warning in board.warnings:
        say(f"warning: {warning}")


def _name(standing: Standing) -> str:
    return standing.framework + MARKS.get(standing.meta_learning, "")


def _means(board: Leaderboard) -> tuple[list[str], list[list[str]]]:
    """Return a head per task and, for each standing, the means of the tasks' metrics; none where they would not fit."""
    tasks = list(board.metrics) if len(board.metrics) <= MOST_TASKS else []
    arrows = {task: "↑" if board.higher_is_better[task] else "↓" for task in tasks}
    heads = [f">{task} ({board.metrics[task]}{arrows[task]})" for task in tasks]
    out = []
    for standing in board.standings:
        cells = [board.cells.get((task, standing.framework)) for task in tasks]
        out.append([f"{number(cell.mean)}{'*' if cell.imputed else ''}" if cell else "–" for cell in cells])
    return heads, out


def _table(board: Leaderboard) -> tuple[list[str], list[list[Any]]]:
    """Return heads and lines; intervals, groups and Elo only where there are tasks enough for them."""
    with_intervals = board.draws > 0
    heads = ["framework", ">rank", *((">95 %", ">group", ">Elo", ">95 %") if with_intervals else ())]
    heads += [">wins", ">scaled", ">ok", ">failed", ">fit (median)", ">per row"]
    lines = []
    for standing in board.standings:
        line: list[Any] = [_name(standing), _two(standing.rank)]
        if with_intervals:
            line += [_range(standing.rank_low, standing.rank_high), standing.group, elo(standing.elo)]
            line += [_elo_range(standing)]
        line += [standing.wins, _two(standing.scaled), standing.ok, standing.failed, seconds(standing.fit_s)]
        lines.append([*line, "–" if standing.row_s is None else f"{standing.row_s * 1e6:.3g} µs"])
    return heads, lines


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.2f}–{high:.2f}"


def _elo_range(standing: Standing) -> str:
    low, high = standing.elo_low, standing.elo_high
    return "–" if low is None or high is None else f"{elo(low)} to {elo(high)}"
