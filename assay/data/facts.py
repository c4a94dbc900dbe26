"""Properties of a task, computed from its table: pure, all of them floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from assay.data.table import Array, Table, missing_mask

__all__ = ["compute_facts"]


def compute_facts(table: Table, y: Array | None = None, n_classes: int = 0) -> Mapping[str, float]:
    """Return what is known of a task; `y` are class codes if there are classes.

    Shares are between 0 and 1: `missing_share` of the feature cells, `categorical_share` of the features
    (categorical or boolean ones), `minority_share` and `majority_share` of the rows. `class_imbalance` is the
    size of the smallest class over that of the largest (1 is balanced); class facts are absent in regression.
    """
    features = [column for column in table.columns if column.role == "feature"]
    masks = {column.name: missing_mask(column, table.arrays[column.name]) for column in features}
    n_missing = sum(int(mask.sum()) for mask in masks.values())
    kinds = [column.kind for column in features]
    n_rows, n_features = table.n_rows, len(features)
    rows_missing = np.zeros(n_rows, dtype=bool)
    for mask in masks.values():
        rows_missing |= mask
    labels = [len(column.categories) for column in features if column.kind == "categorical"]
    facts = {
        "n_rows": n_rows,
        "n_features": n_features,
        **{f"n_{kind}": kinds.count(kind) for kind in ("numeric", "categorical", "boolean", "date", "text")},
        "n_missing": n_missing,
        "n_rows_with_missing": int(rows_missing.sum()),
        "n_features_with_missing": sum(bool(mask.any()) for mask in masks.values()),
        "missing_share": n_missing / max(1, n_rows * n_features),
        "categorical_share": (kinds.count("categorical") + kinds.count("boolean")) / max(1, n_features),
        "dimensionality": n_features / max(1, n_rows),
        "max_categories": max(labels, default=0),
    }
    if y is not None and n_classes:
        counts = np.bincount(y, minlength=n_classes)
        facts |= {
            "n_classes": n_classes,
            "minority_share": counts.min() / max(1, n_rows),
            "majority_share": counts.max() / max(1, n_rows),
            "class_imbalance": counts.min() / counts.max(),
        }
    else:
        facts["n_classes"] = 0
    return {name: float(value) for name, value in facts.items()}
