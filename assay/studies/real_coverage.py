"""Do intervals hold what they promise on real data? A few rows are searched on, the many others are the truth.

The protocol of the BBC-F paper's Table 3: training rows are drawn, configurations are cross-validated on them, each
method bounds the performance of the configuration it chose, and that one, fitted on all training rows, is scored on
the rows that were left. All fits are jobs of a store in the study's folder, and what the methods said of a repetition
is one file there: what was done is not done again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError, DataError
from assay.jobs.constraint import read_constraint
from assay.results.prediction_matrix import PredictionMatrix
from assay.runs.executors.base import ExecutorOptions
from assay.runs.executors.registry import make_executor
from assay.runs.run import RunOptions
from assay.searches.configurations import Configuration, choose
from assay.searches.fits import Fitting, Work, open_fitting
from assay.searches.folds import fold_rows
from assay.searches.guided import search_guided
from assay.searches.inputs import SearchData, open_data
from assay.searches.matrix import demand_for, gather
from assay.searches.nested import score_each
from assay.searches.search import LIMIT
from assay.settings import Settings
from assay.studies.pieces import StudyPiece, missing_pieces, run_pieces
from assay.studies.simulate import STRATEGIES, Strategy
from assay.studies.verdicts import check_methods, judge
from assay.uncertainty.bbc import prepare
from assay.uncertainty.coverage import Coverage, summarise

if TYPE_CHECKING:
    from assay.studies.pieces import StudyRow, StudyRows
    from assay.typing import Ints

__all__ = ["DrawnRows", "RealSetting", "draw", "open_study", "run_real", "search_rows", "true_scores"]

FOLDS = 10
TRIES = 1000


@dataclass(frozen=True)
class RealSetting:
    """A data set, how many of its rows are searched on, and by what.

    `static` takes configurations of the paper's space, the same in every repetition; `guided` and `random` let a
    sampler propose them.
    """

    path: str
    target: str
    n_train: int
    metric: str = "auc"
    n_configurations: int = 60
    strategy: Strategy = "static"

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ConfigError(f"The strategy is '{self.strategy}': choose one of {', '.join(STRATEGIES)}.")

    @property
    def name(self) -> str:
        """What it is called."""
        shown = f"{Path(self.path).stem}, N={self.n_train}, C={self.n_configurations}, {self.metric}"
        return shown if self.strategy == "static" else f"{shown}, {self.strategy}"


def run_real(
    sources: Sequence[RealSetting],
    folder: Path,
    repetitions: int = 30,
    methods: Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Coverage]:
    """Run what is missing in the folder, then summarise all that was asked for."""
    checked_methods = check_methods(methods)
    names = [source.name for source in sources]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ConfigError(f"Two data sets would be called '{twice[0]}'. Rename a file.")
    settings = Settings.from_environment()
    digests = [
        open_data(source.path, source.target, None, source.metric, settings).digest() for source in sources
    ]
    store = folder / "store"
    searches = [(source, number) for number in range(repetitions) for source in sources]
    pieces = [
        StudyPiece(
            run_one, (source, number, checked_methods, store), (source.name, digest, number, checked_methods)
        )
        for (source, number), digest in zip(searches, digests * repetitions, strict=True)
    ]
    lacking = {piece.file for piece in missing_pieces(pieces, folder)}
    missing = [one for one, piece in zip(searches, pieces, strict=True) if piece.file in lacking]
    if missing:
        with open_study(store, jobs) as fitting:
            _fit_all(fitting, missing, progress)
    return summarise(run_pieces(pieces, folder, jobs, progress))


@contextmanager
def open_study(store: Path, jobs: int = 1) -> Iterator[Fitting]:
    """Open the store in which the fits of a study are kept."""
    limit = read_constraint(LIMIT, {}, "the study")
    executor, options = make_executor("local", ExecutorOptions(jobs)), RunOptions(timing_s=0.0)
    with open_fitting(store, limit, executor, Settings.from_environment(), options) as fitting:
        yield fitting


def _fit_all(
    fitting: Fitting, wanted: Sequence[tuple[RealSetting, int]], progress: Callable[[int, int], None] | None
) -> None:
    """Run the jobs of searches whose configurations are known beforehand, all together; then the others."""
    works = []
    for source, number in wanted:
        drawn = draw(source, number)
        if source.strategy == "static":
            tried = choose(source.n_configurations, 0)
            works += [_search_work(source, drawn, tried), _truth_work(source, drawn, tried)]
    if works:
        fitting.run(works, progress)
    for source, number in wanted:
        if source.strategy != "static":
            drawn = draw(source, number)
            _, by_name = search_rows(fitting, source, drawn)
            fitting.run([_truth_work(source, drawn, tuple(by_name.values()))], progress)


def run_one(source: RealSetting, number: int, methods: Sequence[str], store: Path) -> StudyRows:
    """Return what each method said of one search on drawn rows; the same number is the same search.

    Jobs that the store does not have are run.
    """
    drawn = draw(source, number)
    with open_study(store) as fitting:
        predictions, tried = search_rows(fitting, source, drawn)
        truths = true_scores(fitting, source, drawn, tuple(tried.values()))
    about: StudyRow = {"setting": source.name, "number": number}
    search = prepare(predictions, source.metric)
    return judge(search, methods, drawn.seed, lambda winner: truths[predictions.names[winner]], about)


@dataclass(frozen=True)
class DrawnRows:
    """All rows, which of them are searched on, which are left, and the seed of everything that is left to chance."""

    data: SearchData
    chosen: Ints
    rest: Ints
    seed: int

    @property
    def train(self) -> SearchData:
        """The rows to search on."""
        return self.data.take(self.chosen)


def draw(source: RealSetting, number: int) -> DrawnRows:
    """Return the rows of one repetition."""
    data = open_data(source.path, source.target, None, source.metric, Settings.from_environment())
    seed = int.from_bytes(sha256(f"{source.name}|{number}".encode()).digest()[:4], "big")
    chosen, rest = draw_training(data, source.n_train, np.random.default_rng(seed))
    return DrawnRows(data, chosen, rest, seed)


def _search_work(source: RealSetting, drawn: DrawnRows, tried: tuple[Configuration, ...]) -> Work:
    train = drawn.train
    folds = fold_rows(train, FOLDS, 1, drawn.seed)[0]
    return Work(train, tried, folds, demand_for(train, source.metric, drawn.seed), source.metric)


def _truth_work(
    source: RealSetting, drawn: DrawnRows, tried: tuple[Configuration, ...], rows: Ints | None = None
) -> Work:
    """Return the fit on all training rows, or on some of them, that is scored on the rows left."""
    chosen = drawn.chosen if rows is None else drawn.chosen[rows]
    fold = (0, 0, np.sort(chosen), drawn.rest)
    demand = demand_for(drawn.train, source.metric, drawn.seed)
    return Work(drawn.data, tried, (fold,), demand, source.metric)


def search_rows(
    fitting: Fitting, source: RealSetting, drawn: DrawnRows
) -> tuple[PredictionMatrix, dict[str, Configuration]]:
    """Return the out-of-fold predictions of all configurations, and the configurations by name."""
    if source.strategy != "static":
        n = source.n_configurations
        return search_guided(fitting, drawn.train, source.metric, n, FOLDS, drawn.seed, source.strategy)
    tried = choose(source.n_configurations, 0)
    work = _search_work(source, drawn, tried)
    return gather(work, fitting.fit([work])[0]), {
        configuration.name: configuration for configuration in tried
    }


def true_scores(
    fitting: Fitting,
    source: RealSetting,
    drawn: DrawnRows,
    tried: tuple[Configuration, ...],
    rows: Ints | None = None,
) -> dict[str, float]:
    """Return the score on the rows left of each configuration fitted on all training rows, or on some of them."""
    work = _truth_work(source, drawn, tried, rows)
    scores = score_each(work, fitting.fit([work])[0])
    return {one.name: float(score) for one, score in zip(tried, scores, strict=True)}


def draw_training(data: SearchData, n: int, random: np.random.Generator) -> tuple[Ints, Ints]:
    """Return so many rows to learn from, of every class two at least, and all others, of every class one at least."""
    if n >= data.n_rows:
        raise DataError(
            f"{data.name} has {data.n_rows} rows: {n} cannot be drawn and leave others to judge by."
        )
    for _ in range(TRIES):
        chosen = np.sort(random.permutation(data.n_rows)[:n])
        counts = [
            (int((data.y[chosen] == label).sum()), int((data.y == label).sum())) for label in data.classes
        ]
        if all(2 <= count < total for count, total in counts):
            rest = np.setdiff1d(np.arange(data.n_rows), chosen)
            return chosen, rest
    raise DataError(f"{n} rows of {data.name} never have two of every class and leave one.")
