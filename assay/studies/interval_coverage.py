"""Do intervals hold what they promise? Simulated searches, every method, how often the truth was inside, how tight.

The protocol of the BBC-F paper's Tables 2 and 4, for its settings and for others. Ten repetitions are one file in the
study's folder: what was done is not done again, and several processes may share the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.studies.pieces import StudyPiece, run_pieces
from assay.studies.simulate import Setting, Strategy, draw_search
from assay.studies.verdicts import check_methods, judge
from assay.uncertainty.bbc import prepare
from assay.uncertainty.coverage import Coverage, summarise

if TYPE_CHECKING:
    from assay.studies.pieces import StudyRow, StudyRows

__all__ = ["PRESETS", "run_coverage", "run_one"]

BATCH = 10  # repetitions that are one piece of work


def paper() -> list[Setting]:
    """Return the settings of the paper's Table 2, in its order."""
    return [
        Setting(beta=beta, n=n, c=c, balance=b)
        for beta, n, c, b in product(((24, 6), (9, 6)), (500, 50), (100, 500), (0.1, 0.5))
    ]


def beyond() -> list[Setting]:
    """Return settings that the paper leaves open: other metrics, classes, folds, sizes, configurations alike."""
    metrics = [
        Setting("auc", classes=4), Setting("acc"), Setting("acc", classes=4), Setting("logloss"),
        Setting("rmse", classes=0), Setting("r2", classes=0),
    ]  # fmt: skip
    sizes = [Setting(n=n, beta=(24, 6)) for n in (50, 500, 5000)]
    folds = [Setting(folds=k, beta=(24, 6)) for k in (3, 5, 20)]  # ten are among the sizes
    correlated = [Setting(n=n, rho=0.8, beta=(24, 6)) for n in (50, 500)]
    small = [
        Setting("auc", classes=4, n=60), Setting("acc", n=50), Setting("logloss", n=50),
        Setting("rmse", classes=0, n=50),
    ]  # fmt: skip
    nearly_perfect = [Setting(n=n, rho=0.8, beta=(95, 5)) for n in (50, 500)]
    return list(dict.fromkeys([*metrics, *small, *sizes, *folds, *correlated, *nearly_perfect]))


def guided() -> list[Setting]:
    """Return searches that are guided by earlier results, each beside one by chance on the same kind of surface."""
    strategies: tuple[Strategy, ...] = ("random", "guided")
    return [
        Setting(n=n, beta=(24, 6), rho=rho, strategy=strategy)
        for n, rho, strategy in product((50, 500), (0.0, 0.5, 0.9), strategies)
    ]


def times() -> list[Setting]:
    """Return the settings of the paper's Figure 3: 500 rows, 5 configurations and 3 folds, one of them varied."""
    rows = [Setting(n=n, c=5, folds=3) for n in (50, 100, 500, 1000, 5000)]
    columns = [Setting(c=c, folds=3) for c in (5, 20, 100, 500)]
    folds = [Setting(c=5, folds=k) for k in (3, 5, 10, 20)]
    return list(dict.fromkeys([*rows, *columns, *folds]))


PRESETS: Mapping[str, Callable[[], list[Setting]]] = {
    "paper": paper,
    "beyond": beyond,
    "guided": guided,
    "times": times,
}


def run_coverage(
    settings: Sequence[Setting],
    folder: Path,
    repetitions: int = 200,
    methods: Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Coverage]:
    """Run what is missing in the folder, then summarise all that was asked for."""
    checked_methods = check_methods(methods)
    batches = [(begin, min(begin + BATCH, repetitions)) for begin in range(0, repetitions, BATCH)]
    pieces = [
        StudyPiece(
            run_batch, (setting, begin, end, checked_methods), (asdict(setting), begin, end, checked_methods)
        )
        for setting in settings
        for begin, end in batches
    ]
    return summarise(run_pieces(pieces, folder, jobs, progress))


def run_batch(setting: Setting, begin: int, end: int, methods: Sequence[str]) -> StudyRows:
    """Return the rows of some repetitions."""
    return [row for number in range(begin, end) for row in run_one(setting, number, methods)]


def run_one(setting: Setting, number: int, methods: Sequence[str]) -> StudyRows:
    """Return what each method said of one simulated search; the same number is the same search."""
    seed = int.from_bytes(sha256(f"{asdict(setting)}|{number}".encode()).digest()[:8], "big")
    drawn = draw_search(setting, np.random.default_rng(seed))
    about: StudyRow = {"setting": setting.name, "number": number}
    search = prepare(drawn.data, setting.metric)
    return judge(search, methods, seed % 2**32, lambda winner: float(drawn.truth[winner]), about)
