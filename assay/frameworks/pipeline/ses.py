"""Statistically equivalent signatures: few columns that say all there is of the target, and which could replace which.

Tsamardinos, Lagani and Pappas (2012), Discovering multiple, equivalent biomarker signatures. Lagani, Athineou,
Farcomeni, Tsagris and Tsamardinos (2017), Feature selection with the R package MXM: discovering statistically
equivalent feature subsets, Journal of Statistical Software 80(7).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import chi2

from .independence import Tests, make_tests
from .selectors import ColumnSelector

if TYPE_CHECKING:
    from assay.typing import Array, Floats

__all__ = ["SES"]


class SES(ColumnSelector):
    """Select one signature: columns that depend on the target whatever few of the other columns are known.

    Forward, the column is taken whose weakest association, over all sets of at most `max_k` columns taken before, is
    the strongest; a column that some set makes independent (p above `alpha`) is out. Backward, each column taken is
    tested once more given the others. A column X that the set Z made independent is equivalent to Y of Z if Y is
    independent given Z with X in the place of Y.

    The work is bounded: beyond `max_candidates` the columns with the weakest association are not looked at, and after
    `max_tests` tests given other columns nothing more is taken or dropped. A test of k classes counts for k - 1.

    Attributes:
        columns_: the positions of the signature, in the order in which they were taken.
        equivalent_: for each of them the positions that could stand in its place.
        tests_: how many tests were made, counted like that.

    Example:
        >>> import numpy as np
        >>> x = np.random.default_rng(0).normal(size=(200, 4))
        >>> SES(is_value=True).fit(x, x[:, 1] - x[:, 2]).columns_
        [2, 1]
    """

    def __init__(
        self,
        max_k: int = 3,
        alpha: float = 0.05,
        is_value: bool = False,
        max_candidates: int = 200,
        max_tests: int = 10_000,
    ) -> None:
        self.max_k = max_k
        self.alpha = alpha
        self.is_value = is_value
        self.max_candidates = max_candidates
        self.max_tests = max_tests

    def _choose(self, x: Floats, y: Array) -> list[int]:
        tests = make_tests(x, y, self.is_value)
        critical = float(chi2.isf(self.alpha, tests.df))
        self.equivalent_: dict[int, list[int]] = {}
        selected = self._backward(tests, critical, self._forward(tests, critical))
        self.equivalent_ = {column: sorted(self.equivalent_.get(column, [])) for column in selected}
        self.tests_ = tests.done
        return selected

    def _forward(self, tests: Tests, critical: float) -> list[int]:
        weakest = tests.statistics(range(tests.x.shape[1]), ())
        self.enough_ = tests.done + self.max_tests  # the first look at every column is not counted
        order = np.argsort(-weakest, kind="stable")[: self.max_candidates]
        alive = [int(column) for column in order if weakest[column] > critical]
        selected: list[int] = []
        while alive and tests.done < self.enough_:
            best = max(alive, key=lambda column: weakest[column])
            alive.remove(best)
            for others in _subsets(selected, self.max_k - 1):
                if not alive or tests.done >= self.enough_:
                    break
                given = (*others, best)
                found = tests.statistics(alive, given)
                weakest[alive] = np.minimum(weakest[alive], found)
                gone = [column for column in alive if weakest[column] <= critical]
                for column in gone:
                    self._match(tests, critical, column, given)
                alive = [column for column in alive if weakest[column] > critical]
            selected.append(best)
        return selected

    def _backward(self, tests: Tests, critical: float, selected: list[int]) -> list[int]:
        kept = list(selected)
        for column in selected:
            others = [one for one in kept if one != column]
            for given in _subsets(others, self.max_k):
                if tests.done >= self.enough_:
                    return kept
                if tests.statistics([column], given)[0] <= critical:
                    kept.remove(column)
                    self._match(tests, critical, column, given)
                    break
        return kept

    def _match(self, tests: Tests, critical: float, column: int, given: Sequence[int]) -> None:
        """Remember a column that is out beside the one of `given` that it could replace, if there is one."""
        for other in given:
            instead = [column, *(one for one in given if one != other)]
            if tests.statistics([other], instead)[0] <= critical:
                own = self.equivalent_.pop(column, [])
                self.equivalent_.setdefault(other, []).extend([column, *own])
                return


def _subsets(columns: Sequence[int], most: int) -> Iterator[tuple[int, ...]]:
    """Yield all sets of at most this many columns, small ones first: they drop most candidates at the least cost."""
    for size in range(min(most, len(columns)) + 1):
        yield from combinations(columns, size)
