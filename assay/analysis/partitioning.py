"""Model-based recursive partitioning: split tasks where the strengths of frameworks change along a property."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, expm1, log1p, nan
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.analysis.bradley_terry import Fits, Tallies, fit, tally
from assay.analysis.instability import Decorrelated, decorrelate, measure_instability, permutation_p
from assay.errors import ConfigError, UserError
from assay.typing import Array, Bools, Floats, Ints

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "DRAWS",
    "MAX_LEVELS",
    "TASKS_PER_PARAMETER",
    "UNITS",
    "Comparisons",
    "Fluctuation",
    "Node",
    "Split",
    "TreeSettings",
    "Unit",
    "grow_nodes",
    "split_words",
]

Unit = Literal["cluster", "fold", "task"]
UNITS: tuple[Unit, ...] = ("cluster", "fold", "task")
MAX_LEVELS = 12  # of a categorical covariate: all bipartitions are tried
SAME = 1e-7  # relative: statistics of covariates that order the tasks alike differ by rounding only
TASKS_PER_PARAMETER = 5  # below, the asymptotic p-value is not to be trusted
DRAWS = 1999  # with the data themselves 2000: the smallest p-value is 0.0005


@dataclass(frozen=True)
class Comparisons:
    """Scores of all frameworks on the same folds, higher being better, and what is known of the tasks.

    Attributes:
        frameworks: names of the columns of `scores`.
        scores: (n, m) without missing values.
        tasks: (n) the task of each row.
        covariates: by name one array over the rows: floats, or text for categories.
    """

    frameworks: tuple[str, ...]
    scores: Floats
    tasks: Array
    covariates: Mapping[str, Array]

    def __post_init__(self) -> None:
        if len(self.frameworks) < 2:
            raise UserError("A tree compares frameworks: at least two are needed.")
        if not len(self.scores):
            raise UserError("There are no folds on which all frameworks can be compared.")
        if not np.isfinite(self.scores).all():
            raise UserError("Scores are missing: impute them first, or leave their folds out.")
        for name, values in self.covariates.items():
            if values.dtype.kind == "f" and not np.isfinite(values).all():
                raise UserError(f"The property '{name}' is missing for some tasks: leave them out.")

    def averaged(self) -> Comparisons:
        """Return one row per task: the mean over its folds."""
        names, first, codes = np.unique(self.tasks, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(order), dtype=int)
        place[order] = np.arange(len(order))
        sums = np.zeros((len(names), self.scores.shape[1]))
        np.add.at(sums, place[codes], self.scores)
        counts = np.bincount(place[codes])[:, None]
        rows = first[order]
        covariates = {name: values[rows] for name, values in self.covariates.items()}
        return Comparisons(self.frameworks, sums / counts, self.tasks[rows], covariates)


@dataclass(frozen=True)
class TreeSettings:
    """How a tree is grown.

    Attributes:
        unit: what counts as independent: "cluster" (folds are observations, their scores summed within a task),
            "fold" (folds as if independent, R's way), "task" (means over folds are the observations).
        min_size: observations of that unit that each leaf must have.
        max_depth: levels, the root counting as one; 0 for no limit.
        alpha: the level, after Bonferroni's correction, at which a node is split.
        psychotree: handle ties between rows, and few tasks, as R does.
    """

    unit: Unit = "cluster"
    min_size: int = 50
    max_depth: int = 3
    alpha: float = 0.05
    psychotree: bool = False

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ConfigError(f"Unknown unit '{self.unit}': give one of {', '.join(UNITS)}.")
        if self.min_size < 1 or self.max_depth < 0 or not 0 < self.alpha < 1:
            raise ConfigError("A tree needs a minimal size of 1 or more and a level between 0 and 1.")


@dataclass(frozen=True)
class Fluctuation:
    """Whether strengths change along a covariate; `log_p` is the asymptotic p-value's, also beside a permutation's.

    Where the covariate cannot be tested in a node, the statistic is None and the p-values are NaN.
    """

    variable: str
    statistic: float | None
    p_raw: float = nan
    p_adjusted: float = nan
    log_p: float = nan
    by_permutation: bool = False


@dataclass(frozen=True)
class Split:
    """Where a node is split: left are values up to the threshold, or the left levels."""

    variable: str
    threshold: float | None = None
    left_levels: tuple[str, ...] = ()
    right_levels: tuple[str, ...] = ()

    def goes_left(self, values: ArrayLike) -> Bools:
        """Return for each value of the variable whether it belongs to the left."""
        if self.threshold is not None:
            return np.asarray(values, dtype=float) <= self.threshold
        return np.isin(values, self.left_levels)


@dataclass(frozen=True)
class Node:
    """A part of the tasks, and how strong each framework is there; ids count in pre-order from 1."""

    id: int
    parent: int | None
    depth: int
    n: int
    n_tasks: int
    worth: Mapping[str, float]
    loglik: float
    tests: tuple[Fluctuation, ...] = ()
    split: Split | None = None
    children: tuple[int, ...] = ()


def grow_nodes(
    data: Comparisons, settings: TreeSettings, random: np.random.Generator
) -> tuple[tuple[Node, ...], tuple[str, ...]]:
    """Split the tasks where the frameworks' strengths change along a property, until nothing changes any more.

    Returns the nodes in pre-order, and notes on how p-values were computed.

    In each node a Bradley–Terry model with ties is fitted to all pairs on all folds; along each covariate the
    scores of the model are tested for fluctuation; the covariate with the smallest p-value is split, if it is small
    enough after Bonferroni's correction, where the two models of the parts are the most likely.

    Folds of a task are no independent observations, so their scores are summed within the task before their
    covariance is taken (`unit="cluster"`). Where a node has fewer than five tasks per parameter, p-values come from
    dealing out the tasks anew.

    References:
        Strobl, Wickelmaier and Zeileis (2011), Accounting for individual differences in Bradley–Terry models by
        means of recursive partitioning, Journal of Educational and Behavioral Statistics 36.
    """
    if settings.unit == "task":
        data = data.averaged()
    return _Growth(data, settings, random).nodes_and_notes()


class _Growth:
    def __init__(self, data: Comparisons, settings: TreeSettings, random: np.random.Generator) -> None:
        self.data, self.settings, self.random = data, settings, random
        self.points, self.ties = tally(data.scores)
        self.covariates = {name: _as_codes(name, values) for name, values in data.covariates.items()}
        self.nodes: list[Node] = []

    def nodes_and_notes(self) -> tuple[tuple[Node, ...], tuple[str, ...]]:
        self._grow(np.arange(len(self.points)), None, 1)
        permuted = [node.id for node in self.nodes if any(test.by_permutation for test in node.tests)]
        notes = []
        if permuted:
            notes.append(
                f"Node(s) {', '.join(map(str, permuted))}: fewer than {TASKS_PER_PARAMETER} tasks per parameter, so "
                f"p-values are from {DRAWS} permutations of the tasks."
            )
        return tuple(self.nodes), tuple(notes)

    def _grow(self, rows: Ints, parent: int | None, depth: int) -> int:
        fitted = self._fit(self.points[rows].sum(axis=0), self.ties[rows].sum(), len(rows))
        number, settings = len(self.nodes) + 1, self.settings
        worth = dict(zip(self.data.frameworks, fitted.worths.tolist(), strict=True))
        tasks = len(np.unique(self.data.tasks[rows]))
        node = Node(number, parent, depth, len(rows), tasks, worth, float(fitted.loglik))
        self.nodes.append(node)
        if len(rows) < 2 * settings.min_size or depth == settings.max_depth:
            return number
        tests = self._tests(rows, fitted, tasks)
        split = self._split(rows, tests)
        children: tuple[int, ...] = ()
        if split is not None:
            left = split.goes_left(self.data.covariates[split.variable][rows])
            children = tuple(self._grow(part, number, depth + 1) for part in (rows[left], rows[~left]))
        self.nodes[number - 1] = Node(
            number, parent, depth, len(rows), tasks, worth, float(fitted.loglik), tests, split, children
        )
        return number

    def _fit(self, points: Floats, ties: Floats, counts: ArrayLike) -> Fits:
        m = len(self.data.frameworks)
        met = np.asarray(counts, dtype=float)[..., None, None] * (1 - np.eye(m))
        return fit(Tallies(points, ties, met))

    def _scores(self, rows: Ints, fitted: Fits) -> Floats:
        """Return the gradient of the log-likelihood of each fold; the last framework is the reference."""
        m = len(self.data.frameworks)
        points, ties = fitted.expected(1 - np.eye(m))
        scores = (self.points[rows] - points)[:, :-1]
        if np.isfinite(fitted.tie):
            scores = np.column_stack([scores, self.ties[rows] - ties])
        return scores

    def _tests(self, rows: Ints, fitted: Fits, tasks: int) -> tuple[Fluctuation, ...]:
        settings = self.settings
        scores = self._scores(rows, fitted)
        _, first, codes = np.unique(self.data.tasks[rows], return_index=True, return_inverse=True)
        together = settings.unit == "cluster"
        plain = decorrelate(scores, codes if together else None)
        at = first if together else np.arange(len(rows))
        permute = not settings.psychotree and tasks < TASKS_PER_PARAMETER * scores.shape[1]
        # Folds taken as independent are still dealt out task by task: else a permutation would know no tasks.
        units = plain if together else _by_task(plain, codes)
        instabilities = {}
        for name, values in self.covariates.items():
            instabilities[name] = measure_instability(
                plain, values[rows][at], settings.min_size, settings.psychotree
            )
        counted = sum(instability is not None for instability in instabilities.values())
        tests = []
        for name, instability in instabilities.items():
            if instability is None:
                tests.append(Fluctuation(name, None))
                continue
            p = exp(instability.log_p)
            if permute:
                values = self.covariates[name][rows][first]
                p = permutation_p(units, values, settings.min_size, DRAWS, self.random)
            tests.append(
                Fluctuation(
                    name, instability.statistic, p, _bonferroni(p, counted), instability.log_p, permute
                )
            )
        return tuple(tests)

    def _split(self, rows: Ints, tests: Sequence[Fluctuation]) -> Split | None:
        chosen = _strongest(tests)
        if chosen is None or chosen.p_adjusted > self.settings.alpha:
            return None
        values = self.covariates[chosen.variable][rows]
        parts = _halves(values) if values.dtype.kind == "i" else _cuts(values)
        return self._best(rows, chosen.variable, values, parts)

    def _best(self, rows: Ints, name: str, values: Array, lefts: Bools) -> Split | None:
        """Return the admissible split of the two most likely parts, the first of equals; None if none is."""
        sizes = lefts.sum(axis=0)
        allowed = (sizes >= self.settings.min_size) & (len(rows) - sizes >= self.settings.min_size)
        lefts = lefts[:, allowed]
        if not lefts.shape[1]:
            return None
        points, ties = self.points[rows], self.ties[rows]
        left = lefts.astype(float).T
        won, even, count = left @ points, left @ ties, left.sum(axis=1)
        loglik = self._fit(won, even, count).loglik
        loglik = loglik + self._fit(points.sum(axis=0) - won, ties.sum() - even, len(rows) - count).loglik
        inside = lefts[:, int(np.argmax(loglik))]
        property_values = self.data.covariates[name][rows]
        if values.dtype.kind != "i":
            return Split(name, threshold=float(property_values[inside].max()))
        return Split(
            name, None, *(tuple(sorted(set(property_values[part].tolist()))) for part in (inside, ~inside))
        )


def split_words(nodes: Sequence[Node], node: Node) -> str:
    """Return on which side of its parent's split a node lies, as words; nothing for the root."""
    if node.parent is None:
        return ""
    parent = nodes[node.parent - 1]
    is_left, split = parent.children[0] == node.id, parent.split
    assert split is not None
    if split.threshold is not None:
        return f"{split.variable} {'≤' if is_left else '>'} {split.threshold:g}"
    levels = split.left_levels if is_left else split.right_levels
    return f"{split.variable} in {{{', '.join(levels)}}}"


def _strongest(tests: Sequence[Fluctuation]) -> Fluctuation | None:
    """Return the test with the smallest p-value; of equals the first, and equals are what differs by rounding."""
    possible = [test for test in tests if test.statistic is not None]
    if possible and possible[0].by_permutation:
        # Draws are coarse: among equals the asymptotic p-value decides.
        least = min(test.p_raw for test in possible)
        possible = [test for test in possible if test.p_raw == least]
    lowest = min((test.log_p for test in possible), default=nan)
    return next((test for test in possible if test.log_p <= lowest + SAME * abs(lowest)), None)


def _as_codes(name: str, values: Array) -> Array:
    """Return numbers as floats, categories as integer codes in the order of their names."""
    if values.dtype.kind == "f":
        return values
    levels, codes = np.unique(values, return_inverse=True)
    if len(levels) > MAX_LEVELS:
        raise UserError(
            f"The property '{name}' has {len(levels)} levels: a tree takes {MAX_LEVELS} at most. Leave it out with "
            "`columns`, or group its levels.",
            ["columns"],
        )
    return codes.astype(np.int64)


def _by_task(decorrelated: Decorrelated, codes: Ints) -> Decorrelated:
    summed = np.zeros((int(codes.max()) + 1, decorrelated.k))
    np.add.at(summed, codes, decorrelated.scores)
    return Decorrelated(summed, np.bincount(codes).astype(float))


def _bonferroni(p: float, count: int) -> float:
    """Return the p-value of the smallest of `count`; for tiny ones the first term, before it cancels."""
    return min(1.0, count * p) if p <= 0.001 else -expm1(count * log1p(-p)) if p < 1 else 1.0


def _cuts(values: Floats) -> Bools:
    """Return for each distinct value which rows are up to it (n, cuts)."""
    return values[:, None] <= np.unique(values)[None, :-1]


def _halves(codes: Ints) -> Bools:
    """Return every way to divide the levels in two (n, ways); the last level is always on the right, as in R."""
    levels = np.unique(codes)
    bits = np.arange(1, 2 ** (len(levels) - 1))[None, :] >> np.arange(len(levels))[:, None] & 1
    return bits[np.searchsorted(levels, codes)].astype(bool)
