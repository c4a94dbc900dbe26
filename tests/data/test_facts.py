from __future__ import annotations

import numpy as np

from assay.data.facts import compute_facts
from assay.data.table import Table
from assay.data.task import Column


def test_facts_describe_features_only() -> None:
    table = Table(
        (
            Column("x", "numeric"),
            Column("c", "categorical", categories=("a", "b", "c")),
            Column("b", "boolean"),
            Column("id", "numeric", role="ignore"),
            Column("y", "categorical", role="target", categories=("n", "p")),
        ),
        {
            "x": np.array([1, np.nan, np.nan, 4]),
            "c": np.array([0, 1, -1, 0], dtype=np.int32),
            "b": np.array([0, 1, 1, 1], dtype=np.int8),
            "id": np.full(4, np.nan),
            "y": np.array([0, 0, 0, 1], dtype=np.int32),
        },
    )
    facts = compute_facts(table, table.arrays["y"], 2)
    expected = {
        "n_rows": 4,
        "n_features": 3,
        "n_numeric": 1,
        "n_categorical": 1,
        "n_boolean": 1,
        "n_missing": 3,
        "n_rows_with_missing": 2,
        "n_features_with_missing": 2,
        "missing_share": 0.25,
        "categorical_share": 2 / 3,
        "max_categories": 3,
        "dimensionality": 0.75,
        "n_classes": 2,
        "minority_share": 0.25,
        "majority_share": 0.75,
        "class_imbalance": 1 / 3,
    }
    assert {name: facts[name] for name in expected} == expected
    assert all(type(value) is float for value in facts.values())


def test_regression_has_no_facts_of_classes() -> None:
    table = Table((Column("x", "numeric"),), {"x": np.zeros(3)})
    facts = compute_facts(table)
    assert facts["n_classes"] == 0
    assert "class_imbalance" not in facts
