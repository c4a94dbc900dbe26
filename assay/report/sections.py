"""Records become sections of a report: what one sees, how far to trust it, a figure, tables. No statistics here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from assay.analysis.anytime import Anytime
from assay.analysis.bayes import SignedRank
from assay.analysis.budgets import BudgetStep
from assay.analysis.cells import TaskCell
from assay.analysis.failures import Failures
from assay.analysis.leaderboard import Leaderboard
from assay.analysis.pairwise import MIN_TASKS, Pairwise
from assay.analysis.pareto import Front
from assay.analysis.ranks import Ranks
from assay.analysis.scaled import Scaled
from assay.analysis.sensitivity import Sensitivity
from assay.analysis.times import FitTime, InferenceTime
from assay.analysis.trees import Tree
from assay.errors import NotInstalled, UserError
from assay.report.figures import draw
from assay.report.tables import (
    batches_text,
    bounds_text,
    budgets_text,
    cells_text,
    counted,
    failures_texts,
    split_words,
    training_text,
    variants_text,
)
from assay.uncertainty.models import ModelBound, share_inside

__all__ = [
    "Section",
    "Table",
    "show_anytime",
    "show_bayes",
    "show_bounds",
    "show_budgets",
    "show_cells",
    "show_failures",
    "show_inference",
    "show_pairs",
    "show_pareto",
    "show_ranks",
    "show_scaled",
    "show_sensitivity",
    "show_standings",
    "show_training",
    "show_tree",
]

Notes = Sequence[str]


@dataclass(frozen=True)
class Table:
    """Heads and lines; heads that begin with `>` are of numbers."""

    heads: Sequence[str]
    lines: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Section:
    """What a section holds: `sees` says what one sees, `trusts` how far to trust it."""

    sees: str
    trusts: str = ""
    figures: tuple[str, ...] = ()
    tables: tuple[Table, ...] = ()
    notes: Notes = ()


def show_standings(board: Leaderboard) -> Section:
    """Show the leaderboard."""
    ranked = [standing for standing in board.standings if standing.rank is not None]
    tied = [standing.framework for standing in ranked if standing.group == 1][1:]
    if len(ranked) < 2:
        sees = "There are no two frameworks that can be ranked against each other."
    elif ranked[0].rank == ranked[1].rank:
        equal = [standing.framework for standing in ranked if standing.rank == ranked[0].rank]
        sees = f"Equal at the head, on {counted(board.n_tasks, 'task')}: {_listed(equal)}."
    elif board.draws:
        clear = (
            f"It is not clearly better than {_listed(tied)}."
            if tied
            else "It is clearly ahead of all others."
        )
        sees = f"{ranked[0].framework} comes out first on {counted(board.n_tasks, 'task')}. {clear}"
    else:
        few = f"{counted(board.n_tasks, 'task')}, too few to say how sure that is"
        sees = f"{ranked[0].framework} comes out first on {few}."
    lines = [
        [
            standing.framework, _two(standing.rank), _range(standing.rank_low, standing.rank_high), standing.group,
            _whole(standing.elo), _range(standing.elo_low, standing.elo_high, _whole), standing.wins,
            _percent(standing.win_rate), _two(standing.scaled), _seconds(standing.fit_s), _seconds(standing.row_s),
            standing.ok, standing.failed, standing.imputed,
        ]
        for standing in board.standings
    ]  # fmt: skip
    heads = [
        "framework", ">rank", ">95 %", ">group", ">Elo", ">95 %", ">wins", ">win rate", ">scaled", ">training",
        ">per row", ">ok", ">failed", ">imputed",
    ]  # fmt: skip
    return Section(
        sees,
        f"Intervals are from {board.draws} draws of tasks with all their folds: they speak of tasks like these. Those "
        "of one group do not clearly differ from its first. Scaled scores go from the worst (0) to the best (1)."
        if board.draws
        else "Intervals and groups need two frameworks and five tasks.",
        _figures(board.pairs) if board.pairs and board.draws else (),
        (Table(heads, lines),),
        (*board.warnings, f"Conditions: {board.trust}."),
    )


def show_ranks(found: Ranks, notes: Notes) -> Section:
    """Show average ranks and the critical-difference diagram."""
    p = found.iman_davenport.p
    said = "differ" if p < found.alpha else "do not clearly differ"
    shown = f"Iman–Davenport, p {p:.2g}" if isfinite(p) else "too little varies to test it"
    marks = [[name, f"{rank:.3f}"] for name, rank in zip(found.frameworks, found.average, strict=True)]
    return Section(
        f"Average ranks over {counted(found.n_tasks, 'task')} {said} ({shown}). Two must lie "
        f"{found.critical_distance:.2f} apart to differ clearly; bars join those that do not.",
        "Nemenyi's test keeps its level for all pairs together and is cautious: it does not find all that is there.",
        _figures(found),
        (Table(["framework", ">average rank"], marks),),
        notes,
    )


def show_scaled(found: Scaled, notes: Notes) -> Section:
    """Show scores from the random forest to the best as boxes."""
    known = found.values[np.isfinite(found.values).all(axis=1)]
    if not len(known):
        raise UserError(
            f"{found.reference} is the best on every task: there is no scale from it to the best."
        )
    five = np.quantile(known, [0.25, 0.5, 0.75], axis=0)
    order = np.argsort(-five[1], kind="stable")
    best = found.frameworks[order[0]]
    lines = [[found.frameworks[j], *(_two(one) for one in five[:, j])] for j in order]
    without = (
        f" No scale on {counted(len(found.without_scale), 'task')}, where {found.reference} is the best."
        if found.without_scale
        else ""
    )
    return Section(
        f"Each task is scaled from {found.reference} (-1) to the best (0). {best} has the highest median.{without}",
        "A scale by the best makes small differences on hard tasks look as large as large ones on easy tasks.",
        _figures(found),
        (Table(["framework", ">lower quartile", ">median", ">upper quartile"], lines),),
        notes,
    )


def show_pairs(found: Pairwise, notes: Notes) -> Section:
    """Show who beats whom."""
    lines = [
        [name, _percent(found.win_rate[i]), _percent(found.improvability[i]), _two(found.mean_reciprocal_rank[i]),
         f"{found.place[i][0]} to {found.place[i][1]}" if found.n_tasks >= MIN_TASKS else "–"]
        for i, name in enumerate(found.frameworks)
    ]  # fmt: skip
    heads = ["framework", ">win rate", ">improvable", ">1/rank", ">places"]
    first, last = found.frameworks[0], found.frameworks[-1]
    return Section(
        f"Read along a row: on how many tasks it is better than each other. {first} wins {found.win_rate[0]:.0%} of "
        f"its comparisons, {last} {found.win_rate[-1]:.0%}.",
        "A win counts the same however small it is. Improvable: by how much its error would shrink if it were the "
        "best's.",
        _figures(found, "wins"),
        (Table(heads, lines),),
        notes,
    )


def show_bayes(found: Sequence[SignedRank], rope: float, notes: Notes) -> Section:
    """Show how probable it is that one is better than another."""
    sure = [pair for pair in found if max(pair.p_a, pair.p_b) > 0.95]
    same = [pair for pair in found if pair.p_rope > 0.95]
    lines = [[p.a, p.b, f"{p.p_a:.3f}", f"{p.p_rope:.3f}", f"{p.p_b:.3f}"] for p in found]
    return Section(
        f"In {len(sure)} of {len(found)} pairs one is better with a probability above 95 %; {len(same)} pairs are "
        "equivalent with that probability.",
        f"Equivalent means: within {rope:g} of the gap from the constant predictor to the best. The others are open.",
        _figures(found),
        (Table(["A", "B", ">A better", ">equivalent", ">B better"], lines),),
        notes,
    )


def show_tree(found: Tree, notes: Notes) -> Section:
    """Show which framework is strong on which kind of task."""
    leaves = [node for node in found.nodes if node.split is None]
    lines = []
    for node in found.nodes:
        best = sorted(node.worth.items(), key=lambda item: -item[1])[:3]
        strongest = ", ".join(f"{name} {worth:.2f}" for name, worth in best)
        lines.append([node.id, split_words(found, node).rstrip(": ") or "all tasks", node.n_tasks, strongest])
    if len(leaves) > 1:
        sees = f"Strengths change with the properties of the tasks: {len(leaves)} kinds of tasks."
    elif found.nodes[0].tests:
        sees = "No property of the tasks was found along which strengths change."
    else:
        sees = "Too few tasks to look for properties along which strengths change."
    return Section(
        sees,
        "Folds of a task are not taken as independent; with few tasks per leaf the strengths are rough.",
        _figures(found),
        (Table([">node", "tasks with", ">tasks", "strongest (worth)"], lines),),
        notes,
    )


def show_pareto(found: Front, against: str, notes: Notes) -> Section:
    """Show scores against seconds."""
    front = [point.framework for point in found.points if point.on_front]
    lines = [
        [p.framework, f"{p.score:.3f}", _seconds(p.seconds), "yes" if p.on_front else ""]
        for p in found.points
    ]
    missing = f" Without seconds: {', '.join(found.missing)}." if found.missing else ""
    return Section(
        f"Nobody is both better and faster ({against}) than: {', '.join(front)}.{missing}",
        "Times depend on the machine; compare them only between jobs of the same one.",
        _figures(found),
        (Table(["framework", ">scaled score", ">seconds", "on the front"], lines),),
        notes,
    )


def show_training(times: Sequence[FitTime]) -> Section:
    """Show training times against the budget."""
    if not any(one.jobs and isfinite(one.budget_s) for one in times):
        raise UserError("No training times, or no budgets, are known.")
    over = sorted({one.framework for one in times if one.over_budget})
    return Section(
        f"Longer than told trained, at least once: {_listed(over)}."
        if over
        else "All kept to their budgets.",
        "Lines go from the shortest to the longest job that gave a score, bars over the middle half. The dashed line "
        "is the budget.",
        _figures(list(times)) if any(one.jobs for one in times) else (),
        (Table(*training_text(times, _seconds)),),
    )


def show_inference(times: Sequence[InferenceTime]) -> Section:
    """Show seconds per row by batch size."""
    return Section(
        "What a row costs falls with the number of rows that are predicted at once.",
        "Medians over jobs of one core or more, as each was given; the model is loaded already.",
        _figures(list(times)),
        (Table(*batches_text(times, _seconds)),),
    )


def show_failures(found: Failures) -> Section:
    """Show failures by kind, framework, size and task."""
    return Section(
        f"{found.failed} of {found.jobs} jobs failed."
        if found.failed
        else f"None of {found.jobs} jobs failed.",
        "Categories of errors follow from their texts by rules; the line between data and implementation is rough.",
        _figures(found) if found.failed else (),
        tuple(Table(*text) for text in failures_texts(found)),
    )


def show_budgets(steps: Sequence[BudgetStep]) -> Section:
    """Show what longer budgets bought."""
    total = sum(one.tasks for one in steps)
    return Section(
        f"With more time scores were better in {sum(one.better for one in steps)} of {total} cases, worse in "
        f"{sum(one.worse for one in steps)}.",
        "On folds that have a score under both budgets. Gain: in gaps from the constant predictor to the better one.",
        _figures(list(steps)),
        (Table(*budgets_text(steps, _seconds)),),
    )


def show_anytime(found: Anytime) -> Section:
    """Show how far searches were after which time."""
    lines = [
        [one.framework, one.jobs, _seconds(one.first_s), _seconds(one.last_s)] for one in found.frameworks
    ]
    return Section(
        f"{found.frameworks[0].framework} has its first score after {_seconds(found.frameworks[0].first_s)}, the "
        "earliest of those that tell.",
        "From the frameworks' own validation scores, each on its own scale: curves say when a search got how far, not "
        "who is better.",
        _figures(found),
        (Table(["framework", ">searches", ">first score after", ">last improvement after"], lines),),
    )


def show_sensitivity(found: Sensitivity, notes: Notes) -> Section:
    """Show whether other choices would change the ranks."""
    changed = sum(bool(one.new_leader) for one in found.tasks)
    rate = found.detectable_win_rate
    power = f"a win rate of {rate:.0%} against another" if rate else "not even winning all of them"
    tasks = [
        [one.task, one.framework, f"{one.largest_change:+.2f}", one.new_leader] for one in found.tasks[:20]
    ]
    return Section(
        f"Leaving out one task changes the leader in {changed} of {found.n_tasks} cases. With so many tasks, {power} "
        f"would be found in four of five such suites.",
        "Average ranks under other imputations and other metrics, in brackets on how many tasks; then the tasks that "
        "change a rank the most when they are left out.",
        tables=(
            Table(*variants_text(found)),
            Table(["without the task", "changes most", ">by", "new leader"], tasks),
        ),
        notes=(*notes, *(f"{one.name}: {one.why_not}" for one in found.variants if one.ranks is None)),
    )


def show_bounds(bounds: Sequence[ModelBound], notes: Sequence[str] = ()) -> Section:
    """Show what the frameworks' own models promise."""
    inside, known = share_inside(bounds)
    told = (
        f"Where a framework predicts with that very model, its test score lay within the bound in {inside} of "
        f"{counted(known, 'job')}."
        if known
        else "No framework here predicts with a single model of these: all combine them."
    )
    return Section(
        f"The best single model of each of {counted(len(bounds), 'job')}, by the framework's own out-of-fold "
        f"predictions, corrected for having been chosen. {told}",
        "The framework's score in the test is of whatever it predicts with, mostly an ensemble: it may be better than "
        "its best model. Bounds hold with 95 % (BBC, 1000 draws of rows).",
        tables=(Table(*bounds_text(bounds, _four)),),
        notes=tuple(notes),
    )


def show_cells(cells: Sequence[TaskCell]) -> Section:
    """Show all scores."""
    heads, lines = cells_text(cells)
    return Section(
        "Mean (deviation) over completed folds, in the metric's own direction; ✗ counts the folds that failed.",
        "Deviations of folds are no standard errors of the mean: folds share training rows.",
        tables=(Table(heads, lines),),
    )


def _figures(record: Any, how: str = "") -> tuple[str, ...]:
    try:
        return (draw(record, how=how),)
    except NotInstalled:  # without matplotlib the tables still stand
        return ()


def _listed(names: Sequence[str], most: int = 8) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _four(value: float | None) -> str:
    return "–" if value is None or not isfinite(value) else f"{value:.4g}"


def _two(value: float | None) -> str:
    return "–" if value is None or not isfinite(value) else f"{value:.2f}"


def _whole(value: float | None) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:.0f}" if isfinite(value) else ("∞" if value > 0 else "-∞")


def _percent(value: float | None) -> str:
    return "–" if value is None or not isfinite(value) else f"{100 * value:.1f} %"


def _range(low: float | None, high: float | None, show: Any = _two) -> str:
    return "–" if low is None or high is None else f"{show(low)} to {show(high)}"


def _seconds(value: float | None) -> str:
    """Return a duration in seconds, so that a column sorts by what it shows."""
    if value is None or not isfinite(value):
        return "–"
    return f"{value:,.0f} s".replace(",", "\u2009") if value >= 100 else f"{value:.3g} s"
