"""How rows are dealt into folds: by class, groups together, and as many folds as the rows allow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from assay.data.split_spec import SplitSpec
from assay.data.splits import Strata, make_splits
from assay.errors import DataError
from assay.searches.inputs import SearchData

if TYPE_CHECKING:
    from assay.typing import Ints

__all__ = ["Fold", "fold_rows"]

# Repeat, fold, training rows, test rows.
Fold: TypeAlias = "tuple[int, int, Ints, Ints]"


def fold_rows(data: SearchData, folds: int, repeats: int, seed: int) -> tuple[tuple[Fold, ...], list[str]]:
    """Return the folds, stratified by class, and notes on why there are fewer than were asked for."""
    n_folds, notes = _count_folds(data, folds)
    codes = _class_codes(data)
    # Values have one class: that way groups are dealt out by chance too, and repeats differ.
    names = tuple(str(label) for label in data.classes) or ("all rows",)
    no_strata = data.is_value and data.groups is None
    strata = Strata(data.n_rows, data.name, None if no_strata else codes.astype(np.int32), names, data.groups)
    kind: Literal["cv", "grouped"] = "cv" if data.groups is None else "grouped"
    dealt: list[Fold] = []
    for repeat in range(repeats):
        repeat_seed = int(np.random.SeedSequence([seed, repeat]).generate_state(1)[0])
        made = make_splits(SplitSpec(kind=kind, folds=max(n_folds, 2), seed=repeat_seed), strata)
        dealt += [(repeat, fold, train, test) for _, fold, train, test in made.folds]
    return tuple(dealt), notes


def _class_codes(data: SearchData) -> Ints:
    return np.searchsorted(data.classes, data.y) if data.classes else np.zeros(data.n_rows, dtype=np.int64)


def _count_folds(data: SearchData, folds: int) -> tuple[int, list[str]]:
    """Return as many folds as the smallest class has rows, if that is fewer: every fold should have all classes."""
    n_folds, notes = folds, []
    if data.classes:
        counts = np.bincount(_class_codes(data), minlength=len(data.classes))
        smallest = data.classes[int(counts.argmin())]
        if counts.min() < 2:
            raise DataError(
                f"Class '{smallest}' of {data.name} has fewer than two rows: it cannot be learned and tested. Leave it "
                "out, or merge it with another."
            )
        if counts.min() < n_folds:
            n_folds = int(counts.min())
            notes.append(
                f"{n_folds} folds instead of {folds}, because class '{smallest}' has only {n_folds} rows."
            )
    n_groups = data.n_rows if data.groups is None else len(np.unique(data.groups))
    if n_groups < n_folds:
        n_folds = n_groups
        what = "groups" if data.groups is not None else "rows"
        notes.append(f"{n_folds} folds instead of {folds}, because there are only {n_folds} {what}.")
    return n_folds, notes
