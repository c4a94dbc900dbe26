"""What scores mean, from a store or from a file: every analysis by one word; for the commands, the report and you."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.analysis.bayes import OneTask, SignedRank, correlated_t, nadeau_bengio, signed_rank_pairs
from assay.analysis.budgets import BudgetStep, compare_budgets
from assay.analysis.cells import TaskCell, make_cells
from assay.analysis.failures import Failures, count_failures
from assay.analysis.impute import POLICIES, Filter, FoldScores, Policy, gather, labelled
from assay.analysis.pairwise import Pairwise, compare_pairwise
from assay.analysis.pareto import Front, find_front
from assay.analysis.ranks import Ranks, rank_frameworks
from assay.analysis.scaled import Scaled, scale_from_forest, scale_from_worst
from assay.analysis.sensitivity import Sensitivity, rank_variants
from assay.analysis.times import FitTime, InferenceTime, fit_times, inference_times, seconds_by_task
from assay.analysis.trees import Comparisons, Tree, TreeSettings, grow_tree
from assay.errors import UserError
from assay.results.formats.foreign import Scores, read_scores

if TYPE_CHECKING:
    from assay.store.store import Store

__all__ = ["Analysis", "analyse"]

TASKS_PER_LEAF = 5
MAX_LEVELS = 12


def analyse(source: Store | Path | str, covariates: Path | None = None) -> Analysis:
    """Return the analyses of a store, or of a file of scores (AMLB's, bencheval's, ours, or a plain long table).

    `covariates` is a CSV with properties of tasks, joined on `task_id` or `task`.
    """
    found = _of_store(source) if hasattr(source, "rows") else Analysis(read_scores(Path(str(source))))
    return replace(found, scores=_with_properties(found.scores, covariates)) if covariates else found


@dataclass(frozen=True)
class Analysis:
    """Scores, the part of them that is looked at, and how failures count.

    Attributes:
        rows: results rows of a store, which know more than the scores table: inference times.
        wanted: which rows to look at.
        impute: what a failure counts as.
        impute_not_own: whether `setup`, `lost` and `data` count as failures too.
        include_marked: whether to rank what cannot be evaluated cleanly.
        seed: of draws and permutations.
    """

    scores: Scores
    rows: Sequence[Mapping[str, Any]] = ()
    wanted: Filter = field(default_factory=Filter)
    impute: Policy = "constant"
    impute_not_own: bool = False
    include_marked: bool = False
    seed: int = 0

    @cached_property
    def table(self) -> Any:
        """The rows that are looked at, with a `label` for each framework."""
        return self.wanted.choose(labelled(self.wanted.apply(self.scores.table)))

    @cached_property
    def everybody(self) -> FoldScores:
        """Folds × frameworks, failures imputed, also by those that are not looked at."""
        return self._gathered(self.wanted, self.impute)

    def _gathered(self, wanted: Filter, policy: Policy) -> FoldScores:
        table = labelled(wanted.apply(self.scores.table))
        shown = set(wanted.choose(table)["label"])
        found = gather(table, policy, self.impute_not_own)
        return found.keep([name for name in found.frameworks if name in shown])

    def _ranked(self) -> tuple[FoldScores, tuple[str, ...]]:
        """Return what can be ranked, and what is to be said about what cannot."""
        found, marked = self.everybody.ranked(self.include_marked)
        whole, holes = found.complete()
        if not whole.tasks:
            raise UserError(
                "There is no task on which all frameworks have a score. Leave frameworks out (--exclude)."
            )
        return whole, (*self.scores.notes, *self.everybody.notes, *marked, *holes)

    def cells(self) -> list[TaskCell]:
        """Return mean, deviation and failures of each framework on each task."""
        first = self.table.drop_duplicates("label").set_index("label")["constraint"].to_dict()
        return make_cells(self._gathered(self.wanted, "none"), first)

    def ranks(self, alpha: float = 0.05, control: str | None = None) -> tuple[Ranks, tuple[str, ...]]:
        """Return average ranks and the tests between them."""
        scores, notes = self._ranked()
        return rank_frameworks(scores.means(), scores.frameworks, alpha, control), notes

    def imputed(self) -> dict[str, int]:
        """Return how many folds of each framework were imputed."""
        return dict(zip(self.everybody.frameworks, self.everybody.imputed.sum(axis=0).tolist(), strict=True))

    def pairwise(self, draws: int = 1000, anchor: str = "") -> tuple[Pairwise, tuple[str, ...]]:
        """Return win rates, strengths and Elo with intervals."""
        scores, notes = self._ranked()
        return compare_pairwise(scores, np.random.default_rng(self.seed), draws, anchor), notes

    def tree(
        self, columns: Sequence[str] = (), settings: TreeSettings | None = None, min_size: int | None = None
    ) -> tuple[Tree, tuple[str, ...]]:
        """Return the Bradley–Terry tree over properties of the tasks; frameworks that are marked stay in it."""
        whole, holes = _on_all(self.everybody).complete()
        data, notes = _comparisons(whole, self.scores.properties, columns)
        settings = settings or TreeSettings()
        folds = max(1, round(len(data.tasks) / max(1, len(set(data.tasks.tolist())))))
        size = min_size or TASKS_PER_LEAF * (1 if settings.unit == "task" else folds)
        tree = grow_tree(data, replace(settings, min_size=size), np.random.default_rng(self.seed))
        return tree, (*self.scores.notes, *holes, *notes, *tree.notes)

    def bayes(self, rope: float = 0.01) -> tuple[list[SignedRank], tuple[str, ...]]:
        """Return the signed-rank test of every pair; differences in gaps from the constant predictor to the best."""
        scores, notes = self._ranked()
        means, said = _in_gaps(scores)
        pairs = signed_rank_pairs(means, scores.frameworks, rope, np.random.default_rng(self.seed))
        return pairs, (*notes, *said)

    def on_one_task(self, a: str, b: str, rope: float = 0.0) -> list[OneTask]:
        """Return the tests of a pair on each task by itself, in the metric's units, positive where A is better."""
        scores = self.everybody.keep([a, b])
        out = []
        for t, task in enumerate(scores.tasks):
            rows = scores.task == t
            d = scores.scores[rows, 0] - scores.scores[rows, 1]
            d = d[np.isfinite(d)]
            if len(d) < 2:
                continue
            ratio = 1 / (len(np.unique(scores.fold[rows, 1])) - 1)
            stat, p = nadeau_bengio(d, ratio)
            above, inside, below = correlated_t(d, ratio, rope)
            out.append(OneTask(task, a, b, float(d.mean()), stat, p, above, inside, below, len(d)))
        return out

    def scaled(self, reference: str = "") -> tuple[Scaled, tuple[str, ...]]:
        """Return mean scores from the random forest (-1) to the best (0)."""
        scores, notes = self._ranked()
        return scale_from_forest(scores, reference), notes

    def pareto(self, against: str = "inference", over: str = "mean") -> tuple[Front, tuple[str, ...]]:
        """Return scaled scores against seconds: of `inference` per row, or of `training`."""
        scores, notes = self._ranked()
        seconds = seconds_by_task(self._timed(), scores, "fit_s" if against == "training" else "row_s")
        return find_front(scores.frameworks, scale_from_worst(scores).values, seconds, over), notes

    def _timed(self) -> Any:
        """Return the rows with `row_s`, seconds per row of predicting the test rows."""
        sizes = {(row["task"], row["repeat"], row["fold"]): row.get("n_test") for row in self.rows}
        keys = zip(self.table["task"], self.table["repeat"], self.table["fold"], strict=True)
        rows = np.array([sizes.get(key) or np.nan for key in keys], dtype=float)
        return self.table.assign(row_s=self.table["predict_s"].to_numpy(dtype=float) / rows)

    def failures(self) -> Failures:
        """Return failures by kind, framework, task and budget."""
        return count_failures(self.table)

    def fit_times(self) -> tuple[FitTime, ...]:
        """Return training times against the budget."""
        return fit_times(self.table)

    def inference_times(self) -> tuple[InferenceTime, ...]:
        """Return seconds per row by batch size."""
        return inference_times(self.rows)

    def budgets(self) -> tuple[BudgetStep, ...]:
        """Return what longer budgets bought."""
        wanted = replace(self.wanted, constraint="")
        return compare_budgets(wanted.choose(wanted.apply(self.scores.table)))

    def sensitivity(self) -> tuple[Sensitivity, tuple[str, ...]]:
        """Return how ranks change with the imputation, the tasks and the metric."""
        scores, notes = self._ranked()
        others: dict[str, Any] = {
            f"impute {policy}": partial(self._gathered, self.wanted, policy)
            for policy in POLICIES
            if policy != self.impute
        }
        for metric in sorted(set(self.scores.table["metric"]) - set(scores.metrics)):
            others[f"metric {metric}"] = partial(
                self._gathered, replace(self.wanted, metric=metric), self.impute
            )
        return rank_variants(scores, others), notes


def _of_store(store: Any) -> Analysis:
    import pandas as pd

    from assay.results.scores import scores_table
    from assay.runs.folds import read_task

    rows = store.rows()
    if not rows:
        raise UserError(f"The store {store.folder.root} has no finished jobs yet.")
    facts = []
    for digest in sorted({row["task_digest"] for row in rows}):
        task = read_task(store.folder, digest)
        facts.append({"task": task.name, "task_id": task.id, **task.facts})
    properties = pd.DataFrame(facts).drop_duplicates(["task", "task_id"])
    return Analysis(Scores(scores_table(rows), properties, "assay"), rows)


def _with_properties(scores: Scores, path: Path) -> Scores:
    """Return the scores with the properties of a CSV: joined on task_id where it has one, else on task."""
    import pandas as pd

    from assay.analysis.impute import plain_id

    if not path.is_file():
        raise UserError(f"There is no file {path}.")
    said = pd.read_csv(path)
    key = next((name for name in ("task_id", "task") if name in said), "")
    if not key:
        raise UserError(f"{path} has neither a column task_id nor task: its rows cannot be told apart.")
    said[key] = [plain_id(str(one)) for one in said[key]]
    own = scores.properties.assign(**{key: [plain_id(str(one)) for one in scores.properties[key]]})
    other = [name for name in said.columns if name not in own.columns or name == key]
    return replace(scores, properties=own.merge(said[other].drop_duplicates(key), on=key, how="left"))


def _on_all(scores: FoldScores) -> FoldScores:
    """Return the frameworks that took part in all tasks but a few: one that cannot do a type has no place in a tree."""
    met = np.array([(~np.isnan(scores.values[:, j])).mean() for j in range(len(scores.frameworks))])
    return scores.keep([name for name, share in zip(scores.frameworks, met, strict=True) if share > 0.9])


def _comparisons(
    scores: FoldScores, properties: Any, columns: Sequence[str]
) -> tuple[Comparisons, tuple[str, ...]]:
    """Return the scores with the properties of each fold's task; tasks without one are left out, and said."""
    known = [name for name in properties.columns if name not in ("task", "task_id")]
    chosen = list(columns) or [name for name in known if _is_usable(properties[name])]
    unknown = [name for name in chosen if name not in known]
    if unknown or not chosen:
        there = ", ".join(known) or "none: give --covariates FILE.csv"
        what = (
            f"Unknown task properties {', '.join(unknown)}" if unknown else "No task properties to split by"
        )
        raise UserError(f"{what}. There are: {there}.")
    by_id = {one: i for i, one in enumerate(properties["task_id"].astype(str)) if one}
    by_name = {one: i for i, one in enumerate(properties["task"].astype(str))}
    at = [by_id.get(i, by_name.get(t, -1)) for i, t in zip(scores.task_ids, scores.tasks, strict=True)]
    values = properties[chosen].iloc[at]
    bad = {t for t, row in enumerate(values.isna().any(axis=1)) if row or at[t] < 0}
    notes: tuple[str, ...] = ()
    if bad:
        names = ", ".join(scores.tasks[t] for t in sorted(bad)[:5])
        notes = (f"{len(bad)} tasks are left out, because a property is missing: {names}.",)
    kept = scores.without_tasks(bad)
    values = values.iloc[[t for t in range(len(scores.tasks)) if t not in bad]]
    covariates = {name: _as_array(values[name])[kept.task] for name in chosen}
    return Comparisons(kept.frameworks, kept.scores, np.array(kept.tasks)[kept.task], covariates), notes


def _is_usable(column: Any) -> bool:
    if column.dtype.kind in "iufb":
        return bool(column.nunique() > 1)
    return bool(1 < column.nunique() <= MAX_LEVELS)


def _as_array(column: Any) -> Any:
    return (
        column.to_numpy(dtype=float)
        if column.dtype.kind in "iufb"
        else column.astype(str).to_numpy(dtype=str)
    )


def _in_gaps(scores: FoldScores) -> tuple[Any, tuple[str, ...]]:
    """Return (tasks, m) means as shares of the gap from the constant predictor to the best; raw without a constant."""
    means = scores.means()
    constant = [j for j, name in enumerate(scores.frameworks) if scores.roles[name] == "constant"]
    if not constant:
        return means, (
            "Differences are in the metrics' own units: there is no constant predictor to scale by.",
        )
    start = means[:, constant[:1]]
    gap = means.max(axis=1, keepdims=True) - start
    use = gap[:, 0] > 0
    return (means[use] - start[use]) / gap[use], ()
