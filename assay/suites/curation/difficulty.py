"""How far trivial models get on a classification task: one attribute, a stump, a tree.

Every model sees ordinal codes: of categories their position, of dates and numbers the number; text is left out. What is
missing becomes the median, of the codes of categories too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from assay.data.table import Array, Table, missing_mask
from assay.data.task import Column
from assay.memory import no_collection

__all__ = ["Difficulty", "measure_difficulty", "ordinal_codes"]

Difficulty = dict[str, float | None]

FOLDS, SEED = 10, 0
# Beyond this number of cells a tree takes minutes: one fold must do, learned on as many rows.
MOST_CELLS = 10_000_000
ROWS_OF_ONE_FOLD = 8000


def ordinal_codes(table: Table) -> Array:
    """Return the features as a matrix of numbers without gaps."""
    columns = [column for column in table.columns if column.role == "feature" and column.kind != "text"]
    out = np.zeros((table.n_rows, len(columns)), dtype=np.float32)
    for at, column in enumerate(columns):
        out[:, at] = _filled(column, table.arrays[column.name])
    return out


def _filled(column: Column, values: Array) -> Array:
    missing = missing_mask(column, values)
    if missing.all():
        return np.zeros(len(values))
    return np.where(missing, np.median(values[~missing]), values) if missing.any() else values


def measure_difficulty(table: Table, y: Array) -> Difficulty:
    """Return how well each of these does; `y` holds class codes.

    - `single_attribute_cv`: the best accuracy of a tree on one column, in cross-validation, among the columns each of
      whose values has one class; 0 where there is no such column. A column of identifiers is one, but fails here.
    - `stump_train_accuracy`: of a tree of depth 1 on the rows that it learned from. More than two classes cannot all be
      told apart by it.
    - `tree_cv_accuracy`: of a whole tree, in `tree_folds` folds of a stratified cross-validation with ten.
    """
    from sklearn.tree import DecisionTreeClassifier

    x = ordinal_codes(table)
    if not x.shape[1] or len(np.unique(y)) < 2:
        return dict.fromkeys(
            ("single_attribute_cv", "stump_train_accuracy", "tree_cv_accuracy", "tree_folds")
        )
    with no_collection():
        stump = DecisionTreeClassifier(max_depth=1, random_state=SEED).fit(x, y)
        scores = _tree_scores(x, y)
        return {
            "single_attribute_cv": _best_single(x, y),
            "stump_train_accuracy": float(stump.score(x, y)),
            "tree_cv_accuracy": float(np.mean(scores)),
            "tree_folds": len(scores),
        }


def _splits(x: Array, y: Array) -> Iterator[tuple[Array, Array]]:
    import warnings

    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a class may have fewer rows than there are folds
        yield from StratifiedKFold(min(FOLDS, len(y)), shuffle=True, random_state=SEED).split(x, y)


def _tree_scores(x: Array, y: Array) -> list[float]:
    """Return the accuracy in every fold, or in the first one where the table is large."""
    from sklearn.tree import DecisionTreeClassifier

    scores = []
    for train, test in _splits(x, y):
        rows = train[:ROWS_OF_ONE_FOLD] if x.size > MOST_CELLS else train
        tree = DecisionTreeClassifier(random_state=SEED).fit(x[rows], y[rows])
        scores.append(float(tree.score(x[test], y[test])))
        if x.size > MOST_CELLS:
            break
    return scores


def _best_single(x: Array, y: Array) -> float:
    """Return the best accuracy of a column whose values have one class each."""
    from sklearn.model_selection import cross_val_score
    from sklearn.tree import DecisionTreeClassifier

    best = 0.0
    for column in x.T:
        if _is_pure(column, y):
            tree = DecisionTreeClassifier(random_state=SEED)
            scores = cross_val_score(tree, column[:, None], y, cv=list(_splits(x, y)))
            best = max(best, float(scores.mean()))
    return best


def _is_pure(column: Array, y: Array) -> bool:
    order = np.argsort(column, kind="stable")
    values, classes = column[order], y[order]
    return not bool(((values[1:] == values[:-1]) & (classes[1:] != classes[:-1])).any())
