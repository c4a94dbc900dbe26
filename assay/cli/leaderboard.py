"""`assay leaderboard`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.analyse.shared import Figure, draw_to, elo, plain, with_shared
from assay.cli.output import number, print_json, print_table, seconds

if TYPE_CHECKING:
    from assay.analyse import Analysis
    from assay.analysis.leaderboard import Leaderboard, Standing

__all__ = ["register", "show_leaderboard"]

MOST_TASKS = 8  # more columns would not fit


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("leaderboard")(with_shared(leaderboard))


def leaderboard(
    data: Analysis,
    json: bool,
    draws: Annotated[int, typer.Option(min=1, help="Draws of tasks, for the intervals.")] = 1000,
    figure: Figure = None,
) -> None:
    """Rank the frameworks: average rank and Elo with intervals over tasks, tie groups, wins, times, failures.

    \b
    Examples:
      assay leaderboard --store results
      assay leaderboard --scores results.csv --type binary
    """
    board = data.leaderboard(draws)
    if figure is not None:
        draw_to(figure, data.pairwise(draws)[0])
    if not json:
        print_leaderboard(board)
        return
    cells = [
        {"task": t, "framework": f, "metric": board.metrics[t], **asdict(c)}
        for (t, f), c in board.cells.items()
    ]
    same = {"n_tasks": board.n_tasks, "draws": board.draws, "anchor": board.anchor, "trust": board.trust}
    print_json(plain({"standings": board.standings, "cells": cells, **same, "warnings": board.warnings}))


def show_leaderboard(rows: Sequence[dict[str, Any]]) -> None:
    """Print the standings of results rows."""
    import numpy as np

    from assay.analysis.leaderboard import make_leaderboard
    from assay.results.scores import scores_table

    if rows:
        table = scores_table(rows)
        print_leaderboard(make_leaderboard(table[table["optimised"]], np.random.default_rng(0)))


def print_leaderboard(board: Leaderboard) -> None:
    """Print standings and, where there are few tasks, the mean of each one's metric."""
    tasks = list(board.metrics) if len(board.metrics) <= MOST_TASKS else []
    means = [
        f">{task} ({board.metrics[task]}{'↑' if board.higher_is_better[task] else '↓'})" for task in tasks
    ]
    heads, lines = _table(board)
    for line, standing in zip(lines, board.standings, strict=True):
        cells = [board.cells.get((task, standing.framework)) for task in tasks]
        line += [f"{number(cell.mean)}{'*' if cell.imputed else ''}" if cell else "–" for cell in cells]
    print_table("", [*heads, *means], lines)
    if board.draws:
        said = f"{board.draws} draws of {board.n_tasks} tasks; Elo 1000 is {board.anchor}"
        print(f"± 95 % over {said}. The first of a group is not clearly better than the others of it.")
    if any(cell.imputed for cell in board.cells.values()):
        print("* with failed folds imputed")
    if any(standing.meta_learning for standing in board.standings):
        print("† learned from public data sets beforehand")
    print(f"trust: {board.trust}")
    for warning in board.warnings:
        print(f"warning: {warning}")


def _table(board: Leaderboard) -> tuple[list[str], list[list[Any]]]:
    """Return heads and lines; intervals, groups and Elo only where there are tasks enough for them."""
    with_intervals = board.draws > 0
    has_inference = any(standing.row_s is not None for standing in board.standings)
    heads = ["framework", ">rank", *((">95 %", ">group", ">Elo", ">95 %") if with_intervals else ())]
    heads += [">wins", ">scaled", ">ok", ">fit (median)", *((">per row",) if has_inference else ())]
    lines = []
    for standing in board.standings:
        line: list[Any] = [standing.framework + ("†" if standing.meta_learning else ""), _two(standing.rank)]
        if with_intervals:
            line += [_range(standing.rank_low, standing.rank_high), standing.group, elo(standing.elo)]
            line += [_elo_range(standing)]
        line += [standing.wins, _two(standing.scaled), f"{standing.ok}/{standing.ok + standing.failed}"]
        line += [seconds(standing.fit_s)]
        if has_inference:
            line += ["–" if standing.row_s is None else f"{standing.row_s * 1e6:.3g} µs"]
        lines.append(line)
    return heads, lines


def _two(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def _range(low: float | None, high: float | None) -> str:
    return "–" if low is None or high is None else f"{low:.2f}–{high:.2f}"


def _elo_range(standing: Standing) -> str:
    low, high = standing.elo_low, standing.elo_high
    return "–" if low is None or high is None else f"{elo(low)} to {elo(high)}"
