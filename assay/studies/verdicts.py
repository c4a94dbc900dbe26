"""What each method says of one search whose truth is known: the rows that coverage is counted from."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.errors import ConfigError, UserError
from assay.uncertainty.bbc import Search
from assay.uncertainty.methods import METHODS, find_interval
from assay.uncertainty.result import Options

if TYPE_CHECKING:
    from assay.studies.pieces import StudyRow, StudyRows

__all__ = ["check_methods", "judge"]

AS_PUBLISHED = "/reference"


def check_methods(names: Sequence[str]) -> tuple[str, ...]:
    """Return the methods that are asked for, by default all; raises ConfigError where one is not known.

    `bbc/reference` and the like do as the published code does.
    """
    unknown = [name for name in names if name.removesuffix(AS_PUBLISHED) not in METHODS]
    if unknown:
        raise ConfigError(f"Unknown method '{unknown[0]}'. There are: {', '.join(METHODS)}.")
    return tuple(names) or tuple(METHODS)


def judge(
    search: Search,
    methods: Sequence[str],
    seed: int,
    truth_of: Callable[[int], float],
    about: StudyRow,
) -> StudyRows:
    """Return a row for each method: `about`, its bound and estimate, and the truth of the one it chose."""
    higher = search.metric.higher_is_better
    size = {"n": search.data.n_rows, "c": len(search.data.names), "folds": search.data.n_folds}
    rows = []
    for method in methods:
        row = {**about, **size, "method": method, "higher": higher}
        begin = time.process_time()
        try:
            interval = find_interval(search, method.removesuffix(AS_PUBLISHED), _options(method), seed)
        except UserError as error:
            rows.append({**row, "problem": str(error)})
            continue
        seconds = time.process_time() - begin
        bound = interval.lower if higher else interval.upper
        problem = "" if bound is not None else interval.warnings[-1]
        row |= {"bound": bound, "estimate": interval.estimate, "truth": truth_of(interval.winner)}
        rows.append({**row, "winner": interval.winner_name, "seconds": seconds, "problem": problem})
    return rows


def _options(method: str) -> Options:
    if method.endswith(AS_PUBLISHED):
        return Options(few_folds=True, rule="reference", published=True)
    return Options(few_folds=True)
