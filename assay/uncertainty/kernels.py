"""Areas under ROC curves of many configurations under many row weights: compiled, or by numpy with the same numbers.

Each column of scores is sorted once; a pass over its rows then serves a block of weightings together. Weights are
whole numbers, and sums of their products are held in a type that is exact for them, so that both paths agree to the
last bit, and two areas that are equal are equal in the computer too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from assay.typing import Bools, Floats, Ints

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Columns",
    "Ranked",
    "Weights",
    "auc_of_each",
    "by_column",
    "has_numba",
    "rank_columns",
    "weighted_auc",
]

LANES = 512  # weightings that are worked on together: their partial sums stay in the processor's cache
PAIRS = 2**18  # up to so many pairs of a positive and a negative row, numpy multiplies a matrix of them
COLUMNS = 64  # that are sorted together
BELOW, TIED, ABOVE = 0, 1, 2  # what a row does: adds to the negatives below, half of that, or counts them

# How often each row counts; true and false are once and never.
Weights: TypeAlias = "Ints | Bools"
Columns: TypeAlias = "Ints | Sequence[int]"
# Sums of products of weights, in a type that is exact for them.
Sums: TypeAlias = "NDArray[np.number]"
CountAll: TypeAlias = "Callable[[Ints, Ints, Sums, Sums, Sums], None]"
CountEach: TypeAlias = "Callable[[Ints, Ints, Floats, Ints, Floats], Floats]"


@dataclass(frozen=True)
class Ranked:
    """Columns of scores, sorted: for each the rows to visit, and what each visit does.

    Attributes:
        rows: (C, M) positions; a negative row that is tied with positives is visited before and after them.
        does: (C, M) BELOW, TIED or ABOVE; -1 where a column has fewer visits than the longest.
        positive: (N) which rows are of the positive class; rows of neither are not visited.
        negative: (N) which are of the negative class.
        scores: (N, C) the columns as they came.
    """

    rows: Ints
    does: Ints
    positive: Bools
    negative: Bools
    scores: Floats


def rank_columns(scores: Floats, positive: Bools, negative: Bools) -> Ranked:
    """Sort each column of (N, C) scores once, for `weighted_auc`."""
    judged_rows = np.flatnonzero(positive | negative)
    is_positive = positive[judged_rows]
    action_of = np.where(is_positive, ABOVE, BELOW).astype(np.int8)
    rows = np.zeros((scores.shape[1], len(judged_rows)), dtype=np.int32)
    does = np.full(rows.shape, -1, dtype=np.int8)
    for begin in range(0, scores.shape[1], COLUMNS):
        block = np.ascontiguousarray(scores[judged_rows, begin : begin + COLUMNS].T)
        order = np.argsort(block, axis=1)
        rows[begin : begin + COLUMNS, : len(judged_rows)] = judged_rows[order]
        does[begin : begin + COLUMNS, : len(judged_rows)] = action_of[order]
        ranked = np.sort(block, axis=1)
        for c in np.flatnonzero((ranked[:, 1:] == ranked[:, :-1]).any(axis=1)):
            visits, action = _visits(block[c], order[c], is_positive)
            if len(visits) > rows.shape[1]:  # ties: at most every row is visited twice
                wider = ((0, 0), (0, 2 * len(judged_rows) - rows.shape[1]))
                rows, does = np.pad(rows, wider), np.pad(does, wider, constant_values=-1)
            rows[begin + c, : len(visits)] = judged_rows[visits]
            does[begin + c, : len(visits)] = action
    return Ranked(rows, does, positive, negative, scores)


def _visits(column: Floats, order: Ints, positive: Bools) -> tuple[Ints, Ints]:
    """Return the rows of a column with ties in the order of a pass over it, and what each does."""
    is_positive = positive[order]
    group = np.concatenate([[0], np.cumsum(np.diff(column[order]) != 0)])
    has_positive = np.bincount(group, weights=is_positive)[group] > 0
    tied = ~is_positive & has_positive
    # In a group of equal scores: its negatives by half, its positives, its negatives by half again.
    place = np.concatenate([np.where(is_positive, 3 * group + 1, 3 * group), 3 * group[tied] + 2])
    action = np.concatenate(
        [np.where(is_positive, ABOVE, np.where(tied, TIED, BELOW)), np.full(tied.sum(), TIED)]
    )
    again = np.argsort(place, kind="stable")
    return np.concatenate([order, order[tied]])[again], action[again]


def weighted_auc(
    ranked: Ranked, weights: Weights, columns: Columns | None = None, compiled: bool | None = None
) -> Floats:
    """Return (B, C) areas of the columns under each of (B, N) whole weights; NaN where a class has no weight.

    `columns` limits it to some; `compiled` is by default whether numba is there.
    """
    chosen = np.arange(len(ranked.rows)) if columns is None else np.asarray(columns)
    rows, does = (ranked.rows, ranked.does) if columns is None else (ranked.rows[chosen], ranked.does[chosen])
    out = np.empty((len(chosen), len(weights)))  # turned at the end: so every block is written in one piece
    use_numba = has_numba() if compiled is None else compiled
    by_pairs = not use_numba and int(ranked.positive.sum()) * int(ranked.negative.sum()) <= PAIRS
    size = LANES * 4 if by_pairs else LANES  # a matrix of pairs costs more to make than to multiply
    for begin in range(0, len(weights), size):
        block = np.asarray(weights[begin : begin + size])
        above = block[:, ranked.positive].sum(axis=1, dtype=np.int64)
        below = block[:, ranked.negative].sum(axis=1, dtype=np.int64)
        pairs = (2 * above * below).astype(float)
        most = pairs.max(initial=0)
        if use_numba:
            fits = most < 2**31 and 2 * below.max(initial=0) < 2**15 and block.max(initial=0) < 2**8
            # Narrow whole numbers: more of them are added by one instruction, and stay in the cache.
            kinds: tuple[type[np.number], type[np.number], type[np.number]] = (
                (np.uint8, np.int16, np.int32) if fits else (np.float64, np.float64, np.float64)
            )
            lanes, scratch = (
                np.ascontiguousarray(block.T, dtype=kinds[0]),
                np.empty(len(block), dtype=kinds[1]),
            )
            counted: Sums = np.empty((len(chosen), len(block)), dtype=kinds[2])
            _compiled()[0](rows, does, lanes, scratch, counted)
        else:
            exact: Sums = block.astype(np.float32 if most < 2**24 else np.float64)
            counted = (_count_pairs if by_pairs else _count_sorted)(ranked, chosen, exact)
        with np.errstate(invalid="ignore", divide="ignore"):
            np.divide(counted, pairs, out=out[:, begin : begin + size])
    return out.T


def auc_of_each(ranked: Ranked, weights: Weights, columns: Ints) -> Floats:
    """Return (B) areas, of another column under each of (B, N) weights."""
    if not has_numba():
        return by_column(lambda rows, column: weighted_auc(ranked, weights[rows], [column])[:, 0], columns)
    out = np.empty(len(columns))
    for begin in range(0, len(columns), LANES):
        block = slice(begin, begin + LANES)
        block_weights = np.asarray(weights[block]).astype(np.float64)
        counted = _compiled()[1](
            ranked.rows, ranked.does, block_weights, columns[block], np.empty(len(block_weights))
        )
        above, below = block_weights @ ranked.positive, block_weights @ ranked.negative
        with np.errstate(invalid="ignore", divide="ignore"):
            out[block] = counted / (2 * above * below)
    return out


def by_column(value: Callable[[Ints, int], Floats], columns: Ints) -> Floats:
    """Return one value for each of the columns, asked for those of a column together."""
    out = np.empty(len(columns))
    for column in np.unique(columns):
        positions = np.flatnonzero(columns == column)
        out[positions] = value(positions, int(column))
    return out


def has_numba() -> bool:
    """Return whether the compiled kernel can be used."""
    from importlib.util import find_spec

    return find_spec("numba") is not None


@cache
def _compiled() -> tuple[CountAll, CountEach]:
    """Return the kernels: twice the weight of pairs whose positive row is above, of all columns, or of one each."""
    import numba

    @numba.njit(cache=True, nogil=True)
    def count(
        rows: Ints, does: Ints, lanes: Sums, below: Sums, out: Sums
    ) -> None:  # pragma: no cover - compiled
        n_lanes = lanes.shape[1]
        for c in range(rows.shape[0]):
            total = out[c]
            for b in range(n_lanes):
                below[b] = 0
                total[b] = 0
            for q in range(rows.shape[1]):
                action = does[c, q]
                row_weights = lanes[rows[c, q]]
                if action == 2:
                    for b in range(n_lanes):
                        total[b] += row_weights[b] * below[b]
                elif action == 0:
                    for b in range(n_lanes):
                        below[b] += row_weights[b] + row_weights[b]
                elif action == 1:
                    for b in range(n_lanes):
                        below[b] += row_weights[b]
                else:
                    break

    @numba.njit(cache=True, nogil=True)
    def count_each(
        rows: Ints, does: Ints, weights: Floats, columns: Ints, out: Floats
    ) -> Floats:  # pragma: no cover - compiled
        for b in range(len(columns)):
            c, row_weights = columns[b], weights[b]
            below = total = 0.0
            for q in range(rows.shape[1]):
                action = does[c, q]
                if action == 2:
                    total += row_weights[rows[c, q]] * below
                elif action == 0:
                    below += 2 * row_weights[rows[c, q]]
                elif action == 1:
                    below += row_weights[rows[c, q]]
                else:
                    break
            out[b] = total
        return out

    return count, count_each


def _count_pairs(ranked: Ranked, columns: Ints, block: Sums) -> Sums:
    """Do what the kernel does by a matrix of all pairs of a positive and a negative row."""
    positive, negative = np.flatnonzero(ranked.positive), np.flatnonzero(ranked.negative)
    above, below = block[:, positive], block[:, negative]
    out = np.empty((len(columns), len(block)), dtype=block.dtype)
    for at, c in enumerate(columns):
        high, low = ranked.scores[positive, c][:, None], ranked.scores[negative, c][None, :]
        pairs = (high > low).astype(block.dtype) + (high >= low)
        out[at] = ((above @ pairs) * below).sum(axis=1)
    return out


def _count_sorted(ranked: Ranked, columns: Ints, block: Sums) -> Sums:
    """Do what the kernel does by running sums over the sorted rows."""
    out = np.empty((len(columns), len(block)), dtype=block.dtype)
    for at, c in enumerate(columns):
        does = ranked.does[c]
        sorted_weights = block[:, ranked.rows[c]]
        below = np.cumsum(sorted_weights * (does == BELOW) * 2 + sorted_weights * (does == TIED), axis=1)
        out[at] = (sorted_weights * below)[:, does == ABOVE].sum(axis=1)
    return out
