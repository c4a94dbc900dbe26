"""From a store or a file of scores to every analysis, built-in or not, by its name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.analysis.registry import AnalysisSpec, analysis_names, find_analysis
from assay.errors import UserError
from assay.jobs.row import Row

if TYPE_CHECKING:
    from assay.analysis.inputs import Inputs, Notes
    from assay.analysis.record import AnalysisRecord
    from assay.results.scored import Scores
    from assay.store.store import Store

__all__ = ["Analysis", "analyse"]


def analyse(source: Store | Path | str, covariates: Path | str | None = None) -> Analysis:
    """Return the analyses of a store, or of a file of scores (AMLB's, bencheval's, ours, or a plain long table).

    `covariates` is a CSV with properties of tasks, joined on `task_id` or `task`.
    """
    from assay.analysis.inputs import Inputs
    from assay.results.formats.foreign import read_scores

    inputs = Inputs(read_scores(Path(source))) if isinstance(source, (str, Path)) else _inputs_of(source)
    if covariates:
        inputs = replace(inputs, scores=_with_properties(inputs.scores, Path(covariates)))
    return Analysis(inputs)


@dataclass(frozen=True)
class Analysis:
    """Scores, ready to be analysed: `analysis.ranks(alpha=0.1)` or `analysis.run("ranks", alpha=0.1)`.

    Every analysis that `assay analyse --help` lists is a method, also those of installed packages. Each returns a
    record with `to_frame()`, `to_json()` and, where there is a figure, `plot()`.
    """

    inputs: Inputs

    def run(self, analysis: str | AnalysisSpec, **options: Any) -> AnalysisRecord:
        """Return the record of an analysis: its name, the path of a file with one, or a specification."""
        from assay.analysis.options import make_options

        spec = find_analysis(analysis) if isinstance(analysis, str) else analysis
        return spec.compute(self.inputs, make_options(spec.options, options))

    def using(self, **changes: Any) -> Analysis:
        """Return the same scores with other settings: `selection`, `impute`, `include_excluded`, `seed`, …."""
        return Analysis(replace(self.inputs, **changes))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("_") or name not in analysis_names():
            raise AttributeError(f"There is no analysis '{name}'. There are: {', '.join(analysis_names())}.")
        return partial(self.run, name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *analysis_names()]


def _inputs_of(store: Store) -> Inputs:
    import pandas as pd

    from assay.analysis.impute import plain_id
    from assay.analysis.inputs import Inputs
    from assay.results.scored import Scores
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
    return Inputs(
        Scores(scores_table(rows), properties, "assay", inference_table(rows)),
        traces=partial(read_traces, store.folder, rows),
        hardware=_machines(store, rows),
        bounds=partial(_bounds, store, rows),
    )


def _bounds(
    store: Store, rows: Sequence[Row], keys: Collection[str], alpha: float, seed: int
) -> tuple[Sequence[Any], Notes]:
    """Return the bounds of the best models of the jobs with these keys, and notes on jobs that have none."""
    from assay.results.matrices import read_job_matrices
    from assay.results.without_oof import why_no_oof
    from assay.uncertainty.models import bound_models, note_on_lost
    from assay.uncertainty.result import Options

    tried = [
        bound_models(row, matrix, best, Options(alpha=alpha), seed)
        for row, matrix, best in read_job_matrices(store.folder, rows)
        if row.key in keys
    ]
    bounds = [bound for bound in tried if bound is not None]
    missing = why_no_oof(row for row in rows if row.key in keys)
    return bounds, (*note_on_lost(len(tried) - len(bounds)), *missing)


def _machines(store: Store, rows: Sequence[Row]) -> Notes:
    """Return what the machines were, each once: the first job of each tells."""
    first = {row.host: row for row in reversed(rows) if row.host}
    machines: dict[str, None] = {}
    for row in first.values():
        facts = store.folder.job(row.key).attempt(row.attempt).read_facts().value
        machine = facts.circumstances.machine if facts else None
        if machine is not None:  # else the job ended without a child
            cores, memory_gb = len(machine.cores), machine.memory_mb / 1000
            machines[f"{machine.processor}, {cores} cores, {memory_gb:.0f} GB, {machine.system}"] = None
    return tuple(machines)


def _with_properties(scores: Scores, path: Path) -> Scores:
    """Return the scores with the properties of a CSV: joined on task_id where it has one, else on task."""
    from assay.analysis.impute import plain_id
    from assay.results.formats.read_table import read_frame

    given = read_frame(path, names={"task", "name"})
    column = next((name for name in ("task_id", "tid", "task", "name") if name in given), "")
    if not column:
        raise UserError(f"{path} has neither a column task_id nor task: its rows cannot be told apart.")
    key = "task_id" if column in ("task_id", "tid") else "task"
    given = given.rename(columns={column: key})
    given[key] = [plain_id(str(value)) for value in given[key]]
    properties = scores.properties.assign(**{key: [plain_id(str(value)) for value in scores.properties[key]]})
    if key == "task":
        given["task"] = _spelled_as(given["task"], properties["task"])
    if not properties[key].isin(given[key]).any():
        shown = (
            f"{given[key].iloc[0]!r} there, {properties[key].iloc[0]!r} here"
            if len(given)
            else "it has no rows"
        )
        raise UserError(f"No {key} of the scores stands in {path} (for example {shown}).")
    new = [name for name in given.columns if name not in properties.columns]
    given = given[[key, *new]].drop_duplicates()
    again = given.loc[given[key].duplicated(), key]
    if len(again):
        raise UserError(f"{path} says two things of the {key} {again.iloc[0]}: each may have one row only.")
    return replace(scores, properties=properties.merge(given, on=key, how="left"))


def _spelled_as(names: Any, spellings: Any) -> list[str]:
    """Return names of tasks in the spelling that the scores have: OpenML's numerai28.6 is AMLB's numerai28_6.

    A name that the scores have too is not changed, nor one that has several spellings on either side.
    """
    from assay.results.scores import folded

    taken = set(spellings)
    by_folded = spellings[~spellings.map(folded).duplicated(keep=False) & ~spellings.isin(names)]
    spelling = dict(zip(by_folded.map(folded), by_folded, strict=True))
    twice = set(names[names.map(folded).duplicated(keep=False)])
    return [n if n in taken or n in twice else spelling.get(folded(n), n) for n in names]
