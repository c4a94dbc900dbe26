"""Cross-validation with tuning: try configurations, keep the best, and say how good it is on new rows.

The set of configurations is fixed beforehand. Each predicts every row without having learned from it; the winner has
the best mean over folds, and is fitted on all rows. Because it was chosen among many, its own score is too good: the
interval comes from the predictions of all configurations (`assay.uncertainty`).
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from assay.errors import ConfigError, DataError, UserError
from assay.files import make_folder
from assay.frameworks.pipeline.estimator import Estimator
from assay.frameworks.space import Space
from assay.jobs.constraint import Constraint, read_constraint
from assay.metrics import default_metrics
from assay.results.prediction_matrix import PredictionMatrix
from assay.runs.executors.base import Executor, ExecutorOptions
from assay.runs.executors.registry import make_executor
from assay.runs.run import RunOptions
from assay.searches.configurations import (
    PIPELINES,
    TRIVIAL,
    Configuration,
    check_names,
    configurations_of,
    from_estimators,
)
from assay.searches.fits import Progress, Work, open_fitting
from assay.searches.folds import fold_rows
from assay.searches.inputs import SearchData, SearchInput, open_data
from assay.searches.matrix import demand_for, gather
from assay.searches.nested import nest
from assay.searches.pipelines import Demand, fit_winner
from assay.searches.result import SearchResult
from assay.searches.spaces import find_space
from assay.settings import Settings
from assay.uncertainty.bbc import FEWEST_FOLDS, Search, prepare
from assay.uncertainty.methods import METHODS, OWN_WINNER, find_interval
from assay.uncertainty.result import TIE, Interval, Options, turned

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["LIMIT", "search"]

DEFAULT = 60
LIMIT = "10m1c"  # what one fit may use
LARGEST_SEED = 2**32 - 1
FAILURES_SHOWN = 3  # failures that get a note each
OF_ALL_ROWS = ("bbc", "bbc_vc", "naive_samples")  # methods that judge rows of several folds together
Configurations: TypeAlias = "int | str | Mapping[str, Estimator] | Sequence[Configuration]"


def search(
    data: SearchInput,
    target: ArrayLike | None = None,
    *,
    metric: str = "",
    configurations: Configurations = DEFAULT,
    space: Space | str = PIPELINES,
    prepare_columns: bool = True,
    folds: int = 10,
    repeats: int = 1,
    groups: ArrayLike | None = None,
    seed: int = 0,
    constraint: str | Constraint = LIMIT,
    parallel: int | None = None,
    executor: Executor | None = None,
    run_options: RunOptions | None = None,
    folder: Path | str | None = None,
    nested: bool = False,
    method: str = "bbc",
    options: Options | None = None,
    progress: Progress | None = None,
    settings: Settings | None = None,
    csv: Mapping[str, object] | None = None,
    **fields: object,
) -> SearchResult:
    """Find the best of many configurations by cross-validation, fit it, and say how good it is on new rows.

    Every fit is a job: it runs in a sandbox, under limits, and has a row in the store.

    Args:
        data: a path, a DataFrame with the name of the target's column, or (X, y).
        target: the name of the target's column.
        metric: the first default metric of the type of task if left out: `auc`, `logloss` for more than two classes,
            `rmse` for values.
        configurations: how many of the space, `all` of them, a mapping of names to estimators (see
            `assay.searches.configurations.grid` and `sample`), or a sequence of configurations.
        space: a ready-made space by name, `file.toml`, `file.py:function`, or a record. By default the paper's space of
            766 configurations.
        prepare_columns: give the user's own estimators numbers without gaps, as the others get; else the columns as
            they are.
        folds: fewer if a class (or the groups) has fewer rows.
        repeats: of the cross-validation.
        groups: a column, or (N) names: rows of one group stay on one side.
        seed: of folds, of learners and of the interval.
        constraint: what one fit may use, as in `assay run`; a fit that takes longer is a failure of its configuration.
        parallel: how many jobs run at a time; by default as many as this machine has cores for.
        executor: where jobs run, instead of `parallel` jobs on this machine.
        run_options: as of any run, for example whether failed jobs run again.
        folder: a store for the jobs; the same call again computes what is missing. Without it nothing is kept.
        nested: also repeat the whole search within each of `folds` outer folds, and score its winner there.
        method: of the interval.
        options: of the interval.
        progress: called after each job with how many are done, and of how many.
        settings: folders of Assay, for files.
        csv: how a CSV file is written, as in `assay.load_suite`.
        fields: fields of the options by name (`alpha=0.1`, `side="two"`), which go before `options`.

    Raises:
        UserError: nothing could be searched, or every configuration failed.
    """
    began = time.monotonic()
    chosen_options = replace(options or Options(), **fields)  # type: ignore[arg-type]  # names of fields, as given
    _check(method, folds, repeats, seed)
    chosen = settings or Settings.from_environment()
    rows = open_data(data, target, groups, metric, chosen, csv)
    metric = metric or default_metrics(rows.task_type)[0]
    tried = _configurations(configurations, space, rows, seed, prepare_columns)
    split, notes = fold_rows(rows, folds, repeats, seed)
    _check_folds(method, 1 + max(fold for _, fold, _, _ in split), chosen_options)
    work = Work(rows, tried, split, demand_for(rows, metric, seed), metric)
    limit = constraint if isinstance(constraint, Constraint) else read_constraint(constraint, {}, "search")
    where = executor or make_executor("local", ExecutorOptions(parallel))
    with open_fitting(_store(folder), limit, where, chosen, _run_options(run_options)) as fitting:
        fits = fitting.fit([work], progress)[0]
        outer = nest(fitting, work, folds, progress) if nested else None
        counted = fitting.n_jobs, fitting.n_found
    failed = dict(fits.failed)
    judged = _judged(gather(work, fits), metric, failed)
    interval = _interval(judged, method, chosen_options, seed)
    winner = next(one for one in tried if one.name == judged.data.names[judged.winner])
    model, unfitted = _model(rows, winner, work.demand)
    return SearchResult(
        winner=winner.name,
        winner_params={} if winner.estimator is not None else winner.params(),
        model=model,
        interval=interval,
        is_trivial=_is_trivial(judged, interval),
        scores=_by_score(judged),
        predictions=judged.data,
        failed=failed,
        metric=metric,
        classes=rows.classes,
        notes=(*rows.notes, *notes, *_left_out(failed), *unfitted),
        jobs=counted,
        seconds=time.monotonic() - began,
        nested=outer,
    )


def _check(method: str, folds: int, repeats: int, seed: int) -> None:
    """Refuse what would be found wrong only after the work."""
    for name, value in (("folds", folds), ("repeats", repeats), ("seed", seed)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise ConfigError(f"{name} is {value!r}: give a whole number.")
    if not 0 <= seed <= LARGEST_SEED:
        raise ConfigError(f"The seed is {seed}: learners take one from 0 to {LARGEST_SEED}.")
    if method not in METHODS:
        raise ConfigError(f"Unknown method '{method}'. There are: {', '.join(METHODS)}.")
    if method in OWN_WINNER:
        raise ConfigError(
            f"{method} chooses on a part of the rows, perhaps another configuration than the search. Take bbc here, "
            f"write the predictions (`write_predictions`) and ask `assay interval --method {method}`.",
            ["write_predictions"],
        )
    if repeats < 1 or folds < 2:
        raise ConfigError(f"{folds} folds, {repeats} repeats: at least two folds and one repeat are needed.")


def _check_folds(method: str, n_folds: int, options: Options) -> None:
    if method == "bbc_f" and n_folds < FEWEST_FOLDS and not options.few_folds:
        raise ConfigError(f"{n_folds} folds are too few for bbc_f, it needs {FEWEST_FOLDS}. Take bbc.")


def _store(folder: Path | str | None) -> Path | None:
    """Return the folder of the store; refuse the folder of a search that an earlier version wrote."""
    if folder is None:
        return None
    if os.path.isfile(Path(folder, "search.json")):
        raise ConfigError(
            f"{folder} holds a search of an earlier version, whose work cannot be continued: searches are kept in "
            "stores now. Name a new folder."
        )
    make_folder(Path(folder))
    return Path(folder)


def _run_options(given: RunOptions | None) -> RunOptions:
    """Return the options of a run; inference is not timed unless that is asked for: a search does not need it."""
    chosen = given or RunOptions()
    return replace(chosen, timing_s=0.0) if chosen.timing_s is None else chosen


def _by_score(judged: Search) -> dict[str, float]:
    """Return scores by name, the winner first, then by score: scores that differ by rounding only are equal to it."""
    order = np.argsort(-turned(judged.metric, judged.scores), kind="stable")
    others = [at for at in order if at != judged.winner]
    return {judged.data.names[at]: float(judged.scores[at]) for at in (judged.winner, *others)}


def _is_trivial(judged: Search, interval: Interval) -> bool:
    """Whether the winner is no better than the trivial one: by its own score, or by the corrected one.

    The corrected score of most methods is of all rows together, and so is the trivial one's beside it; but not where
    ranks count, because the base rates that it predicts in different folds run against the classes.
    """
    if TRIVIAL.name not in judged.data.names:
        return False
    at = judged.data.names.index(TRIVIAL.name)
    by_folds = of_all_rows = float(judged.scores[at])
    if interval.method in OF_ALL_ROWS and judged.metric.kind != "rank":
        every = np.ones((1, judged.data.n_rows), dtype=np.uint8)
        of_all_rows = float(judged.weighted(every, [at])[0, 0])
    pairs = [(interval.cv_score, by_folds)]
    pairs += [] if interval.estimate is None else [(interval.estimate, of_all_rows)]
    return at == judged.winner or any(
        turned(judged.metric, score - trivial) <= TIE * abs(trivial) for score, trivial in pairs
    )


def _left_out(failed: Mapping[str, str]) -> list[str]:
    notes = [
        f"{name} was left out: it failed in {why}" for name, why in list(failed.items())[:FAILURES_SHOWN]
    ]
    more = len(failed) - len(notes)
    return [*notes, f"{more} more configurations failed and were left out."] if more else notes


def _configurations(
    given: Configurations, space: Space | str, data: SearchData, seed: int, prepare_columns: bool
) -> tuple[Configuration, ...]:
    if isinstance(given, Mapping):
        tried = from_estimators(given, prepare_columns)
    elif given == "all" or (isinstance(given, int) and not isinstance(given, bool)):
        known = find_space(space) if isinstance(space, str) else space
        tried = configurations_of(known, given if isinstance(given, int) else None, data.task_type, seed)
    elif isinstance(given, list | tuple) and all(isinstance(one, Configuration) for one in given):
        tried = tuple(given)
    else:
        raise ConfigError(
            f"configurations is {given!r}: give a number, all, or a mapping of names to estimators."
        )
    if not tried:
        raise ConfigError("There are no configurations: give at least one.")
    check_names(tried)
    return tried


def _judged(data: PredictionMatrix, metric: str, failed: dict[str, str]) -> Search:
    """Return the scores of all; a configuration that the metric has no value for becomes one of the failed."""
    try:
        return prepare(data, metric)
    except DataError:
        kept = []
        for at, name in enumerate(data.names):
            try:
                prepare(
                    replace(data, values=tuple(one[:, [at]] for one in data.values), names=(name,)), metric
                )
                kept.append(at)
            except DataError as error:
                failed[name] = f"the scoring: {error}"
        if not kept or len(kept) == len(data.names):
            raise
    some = tuple(one[:, kept] for one in data.values)
    return prepare(replace(data, values=some, names=tuple(data.names[at] for at in kept)), metric)


def _interval(judged: Search, method: str, options: Options, seed: int) -> Interval:
    """Return the interval, or one without ends that says why: the models are not lost for it."""
    try:
        return find_interval(judged, method, options, seed)
    except UserError as error:
        return judged.tell(method, options, warnings=(str(error),))


def _model(
    data: SearchData, winner: Configuration, demand: Demand
) -> tuple[Estimator | None, tuple[str, ...]]:
    """Return the fitted winner; or None and why: what was found of it is not lost for that."""
    try:
        return fit_winner(data, winner, demand), ()
    except Exception as error:  # whatever a learner raises
        return None, (
            f"The winner could not be fitted on all rows, so there is no model of it: {_one_line(error)}",
        )


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0][:200].removesuffix(": ")
