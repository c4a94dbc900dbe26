"""The study on real data: a few rows are searched on, the others are the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from assay.errors import DataError
from assay.settings import Settings
from assay.studies.inputs import open_data
from assay.studies.real_coverage import Source, draw_training, run_one, run_real


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / ".state"))
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    x.iloc[:, :8].assign(kind=np.where(y, "good", "bad")).to_csv(tmp_path / "cancer.csv", index=False)
    return Source(str(tmp_path / "cancer.csv"), "kind", 60, n_configurations=4)


def test_training_rows_and_held_out_ones_are_all_rows(source: Source) -> None:
    data = open_data(source.path, source.target, None, "auc", Settings.from_environment())
    train, rest = draw_training(data, 60, np.random.default_rng(0))
    assert (train.n_rows, rest.n_rows) == (60, 509)
    both = pd.concat([train.x, rest.x])
    assert sorted(both.iloc[:, 0]) == sorted(data.x.iloc[:, 0])
    assert min(np.unique(train.y, return_counts=True)[1]) >= 2
    with pytest.raises(DataError, match="has 569 rows"):
        draw_training(data, 569, np.random.default_rng(0))
    with pytest.raises(DataError, match="never have two of every class"):
        draw_training(data, 3, np.random.default_rng(0))


def test_truth_is_the_score_on_rows_that_were_left(source: Source) -> None:
    rows = run_one(source, 0, ["bbc", "naive_folds", "tt"])
    assert {row["truth"] for row in rows} == {rows[0]["truth"]}, "all three speak of the same winner"
    assert 0.9 < rows[0]["truth"] <= 1 and rows[0]["bound"] < rows[0]["truth"]
    assert rows[0]["setting"] == "cancer, N=60, C=4, auc" and rows[0]["c"] == 4


def test_finished_searches_are_not_run_again(source: Source, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    first = run_real([source], tmp_path / "study", 2, ["bbc"], progress=lambda *one: told.append(one))
    again = run_real([source], tmp_path / "study", 2, ["bbc"], progress=lambda *one: told.append(one))
    assert told == [(1, 2), (2, 2)] and first == again and first[0].repetitions == 2
