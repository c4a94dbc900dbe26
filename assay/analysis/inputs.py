"""What analyses are computed from: scores, the rows of them that are looked at, and how failures count."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from assay.analysis.filter import Filter, labelled
from assay.analysis.impute import FoldScores, Policy, gather
from assay.errors import UserError
from assay.jobs.row import Row
from assay.results.scored import Scores

if TYPE_CHECKING:
    import pandas as pd

    from assay.analysis.model_bounds import Bound

__all__ = ["Compared", "Inputs", "Notes"]

Notes = tuple[str, ...]
# Rows, each with what the framework wrote: a mapping with `points`.
Traces = Iterable[tuple[Row, Mapping[str, object]]]
# Under these names tables and OpenML give the number of rows of a task.
SIZE_COLUMNS = ("n_rows", "NumberOfInstances", "number.of.instances")


@dataclass(frozen=True)
class Compared:
    """Folds on which all frameworks have a score, and notes on what was left out to get there."""

    scores: FoldScores
    notes: Notes


@dataclass(frozen=True)
class Inputs:
    """Scores, the part of them that is looked at, and how failures count.

    Attributes:
        scores: the table, and what is known about its tasks.
        traces: reads searches over time when it is called: rows, each with what the framework wrote.
        hardware: the machines, in words.
        bounds: computes, for the jobs with these keys, the corrected bounds of their best models at a level of
            confidence, with notes on jobs that have none.
        selection: which rows to look at.
        impute: what a failure counts as.
        impute_not_own: whether `setup`, `lost` and `data` count as failures too.
        include_excluded: whether to rank what cannot be evaluated cleanly.
        seed: of draws and permutations.
    """

    scores: Scores
    traces: Callable[[], Traces] = tuple
    hardware: Notes = ()
    bounds: Callable[[Collection[str], float, int], tuple[Sequence[Bound], Notes]] = (
        lambda keys, alpha, seed: ((), ())
    )
    selection: Filter = field(default_factory=Filter)
    impute: Policy = "constant"
    impute_not_own: bool = False
    include_excluded: bool = False
    seed: int = 0

    @cached_property
    def rows(self) -> pd.DataFrame:
        """The rows of the scores table that are looked at, with a `label` for each framework."""
        rows: pd.DataFrame = self.selection.choose(self.everybody)
        return rows

    @cached_property
    def everybody(self) -> pd.DataFrame:
        """The rows of all frameworks: those that are not looked at may serve to impute with."""
        rows: pd.DataFrame = labelled(self.selection.apply(self.scores.table))
        return rows

    @cached_property
    def folds(self) -> FoldScores:
        """Folds × frameworks that are looked at, failures imputed."""
        return self.gathered(self.impute)

    @cached_property
    def compared(self) -> Compared:
        """What can be ranked, and notes on what cannot."""
        ranked, marked = self.folds.ranked(self.include_excluded)
        complete, holes = ranked.complete()
        if not complete.tasks:
            raise UserError(
                "No framework has a score here: all jobs failed, or were not the framework's to do."
            )
        return Compared(complete, (*self.notes, *self.folds.notes, *marked, *holes))

    @property
    def notes(self) -> Notes:
        """What had to be decided when the scores were read."""
        return self.scores.notes

    def gathered(self, policy: Policy, metric: str = "") -> FoldScores:
        """Return folds × frameworks under another policy, or by another metric; computed once."""
        if (policy, metric) not in self._gathered:
            other = replace(self, selection=replace(self.selection, metric=metric)) if metric else self
            scores = gather(other.everybody, policy, self.impute_not_own)
            shown = set(other.rows["label"])
            self._gathered[policy, metric] = scores.keep(
                [name for name in scores.frameworks if name in shown]
            )
        return self._gathered[policy, metric]

    @cached_property
    def _gathered(self) -> dict[tuple[Policy, str], FoldScores]:
        return {}

    def random(self) -> np.random.Generator:
        """Return a new generator: the same analysis gives the same numbers, whatever was computed before."""
        return np.random.default_rng(self.seed)

    def imputed(self) -> dict[str, int]:
        """Return how many folds of each framework were imputed."""
        return dict(zip(self.folds.frameworks, self.folds.imputed.sum(axis=0).tolist(), strict=True))

    def task_sizes(self) -> dict[tuple[str, str], float]:
        """Return the number of rows of each task, by task and task_id, where a property tells it."""
        properties = self.scores.properties
        name = next((column for column in properties.columns if column in SIZE_COLUMNS), "")
        if not name:
            return {}
        keys = zip(properties["task"], properties["task_id"], strict=True)
        return dict(zip(keys, properties[name].astype(float), strict=True))
