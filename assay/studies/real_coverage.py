"""Do intervals hold what they promise on real data? A few rows are searched on, the many others are the truth.

The protocol of the BBC-F paper's Table 3: training rows are drawn, configurations are cross-validated on them, each
method bounds the performance of the configuration it chose, and that one, fitted on all training rows, is scored on
the rows that were left. A repetition is one file in the study's folder: what was done is not done again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import DataError, UserError
from assay.metrics.registry import get_metric
from assay.settings import Settings
from assay.studies.crossfit import scores_of
from assay.studies.inputs import SearchData, open_data
from assay.studies.interval_coverage import AS_PUBLISHED, check_methods, options_of, write_rows
from assay.studies.search import fit_winner, search, setting_for
from assay.studies.spaces import choose
from assay.uncertainty.bbc import prepare
from assay.uncertainty.coverage import Coverage, summarise
from assay.uncertainty.methods import find_interval
from assay.uncertainty.scorers import make_scorer

__all__ = ["Source", "run_real"]

FOLDS = 10
TRIES = 1000


@dataclass(frozen=True)
class Source:
    """A data set, how many of its rows are searched on, and by what."""

    path: str
    target: str
    n_train: int
    metric: str = "auc"
    n_configurations: int = 60

    @property
    def name(self) -> str:
        """What it is called."""
        return f"{Path(self.path).stem}, N={self.n_train}, C={self.n_configurations}, {self.metric}"


def run_real(
    sources: Sequence[Source],
    folder: Path,
    repetitions: int = 30,
    methods: Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Coverage]:
    """Run what is missing in the folder, then summarise all that was asked for."""
    wanted = check_methods(methods)
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [(source, number, wanted, folder) for number in range(repetitions) for source in sources]
    missing = [piece for piece in pieces if not _path(*piece).exists()]
    done = len(pieces) - len(missing)
    with ProcessPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(_run_piece, *piece) for piece in missing]):
            future.result()
            done += 1
            if progress is not None:
                progress(done, len(pieces))
    return summarise(row for piece in pieces for row in json.loads(_path(*piece).read_text(encoding="utf-8")))


def _path(source: Source, number: int, methods: Sequence[str], folder: Path) -> Path:
    said = json.dumps([source.name, source.target, number, list(methods)], sort_keys=True)
    return folder / f"real-{sha256(said.encode()).hexdigest()[:20]}.json"


def _run_piece(source: Source, number: int, methods: Sequence[str], folder: Path) -> None:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        rows = run_one(source, number, methods)
    write_rows(_path(source, number, methods, folder), rows)


def run_one(source: Source, number: int, methods: Sequence[str]) -> list[dict[str, Any]]:
    """Return what each method said of one search on drawn rows; the same number is the same search."""
    data = open_data(source.path, source.target, None, source.metric, Settings.from_environment())
    seed = int.from_bytes(sha256(f"{source.name}|{number}".encode()).digest()[:4], "big")
    train, held_out = draw_training(data, source.n_train, np.random.default_rng(seed))
    tried = {one.name: one for one in choose(source.n_configurations, 0)}
    found = search(
        (train.x, train.y), metric=source.metric, configurations=tuple(tried.values()), folds=FOLDS, seed=seed,
    )  # fmt: skip
    judged = prepare(found.predictions, source.metric)
    setting = setting_for(train, source.metric, seed)
    truths: dict[str, float] = {}

    def truth_of(name: str) -> float:
        if name not in truths:
            model = fit_winner(train, tried[name], setting)
            said = scores_of(model, held_out.x, train, setting)
            values = said[:, None, :] if said.shape[1] > 1 else said
            every = np.ones((1, held_out.n_rows), dtype=np.uint8)
            truths[name] = float(make_scorer(source.metric, held_out.y, values).weighted(every)[0, 0])
        return truths[name]

    higher = get_metric(source.metric).higher_is_better
    size = {"n": source.n_train, "c": len(judged.data.names), "folds": judged.data.n_folds}
    rows = []
    for method in methods:
        row: dict[str, Any] = {
            "setting": source.name,
            "method": method,
            "number": number,
            "higher": higher,
            **size,
        }
        begin = time.process_time()
        try:
            said = find_interval(judged, method.removesuffix(AS_PUBLISHED), options_of(method), seed)
        except UserError as error:
            rows.append({**row, "problem": str(error)})
            continue
        seconds = time.process_time() - begin
        bound = said.lower if higher else said.upper
        rows.append({**row, "bound": bound, "estimate": said.estimate, "truth": truth_of(said.winner_name),
                     "seconds": seconds, "winner": said.winner_name})  # fmt: skip
    return rows


def draw_training(data: SearchData, n: int, random: np.random.Generator) -> tuple[SearchData, SearchData]:
    """Return so many rows to learn from, of every class two at least, and all others."""
    if n >= data.n_rows:
        raise DataError(
            f"{data.name} has {data.n_rows} rows: {n} cannot be drawn and leave others to judge by."
        )
    for _ in range(TRIES):
        chosen = np.sort(random.permutation(data.n_rows)[:n])
        counts = [int((data.y[chosen] == one).sum()) for one in data.classes]
        if all(count >= 2 for count in counts):
            rest = np.setdiff1d(np.arange(data.n_rows), chosen)
            return data.take(chosen), data.take(rest)
    raise DataError(f"{n} rows of {data.name} never have two of every class.")
