"""Cross-validation with tuning: try configurations, keep the best, and say how good it is on new rows.

The set of configurations is fixed beforehand. Each predicts every row without having learned from it; the winner has
the best mean over folds, and is fitted on all rows. Because it was chosen among many, its own score is too good: the
interval comes from the predictions of all configurations (`assay.uncertainty`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from assay.data.digest import digest_json, digest_splits
from assay.errors import ConfigError, DataError, UserError
from assay.frameworks.space import Space
from assay.metrics import BUILTIN, default_metrics
from assay.results.prediction_matrix import PredictionMatrix
from assay.searches.configurations import (
    PIPELINES,
    TRIVIAL,
    Configuration,
    check_names,
    configurations_of,
    from_estimators,
)
from assay.searches.crossfit import Work, compute_all, failure_text, open_folder, read_pieces
from assay.searches.estimator import Estimator
from assay.searches.folds import fold_rows
from assay.searches.identity import identity
from assay.searches.inputs import SearchData, SearchInput, open_data
from assay.searches.pipelines import Demand, make_pipeline
from assay.searches.result import SearchResult
from assay.searches.spaces import find_space
from assay.settings import Settings
from assay.uncertainty.bbc import FEWEST_FOLDS, Search, prepare
from assay.uncertainty.methods import METHODS, OWN_WINNER, find_interval
from assay.uncertainty.result import TIE, Interval, Options, turned
from assay.uncertainty.scorers import make_scorer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from assay.typing import Floats, JsonObject

__all__ = ["demand_for", "fit_winner", "gather", "search"]

DEFAULT = 60
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
    jobs: int = 1,
    folder: Path | str | None = None,
    method: str = "bbc",
    options: Options | None = None,
    progress: Callable[[int, int], None] | None = None,
    settings: Settings | None = None,
    csv: Mapping[str, object] | None = None,
    **fields: object,
) -> SearchResult:
    """Find the best of many configurations by cross-validation, fit it, and say how good it is on new rows.

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
        jobs: processes; -1 is one for each core.
        folder: keep finished pieces there; the same call again computes what is missing.
        method: of the interval.
        options: of the interval.
        progress: called after each piece of work with how many are done, and of how many.
        settings: folders of Assay, for files.
        csv: how a CSV file is written, as in `assay.load_suite`.
        fields: fields of the options by name (`alpha=0.1`, `side="two"`), which go before `options`.

    Raises:
        UserError: nothing could be searched, or every configuration failed.
    """
    began = time.monotonic()
    chosen_options = replace(options or Options(), **fields)  # type: ignore[arg-type]  # names of fields, as given
    _check(method, folds, repeats, jobs, seed)
    rows = open_data(data, target, groups, metric, settings, csv)
    metric = metric or default_metrics(rows.task_type)[0]
    tried = _configurations(configurations, space, rows, seed, prepare_columns)
    split, notes = fold_rows(rows, folds, repeats, seed)
    n_folds = 1 + max(fold for _, fold, _, _ in split)
    if method == "bbc_f" and n_folds < FEWEST_FOLDS and not chosen_options.few_folds:
        raise ConfigError(f"{n_folds} folds are too few for bbc_f, it needs {FEWEST_FOLDS}. Take bbc.")
    work = Work(rows, tried, split, demand_for(rows, metric, seed))
    with ExitStack() as stack:
        if folder is None:
            where = Path(stack.enter_context(TemporaryDirectory()))
        else:
            where = open_folder(Path(folder), _about(work))
        n_found = compute_all(work, where, jobs, progress)
        values, failed = read_pieces(work, where)
    judged = _judged(gather(work, values, failed), metric, failed)
    del values
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
        pieces=(len(work.pieces()), n_found),
        seconds=time.monotonic() - began,
    )


def _check(method: str, folds: int, repeats: int, jobs: int, seed: int) -> None:
    """Refuse what would be found wrong only after the work."""
    for name, value in (("folds", folds), ("repeats", repeats), ("jobs", jobs), ("seed", seed)):
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
    if jobs == 0 or jobs < -1:
        raise ConfigError(f"{jobs} jobs: give a number of processes, or -1 for one on each core.")


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


def demand_for(data: SearchData, metric: str, seed: int) -> Demand:
    """Return what learners need to know; a metric other than the area of two classes needs probabilities.

    A metric that is not for such a target, or whose function raises, is refused here, before there is any work.
    """
    same = float(data.y.mean()) if data.is_value else 1 / len(data.classes)
    plain = np.full((data.n_rows, 1, data.n_scores), same)
    scorer = make_scorer(metric, data.y, plain if data.n_scores > 1 else plain[:, :, 0])
    if scorer.metric.name not in BUILTIN:  # a function that raises would do so only after all the work
        scorer.weighted(np.ones((1, data.n_rows), dtype=np.uint8))
    return Demand(data.is_value, metric != "auc" or len(data.classes) > 2, seed)


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


def _about(work: Work) -> JsonObject:
    """Return what makes this search this one, as digests by what the user would call them."""
    import sklearn

    identities = [
        [one.name, str(one.selector), str(one.learner), identity(one.estimator)]
        for one in work.configurations
    ]
    target = [str(work.data.y.dtype.kind), [str(one) for one in work.data.classes]]
    return {
        "data": work.data.digest(),
        "the kind of target": digest_json(target),
        "configurations": digest_json(identities),
        "folds": digest_splits(work.folds),
        "seed": work.demand.seed,
        "the kind of metric": "probabilities" if work.demand.probabilities else "order or values",
        "the version of scikit-learn": sklearn.__version__,
    }


def gather(work: Work, values: Sequence[Floats], failed: Mapping[str, str]) -> PredictionMatrix:
    """Return the predictions of the configurations that failed nowhere; nothing is copied where none failed."""
    names = [one.name for one in work.configurations]
    kept = [at for at, name in enumerate(names) if name not in failed]
    if not kept:
        name, why = next(iter(failed.items()))
        raise UserError(f"All {len(names)} configurations failed. The first was {name}, in {why}")
    fold_of = np.zeros((len(values), work.data.n_rows), dtype=np.int64)
    for repeat, fold, _, test in work.folds:
        fold_of[repeat, test] = fold
    return PredictionMatrix(
        y=work.data.y,
        values=tuple(values) if len(kept) == len(names) else tuple(one[:, kept] for one in values),
        folds=tuple(fold_of),
        names=tuple(names[at] for at in kept),
        groups=work.data.groups,
    )


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
            f"The winner could not be fitted on all rows, so there is no model of it: {failure_text(error)}",
        )


def fit_winner(data: SearchData, winner: Configuration, demand: Demand) -> Estimator:
    """Return the pipeline of a configuration, fitted on all rows."""
    import warnings

    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Estimator = make_pipeline(winner, demand).fit(data.x, data.y)
        return model
