"""A table is the same in every dialect, apart from what a file without types cannot hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.dialects import CAUSES, DIALECTS, LIST, compare_set

SETS = ("credit-approval", "dresses-sales", "vowel")


@pytest.mark.shared
@pytest.mark.parametrize("name", SETS)
def test_real_tables_differ_only_for_known_reasons(shared: Path, tmp_path: Path, name: str) -> None:
    _, differences = compare_set(shared / "data" / "datasets" / f"{name}.parquet", tmp_path)
    assert {item.dialect for item in differences} <= set(DIALECTS) - {"ARFF", "Parquet"}
    assert [item for item in differences if item.cause not in CAUSES] == []


def test_awkward_labels_and_numbers_are_the_same_in_every_dialect(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    labels = [
        "plain",
        "with, comma",
        "with; semicolon",
        'with "quotes"',
        "two\nlines",
        " spaces ",
        "ümläut",
        "a|b",
        "tab\there",
    ]
    frame = pd.DataFrame(
        {
            "label": pd.Categorical(rng.choice(sorted(labels), 300)),
            "number": rng.normal(size=300) * 10.0 ** rng.integers(-8, 8, 300),
            "gaps": np.where(rng.random(300) < 0.3, np.nan, rng.normal(size=300)),
            "whole": rng.integers(-5, 5000, 300),
            "flag": rng.random(300) < 0.5,
            "name; with, signs": rng.random(300),
            "sentence": [f'No. {row}: "a longer sentence, with; signs" and an end' for row in range(300)],
        }
    )
    frame.to_parquet(tmp_path / "made_up.parquet")
    _, differences = compare_set(tmp_path / "made_up.parquet", tmp_path)
    assert {item.cause for item in differences} <= {"15 digits", "no booleans"}


def test_the_list_of_differences_has_no_faults_and_known_causes() -> None:
    listed = json.loads(LIST.read_text(encoding="utf-8"))
    assert listed["faults"] == [] and listed["sets"] == 80
    assert listed["dialects"] == list(DIALECTS) and listed["causes"] == CAUSES
    assert {entry["cause"] for entry in listed["differences"]} <= set(CAUSES)
    assert not any({"ARFF", "Parquet"} & set(entry["dialects"]) for entry in listed["differences"])
