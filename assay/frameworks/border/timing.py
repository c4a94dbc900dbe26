"""Time how long a model takes to predict batches of different sizes, after its predictions are safe.

Runs in foreign environments: standard library and numpy only, Python 3.8's language.
"""

from __future__ import annotations

import gc
import time
from typing import Any, Callable, Dict, Iterable, List

TIMING_REPEATS = 10
TIMING_SECONDS_PER_SIZE = 1.0


def time_inference(
    predict: Callable[[Any], object], test: Any, sizes: Iterable[int], most_s: float
) -> Dict[str, Dict[str, object]]:
    """Time `predict` on batches of each size, after the predictions are safe, for `most_s` seconds in all.

    A batch cycles through the test rows. Up to 10 repeats a size, and no further one after 1 s was spent on it. A size
    that would not be done in time, going by how the sizes before it grew, is left out. A failure here is noted, not
    raised.
    """
    out: Dict[str, Dict[str, object]] = {}
    deadline = time.perf_counter() + most_s
    known: List[float] = []
    for size in sizes:
        left = deadline - time.perf_counter()
        if left < expected(known):
            out[str(size)] = {"skipped": "it would have taken longer than the time for this"}
            continue
        try:
            seconds = time_batches(predict, test, size, min(left, TIMING_SECONDS_PER_SIZE))
        except Exception as error:
            out[str(size)] = {"error": "%s: %s" % (type(error).__name__, error)}
            continue
        known.append(median(seconds))
        out[str(size)] = {"median_s": known[-1], "repeats": len(seconds)}
    return out


def expected(known: List[float]) -> float:
    """Return the seconds that the next size takes at least if it grows as the last one did."""
    if len(known) < 2:
        return known[-1] if known else 0.0
    return known[-1] * max(1.0, known[-1] / max(known[-2], 1e-9))


def median(seconds: List[float]) -> float:
    """Return the median of times."""
    ordered = sorted(seconds)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def time_batches(predict: Callable[[Any], object], test: Any, size: int, most_s: float) -> List[float]:
    """Return the seconds of each repeat; there is one at least."""
    import numpy as np

    seconds: List[float] = []
    gc.collect()
    while not seconds or (len(seconds) < TIMING_REPEATS and sum(seconds) < most_s):
        batch = test.take(np.arange(size) % test.n_rows)  # fresh: what it makes of the rows is timed too
        start = time.perf_counter()
        predict(batch)
        seconds.append(time.perf_counter() - start)
    return seconds
