"""What intervals cost beside a plain implementation of the published procedure: `python -m benchmarks.intervals`.

CPU seconds without imports and without making the data up, ours and the plain one in one run. The plain one calls an
AUC for each configuration and draw; it is run for a few draws and scaled up, and its cost per AUC is told, so that
everyone can see that the ratio is not won by a slow one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Figure, clean_environ, own_cpu_s

PLAIN_AUC_US = 150.0
RATIO = 500.0
PEAK = """
import resource
import numpy as np
from assay.uncertainty.bbc import bbc, prepare
from assay.results.prediction_matrix import check_predictions
from assay.uncertainty.result import Options
n, c, draws = {n}, {c}, {draws}
random = np.random.default_rng(0)
y = np.arange(n) % 2
values = random.random((n, c))
values += 0.3 * y[:, None]
data = check_predictions(y, values, np.arange(n) // 2 % 10)
before = resource.getrusage(resource.RUSAGE_SELF)
found = bbc(prepare(data, "auc"), Options(resamples=draws), random)
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime, used.ru_maxrss / 1e3, values.nbytes / 1e6)
"""
COLD = """
import time
import numpy as np
from assay.uncertainty.kernels import rank_columns, weighted_auc
positive = np.arange(100) % 2 == 0
ranked = rank_columns(np.random.default_rng(0).random((100, 2)), positive, ~positive)
begin = time.process_time()
weighted_auc(ranked, np.ones((2, 100), dtype=np.uint8))
print(time.process_time() - begin)
"""


def cpu_of(action: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a call, all threads included, and what it returned."""
    begin = own_cpu_s()
    found = action()
    return own_cpu_s() - begin, found


def made_up(n: int, c: int, folds: int = 10) -> tuple[Any, Any, Any]:
    """Return truth, predictions and folds as in the paper's simulation, both classes in every fold."""
    random = np.random.default_rng(0)
    y = np.arange(n) % 2
    values = random.normal(size=(n, c)) + y[:, None] * random.normal(1.2, 0.3, size=c)
    return y, values, np.arange(n) // 2 % folds


def plain_auc(positive: Any, score: Any) -> float:
    """Return the area under the ROC curve: how many negative rows each positive one is above, ties by half."""
    below, above = np.sort(score[~positive]), score[positive]
    wins = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
    return float(wins.sum()) / (2 * len(below) * len(above))


def plain_bbc(y: Any, values: Any, draws: int) -> list[float]:
    """Do as the published procedure says: draw rows, score every configuration, judge the best out of the bag."""
    random, positive, rows = np.random.default_rng(0), y == 1, np.arange(len(y))
    out = []
    while len(out) < draws:
        inside = random.integers(0, len(y), len(y))
        outside = np.setdiff1d(rows, inside)
        if any(len(np.unique(positive[part])) < 2 for part in (inside, outside)):
            continue
        scores = [plain_auc(positive[inside], values[inside, c]) for c in range(values.shape[1])]
        out.append(plain_auc(positive[outside], values[outside, int(np.argmax(scores))]))
    return out


def plain_bbc_f(matrix: Any, draws: int) -> list[float]:
    """Draw folds, judge the best on those drawn by those that were not."""
    random, n_folds = np.random.default_rng(0), len(matrix)
    out = []
    while len(out) < draws:
        inside = random.integers(0, n_folds, n_folds)
        outside = np.setdiff1d(np.arange(n_folds), inside)
        if len(outside):
            best = int(np.argmax(matrix[inside].mean(axis=0)))
            out.append(float(matrix[outside, best].mean()))
    return out


def measure_ratio() -> Iterator[Figure]:
    """BBC with AUC, N = C = 500 and 1000 draws, beside the plain one; ours from predictions to interval."""
    from assay.results.prediction_matrix import check_predictions
    from assay.uncertainty.bbc import bbc, prepare
    from assay.uncertainty.result import Options

    y, values, folds = made_up(500, 500)
    few = 20
    plain_bbc(y, values[:, :2], 2)
    plain, _ = cpu_of(lambda: plain_bbc(y, values, few))
    plain *= 1000 / few
    each_us = plain / (1000 * 501) * 1e6
    yield Figure(
        "plain BBC, N = C = 500: one AUC", each_us, "µs", PLAIN_AUC_US, f"{few} of 1000 draws were run"
    )

    def ours() -> Any:
        search = prepare(check_predictions(y, values, folds), "auc")
        return bbc(search, Options(resamples=1000), np.random.default_rng(0))

    ours()  # what is compiled late is compiled now
    used = min(cpu_of(ours)[0] for _ in range(3))
    yield Figure(
        "BBC, N = C = 500, 1000 draws", used, "s", plain / RATIO, f"plain {plain:.3g} s: {plain / used:.0f} ×"
    )
    slow = _without_numba()
    if slow is not None:
        yield Figure("the same with numpy alone", slow, "s", None, f"{plain / slow:.0f} ×")


def _without_numba() -> float | None:
    from assay.results.prediction_matrix import check_predictions
    from assay.uncertainty import kernels
    from assay.uncertainty.bbc import bbc, prepare
    from assay.uncertainty.result import Options

    if not kernels.has_numba():
        return None
    own = kernels.has_numba
    kernels.has_numba = lambda: False  # type: ignore[assignment]
    try:
        search = prepare(check_predictions(*made_up(500, 500)), "auc")
        return cpu_of(lambda: bbc(search, Options(resamples=1000), np.random.default_rng(0)))[0]
    finally:
        kernels.has_numba = own


def measure_folds() -> Iterator[Figure]:
    """BBC-F of all draws of ten folds, beside 1000 plain draws: from the matrix of folds to the distribution."""
    from assay.results.prediction_matrix import check_predictions
    from assay.uncertainty.bbc import bbc_f, prepare
    from assay.uncertainty.draws import all_fold_draws
    from assay.uncertainty.result import Options

    search = prepare(check_predictions(*made_up(500, 100)), "auc")
    matrix = search.by_fold[0]
    plain = min(cpu_of(lambda: plain_bbc_f(matrix, 1000))[0] for _ in range(3))

    def ours() -> Any:
        return bbc_f(search, Options(resamples="exact"), np.random.default_rng(0))

    def afresh() -> Any:
        all_fold_draws.cache_clear()
        return ours()

    cold = min(cpu_of(afresh)[0] for _ in range(3))
    warm = min(cpu_of(ours)[0] for _ in range(3))
    note = f"1000 plain draws {plain:.3g} s"
    yield Figure("BBC-F of all 92 377 draws, K = 10, C = 100, table cached", warm, "s", plain, note)
    yield Figure("the same, table made anew", cold, "s", plain, note)


def measure_growth() -> Iterator[Figure]:
    """BBC with more rows, configurations or draws."""
    from assay.results.prediction_matrix import check_predictions
    from assay.uncertainty.bbc import bbc, prepare
    from assay.uncertainty.result import Options

    for n, c, draws in ((500, 100, 1000), (5000, 100, 1000), (500, 1000, 1000), (500, 100, 10_000)):
        data = check_predictions(*made_up(n, c))

        def ours(data: Any = data, draws: int = draws) -> Any:
            return bbc(prepare(data, "auc"), Options(resamples=draws), np.random.default_rng(0))

        used = min(cpu_of(ours)[0] for _ in range(3))
        yield Figure(f"BBC, N = {n}, C = {c}, {draws} draws", used, "s")


def measure_large() -> Iterator[Figure]:
    """A large matrix in a process of its own: its seconds, and its memory beside that of the matrix."""
    script = PEAK.format(n=100_000, c=1000, draws=100)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    used, peak, matrix = map(float, done.stdout.split())
    yield Figure("BBC, N = 100 000, C = 1000, 100 draws", used, "s")
    yield Figure("its memory at most", peak, "MB", 3 * matrix, f"the predictions alone are {matrix:.0f} MB")


def measure_start() -> Iterator[Figure]:
    """The first call of the compiled kernel: compiled anew, and from numba's cache."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        environ = {**clean_environ(), "NUMBA_CACHE_DIR": folder, "PYTHONPATH": os.getcwd()}
        for what in ("compiled anew", "from its cache"):
            done = subprocess.run(
                [sys.executable, "-c", COLD], check=True, capture_output=True, text=True, env=environ
            )
            yield Figure(f"first call of the kernel, {what}", float(done.stdout), "s")


def measure() -> list[Figure]:
    """Return what was measured, for the common table."""
    parts = (measure_ratio, measure_folds, measure_growth, measure_large, measure_start)
    return [figure for part in parts for figure in part()]


if __name__ == "__main__":
    from benchmarks.measure import table

    found = measure()
    print(table(found))
    sys.exit(any(figure.verdict == "OVER" for figure in found))
