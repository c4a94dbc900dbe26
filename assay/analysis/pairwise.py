"""Who beats whom: win rates, Bradley–Terry strengths and Elo, with intervals that take tasks as what is random."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isfinite
from typing import TYPE_CHECKING, Annotated

import numpy as np

from assay.analysis.bradley_terry import Tallies, fit, fit_nearby, tally
from assay.analysis.impute import FoldScores
from assay.analysis.options import Option
from assay.analysis.rank_tests import task_ranks
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json, square_json
from assay.analysis.registry import AnalysisSpec, SectionSpec
from assay.analysis.task_draws import (
    MIN_TASKS,
    UNBOUNDED,
    bounded,
    elo_of,
    interval_of,
    places_of,
    share_above,
    tail_of,
    tie_groups,
)
from assay.analysis.wording import count_of, decimals, percent, rating, value_range
from assay.errors import UserError
from assay.typing import Floats, Ints, JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "MIN_TASKS", "Pairwise", "compare_pairwise", "tail_of"]

DIGITS = 9  # of log strengths: those of equal frameworks differ by rounding


@dataclass(frozen=True)
class PairOptions:
    """How pairs are compared."""

    draws: Annotated[int, Option("Number of draws of tasks, for the intervals.", least=1)] = 1000
    anchor: Annotated[str, Option("Framework whose Elo is 1000; default: the random forest.")] = ""


@dataclass(frozen=True)
class Pairwise(AnalysisRecord):
    """Frameworks by strength, best first; all arrays follow this order.

    Attributes:
        wins, ties: (m, m) tasks on which the row's mean score is better than, or equal to, the column's.
        win_rate: (m) share of comparisons won on folds, ties counting half, every task counting alike.
        elo: (m) with `anchor` at 1000; `elo_low` and `elo_high` its interval; infinite where there is no finite
            distance to the middle: it, or it and some others, won or lost everything against the rest.
        rank: (m) average rank over tasks; `rank_low` and `rank_high` its interval. NaN where there are no intervals.
        place: (m, 2) the places from 1 between which it comes out in 95 % of the draws.
        group: (m) number of its tie group by strength: the first of a group is not clearly better than the others,
            for all pairs together.
        rank_group: (m) the same by average rank, in the order of average ranks.
        improvability: (m) mean over tasks of how much smaller its error would be if it were the best one's.
        mean_reciprocal_rank: (m).
        better: (m, m) share of the draws in which the row's strength is above the column's.
        first_share: (m) share of the draws in which it is the strongest.
    """

    frameworks: tuple[str, ...]
    n_tasks: int
    draws: int
    anchor: str
    wins: Ints
    ties: Ints
    win_rate: Floats
    worth: Floats
    elo: Floats
    elo_low: Floats
    elo_high: Floats
    rank: Floats
    rank_low: Floats
    rank_high: Floats
    place: Ints
    group: Ints
    rank_group: Ints
    improvability: Floats
    mean_reciprocal_rank: Floats
    better: Floats
    first_share: Floats
    notes: tuple[str, ...] = ()

    @property
    def has_intervals(self) -> bool:
        """Whether there are tasks enough for intervals and groups."""
        return self.n_tasks >= MIN_TASKS

    def rows(self) -> list[JsonObject]:
        """Return one row per framework, strongest first."""
        single = ("elo", "worth", "win_rate", "rank", "group", "improvability", "mean_reciprocal_rank")
        return [
            {
                "framework": name,
                **{key: getattr(self, key)[at].item() for key in single},
                "elo_low": float(self.elo_low[at]),
                "elo_high": float(self.elo_high[at]),
                "rank_low": float(self.rank_low[at]),
                "rank_high": float(self.rank_high[at]),
                "first_place": int(self.place[at][0]),
                "last_place": int(self.place[at][1]),
                "best_share": float(self.first_share[at]),
            }
            for at, name in enumerate(self.frameworks)
        ]

    def to_json(self) -> JsonObject:
        """Return the frameworks, and who beat whom how often."""
        ends = {"elo_interval": ("elo_low", "elo_high"), "rank_interval": ("rank_low", "rank_high")}
        ends["places"] = ("first_place", "last_place")
        frameworks = []
        for row in self.rows():
            pairs = {name: [row.pop(low), row.pop(high)] for name, (low, high) in ends.items()}
            frameworks.append({**row, **pairs})
        squares = {
            name: square_json(self.frameworks, getattr(self, name)) for name in ("wins", "ties", "better")
        }
        losses = square_json(self.frameworks, self.wins.T)
        same = {"draws": self.draws, "anchor": self.anchor, "n_tasks": self.n_tasks, "notes": self.notes}
        return as_json({"frameworks": frameworks, **squares, "losses": losses, **same})

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return one line per framework; intervals, groups and places only where there are tasks enough."""
        heads = ["framework", ">Elo", *((">95 %", ">group", ">places") if self.has_intervals else ())]
        lines = []
        for at, name in enumerate(self.frameworks):
            line: list[object] = [name, rating(self.elo[at])]
            if self.has_intervals:
                line += [
                    value_range(rating(self.elo_low[at]), rating(self.elo_high[at])),
                    int(self.group[at]),
                ]
                line += [f"{self.place[at][0]} to {self.place[at][1]}"]
            line += [decimals(self.rank[at]), percent(self.win_rate[at]), percent(self.improvability[at])]
            lines.append([*line, decimals(self.mean_reciprocal_rank[at])])
        return (TextTable([*heads, ">rank", ">wins", ">improvable", ">1/rank"], lines),)

    def summary(self) -> str:
        """Say how to read the matrix, and how often the first and the last win."""
        first, last = self.frameworks[0], self.frameworks[-1]
        return (
            "Read along a row: the share of tasks on which it is better than each other framework. "
            f"{first} wins {percent(self.win_rate[0], 0)} of its comparisons, {last} {percent(self.win_rate[-1], 0)}."
        )

    def caveat(self) -> str:
        """Say what a win ignores."""
        return (
            "A win counts the same however small it is. Improvable: by how much the error would shrink if it were that "
            "of the best framework."
        )

    def remarks(self) -> tuple[str, ...]:
        """Say what the intervals are from."""
        if not self.has_intervals:
            few = f"{count_of(self.n_tasks, 'task')}: too few for intervals and groups."
            return (f"{few} Elo 1000 is {self.anchor}.",)
        return (
            f"{self.n_tasks} tasks, {self.draws} draws of them; Elo 1000 is {self.anchor}.",
            "The first of a group is not clearly better than the others of it.",
        )

    def drawings(self) -> tuple[Drawing, ...]:
        """Return the matrix of wins, and Elo with its intervals."""
        from assay.drawing import Drawing, square_size

        wins = Drawing(*square_size(len(self.frameworks)), self._draw_wins)
        return (wins, self.elo_drawing(flag="elo-figure", on_page=False))

    def elo_drawing(self, flag: str = "figure", on_page: bool = True) -> Drawing:
        """Return Elo with its intervals as a figure."""
        from assay.drawing import Drawing, rows_size

        # Who wins or loses every comparison has no finite strength; a figure of such frameworks alone would be empty.
        empty = "" if np.isfinite(self.elo).any() else "No framework has a finite Elo"
        size = rows_size(len(self.frameworks))
        return Drawing(*size, self._draw_elo, flag=flag, on_page=on_page and not empty, empty=empty)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say which model Elo is from, and how many draws the intervals."""
        return (
            (
                "Elo",
                "Bradley–Terry with ties (Davidson) on all pairs on all folds, tasks counting alike; "
                f"{self.anchor} is at 1000; {count_of(self.draws, 'draw')} of tasks",
            ),
        )

    def _draw_wins(self, figure: Figure) -> None:
        """Draw the share of tasks on which the row beats the column, ties counting half."""
        from assay.drawing import paint_square

        share = (self.wins + self.ties / 2) / max(self.n_tasks, 1)
        paint_square(
            figure, self.frameworks, share, "share of tasks on which the row is better than the column"
        )

    def _draw_elo(self, figure: Figure) -> None:
        """Draw Elo with its intervals, best first; tie groups change the colour."""
        from assay.drawing import COLOURS, HIGHLIGHT, label_rows

        axes = figure.add_subplot()
        for at, name in enumerate(self.frameworks):
            elo = float(self.elo[at])
            colour = (COLOURS[0], HIGHLIGHT)[(int(self.group[at]) - 1) % 2]
            if not isfinite(elo):
                edge = axes.get_xlim()[1 if elo > 0 else 0]
                axes.annotate("won all" if elo > 0 else "lost all", (edge, at), va="center", fontsize=8)
                continue
            ends = [value for value in (self.elo_low[at], self.elo_high[at]) if np.isfinite(value)]
            axes.plot([*ends, *([elo] * (2 - len(ends)))], [at, at], color=colour, lw=1.5)
            axes.plot([elo], [at], "o", color=colour, ms=5, label=name)
        label_rows(axes, self.frameworks)
        axes.set_xlabel(f"Elo, {self.anchor} at 1000, with 95 % intervals over tasks")


def compare_pairwise(
    scores: FoldScores, random: np.random.Generator, draws: int = 1000, anchor: str = ""
) -> Pairwise:
    """Compare all pairs on all folds; draw tasks with replacement for intervals.

    Folds of a task are no independent observations, so a task is drawn with all its folds; each task counts alike,
    however many folds it has. With fewer than five tasks there are no intervals, and nobody is clearly better.

    Args:
        scores: folds × frameworks without holes.
        random: where the draws come from.
        draws: how many.
        anchor: the framework whose Elo is 1000; by default a random forest, else the mean of all.
    """
    m, n_tasks = len(scores.frameworks), len(scores.tasks)
    if m < 2:
        raise UserError("At least two frameworks are needed to compare pairs.")
    if not n_tasks:
        raise UserError("There is no task on which all frameworks have a score.")
    if np.isnan(scores.values).any():
        raise UserError(
            "Scores are missing: impute them (`impute`), or leave out the tasks or frameworks.", ["impute"]
        )
    points, ties = _points_by_task(scores)
    means = scores.means()
    ranks = task_ranks(means)
    weights = random.multinomial(n_tasks, np.full(n_tasks, 1 / n_tasks), size=draws).astype(float)
    everybody = n_tasks * (1 - np.eye(m))
    best = fit(Tallies(points.sum(axis=0), ties.sum(), everybody))
    drawn = fit_nearby(weights @ points, weights @ ties, n_tasks, best).round(DIGITS)
    who, base = _anchor(scores, anchor, best.strengths)
    elo, drawn_elo = elo_of(best.strengths[None].round(DIGITS), base)[0], elo_of(drawn, base)
    drawn_ranks = weights @ ranks / n_tasks
    order = np.lexsort((ranks.mean(axis=0), -elo))
    tail = tail_of(n_tasks)
    low, high = interval_of(drawn_elo, tail)
    rank_low, rank_high = interval_of(drawn_ranks, tail)
    if n_tasks < MIN_TASKS:
        low, high, rank_low, rank_high = (np.full(m, np.nan) for _ in range(4))
    better = share_above(drawn)
    average = ranks.mean(axis=0)
    strength, drawn_strength = bounded(best.strengths[None])[0], bounded(drawn)
    wins, even = _matrix(means)
    pair = np.ix_(order, order)
    return Pairwise(
        frameworks=tuple(scores.frameworks[i] for i in order),
        n_tasks=n_tasks,
        draws=draws,
        anchor=who,
        wins=wins[pair],
        ties=even[pair],
        win_rate=(points.mean(axis=0) / (m - 1))[order],
        worth=best.worths[order],
        elo=elo[order],
        elo_low=low[order],
        elo_high=high[order],
        rank=ranks.mean(axis=0)[order],
        rank_low=rank_low[order],
        rank_high=rank_high[order],
        place=places_of(drawn, tail)[order],
        group=tie_groups(strength, drawn_strength, order, n_tasks)[order],
        rank_group=tie_groups(-average, -drawn_ranks, np.argsort(average, kind="stable"), n_tasks)[order],
        improvability=_improvability(scores, means)[order],
        mean_reciprocal_rank=(1 / ranks).mean(axis=0)[order],
        better=better[pair],
        first_share=np.bincount(drawn.argmax(axis=1), minlength=m)[order] / max(draws, 1),
    )


def _points_by_task(scores: FoldScores) -> tuple[Floats, Floats]:
    """Return points (tasks, m) and ties (tasks), means over the folds of each task."""
    points, ties = tally(scores.scores)
    counts = np.bincount(scores.task, minlength=len(scores.tasks)).astype(float)
    summed = np.zeros((len(scores.tasks), points.shape[1]))
    np.add.at(summed, scores.task, points)
    even = np.bincount(scores.task, weights=ties, minlength=len(scores.tasks))
    return summed / counts[:, None], even / counts


def _anchor(scores: FoldScores, requested: str, strengths: Floats) -> tuple[str, int | None]:
    names = scores.frameworks
    if requested and requested not in names:
        raise UserError(f"Unknown anchor '{requested}': give one of {', '.join(names)}.")
    anchor = requested or scores.forest
    if not anchor or abs(bounded(strengths)[names.index(anchor)]) >= UNBOUNDED:
        return "the mean", None  # one without bound is no measure for the others
    return anchor, names.index(anchor)


def _matrix(means: Floats) -> tuple[Ints, Ints]:
    wins = (means[:, :, None] > means[:, None, :]).sum(axis=0)
    even = (means[:, :, None] == means[:, None, :]).sum(axis=0)
    np.fill_diagonal(even, 0)
    return wins, even


def _improvability(scores: FoldScores, means: Floats) -> Floats:
    """Return 1 - (best error / own error), means over tasks; scores that should be high have the error 1 - score.

    Tasks on which that is no error, because a score is above 1 or a loss below 0, are left out; NaN where all are.
    """
    errors = np.where(np.array(scores.higher)[:, None], 1 - means, -means)
    errors = errors[(errors >= 0).all(axis=1)]
    if not len(errors):
        return np.full(means.shape[1], np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        gain = 1 - errors.min(axis=1, keepdims=True) / errors
    means_over_tasks: Floats = np.where(errors > 0, gain, 0.0).mean(axis=0)
    return means_over_tasks


def compute(inputs: Inputs, options: PairOptions) -> Pairwise:
    """Compare all pairs of the frameworks that can be compared."""
    compared = inputs.compared
    pairs = compare_pairwise(compared.scores, inputs.random(), options.draws, options.anchor)
    return replace(pairs, notes=compared.notes)


ANALYSIS = AnalysisSpec(
    name="pairwise",
    title="Who beats whom",
    help="Show who beats whom: win rates, Bradley–Terry strengths and Elo with intervals over tasks, tie groups.",
    compute=compute,
    options=PairOptions,
    examples=("pairwise --scores results.csv",),
    sections=(SectionSpec("pairs", "Who beats whom"),),
    figures={
        "figure": "Draw the share of tasks that each framework wins against each other: SVG, PDF or PNG.",
        "elo-figure": "Draw Elo with its intervals: SVG, PDF or PNG.",
    },
)
