"""Resampling as multiplicities: how often each row, or each fold, is in a bag. The only random thing in an interval."""

from __future__ import annotations

from functools import lru_cache
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError, UserError
from assay.typing import Array, Bools, Floats, Ints

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = [
    "all_fold_draws",
    "check_classes",
    "check_counts",
    "check_row_draws",
    "draw_folds",
    "draw_rows",
    "draw_within",
]

ROUNDS = 1000  # of drawing again what cannot be used
MOST = 2**20  # times that a row or a fold may be in a bag


def draw_rows(
    n_draws: int,
    n_rows: int,
    random: np.random.Generator,
    strata: Ints | None = None,
    groups: Ints | None = None,
    stratify: bool = False,
    leave_out: bool = True,
) -> Ints:
    """Return (B, N) multiplicities of rows drawn with replacement.

    Args:
        n_draws: B.
        n_rows: N.
        random: where the draws come from.
        strata: (N) classes: a draw is made again until every class is in the bag and out of it.
        groups: (N) codes: whole groups are drawn.
        stratify: draw within each class.
        leave_out: False: it need not be out of the bag.
    """
    out = np.empty((n_draws, n_rows), dtype=np.uint8)
    wrong = np.arange(n_draws)
    for _ in range(ROUNDS):
        out[wrong] = _drawn(len(wrong), n_rows, random, strata if stratify else None, groups)
        wrong = wrong[~_usable(out[wrong], strata, leave_out)]
        if not len(wrong):
            return out
    raise DataError(
        f"No draw of rows has something in the bag and out of it, of every class ({ROUNDS} tries): there are too few "
        "rows or groups."
    )


def check_row_draws(weights: ArrayLike, n_rows: int, strata: Ints | None) -> Ints:
    """Return given multiplicities; raises UserError where they do not fit the rows or cannot be used."""
    given = check_counts(weights, n_rows, "rows")
    unusable = np.flatnonzero(~_usable(given, strata))
    if len(unusable):
        lacks = "a class in the bag or out of it" if strata is not None else "rows in the bag or out of it"
        raise UserError(
            f"Draw {int(unusable[0])} of the weights lacks {lacks}. Weights say how often each row was drawn, not "
            "which."
        )
    return given


def check_counts(weights: ArrayLike, n: int, what: str) -> Ints:
    """Return given multiplicities of n rows or folds as whole numbers; raises UserError where they are none."""
    given = np.asarray(weights)
    if given.ndim != 2 or given.shape[1] != n:
        raise UserError(f"The weights have the shape {given.shape}; for {n} {what} they need {n} columns.")
    if (
        not len(given)
        or given.dtype.kind not in "iufb"
        or not ((given >= 0) & (given <= MOST)).all()
        or (given != np.round(given)).any()
    ):
        raise UserError(
            f"Weights say how often each of the {what} is drawn: whole numbers from 0 to {MOST}, and at least one draw."
        )
    return given.astype(np.min_scalar_type(int(given.max())))


def check_classes(strata: Ints | None, y: Array, groups: Ints | None) -> None:
    """Raise DataError where no draw of rows can be used; `strata` are the codes of the classes in y, or None."""
    if strata is None:
        if groups is not None and not groups.max():
            raise DataError("All rows are of one group: it cannot be in the bag and out of it.")
        return
    units = strata if groups is None else np.unique(np.column_stack([strata, groups]), axis=0)[:, 0]
    few = np.flatnonzero(np.bincount(units) < 2)
    if len(few):
        what = "row" if groups is None else "group"
        raise DataError(
            f"Class '{y[strata == few[0]][0]}' has one {what} only: it cannot be in the bag and out of it. Leave it "
            "out, or take a metric that does not need every class (logloss, acc)."
        )


def _drawn(
    n_draws: int, n_rows: int, random: np.random.Generator, strata: Ints | None, groups: Ints | None
) -> Ints:
    if groups is not None:
        n_groups = int(groups.max()) + 1
        return _counts(n_draws, n_groups, random)[:, groups]
    if strata is None:
        return _counts(n_draws, n_rows, random)
    out = np.empty((n_draws, n_rows), dtype=np.uint8)
    for code in np.unique(strata):
        members = np.flatnonzero(strata == code)
        out[:, members] = _counts(n_draws, len(members), random)
    return out


def _counts(n_draws: int, n: int, random: np.random.Generator) -> Ints:
    """Return how often each of n things is among n drawn with replacement."""
    out = np.empty(
        (n_draws, n), dtype=np.uint8
    )  # of n drawn none comes more than 255 times, or n is below 256
    for begin in range(0, n_draws, 128):
        size = min(128, n_draws - begin)
        drawn = random.integers(0, n, size=(size, n))
        drawn += np.arange(0, size * n, n)[:, None]
        out[begin : begin + size] = np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n)
    return out


def _usable(draws: Ints, strata: Ints | None, leave_out: bool = True) -> Bools:
    """Return which draws have something in the bag, and out of it: of every class, where that matters."""
    good = np.ones(len(draws), dtype=bool)
    parts = [slice(None)] if strata is None else [strata == code for code in np.unique(strata)]
    for part in parts:
        counts = draws[:, part]
        good &= (counts > 0).any(axis=1)
        if leave_out:
            good &= (counts == 0).any(axis=1)
    return good


def draw_within(n_draws: int, strata: Ints, random: np.random.Generator) -> Ints:
    """Return (B, N) multiplicities drawn within each class; nothing needs to stay out of the bag."""
    return _drawn(n_draws, len(strata), random, strata, None)


def draw_folds(n_draws: int, n_folds: int, random: np.random.Generator, leave_one_out: bool = True) -> Ints:
    """Return (B, K) multiplicities of folds; with `leave_one_out` one at least stays out of every bag."""
    out = _counts(n_draws, n_folds, random)
    while leave_one_out and n_folds > 1 and (full := (out > 0).all(axis=1)).any():
        out[full] = _counts(int(full.sum()), n_folds, random)
    return out


@lru_cache(maxsize=4)
def all_fold_draws(n_folds: int, leave_one_out: bool = True) -> tuple[Ints, Floats]:
    """Return every multiset of folds as multiplicities, and its probability; with one fold at least left out."""
    orders = np.array([factorial(times) for times in range(n_folds + 1)], dtype=float)
    left, columns, same = np.array([n_folds]), list[Ints](), np.ones(1)
    for _ in range(n_folds - 1):
        # Each multiset so far becomes one for every number of times that the next fold may come.
        sizes = left + 1
        of = np.repeat(np.arange(len(left)), sizes)
        times = np.arange(len(of)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        columns = [column[of] for column in columns] + [times.astype(np.uint8)]
        left, same = left[of] - times, same[of] * orders[times]
    every = np.stack([*columns, left.astype(np.uint8)])
    chance = factorial(n_folds) / (same * orders[left]) / float(n_folds) ** n_folds
    if leave_one_out:
        full = int(np.flatnonzero((every == 1).all(axis=0))[0])  # the one multiset that leaves no fold out
        every, chance = np.delete(every, full, axis=1), np.delete(chance, full)
    return every.T, chance / chance.sum()
