"""Roles are data: names decide where a foreign table is read, and nowhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.results.formats.foreign import read_scores
from assay.results.roles import role_in_scores


@pytest.mark.parametrize(
    ("framework", "role", "expected"),
    [
        ("random_forest", "baseline", "forest"),
        ("RandomForest", "baseline", "forest"),
        ("tuned_random_forest", "baseline", "baseline"),
        ("random_forest", "framework", "framework"),
        ("constant", "constant", "constant"),
    ],
)
def test_the_plain_forest_has_a_role_among_baselines(framework: str, role: str, expected: str) -> None:
    assert role_in_scores(framework, role) == expected


def test_a_scores_table_of_before_gets_the_role_of_the_forest(tmp_path: Path) -> None:
    lines = ["task,framework,role,fold,status,metric,value"]
    lines += [
        f"t,{name},{role},0,ok,auc,0.5"
        for name, role in (("random_forest", "baseline"), ("linear", "baseline"), ("RF", "framework"))
    ]
    (tmp_path / "scores.csv").write_text("\n".join(lines))
    table = read_scores(tmp_path / "scores.csv").table
    roles = dict(zip(table["framework"], table["role"], strict=True))
    assert roles == {"random_forest": "forest", "linear": "baseline", "RF": "framework"}
