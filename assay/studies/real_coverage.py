"""Do intervals hold what they promise on real data? A few rows are searched on, the many others are the truth.

The protocol of the BBC-F paper's Table 3: training rows are drawn, configurations are cross-validated on them, each
method bounds the performance of the configuration it chose, and that one, fitted on all training rows, is scored on
the rows that were left. A repetition is one file in the study's folder: what was done is not done again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import ConfigError, DataError
from assay.results.prediction_matrix import PredictionMatrix
from assay.searches.configurations import Configuration, choose
from assay.searches.crossfit import scores_of
from assay.searches.guided import search_guided
from assay.searches.inputs import SearchData, open_data
from assay.searches.search import demand_for, fit_winner, search
from assay.settings import Settings
from assay.studies.pieces import StudyPiece, run_pieces
from assay.studies.simulate import STRATEGIES, Strategy
from assay.studies.verdicts import check_methods, judge
from assay.uncertainty.bbc import prepare
from assay.uncertainty.coverage import Coverage, summarise
from assay.uncertainty.scorers import make_scorer

if TYPE_CHECKING:
    from assay.studies.pieces import StudyRow, StudyRows
    from assay.typing import Ints

__all__ = ["DrawnRows", "RealSetting", "draw", "run_real", "search_rows", "true_score"]

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
    pieces = [
        StudyPiece(run_one, (source, number, checked_methods), (source.name, digest, number, checked_methods))
        for number in range(repetitions)
        for source, digest in zip(sources, digests, strict=True)
    ]
    return summarise(run_pieces(pieces, folder, jobs, progress))


def run_one(source: RealSetting, number: int, methods: Sequence[str]) -> StudyRows:
    """Return what each method said of one search on drawn rows; the same number is the same search."""
    drawn = draw(source, number)
    predictions, tried = search_rows(source, drawn)
    truths: dict[str, float] = {}

    def truth_of(winner: int) -> float:
        configuration = tried[predictions.names[winner]]
        if configuration.name not in truths:
            truths[configuration.name] = true_score(source, drawn, configuration)
        return truths[configuration.name]

    about: StudyRow = {"setting": source.name, "number": number}
    return judge(prepare(predictions, source.metric), methods, drawn.seed, truth_of, about)


@dataclass(frozen=True)
class DrawnRows:
    """Rows to search on, all others, and the seed of everything that is left to chance."""

    train: SearchData
    held_out: SearchData
    seed: int


def draw(source: RealSetting, number: int) -> DrawnRows:
    """Return the rows of one repetition."""
    data = open_data(source.path, source.target, None, source.metric, Settings.from_environment())
    seed = int.from_bytes(sha256(f"{source.name}|{number}".encode()).digest()[:4], "big")
    train, held_out = draw_training(data, source.n_train, np.random.default_rng(seed))
    return DrawnRows(train, held_out, seed)


def search_rows(source: RealSetting, drawn: DrawnRows) -> tuple[PredictionMatrix, dict[str, Configuration]]:
    """Return the out-of-fold predictions of all configurations, and the configurations by name."""
    if source.strategy != "static":
        n = source.n_configurations
        return search_guided(drawn.train, source.metric, n, FOLDS, drawn.seed, source.strategy)
    tried, train = choose(source.n_configurations, 0), (drawn.train.x, drawn.train.y)
    result = search(train, metric=source.metric, configurations=tried, folds=FOLDS, seed=drawn.seed)
    return result.predictions, {configuration.name: configuration for configuration in tried}


def true_score(
    source: RealSetting, drawn: DrawnRows, configuration: Configuration, rows: Ints | None = None
) -> float:
    """Return the score on the held-out rows of a configuration fitted on all training rows, or on some of them."""
    train = drawn.train if rows is None else drawn.train.take(rows)
    demand = demand_for(drawn.train, source.metric, drawn.seed)
    scores = scores_of(fit_winner(train, configuration, demand), drawn.held_out.x, train, demand)
    values = scores[:, None, :] if scores.shape[1] > 1 else scores
    every = np.ones((1, drawn.held_out.n_rows), dtype=np.uint8)
    return float(make_scorer(source.metric, drawn.held_out.y, values).weighted(every)[0, 0])


def draw_training(data: SearchData, n: int, random: np.random.Generator) -> tuple[SearchData, SearchData]:
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
            return data.take(chosen), data.take(rest)
    raise DataError(f"{n} rows of {data.name} never have two of every class and leave one.")
