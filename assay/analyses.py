"""What scores mean, from a store or from a file: every analysis by one word; for the commands, the report and you."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.advice import Advice, advise
from assay.analysis.anytime import Anytime, best_so_far, compare_progress
from assay.analysis.bayes import OneTask, SignedRank, compare_on_tasks, signed_rank_pairs
from assay.analysis.budgets import BudgetStep, compare_budgets
from assay.analysis.cells import TaskCell, make_cells
from assay.analysis.covariates import as_named, join_properties, properties_by_task
from assay.analysis.failures import Failures, count_failures
from assay.analysis.filter import Filter, labelled
from assay.analysis.impute import POLICIES, FoldScores, Policy, gather, plain_id
from assay.analysis.leaderboard import Leaderboard, make_leaderboard
from assay.analysis.pairwise import Pairwise, compare_pairwise
from assay.analysis.pareto import Front, find_front
from assay.analysis.ranks import Ranks, rank_frameworks
from assay.analysis.scaled import Scaled, in_gaps, scale_from_forest, scale_from_worst
from assay.analysis.sensitivity import Sensitivity, rank_variants
from assay.analysis.times import FitTime, InferenceTime, fit_times, inference_times, seconds_by_task
from assay.analysis.trees import Tree, TreeSettings, grow_tree
from assay.errors import UserError
from assay.jobs.row import Row
from assay.results.formats.foreign import Scores, read_scores
from assay.results.formats.read_table import read_frame
from assay.results.matrices import Matrix, read_job_matrices
from assay.results.scores import folded
from assay.results.without_oof import why_no_oof
from assay.uncertainty.models import ModelBound, bound_models, said_of_lost
from assay.uncertainty.predictions import Predictions, check_predictions
from assay.uncertainty.result import Options

if TYPE_CHECKING:
    from assay.store.store import Store

__all__ = ["Analysis", "analyse"]

TASKS_PER_LEAF = 5
Notes = tuple[str, ...]


def analyse(source: Store | Path | str, covariates: Path | str | None = None) -> Analysis:
    """Return the analyses of a store, or of a file of scores (AMLB's, bencheval's, ours, or a plain long table).

    `covariates` is a CSV with properties of tasks, joined on `task_id` or `task`.
    """
    found = Analysis(read_scores(Path(source))) if isinstance(source, (str, Path)) else _of_store(source)
    return replace(found, scores=_with_properties(found.scores, Path(covariates))) if covariates else found


@dataclass(frozen=True)
class Analysis:
    """Scores, the part of them that is looked at, and how failures count.

    Each method returns a record; those that leave something out return notes beside it that say what, and why.

    Attributes:
        scores: the table, and what is known of its tasks.
        traces: reads searches over time when it is called: rows, each with what the framework wrote.
        hardware: the machines, in words.
        matrices: reads out-of-fold predictions when it is called: rows, each with those of its models.
        without_matrices: says of the jobs with these keys which have none, and why.
        wanted: which rows to look at.
        impute: what a failure counts as.
        impute_not_own: whether `setup`, `lost` and `data` count as failures too.
        include_excluded: whether to rank what cannot be evaluated cleanly.
        seed: of draws and permutations.
    """

    scores: Scores
    traces: Callable[[], Iterable[tuple[Row, Any]]] = tuple
    hardware: Notes = ()
    matrices: Callable[[], Iterable[tuple[Row, Matrix, str]]] = tuple
    without_matrices: Callable[[Collection[str]], Notes] = lambda keys: ()
    wanted: Filter = field(default_factory=Filter)
    impute: Policy = "constant"
    impute_not_own: bool = False
    include_excluded: bool = False
    seed: int = 0

    @cached_property
    def table(self) -> Any:
        """The rows that are looked at, with a `label` for each framework."""
        return self.wanted.choose(self._all)

    @cached_property
    def folds(self) -> FoldScores:
        """Folds × frameworks that are looked at, failures imputed."""
        return self._gathered(self.impute)

    @cached_property
    def _all(self) -> Any:
        """The rows of all frameworks: those that are not looked at may serve to impute with."""
        return labelled(self.wanted.apply(self.scores.table))

    @cached_property
    def _compared(self) -> tuple[FoldScores, Notes]:
        """What can be ranked, and what is to be said about what cannot."""
        found, marked = self.folds.ranked(self.include_excluded)
        whole, holes = found.complete()
        if not whole.tasks:
            raise UserError(
                "No framework has a score here: all jobs failed, or were not the framework's to do."
            )
        return whole, (*self.scores.notes, *self.folds.notes, *marked, *holes)

    def _gathered(self, policy: Policy, metric: str = "") -> FoldScores:
        other = replace(self, wanted=replace(self.wanted, metric=metric)) if metric else self
        found = gather(other._all, policy, self.impute_not_own)
        shown = set(other.table["label"])
        return found.keep([name for name in found.frameworks if name in shown])

    def _random(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def leaderboard(self, draws: int = 1000) -> Leaderboard:
        """Return the standings; frameworks that cannot be ranked are in it too."""
        shown = list(dict.fromkeys(self.table["label"]))
        board = make_leaderboard(
            self._all, self._random(), self.impute, draws, self.include_excluded, self.impute_not_own, shown
        )
        return replace(board, warnings=(*self.scores.notes, *board.warnings))

    def cells(self) -> list[TaskCell]:
        """Return mean, deviation and failures of each framework on each task, nothing imputed."""
        first = self.table.drop_duplicates("label").set_index("label")["constraint"].to_dict()
        return make_cells(self._gathered("none"), first)

    def ranks(self, alpha: float = 0.05, control: str | None = None) -> tuple[Ranks, Notes]:
        """Return average ranks and the tests between them."""
        scores, notes = self._compared
        return rank_frameworks(scores.means(), scores.frameworks, alpha, control), notes

    def imputed(self) -> dict[str, int]:
        """Return how many folds of each framework were imputed."""
        return dict(zip(self.folds.frameworks, self.folds.imputed.sum(axis=0).tolist(), strict=True))

    def pairwise(self, draws: int = 1000, anchor: str = "") -> tuple[Pairwise, Notes]:
        """Return win rates, strengths and Elo with intervals."""
        scores, notes = self._compared
        return compare_pairwise(scores, self._random(), draws, anchor), notes

    def tree(
        self, columns: Sequence[str] = (), settings: TreeSettings | None = None, min_size: int | None = None
    ) -> tuple[Tree, Notes]:
        """Return the Bradley–Terry tree over properties of the tasks; frameworks that are marked stay in it.

        `min_size` is by default five tasks' worth of observations.
        """
        whole, holes = self._for_trees()
        settings = settings or TreeSettings()
        data, notes = join_properties(whole, self.scores.properties, columns, settings.psychotree)
        folds = max(1, round(len(data.tasks) / len(set(data.tasks.tolist()))))
        size = TASKS_PER_LEAF * (1 if settings.unit == "task" else folds) if min_size is None else min_size
        tree = grow_tree(data, replace(settings, min_size=size), self._random())
        return tree, (*self.scores.notes, *holes, *notes, *tree.notes)

    def _for_trees(self) -> tuple[FoldScores, Notes]:
        """Return the frameworks that took part in most tasks: one that cannot do a type would leave the others none."""
        met = (~np.isnan(self.folds.values)).mean(axis=0)
        kept = [name for name, share in zip(self.folds.frameworks, met, strict=True) if share > 0.9]
        out = [name for name in self.folds.frameworks if name not in kept]
        notes = (
            (f"Left out, because they have no scores on more than a tenth of the folds: {', '.join(out)}.",)
            if out
            else ()
        )
        whole, holes = self.folds.keep(kept).complete()
        return whole, (*notes, *holes)

    def advise(self, facts: Mapping[str, float], columns: Sequence[str] = ()) -> tuple[Advice, Notes]:
        """Return which framework suits a task of these facts: ours, or under OpenML's names."""
        whole, _ = self._for_trees()
        names = list(properties_by_task(whole, self.scores.properties, columns).columns)
        own = as_named(facts, names)
        known = [name for name in names if name in own]
        if not known:
            raise UserError(
                f"Nothing that is known of the tasks ({', '.join(names)}) is known of the data set. Give properties "
                "under our names (assay task show) or OpenML's."
            )
        tree, notes = self.tree(known)
        values = properties_by_task(whole, self.scores.properties, known)
        bad = set(np.flatnonzero(values.isna().any(axis=1).to_numpy()).tolist())
        kept = whole.without_tasks(bad)
        missing = [name for name in names if name not in own]
        return advise(tree, kept, values.dropna(), own, missing, self._random()), notes

    def bayes(self, rope: float = 0.01) -> tuple[list[SignedRank], Notes]:
        """Return the signed-rank test of every pair; differences in gaps from the constant predictor to the best."""
        scores, notes = self._compared
        means, names, said = in_gaps(scores)
        return signed_rank_pairs(means, names, rope, self._random()), (*notes, *said)

    def on_each_task(self, a: str, b: str, rope: float = 0.0) -> list[OneTask]:
        """Return the tests of a pair on each task by itself, in the metric's units, positive where A is better."""
        return compare_on_tasks(self.folds, a, b, rope)

    def scaled(self, reference: str = "") -> tuple[Scaled, Notes]:
        """Return mean scores from the random forest (-1) to the best (0), without the constant predictor."""
        scores, notes = self._compared
        kept = [name for name in scores.frameworks if scores.roles[name] != "constant"]
        return scale_from_forest(scores.keep(kept), reference), notes

    def pareto(self, against: str = "inference", over: str = "mean") -> tuple[Front, Notes]:
        """Return scaled scores against seconds: of `inference` per row, or of `training`."""
        scores, notes = self._compared
        column = "fit_s" if against == "training" else "row_s"
        if column == "row_s" and self.table["row_s"].isna().all():
            column = "predict_s"
            notes = (*notes, "Inference per row is not known: seconds are of predicting a whole test fold.")
        seconds = seconds_by_task(self.table, scores, column)
        return find_front(scores.frameworks, scale_from_worst(scores).values, seconds, over), notes

    def failures(self) -> Failures:
        """Return failures by kind, framework, task and budget."""
        return count_failures(self.table, self._sizes())

    def _sizes(self) -> dict[tuple[str, str], float]:
        """Return the number of rows of each task, by task and task_id, where a property tells it."""
        known = self.scores.properties
        name = next(
            (one for one in known.columns if one in ("n_rows", "NumberOfInstances", "number.of.instances")),
            "",
        )
        if not name:
            return {}
        return dict(
            zip(zip(known["task"], known["task_id"], strict=True), known[name].astype(float), strict=True)
        )

    def fit_times(self) -> tuple[FitTime, ...]:
        """Return training times against the budget."""
        return fit_times(self.table)

    def inference_times(self) -> tuple[InferenceTime, ...]:
        """Return seconds per row by batch size; empty where none was timed."""
        timed = self.scores.inference
        if timed is None:
            return ()
        return inference_times(timed[timed["framework"].isin(self.table["framework"].unique())])

    def budgets(self) -> tuple[BudgetStep, ...]:
        """Return what longer budgets bought."""
        if self.wanted.constraint:
            raise UserError(
                f"Budgets are compared with each other, but only {self.wanted.constraint} is looked at: leave "
                "--constraint out."
            )
        return compare_budgets(self.table)

    def anytime(self) -> Anytime:
        """Return how far searches were after which time, from the frameworks' own traces."""
        shown = set(zip(self.table["framework"], self.table["task"], self.table["constraint"], strict=True))
        return compare_progress(
            best_so_far(row.framework, row.task, trace, row.budget_s or float("nan"))
            for row, trace in self.traces()
            if (row.framework, row.task, row.constraint) in shown
        )

    def model_bounds(self, options: Options | None = None) -> tuple[list[ModelBound], Notes]:
        """Return the corrected bound of each job's best single model, where its framework left predictions of them.

        Also notes: whose predictions are missing and why, and of how many jobs they cannot be judged by their metric
        (a class may have one row).
        """
        shown = set(self.table["key"])
        found = [
            bound_models(row, _predictions(matrix), best, options or Options(), self.seed)
            for row, matrix, best in self.matrices()
            if row.key in shown
        ]
        bounds = [one for one in found if one]
        notes = (*said_of_lost(len(found) - len(bounds)), *self.without_matrices(shown))
        if not bounds:
            raise UserError(
                " ".join(
                    (
                        "No framework here left out-of-fold predictions of its models that can be judged.",
                        *notes,
                    )
                )
            )
        return sorted(bounds, key=lambda one: (one.task, one.framework, one.repeat, one.fold)), notes

    def sensitivity(self) -> tuple[Sensitivity, Notes]:
        """Return how ranks change with the imputation, the tasks and the metric."""
        scores, notes = self._compared
        others: dict[str, Any] = {
            f"impute {policy}": partial(self._gathered, policy)
            for policy in POLICIES
            if policy != self.impute
        }
        same = replace(self.wanted, metric="", any_metric=True).apply(self.scores.table)
        for metric in sorted(set(same["metric"]) - set(scores.metrics)):
            others[f"metric {metric}"] = partial(self._gathered, self.impute, metric)
        return rank_variants(scores, others), notes


def _of_store(store: Store) -> Analysis:
    import pandas as pd

    from assay.results.scores import inference_table, scores_table
    from assay.results.traces import read_traces
    from assay.runs.folds import read_task

    rows = store.rows()
    if not rows:
        raise UserError(f"The store {store.folder.root} has no finished jobs yet.")
    facts = []
    for digest in sorted({row.task_digest for row in rows}):
        task = read_task(store.folder, digest).get()
        facts.append({"task": task.name, "task_id": plain_id(task.id), **task.facts})
    properties = pd.DataFrame(facts).drop_duplicates(["task", "task_id"])
    scores = Scores(scores_table(rows), properties, "assay", inference_table(rows))
    traces, matrices = (
        partial(read_traces, store.folder, rows),
        partial(read_job_matrices, store.folder, rows),
    )
    return Analysis(
        scores,
        traces,
        _machines(store, rows),
        matrices,
        lambda keys: why_no_oof(row for row in rows if row.key in keys),
    )


def _predictions(matrix: Matrix) -> Predictions:
    return check_predictions(matrix.y, matrix.values, matrix.folds, names=matrix.names)


def _machines(store: Store, rows: Sequence[Row]) -> Notes:
    """Return what the machines were, each once: the first job of each tells."""
    first = {row.host: row for row in reversed(rows) if row.host}
    out: dict[str, None] = {}
    for row in first.values():
        facts = store.folder.job(row.key).attempt(row.attempt).read_facts().value
        machine = facts.circumstances.machine if facts else None
        if machine is not None:  # else the job ended without a child
            words = f"{machine.processor}, {len(machine.cores)} cores, {machine.memory_mb / 1000:.0f} GB"
            out[f"{words}, {machine.system}"] = None
    return tuple(out)


def _spelled_as(names: Any, known: Any) -> list[str]:
    """Return names of tasks in the spelling that the scores have: OpenML's numerai28.6 is AMLB's numerai28_6.

    A name that the scores have too is not changed, nor one that has several spellings on either side.
    """
    taken = set(known)
    by_folded = known[~known.map(folded).duplicated(keep=False) & ~known.isin(names)]
    spelling = dict(zip(by_folded.map(folded), by_folded, strict=True))
    twice = set(names[names.map(folded).duplicated(keep=False)])
    return [n if n in taken or n in twice else spelling.get(folded(n), n) for n in names]


def _with_properties(scores: Scores, path: Path) -> Scores:
    """Return the scores with the properties of a CSV: joined on task_id where it has one, else on task."""
    said = read_frame(path, names={"task", "name"})
    key = next((name for name in ("task_id", "tid", "task", "name") if name in said), "")
    if not key:
        raise UserError(f"{path} has neither a column task_id nor task: its rows cannot be told apart.")
    own = "task_id" if key in ("task_id", "tid") else "task"
    said = said.rename(columns={key: own})
    said[own] = [plain_id(str(one)) for one in said[own]]
    known = scores.properties.assign(**{own: [plain_id(str(one)) for one in scores.properties[own]]})
    if own == "task":
        said["task"] = _spelled_as(said["task"], known["task"])
    if not known[own].isin(said[own]).any():
        shown = f"{said[own].iloc[0]!r} there, {known[own].iloc[0]!r} here" if len(said) else "it has no rows"
        raise UserError(f"No {own} of the scores stands in {path} (for example {shown}).")
    new = [name for name in said.columns if name not in known.columns]
    said = said[[own, *new]].drop_duplicates()
    again = said.loc[said[own].duplicated(), own]
    if len(again):
        raise UserError(f"{path} says two things of the {own} {again.iloc[0]}: each may have one row only.")
    merged = known.merge(said, on=own, how="left")
    return replace(scores, properties=merged)
