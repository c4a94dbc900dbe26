"""The sections of a report: what one sees, in a sentence, how far to trust it, a figure and a table. No statistics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.failures import CATEGORIES
from assay.analysis.trees import TreeSettings
from assay.errors import NotInstalled, UserError
from assay.report.figures import draw
from assay.report.tables import cells_text, split_words

if TYPE_CHECKING:
    from assay.analyse import Analysis

__all__ = ["Section", "Table", "make_sections"]


@dataclass(frozen=True)
class Table:
    """Heads and lines; heads that begin with `>` are of numbers."""

    heads: Sequence[str]
    lines: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class Section:
    """One part of the report. `empty` says why there is nothing to show; then the rest is empty too."""

    name: str
    title: str
    sees: str = ""
    trust: str = ""
    figure: str = ""
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    empty: str = ""


@dataclass(frozen=True)
class _Part:
    name: str
    title: str
    make: Callable[[Analysis], Section]
    why: str = field(default="")


def make_sections(data: Analysis) -> tuple[Section, ...]:
    """Return all sections; one that cannot be made says why instead."""
    return tuple(_made(part, data) for part in PARTS)


def _made(part: _Part, data: Analysis) -> Section:
    try:
        return part.make(data)
    except UserError as error:
        return Section(part.name, part.title, empty=str(error))


def _figure(record: Any) -> str:
    try:
        return draw(record)
    except NotInstalled:  # without matplotlib the tables still stand
        return ""


def _standings(data: Analysis) -> Section:
    found, notes = data.pairwise()
    imputed, first = data.imputed(), found.frameworks[0]
    tied = [name for name, group in zip(found.frameworks, found.group, strict=True) if group == 1][1:]
    lines = [
        [
            found.group[i], name, f"{found.rank[i]:.2f}", f"{found.rank_low[i]:.2f} to {found.rank_high[i]:.2f}",
            _round(found.elo[i]), f"{_round(found.elo_low[i])} to {_round(found.elo_high[i])}",
            f"{100 * found.win_rate[i]:.1f}", f"{100 * found.improvability[i]:.1f}", imputed.get(name, 0),
        ]
        for i, name in enumerate(found.frameworks)
    ]  # fmt: skip
    heads = [
        ">group",
        "framework",
        ">rank",
        ">95 %",
        ">Elo",
        ">95 %",
        ">wins %",
        ">improvable %",
        ">imputed folds",
    ]
    clear = (
        f"It is not clearly better than {', '.join(tied)}." if tied else "It is clearly ahead of all others."
    )
    return Section(
        "standings",
        "Standings",
        f"{first} comes out first on {found.n_tasks} tasks. {clear}",
        f"Intervals are from {found.draws} draws of tasks with all their folds. They speak of tasks like these; with "
        "few tasks they are too narrow. Those of one group do not clearly differ from its first.",
        tables=(Table(heads, lines),),
        notes=notes,
    )


def _ranks(data: Analysis) -> Section:
    found, notes = data.ranks()
    p = found.iman_davenport.p
    said = "differ" if p < found.alpha else "do not clearly differ"
    marks = [[name, f"{rank:.3f}"] for name, rank in zip(found.frameworks, found.average, strict=True)]
    return Section(
        "ranks",
        "Average ranks",
        f"Average ranks {said} (Iman–Davenport p {p:.2g}). Two must lie {found.critical_distance:.2f} apart to differ "
        f"clearly; bars join those that do not.",
        "Nemenyi's test keeps its level for all pairs together and is cautious: it does not find all that is there.",
        _figure(found),
        (Table(["framework", ">average rank"], marks),),
        notes,
    )


def _boxes(data: Analysis) -> Section:
    found, notes = data.scaled()
    middle = np.nanmedian(found.values, axis=0)
    best = found.frameworks[int(np.nanargmax(middle))]
    lines = [[name, f"{middle[j]:.3f}"] for j, name in enumerate(found.frameworks)]
    left = (
        f" {len(found.without_scale)} tasks have no scale: the forest is the best."
        if found.without_scale
        else ""
    )
    return Section(
        "scaled",
        "Scores on one scale",
        f"Each task is scaled from {found.reference} (-1) to the best (0). {best} has the highest median.{left}",
        "A scale by the best makes small differences on hard tasks look as large as large ones on easy tasks.",
        _figure(found),
        (Table(["framework", ">median"], lines),),
        notes,
    )


def _tree(data: Analysis) -> Section:
    found, notes = data.tree(settings=TreeSettings())
    leaves = [node for node in found.nodes if node.split is None]
    lines = []
    for node in found.nodes:
        best = sorted(node.worth.items(), key=lambda item: -item[1])[:3]
        strongest = ", ".join(f"{name} {worth:.2f}" for name, worth in best)
        lines.append([node.id, split_words(found, node).rstrip(": ") or "all tasks", node.n_tasks, strongest])
    sees = (
        f"Strengths change with the properties of the tasks: {len(leaves)} kinds of tasks."
        if len(leaves) > 1
        else "No property of the tasks was found along which strengths change."
    )
    return Section(
        "tree",
        "Which framework for which tasks",
        sees,
        "Folds of a task are not taken as independent; with few tasks per leaf the strengths are rough.",
        _figure(found),
        (Table([">node", "tasks with", ">tasks", "strongest (worth)"], lines),),
        notes,
    )


def _pareto(data: Analysis) -> Section:
    against = "inference"
    found, notes = data.pareto(against)
    if not found.points:
        against = "training"
        found, notes = data.pareto(against)
    if not found.points:
        raise UserError("No seconds are known.")
    front = [point.framework for point in found.points if point.on_front]
    lines = [
        [p.framework, f"{p.score:.3f}", f"{p.seconds:.3g}", "yes" if p.on_front else ""] for p in found.points
    ]
    return Section(
        "pareto",
        f"Scores against seconds of {against}",
        f"Not beaten in both: {', '.join(front)}.",
        "Times depend on the machine; compare them only between jobs of the same one.",
        _figure(found),
        (Table(["framework", ">scaled score", ">seconds", "on the front"], lines),),
        notes,
    )


def _failures(data: Analysis) -> Section:
    found = data.failures()
    lines = [
        [one.name, one.jobs, one.failed, *(one.by_category[name] for name in CATEGORIES)]
        for one in found.by_framework
    ]
    tasks = [[one.name, one.jobs, one.failed] for one in found.by_task if one.failed]
    told = [
        [e["framework"], e["category"], e["jobs"], e["task"], str(e["message"])[:160]] for e in found.examples
    ]
    tables = [Table(["framework", ">jobs", ">failed", *(f">{name}" for name in CATEGORIES)], lines)]
    if tasks:
        tables.append(Table(["task", ">jobs", ">failed"], tasks))
    if told:
        tables.append(Table(["framework", "category", ">jobs", "for example", "message"], told))
    return Section(
        "failures",
        "Failures",
        f"{found.failed} of {found.jobs} jobs failed."
        if found.failed
        else f"None of {found.jobs} jobs failed.",
        "Categories of errors follow from their texts by rules; the line between data and implementation is rough.",
        tables=tuple(tables),
    )


def _time(data: Analysis) -> Section:
    times = data.fit_times()
    over = [one.framework for one in times if one.over_budget]
    lines = [
        [
            one.framework, one.constraint, one.jobs, f"{one.least:.4g}", f"{one.median:.4g}", f"{one.most:.4g}",
            one.over_budget, one.timeouts,
        ]
        for one in times
    ]  # fmt: skip
    sees = (
        f"Longer than told trained, at least once: {', '.join(over)}."
        if over
        else "All kept to their budgets."
    )
    heads = [
        "framework",
        "constraint",
        ">jobs",
        ">least s",
        ">median s",
        ">most s",
        ">over budget",
        ">timeouts",
    ]
    return Section("time", "Training time", sees, "Jobs that failed for other reasons are left out.",
                   tables=(Table(heads, lines),))  # fmt: skip


def _sensitivity(data: Analysis) -> Section:
    found, notes = data.sensitivity()
    usable = [one for one in found.variants if one.ranks is not None]
    lines = [
        [name, *(f"{one.ranks[j]:.2f}" for one in usable if one.ranks is not None)]
        for j, name in enumerate(found.frameworks)
    ]
    changed = sum(bool(one.new_leader) for one in found.tasks)
    rate = found.detectable_win_rate
    power = f"a win rate of {rate:.0%} against another" if rate else "no win rate, however high,"
    return Section(
        "sensitivity",
        "Would other choices change it?",
        f"Leaving out one task changes the leader in {changed} of {found.n_tasks} cases. With {found.n_tasks} tasks, "
        f"{power} would be found in four of five such suites.",
        "Columns are average ranks under other imputations and other metrics, on the tasks that have them.",
        tables=(Table(["framework", *(f">{one.name}" for one in usable)], lines),),
        notes=notes,
    )


def _cells(data: Analysis) -> Section:
    heads, lines = cells_text(data.cells())
    return Section(
        "scores",
        "All scores",
        "Mean (deviation) over completed folds, in the metric's own direction; ✗ counts the folds that failed.",
        "Deviations of folds are no standard errors of the mean: folds share training rows.",
        tables=(Table(heads, lines),),
    )


def _round(value: float) -> str:
    return f"{value:.0f}" if isfinite(value) else ("∞" if value > 0 else "-∞")


PARTS = (
    _Part("standings", "Standings", _standings),
    _Part("ranks", "Average ranks", _ranks),
    _Part("scaled", "Scores on one scale", _boxes),
    _Part("tree", "Which framework for which tasks", _tree),
    _Part("pareto", "Scores against seconds", _pareto),
    _Part("time", "Training time", _time),
    _Part("failures", "Failures", _failures),
    _Part("sensitivity", "Would other choices change it?", _sensitivity),
    _Part("scores", "All scores", _cells),
)
