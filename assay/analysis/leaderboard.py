"""Standings over all tasks: rank and Elo with intervals, tie groups, scores, times, failures; and the trust line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np

from assay.analysis.filter import labelled
from assay.analysis.impute import FoldScores, Policy, gather
from assay.analysis.options import Option
from assay.analysis.pairwise import MIN_TASKS, Pairwise, compare_pairwise
from assay.analysis.rank_tests import task_ranks
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec, SectionSpec
from assay.analysis.standings import Cell, Standing, make_cells_by_task, make_standings
from assay.analysis.trust import trust
from assay.analysis.wording import count_of, decimals, listed, percent, rating, significant, value_range
from assay.typing import Frame, JsonObject

if TYPE_CHECKING:
    from assay.analysis.inputs import Inputs
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "Cell", "Leaderboard", "Standing", "make_leaderboard", "shown_name"]

OVER_BUDGET = 1.005  # a fit may take half a per cent longer than its budget: clocks and clean-up
MOST_TASKS = 8  # more columns would not fit a terminal
MARKS = {"marked": "†", "excluded": "††"}
MEANINGS = {"marked": "", "excluded": ", and no task can be kept out"}


@dataclass(frozen=True)
class LeaderboardOptions:
    """How sure a leaderboard is made."""

    draws: Annotated[int, Option("Number of draws of tasks, for the intervals.", least=1)] = 1000


@dataclass(frozen=True)
class Leaderboard(AnalysisRecord):
    """Standings from best to worst, the cells behind them, and what to know before believing them.

    `draws` is 0 where there are no intervals; `pairs` are the comparisons behind Elo, None with fewer than two ranked.
    """

    NOTE_WORD: ClassVar[str] = "warning"

    standings: tuple[Standing, ...]
    cells: Mapping[tuple[str, str], Cell]
    metrics: Mapping[str, str]
    higher_is_better: Mapping[str, bool]
    anchor: str
    draws: int
    n_tasks: int
    trust: str
    policy: str = "constant"
    pairs: Pairwise | None = field(default=None, compare=False)
    notes: tuple[str, ...] = ()

    def ranked(self) -> list[Standing]:
        """Return the standings that have a rank."""
        return [standing for standing in self.standings if standing.rank is not None]

    def rows(self) -> list[JsonObject]:
        """Return one row per framework, best first."""
        return [asdict(standing) for standing in self.standings]

    def to_json(self) -> JsonObject:
        """Return the standings, the cells of all tasks, and the conditions."""
        cells = [
            {"task": task, "framework": name, "metric": self.metrics[task], **asdict(cell)}
            for (task, name), cell in self.cells.items()
        ]
        same = {"n_tasks": self.n_tasks, "draws": self.draws, "anchor": self.anchor, "trust": self.trust}
        values = {"standings": self.standings, "cells": cells, **same, "warnings": self.notes}
        return as_json(values)

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return the standings and, where there are few tasks, the mean score on each task."""
        standings = TextTable(*self._standings_table(medium))
        heads, means = self.means()
        if not heads or medium.name != "terminal":
            return (standings,)
        lines = [
            [shown_name(standing), *cells] for standing, cells in zip(self.standings, means, strict=True)
        ]
        return (standings, TextTable(["framework", *heads], lines))

    def _standings_table(self, medium: Medium) -> tuple[list[str], list[list[object]]]:
        """Return heads and lines; intervals, groups and Elo only where there are tasks enough for them."""
        on_page = medium.name == "page"
        sure = (">95 %", ">group", ">Elo", ">95 %") if self.draws else ()
        heads = ["framework", ">rank", *sure, ">wins", *((">win rate",) if on_page else ()), ">scaled", ">ok"]
        heads += [">failed", *((">imputed",) if on_page else ()), ">fit (median)", ">per row"]
        lines = []
        for standing in self.standings:
            line: list[object] = [shown_name(standing), decimals(standing.rank)]
            if self.draws:
                line += [_interval(standing.rank_low, standing.rank_high, decimals), standing.group]
                line += [rating(standing.elo), _interval(standing.elo_low, standing.elo_high, rating)]
            line += [
                standing.wins,
                *((percent(standing.win_rate),) if on_page else ()),
                decimals(standing.scaled),
            ]
            line += [standing.ok, standing.failed, *((standing.imputed,) if on_page else ())]
            lines.append([*line, medium.seconds(standing.fit_s), medium.seconds(standing.row_s)])
        return heads, lines

    def means(self) -> tuple[list[str], list[list[str]]]:
        """Return a head per task and the means of its metric for each standing; none where they do not fit."""
        tasks = list(self.metrics) if len(self.metrics) <= MOST_TASKS else []
        arrows = {task: "↑" if self.higher_is_better[task] else "↓" for task in tasks}
        heads = [f">{task} ({self.metrics[task]}{arrows[task]})" for task in tasks]
        lines = []
        for standing in self.standings:
            cells = [self.cells.get((task, standing.framework)) for task in tasks]
            lines.append(
                [f"{significant(cell.mean)}{'*' if cell.imputed else ''}" if cell else "–" for cell in cells]
            )
        return heads, lines

    def summary(self) -> str:
        """Say who is first, and how clearly."""
        ranked = self.ranked()
        tasks = count_of(self.n_tasks, "task")
        if len(ranked) < 2:
            return "There are no two frameworks that can be ranked against each other."
        if ranked[0].rank == ranked[1].rank:
            equal = [standing.framework for standing in ranked if standing.rank == ranked[0].rank]
            return f"Tied for first, on {tasks}: {listed(equal)}."
        first = f"{ranked[0].framework} comes out first on {tasks}"
        if not self.draws:
            return f"{first}, too few to say how sure that is."
        tied = [standing.framework for standing in ranked if standing.group == 1][1:]
        if tied:
            return f"{first}. It is not clearly better than {listed(tied)}."
        return f"{first}. It is clearly ahead of all others."

    def caveat(self) -> str:
        """Say what the intervals are about."""
        if not self.draws:
            return f"Intervals and groups need two frameworks and {MIN_TASKS} tasks."
        return (
            f"Intervals come from {self.draws} draws of tasks with all their folds: they apply to tasks like these. "
            "Frameworks of one group do not clearly differ from its first. Scaled scores go from the worst (0) to the "
            "best (1)."
        )

    def remarks(self) -> tuple[str, ...]:
        """Say what the intervals are from, what the marks mean, and under which conditions the rows were made."""
        lines = []
        if self.draws:
            lines.append(
                f"95 % over {self.draws} draws of {self.n_tasks} tasks; Elo 1000 is {self.anchor}. The first of a "
                "group is not clearly better than the others of it."
            )
        elif len(self.ranked()) > 1:
            lines.append(f"Too few tasks in common for intervals, groups and Elo: {self.n_tasks}.")
        return (*lines, *self.marks())

    def marks(self) -> tuple[str, ...]:
        """Return what the marks in the tables mean, and the trust line."""
        lines = []
        if len(self.metrics) <= MOST_TASKS and any(cell.imputed for cell in self.cells.values()):
            lines.append("* with failed folds imputed")
        levels = {standing.meta_learning for standing in self.standings}
        lines += [
            f"{mark} {level}: learned from public data sets beforehand{MEANINGS[level]}"
            for level, mark in MARKS.items()
            if level in levels
        ]
        return (*lines, f"trust: {self.trust}")

    def page_notes(self) -> tuple[str, ...]:
        """Return the notes and the conditions under which the rows were made."""
        return (*self.notes, f"Conditions: {self.trust}.")

    def drawings(self) -> tuple[Drawing, ...]:
        """Return Elo with its intervals."""
        from assay.drawing import Drawing

        if self.pairs is None:
            return (Drawing(1, 1, lambda figure: None, empty="There are no two frameworks to compare"),)
        return (self.pairs.elo_drawing(on_page=self.draws > 0),)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say what failures counted as, and where Elo and intervals are from."""
        imputed = sum(standing.imputed for standing in self.standings)
        failures = ("Failures in the standings", f"{self.policy} ({count_of(imputed, 'fold')} imputed)")
        return (failures, *(self.pairs.methods() if self.pairs and self.draws else ()))


def shown_name(standing: Standing) -> str:
    """Return a framework's name with the mark of what it learned beforehand."""
    return standing.framework + MARKS.get(standing.meta_learning, "")


def _interval(low: float | None, high: float | None, show: Callable[[float | None], str]) -> str:
    return value_range(show(low), show(high))


def make_leaderboard(
    table: Frame,
    random: np.random.Generator,
    policy: Policy = "constant",
    draws: int = 1000,
    include_excluded: bool = False,
    impute_not_own: bool = False,
    frameworks: Sequence[str] = (),
) -> Leaderboard:
    """Rank the frameworks of a scores table that has one metric per task.

    A failed fold counts as the constant predictor's result on that fold, as in the AMLB paper; where that was not
    run, as the worst result of the fold. Ranks compare on the folds that all ranked frameworks have. Frameworks that
    cannot be evaluated cleanly, because what they learned beforehand may hold the very tasks, are shown without a
    rank, and do not push others down, unless `include_excluded`.

    Args:
        table: rows of the scores table.
        random: where the draws of tasks come from.
        policy: what a failure counts as.
        draws: how many draws of tasks the intervals are from.
        include_excluded: rank those too.
        impute_not_own: whether `setup`, `data` and `lost` count as failures too.
        frameworks: labels to show; empty for all. The others still serve to impute with.
    """
    table = labelled(table)
    lacks_constant = policy == "constant" and not (table["role"] == "constant").any()
    policy = "worst" if lacks_constant else policy
    scores = gather(table, policy, impute_not_own)
    if frameworks:
        scores, table = scores.keep(frameworks), table[table["label"].isin(frameworks)]
    ranked, _ = scores.ranked(include_excluded)
    compared, left_out = ranked.complete()
    ranks = task_ranks(compared.means()) if compared.tasks else np.empty((0, 0))
    pairs = compare_pairwise(compared, random, draws) if ranks.shape[1] > 1 and draws else None
    standings = make_standings(table, scores, compared, ranks, pairs)
    cells = make_cells_by_task(scores)
    shown = {
        task: at for at, task in enumerate(scores.tasks) if any((task, f) in cells for f in scores.frameworks)
    }
    return Leaderboard(
        standings=standings,
        cells=cells,
        metrics={task: scores.metrics[at] for task, at in shown.items()},
        higher_is_better={task: scores.higher[at] for task, at in shown.items()},
        anchor=pairs.anchor if pairs else "",
        draws=draws if pairs and len(compared.tasks) >= MIN_TASKS else 0,
        n_tasks=len(compared.tasks),
        trust=trust(table),
        policy=policy,
        pairs=pairs,
        notes=(*left_out, *_warnings(table, scores, standings, lacks_constant)),
    )


def _warnings(
    table: Frame, scores: FoldScores, standings: Sequence[Standing], lacks_constant: bool
) -> list[str]:
    out = []
    if table["enforcement"].nunique() > 1:
        out.append("Rows of different tiers are mixed: their limits were not enforced alike.")
    for standing in standings:
        if standing.meta_learning:
            out.append(_meta_learned(standing))
        if standing.constant_predictions:
            out.append(
                f"{standing.framework} gave constant predictions in {standing.constant_predictions} job(s)."
            )
    over = [s for s in standings if s.fit_share is not None and s.fit_share > OVER_BUDGET]
    if over:
        shares = ", ".join(f"{standing.framework} {standing.fit_share:.0%}" for standing in over)
        out.append(f"Exceeded the time budget, with the longest fit as a share of it: {shares}.")
    if lacks_constant and scores.imputed.any():
        out.append("Failed folds count as the worst result of the fold: the constant predictor was not run.")
    return [*out, *scores.notes]


def _meta_learned(standing: Standing) -> str:
    start = f"{standing.framework} was meta-trained on public data sets, perhaps on these"
    if standing.meta_learning != "excluded":
        return f"{start}: read its results with care."
    ranked = "it is ranked because that was asked for" if standing.rank is not None else "it is not ranked"
    return f"{start}, and none can be kept out of it: {ranked}."


def compute(inputs: Inputs, options: LeaderboardOptions) -> Leaderboard:
    """Rank the frameworks that are looked at; frameworks that cannot be ranked are in it too."""
    board = make_leaderboard(
        inputs.everybody,
        inputs.random(),
        inputs.impute,
        options.draws,
        inputs.include_excluded,
        inputs.impute_not_own,
        list(dict.fromkeys(inputs.rows["label"])),
    )
    return replace(board, notes=(*inputs.notes, *board.notes))


ANALYSIS = AnalysisSpec(
    name="leaderboard",
    title="Standings",
    help="Rank the frameworks: average rank and Elo with intervals over tasks, tie groups, wins, times, failures.",
    compute=compute,
    options=LeaderboardOptions,
    examples=("leaderboard --store results", "leaderboard --scores results.csv --type binary"),
    sections=(SectionSpec("standings", "Standings"),),
    figures={"figure": "Draw Elo with its intervals: SVG, PDF or PNG."},
)
