"""Cross-validation with tuning: try configurations, keep the best, and say how good it is on new rows.

The set of configurations is fixed beforehand. Each predicts every row without having learned from it; the winner has
the best mean over folds, and is fitted on all rows. Because it was chosen among many, its own score is too good: the
interval comes from the predictions of all configurations (`assay.uncertainty`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from assay.data.digest import digest_json, digest_splits
from assay.data.split_spec import SplitSpec
from assay.data.splits import Strata, make_splits
from assay.errors import ConfigError, DataError, UserError
from assay.metrics import BUILTIN, default_metrics
from assay.results.prediction_matrix import PredictionMatrix
from assay.settings import Settings
from assay.studies.crossfit import Work, compute_all, open_folder, read_pieces, told
from assay.studies.identity import identity
from assay.studies.inputs import SearchData, open_data
from assay.studies.spaces import TRIVIAL, Configuration, Demand, check_names, choose, full, make_pipeline, own
from assay.uncertainty.bbc import FEWEST_FOLDS, Search, prepare
from assay.uncertainty.methods import METHODS, OWN_WINNER, find_interval
from assay.uncertainty.result import TIE, Interval, Options, turned
from assay.uncertainty.scorers import make_scorer

__all__ = ["SearchResult", "demand_for", "fit_winner", "fold_rows", "gather", "search"]

DEFAULT = 60
LARGEST_SEED = 2**32 - 1
TOLD = 3  # failures that are told one by one
OF_ALL_ROWS = ("bbc", "bbc_vc", "naive_samples")  # methods that judge rows of several folds together
Configurations = int | str | Mapping[str, Any] | Sequence[Configuration]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """What a search found.

    Attributes:
        winner: the name of the best configuration.
        model: its pipeline, fitted on all rows; None if that failed, and `notes` say why.
        interval: how good the winner is on new rows.
        is_trivial: whether it is no better than `trivial`, which says the same of every row.
        scores: the mean over folds of each configuration, the best first.
        predictions: of all configurations, for rows that they had not learned from.
        failed: configurations that were left out, and why.
        metric: what is best was judged by.
        classes: in sorted order; empty for values.
        notes: what else one should know.
        pieces: how many pieces of work there were, and how many of them were found finished in the folder.
        seconds: this call took, on the clock.
    """

    winner: str
    model: Any = field(repr=False)
    interval: Interval
    is_trivial: bool
    scores: Mapping[str, float] = field(repr=False)
    predictions: PredictionMatrix = field(repr=False)
    failed: Mapping[str, str]
    metric: str
    classes: tuple[Any, ...]
    notes: tuple[str, ...]
    pieces: tuple[int, int]
    seconds: float

    def write_predictions(self, path: Path | str) -> None:
        """Write all predictions as Parquet or CSV, for `assay interval`: the same winner, the same interval."""
        import pandas as pd

        data = self.predictions
        parts = []
        for repeat, (values, folds) in enumerate(zip(data.values, data.folds, strict=True)):
            columns: dict[str, Any] = {"y": data.y, "fold": folds}
            columns |= {"repeat": np.full(len(folds), repeat)} if len(data.values) > 1 else {}
            columns |= {"group": data.groups} if data.groups is not None else {}
            if values.ndim == 2:
                columns |= {name: values[:, at] for at, name in enumerate(data.names)}
            else:
                columns |= {
                    f"{name}|{cls}": values[:, at, code]
                    for at, name in enumerate(data.names)
                    for code, cls in enumerate(self.classes)
                }
            parts.append(pd.DataFrame(columns))
        frame = pd.concat(parts, ignore_index=True)
        if Path(path).suffix == ".csv":
            frame.to_csv(path, index=False)
        else:
            frame.to_parquet(path, index=False)


def search(
    data: Any,
    target: Any = None,
    *,
    metric: str = "",
    configurations: Configurations = DEFAULT,
    prepare_columns: bool = True,
    folds: int = 10,
    repeats: int = 1,
    groups: Any = None,
    seed: int = 0,
    jobs: int = 1,
    folder: Path | str | None = None,
    method: str = "bbc",
    options: Options | None = None,
    progress: Callable[[int, int], None] | None = None,
    settings: Settings | None = None,
    csv: Mapping[str, Any] | None = None,
    **said: Any,
) -> SearchResult:
    """Find the best of many configurations by cross-validation, fit it, and say how good it is on new rows.

    Args:
        data: a path, a DataFrame with the name of the target's column, or (X, y).
        target: the name of the target's column.
        metric: the first default metric of the type of task if left out: `auc`, `logloss` for more than two classes,
            `rmse` for values.
        configurations: how many of the 766 of the paper's space, `all` of them, a mapping of names to estimators (see
            `assay.studies.spaces.grid` and `sample`), or a sequence of configurations.
        prepare_columns: give estimators of one's own numbers without gaps, as the others get; else the columns as they
            are.
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
        said: fields of the options by name (`alpha=0.1`, `side="two"`), which go before `options`.

    Raises:
        UserError: nothing could be searched, or every configuration failed.
    """
    began = time.monotonic()
    wanted = replace(options or Options(), **said)
    _check(method, folds, repeats, jobs, seed)
    rows = open_data(data, target, groups, metric, settings, csv)
    named = metric or _default_metric(rows)
    tried = _configurations(configurations, seed, prepare_columns)
    split, notes = fold_rows(rows, folds, repeats, seed)
    n_folds = 1 + max(fold for _, fold, _, _ in split)
    if method == "bbc_f" and n_folds < FEWEST_FOLDS and not wanted.few_folds:
        raise ConfigError(f"{n_folds} folds are too few for bbc_f, it needs {FEWEST_FOLDS}. Take bbc.")
    work = Work(rows, tried, split, demand_for(rows, named, seed))
    with ExitStack() as stack:
        if folder is None:
            where = Path(stack.enter_context(TemporaryDirectory()))
        else:
            where = open_folder(Path(folder), _about(work))
        found = compute_all(work, where, jobs, progress)
        values, failed = read_pieces(work, where)
    judged = _judged(gather(work, values, failed), named, failed)
    del values
    interval = _interval(judged, method, wanted, seed)
    winner = next(one for one in tried if one.name == judged.data.names[judged.winner])
    model, unfitted = _model(rows, winner, work.demand)
    return SearchResult(
        winner=winner.name,
        model=model,
        interval=interval,
        is_trivial=_is_trivial(judged, interval),
        scores=_by_score(judged),
        predictions=judged.data,
        failed=failed,
        metric=named,
        classes=rows.classes,
        notes=(*rows.notes, *notes, *_left_out(failed), *unfitted),
        pieces=(len(work.pieces()), found),
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
            f"write the predictions (-o) and ask `assay interval --method {method}`."
        )
    if repeats < 1 or folds < 2:
        raise ConfigError(f"{folds} folds, {repeats} repeats: at least two folds and one repeat are needed.")
    if jobs == 0 or jobs < -1:
        raise ConfigError(f"{jobs} jobs: give a number of processes, or -1 for one on each core.")


def _default_metric(data: SearchData) -> str:
    kind = "regression" if data.is_value else "binary" if len(data.classes) == 2 else "multiclass"
    return default_metrics(kind)[0]


def _by_score(judged: Search) -> dict[str, float]:
    """Return scores by name, the winner first, then by score: scores that differ by rounding only are equal to it."""
    order = np.argsort(-turned(judged.metric, judged.scores), kind="stable")
    others = [at for at in order if at != judged.winner]
    return {judged.data.names[at]: float(judged.scores[at]) for at in (judged.winner, *others)}


def _is_trivial(judged: Search, found: Interval) -> bool:
    """Whether the winner is no better than the trivial one: by its own score, or by the corrected one.

    The corrected score of most methods is of all rows together, and so is the trivial one's beside it; but not where
    ranks count, because the base rates that it says in different folds run against the classes.
    """
    if TRIVIAL.name not in judged.data.names:
        return False
    at = judged.data.names.index(TRIVIAL.name)
    own = plain = float(judged.scores[at])
    if found.method in OF_ALL_ROWS and judged.metric.kind != "rank":
        every = np.ones((1, judged.data.n_rows), dtype=np.uint8)
        plain = float(judged.weighted(every, [at])[0, 0])
    pairs = [(found.cv_score, own)] + ([] if found.estimate is None else [(found.estimate, plain)])
    return at == judged.winner or any(
        turned(judged.metric, one - other) <= TIE * abs(other) for one, other in pairs
    )


def _left_out(failed: Mapping[str, str]) -> list[str]:
    said = [f"{name} was left out: it failed in {why}" for name, why in list(failed.items())[:TOLD]]
    more = len(failed) - len(said)
    return [*said, f"{more} more configurations failed and were left out."] if more else said


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


def _configurations(given: Configurations, seed: int, prepare_columns: bool) -> tuple[Configuration, ...]:
    if isinstance(given, Mapping):
        found = own(given, prepare_columns)
    elif given == "all":
        found = full()
    elif isinstance(given, int) and not isinstance(given, bool):
        found = choose(given, seed)
    elif isinstance(given, list | tuple) and all(isinstance(one, Configuration) for one in given):
        found = tuple(given)
    else:
        raise ConfigError(
            f"configurations is {given!r}: give a number, all, or a mapping of names to estimators."
        )
    if not found:
        raise ConfigError("There are no configurations: give at least one.")
    check_names(found)
    return found


def fold_rows(data: SearchData, folds: int, repeats: int, seed: int) -> tuple[Any, list[str]]:
    """Return folds as (repeat, fold, training rows, test rows), stratified by class, and what is to be said of them.

    There are as many as the smallest class has rows, if that is fewer: every fold should have all classes.
    """
    n_folds, notes = folds, []
    codes = np.searchsorted(data.classes, data.y) if data.classes else np.zeros(data.n_rows, dtype=np.int64)
    if data.classes:
        counts = np.bincount(codes, minlength=len(data.classes))
        if counts.min() < 2:
            raise DataError(
                f"Class '{data.classes[int(counts.argmin())]}' of {data.name} has fewer than two rows: it cannot be "
                "learned and tested. Leave it out, or merge it with another."
            )
        if counts.min() < n_folds:
            n_folds = int(counts.min())
            name = data.classes[int(counts.argmin())]
            notes.append(
                f"{n_folds} folds instead of {folds}, because class '{name}' has only {n_folds} rows."
            )
    n_groups = data.n_rows if data.groups is None else len(np.unique(data.groups))
    if n_groups < n_folds:
        n_folds = n_groups
        what = "groups" if data.groups is not None else "rows"
        notes.append(f"{n_folds} folds instead of {folds}, because there are only {n_folds} {what}.")
    # Values have one class: that way groups are dealt out by chance too, and repeats differ.
    names = tuple(str(one) for one in data.classes) or ("all rows",)
    no_strata = data.is_value and data.groups is None
    strata = Strata(data.n_rows, data.name, None if no_strata else codes.astype(np.int32), names, data.groups)
    out = []
    for repeat in range(repeats):
        own_seed = int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])
        kind: Any = "cv" if data.groups is None else "grouped"
        made = make_splits(SplitSpec(kind=kind, folds=max(n_folds, 2), seed=own_seed), strata)
        out += [(repeat, fold, train, test) for _, fold, train, test in made.folds]
    return tuple(out), notes


def _about(work: Work) -> dict[str, Any]:
    """Return what makes this search this one, as digests by what the user would call them."""
    import sklearn

    told = [
        [one.name, str(one.selector), str(one.learner), identity(one.estimator)]
        for one in work.configurations
    ]
    target = [str(work.data.y.dtype.kind), [str(one) for one in work.data.classes]]
    return {
        "data": work.data.digest(),
        "the kind of target": digest_json(target),
        "configurations": digest_json(told),
        "folds": digest_splits(work.folds),
        "seed": work.demand.seed,
        "the kind of metric": "probabilities" if work.demand.probabilities else "order or values",
        "the version of scikit-learn": sklearn.__version__,
    }


def gather(work: Work, values: Sequence[Any], failed: Mapping[str, str]) -> PredictionMatrix:
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


def _model(data: SearchData, winner: Configuration, demand: Demand) -> tuple[Any, tuple[str, ...]]:
    """Return the fitted winner; or None and why: what was found of it is not lost for that."""
    try:
        return fit_winner(data, winner, demand), ()
    except Exception as error:  # whatever a learner raises
        return None, (
            f"The winner could not be fitted on all rows, so there is no model of it: {told(error)}",
        )


def fit_winner(data: SearchData, winner: Configuration, demand: Demand) -> Any:
    """Return the pipeline of a configuration, fitted on all rows."""
    import warnings

    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(winner, demand).fit(data.x, data.y)
