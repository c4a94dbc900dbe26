"""Average ranks over tasks, and which of their differences are more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from math import isfinite, sqrt
from string import ascii_letters
from typing import TYPE_CHECKING, Annotated

import numpy as np

from assay.analysis.options import Option
from assay.analysis.rank_tests import (
    Friedman,
    ImanDavenport,
    bonferroni_dunn,
    critical_distance,
    friedman_test,
    holm,
    iman_davenport_test,
    nemenyi_p,
    task_ranks,
    wilcoxon_holm,
    wilcoxon_p,
)
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json, square_json
from assay.analysis.registry import AnalysisSpec
from assay.analysis.wording import count_of, significant
from assay.errors import UserError
from assay.typing import Floats, JsonObject

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import ArrayLike

    from assay.analysis.inputs import Inputs
    from assay.drawing import Drawing

__all__ = [
    "ANALYSIS",
    "Friedman",
    "ImanDavenport",
    "Ranks",
    "critical_distance",
    "holm",
    "rank_frameworks",
    "task_ranks",
    "wilcoxon_p",
]


@dataclass(frozen=True)
class RankOptions:
    """How average ranks are tested."""

    alpha: Annotated[float, Option("Significance level of the tests.", above=0, below=1)] = 0.05
    control: Annotated[
        str | None, Option("Framework that the others are compared with (Bonferroni–Dunn).")
    ] = None


@dataclass(frozen=True)
class Ranks(AnalysisRecord):
    """Frameworks from best to worst average rank, and the tests between them.

    Attributes:
        frameworks: names, best first; all arrays follow this order.
        average: (m) average ranks, 1 is best.
        by_task: (tasks, m) ranks, equals sharing theirs.
        critical_distance: average ranks closer than this differ by no more than chance (Nemenyi).
        nemenyi_p: (m, m) p-values of all pairs, adjusted for all of them.
        groups: maximal runs of frameworks closer than the critical distance, as positions (first, last).
        wilcoxon_p: (m, m) Wilcoxon's signed-rank test of the scores of each pair, after Holm.
        control: the framework that Bonferroni–Dunn compares with, or None; `dunn_p` (m) and `dunn_distance`.
        imputed: folds of each framework that were imputed.
    """

    frameworks: tuple[str, ...]
    n_tasks: int
    alpha: float
    average: Floats
    by_task: Floats
    friedman: Friedman
    iman_davenport: ImanDavenport
    critical_distance: float
    nemenyi_p: Floats
    groups: tuple[tuple[int, int], ...]
    wilcoxon_p: Floats
    control: str | None = None
    dunn_p: Floats | None = None
    dunn_distance: float | None = None
    imputed: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per framework, best first."""
        rows = [
            {
                "framework": name,
                "average_rank": rank,
                "group": letters,
                "imputed_folds": self.imputed.get(name, 0),
            }
            for name, rank, letters in zip(
                self.frameworks, self.average.tolist(), self.letters(), strict=True
            )
        ]
        if self.control is None or self.dunn_p is None:
            return rows
        return [{**row, "p_against_control": p} for row, p in zip(rows, self.dunn_p.tolist(), strict=True)]

    def letters(self) -> list[str]:
        """Return for each framework the letters of its groups; nothing where there are more groups than letters."""
        if len(self.groups) > len(ascii_letters):
            return [""] * len(self.frameworks)
        return [
            "".join(ascii_letters[g] for g, (first, last) in enumerate(self.groups) if first <= at <= last)
            for at in range(len(self.frameworks))
        ]

    def to_json(self) -> JsonObject:
        """Return the ranks, the tests and their p-values by names."""
        names = self.frameworks
        values = {
            "average_ranks": dict(zip(names, self.average, strict=True)),
            "friedman": asdict(self.friedman),
            "iman_davenport": asdict(self.iman_davenport),
            "critical_distance": self.critical_distance,
            "alpha": self.alpha,
            "nemenyi_p": square_json(names, self.nemenyi_p),
            "wilcoxon_holm_p": square_json(names, self.wilcoxon_p),
            "groups": [list(names[first : last + 1]) for first, last in self.groups],
            "n_tasks": self.n_tasks,
            "n_frameworks": len(names),
        }
        if self.control is not None and self.dunn_p is not None:
            p = dict(zip(names, self.dunn_p, strict=True))
            values["bonferroni_dunn"] = {"control": self.control, "distance": self.dunn_distance, "p": p}
        imputed = {name: self.imputed.get(name, 0) for name in names}
        return as_json({**values, "n_imputed": imputed, "notes": self.notes})

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return one line per framework."""
        heads = ["framework", ">average rank", "group", ">imputed folds"]
        lines = [
            [row["framework"], f"{row['average_rank']:.3f}", row["group"], row["imputed_folds"]]
            for row in self.rows()
        ]
        if self.control is not None and self.dunn_p is not None:
            heads.append(f">p against {self.control}")
            for line, name, p in zip(lines, self.frameworks, self.dunn_p, strict=True):
                line.append("" if name == self.control else f"{p:.3g}")
        return (TextTable(heads, lines),)

    def summary(self) -> str:
        """Say whether average ranks differ, and how far apart two must lie."""
        p = self.iman_davenport.p
        verdict = "differ" if p < self.alpha else "do not clearly differ"
        tested = f"Iman–Davenport, p {p:.2g}" if isfinite(p) else "the ranks vary too little for a test"
        return (
            f"Average ranks over {count_of(self.n_tasks, 'task')} {verdict} ({tested}). Two frameworks differ clearly "
            f"if their average ranks are at least {self.critical_distance:.2f} apart; bars join those that do not."
        )

    def caveat(self) -> str:
        """Say what the test is not good at."""
        return "Nemenyi's test keeps its level for all pairs together and is cautious: it misses some real differences."

    def remarks(self) -> tuple[str, ...]:
        """Return the statistics of the tests and the critical distance."""
        friedman, iman = self.friedman, self.iman_davenport
        return (
            f"{self.n_tasks} tasks. Friedman: χ² {_fixed(friedman.chi2)}, {friedman.df} degrees of freedom, "
            f"p {significant(friedman.p, 3)}; Iman–Davenport: F {_fixed(iman.F)}, p {significant(iman.p, 3)}.",
            f"Critical distance at {self.alpha:g}: {self.critical_distance:.3f}. Frameworks that share a letter do not "
            "clearly differ.",
        )

    def drawings(self) -> tuple[Drawing, ...]:
        """Return the critical-difference diagram."""
        from assay.drawing import LINE_IN, Drawing

        lines = (len(self.frameworks) + 1) // 2 + len(self.groups) + 2
        return (Drawing(8.0, 1.2 + LINE_IN * lines, self._draw),)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say how ranks were made and tested."""
        return (
            ("Ranks", "means over folds, ranked within tasks, equals sharing their ranks"),
            (
                "Tests of ranks",
                "Friedman corrected for ties, Iman–Davenport, Nemenyi (infinite degrees of freedom), "
                f"level {self.alpha:g}, {count_of(self.n_tasks, 'task')}",
            ),
        )

    def _draw(self, figure: Figure) -> None:
        """Draw average ranks on a line, better to the left, with bars over those that do not clearly differ."""
        axes = figure.add_subplot()
        m = len(self.frameworks)
        levels = bar_levels(self.groups)
        depth = 1 + max(levels, default=-1)
        axes.set(xlim=(1, m), ylim=(-(depth + (m + 1) // 2 + 0.8), 2.2))
        axes.axis("off")
        _draw_axis(axes, m, self.critical_distance)
        _draw_bars(axes, self, levels)
        for place in range(m):
            _draw_name(axes, self, place, depth)


def _fixed(value: float) -> str:
    return f"{value:.2f}" if isfinite(value) else significant(value)


def _draw_axis(axes: Axes, m: int, distance: float) -> None:
    line = partial(axes.plot, color="black", clip_on=False)
    line([1, m], [0, 0], lw=1)
    for tick in range(1, m + 1):
        line([tick, tick], [0, 0.3], lw=1)
        axes.text(tick, 0.45, str(tick), ha="center", va="bottom")
    line([1, min(m, 1 + distance)], [1.6, 1.6], lw=2)
    axes.text(1, 1.75, f"critical distance {distance:.2f}", va="bottom")


def _draw_bars(axes: Axes, ranks: Ranks, levels: Sequence[int]) -> None:
    from assay.drawing import COLOURS

    for (first, last), level in zip(ranks.groups, levels, strict=True):
        y = -0.45 - level
        ends = [ranks.average[first] - 0.04, ranks.average[last] + 0.04]
        axes.plot(ends, [y, y], color=COLOURS[0], lw=3.5, solid_capstyle="butt", clip_on=False)


def _draw_name(axes: Axes, ranks: Ranks, place: int, depth: int) -> None:
    """Draw the line from a rank to the name: the better half on the left, the others on the right."""
    from assay.drawing import GREY

    m, name, rank = len(ranks.frameworks), ranks.frameworks[place], ranks.average[place]
    on_left = place < (m + 1) // 2
    y = -(depth + (place if on_left else m - 1 - place) + 0.9)
    end = 1.0 if on_left else float(m)
    axes.plot([rank, rank, end], [0, y, y], color=GREY, lw=0.8, clip_on=False)
    axes.annotate(
        f"{name}  {rank:.2f}" if on_left else f"{rank:.2f}  {name}", (end, y), xytext=(-4 if on_left else 4, 0),
        textcoords="offset points", va="center", ha="right" if on_left else "left", annotation_clip=False,
    )  # fmt: skip


def bar_levels(groups: Sequence[tuple[int, int]]) -> list[int]:
    """Return for each group the lowest line on which it touches none of those before it."""
    ends: list[int] = []
    levels = []
    for first, last in groups:
        level = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[level : level + 1] = [last]
        levels.append(level)
    return levels


def rank_frameworks(
    scores: ArrayLike, frameworks: Sequence[str], alpha: float = 0.05, control: str | None = None
) -> Ranks:
    """Rank frameworks on each task and test whether their average ranks differ.

    Args:
        scores: (tasks, m) one score per task and framework, higher being better, none missing; usually means over
            folds. Only the order within a task counts, so tasks may have different metrics.
        frameworks: names of the columns.
        alpha: the level of the critical distances.
        control: compare the others with this one alone (Bonferroni–Dunn).

    References:
        Demšar (2006), Statistical comparisons of classifiers over multiple data sets, JMLR 7. Iman and Davenport
        (1980), Approximations of the critical region of the Friedman statistic, Communications in Statistics 9.

    Example:
        >>> ranks = rank_frameworks([[0.9, 0.8, 0.7], [0.6, 0.5, 0.5], [0.3, 0.1, 0.2]], ["a", "b", "c"])
        >>> ranks.average.tolist(), round(ranks.friedman.chi2, 4)
        ([1.0, 2.5, 2.5], 4.9091)
    """
    scores = np.asarray(scores, dtype=float)
    _check(scores, frameworks, control)
    ranks = task_ranks(scores)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    ranks, scores = ranks[:, order], scores[:, order]
    names = tuple(frameworks[i] for i in order)
    average = ranks.mean(axis=0)
    n, m = ranks.shape
    friedman = friedman_test(ranks)
    distance = critical_distance(m, n, alpha)
    error = sqrt(m * (m + 1) / (6 * n))
    apart = np.abs(average[:, None] - average[None, :])
    dunn_p, dunn_distance = (None, None)
    if control is not None:
        dunn_p, dunn_distance = bonferroni_dunn(average, names.index(control), error, alpha)
    return Ranks(
        frameworks=names,
        n_tasks=n,
        alpha=alpha,
        average=average,
        by_task=ranks,
        friedman=friedman,
        iman_davenport=iman_davenport_test(friedman, n, m),
        critical_distance=distance,
        nemenyi_p=nemenyi_p(apart / error * sqrt(2), m),
        groups=_groups(average, distance),
        wilcoxon_p=wilcoxon_holm(scores),
        control=control,
        dunn_p=dunn_p,
        dunn_distance=dunn_distance,
    )


def _groups(average: Floats, distance: float) -> tuple[tuple[int, int], ...]:
    """Return maximal runs of at least two neighbours within the distance."""
    groups: list[tuple[int, int]] = []
    for first in range(len(average)):
        last = int(np.searchsorted(average, average[first] + distance, side="right")) - 1
        if last > first and (not groups or last > groups[-1][1]):
            groups.append((first, last))
    return tuple(groups)


def _check(scores: Floats, frameworks: Sequence[str], control: str | None) -> None:
    if scores.ndim != 2 or scores.shape[1] != len(frameworks):
        raise ValueError(f"scores have shape {scores.shape}, but {len(frameworks)} frameworks were named")
    if scores.shape[1] < 2:
        raise UserError("Ranks compare frameworks: at least two are needed.")
    if scores.shape[0] < 1:
        raise UserError("There is no task on which all frameworks have a score.")
    if not np.isfinite(scores).all():
        raise UserError(
            "Scores are missing: impute them (`impute`), or leave out the tasks or frameworks.", ["impute"]
        )
    if control is not None and control not in frameworks:
        raise UserError(f"Unknown control '{control}': give one of {', '.join(frameworks)}.")


def compute(inputs: Inputs, options: RankOptions) -> Ranks:
    """Rank the frameworks that can be compared."""
    compared = inputs.compared
    ranks = rank_frameworks(
        compared.scores.means(), compared.scores.frameworks, options.alpha, options.control
    )
    return replace(ranks, imputed=inputs.imputed(), notes=compared.notes)


ANALYSIS = AnalysisSpec(
    name="ranks",
    title="Average ranks",
    help="Rank the frameworks and test whether average ranks differ: Friedman, Nemenyi, Wilcoxon with Holm.",
    compute=compute,
    options=RankOptions,
    examples=("ranks --scores results.csv --type binary --figure ranks.svg",),
    figures={"figure": "Draw the critical-difference diagram: SVG, PDF or PNG."},
)
