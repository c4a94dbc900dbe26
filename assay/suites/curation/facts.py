"""The facts that rules need: what the features of a task are like, and how its rows repeat each other.

Unlike OpenML's qualities they leave the target out, and columns that are not used.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.data.table import Array, Table
from assay.data.task import Column
from assay.suites.curation.profile import ColumnProfile, profile_columns
from assay.vocabulary import TaskType

__all__ = ["Facts", "compute_rule_facts", "row_keys"]

Facts = dict[str, float | None]

MANY = (20, 100)  # categories; the tabular benchmark and the CC18 notebook have these limits
FEW_VALUES = 10  # a number with fewer is a category, for the tabular benchmark
MOSTLY_MISSING = 0.7
MIX = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio, which spreads neighbouring values


def compute_rule_facts(table: Table, target: str, task_type: TaskType) -> Facts:
    """Return the facts by name; those of classes are None in regression, but for `n_classes`, which is 0.

    - `p_onehot`: features when each category that occurs becomes one; a gap is none.
    - `max_cardinality`, `n_symbolic_gt20`: by categories that occur.
    - `n_numeric_lt10`, `n_numeric_eq2`: numeric features with fewer than ten, with exactly two values.
    - `n_near_constant_99`: features of which 99 % of the rows have the same value, or none.
    - `zero_share`: of the cells of numeric features.
    - `n_duplicate_rows`, `n_duplicate_features`: rows that repeat an earlier one, with and without the target.
    - `n_conflict_rows`: rows whose features occur with another target, too.
    - `n_unique_id_like`: categories or texts that are different in every row.
    """
    used = table.select(
        column.name for column in table.columns if column.role == "feature" and column.name != target
    )
    features, n_rows = profile_columns(used), table.n_rows
    numeric = [one for one in features if one.kind == "numeric"]
    symbolic = [one for one in features if one.is_symbolic]
    labels = table.select([target])
    return {
        "n": n_rows,
        "p": len(features),
        "p_numeric": len(numeric),
        "p_symbolic": len(symbolic),
        "p_onehot": len(features) - len(symbolic) + sum(one.n_distinct for one in symbolic),
        "max_cardinality": max((one.n_distinct for one in symbolic), default=0),
        **{f"n_symbolic_gt{most}": sum(one.n_distinct > most for one in symbolic) for most in MANY},
        f"n_numeric_lt{FEW_VALUES}": sum(one.n_distinct < FEW_VALUES for one in numeric),
        "n_numeric_eq2": sum(one.n_distinct == 2 for one in numeric),
        "n_constant": sum(one.is_constant for one in features),
        "n_near_constant_99": sum(one.is_nearly_constant for one in features),
        "zero_share": sum(one.n_zero for one in numeric) / max(1, n_rows * len(numeric)),
        "d_over_n": len(features) / max(1, n_rows),
        **_repeated(row_keys(table, used.columns), row_keys(table, labels.columns)),
        "n_missing_features": sum(one.n_missing for one in features),
        "n_missing_target": profile_columns(labels)[0].n_missing,
        "n_missing_cols_gt70": sum(one.n_missing > MOSTLY_MISSING * n_rows for one in features),
        "n_unique_id_like": _n_identifiers(features),
        **_classes(table.column(target), table.arrays[target], task_type),
    }


def _n_identifiers(features: Sequence[ColumnProfile]) -> int:
    return sum(one.n_rows > 1 and one.n_distinct == one.n_rows and (one.is_symbolic or one.kind == "text")
               for one in features)  # fmt: skip


def _classes(column: Column, values: Array, task_type: TaskType) -> Facts:
    """Return the sizes of the smallest and the largest class that occurs, and their ratio."""
    names = ("minority", "majority", "imbalance")
    if task_type == "regression":
        return {"n_classes": 0, **dict.fromkeys(names)}
    present = values[values >= 0] if column.kind != "numeric" else values[~np.isnan(values)]
    _, counts = np.unique(present, return_counts=True)
    if not len(counts):
        return {"n_classes": 0, **dict.fromkeys(names)}
    smallest, largest = int(counts.min()), int(counts.max())
    return {
        "n_classes": len(counts),
        "minority": smallest,
        "majority": largest,
        "imbalance": smallest / largest,
    }


def _repeated(features: Array, targets: Array) -> Facts:
    whole = features * MIX + targets
    _, group = np.unique(features, return_inverse=True)
    pairs = np.unique(whole, return_index=True)[1]  # the first row of each different one
    n_targets = np.bincount(group[pairs]) if len(group) else np.zeros(0, dtype=np.intp)
    return {
        "n_duplicate_rows": len(whole) - len(pairs),
        "n_duplicate_features": len(features) - len(n_targets),
        "n_conflict_rows": int((n_targets[group] > 1).sum()) if len(group) else 0,
    }


def row_keys(table: Table, columns: Sequence[Column]) -> Array:
    """Return a 64-bit number per row, of its values in these columns: the same for equal rows, gaps included.

    Two different rows of 100,000 share a number with a probability of about 3 in 10 billion.
    """
    keys = np.zeros(table.n_rows, dtype=np.uint64)
    for column in columns:
        keys = (keys ^ _value_keys(column, table.arrays[column.name])) * MIX
        keys ^= keys >> np.uint64(29)
    return keys


def _value_keys(column: Column, values: Array) -> Array:
    import pandas as pd

    if column.kind == "text":
        return pd.util.hash_array(np.array([value or "" for value in values], dtype=object), categorize=True)
    if column.kind == "numeric":
        values = np.where(np.isnan(values), np.nan, values) + 0.0  # one kind of gap, and no negative zero
    return pd.util.hash_array(values)
