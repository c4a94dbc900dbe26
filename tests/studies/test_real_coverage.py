"""The study on real data: a few rows are searched on, the others are the truth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer

from assay.errors import ConfigError, DataError
from assay.searches.guided import search_guided
from assay.searches.inputs import open_data
from assay.settings import Settings
from assay.store.store import Store
from assay.studies import real_coverage
from assay.studies.real_coverage import RealSetting, draw_training, open_study, run_one, run_real
from assay.uncertainty.bbc import prepare


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RealSetting:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / ".state"))
    monkeypatch.setattr(real_coverage, "FOLDS", 4)
    x, y = load_breast_cancer(return_X_y=True, as_frame=True)
    x.iloc[:, :8].assign(kind=np.where(y, "good", "bad")).to_csv(tmp_path / "cancer.csv", index=False)
    return RealSetting(str(tmp_path / "cancer.csv"), "kind", 60, n_configurations=4)


def test_training_rows_and_held_out_ones_are_all_rows(source: RealSetting) -> None:
    data = open_data(source.path, source.target, None, "auc", Settings.from_environment())
    train, rest = draw_training(data, 60, np.random.default_rng(0))
    assert (len(train), len(rest)) == (60, 509)
    assert sorted([*train, *rest]) == list(range(569))
    assert min(np.unique(data.y[train], return_counts=True)[1]) >= 2
    with pytest.raises(DataError, match="has 569 rows"):
        draw_training(data, 569, np.random.default_rng(0))
    with pytest.raises(DataError, match="never have two of every class and leave one"):
        draw_training(data, 3, np.random.default_rng(0))


def test_truth_is_the_score_on_rows_that_were_left(source: RealSetting, tmp_path: Path) -> None:
    rows = run_one(source, 0, ["bbc", "naive_folds", "tt"], tmp_path / "store")
    assert {row["truth"] for row in rows} == {rows[0]["truth"]}, "all three speak of the same winner"
    assert 0.9 < rows[0]["truth"] <= 1 and rows[0]["bound"] < rows[0]["truth"]
    assert rows[0]["setting"] == "cancer, N=60, C=4, auc" and rows[0]["c"] == 4


def test_finished_searches_are_not_run_again(source: RealSetting, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    said = {"repetitions": 2, "methods": ["bbc"], "jobs": 2, "progress": lambda *one: told.append(one)}
    first = run_real([source], tmp_path / "study", **said)
    n_jobs = 2 * (4 * 4 + 4)  # each configuration on four folds, and on all training rows
    assert told[0] == (0, n_jobs) and (n_jobs, n_jobs) in told and told[-1] == (2, 2)
    assert len(Store(tmp_path / "study" / "store").rows()) == n_jobs
    told.clear()
    again = run_real([source], tmp_path / "study", **said)
    assert told == [(2, 2)] and first == again and first[0].repetitions == 2


def test_guided_searches_are_judged_like_others(source: RealSetting, tmp_path: Path) -> None:
    pytest.importorskip("optuna")
    store = tmp_path / "store"
    guided = replace(source, strategy="guided", n_configurations=4)
    rows = run_one(guided, 0, ["bbc", "naive_folds"], store)
    assert rows[0]["setting"].endswith(", guided") and rows[0]["c"] == 4
    assert 0.8 < rows[0]["truth"] <= 1 and rows[0]["bound"] < 1
    n_jobs = len(Store(store).rows())
    assert _plain(run_one(guided, 0, ["bbc"], store)[0]) == _plain(rows[0]), "it is the same search"
    assert len(Store(store).rows()) == n_jobs == 4 * 5
    by_chance = run_one(replace(guided, strategy="random"), 0, ["bbc"], store)[0]
    assert by_chance["winner"] != rows[0]["winner"]
    with pytest.raises(ConfigError, match="choose one of static, random, guided"):
        replace(source, strategy="clever")


def test_proposals_are_scored_as_the_winner_is_chosen(source: RealSetting, tmp_path: Path) -> None:
    optuna = pytest.importorskip("optuna")
    data = open_data(source.path, source.target, None, "auc", Settings.from_environment())
    train = data.take(draw_training(data, 60, np.random.default_rng(0))[0])
    told: list[float] = []
    real = optuna.Study.tell
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            optuna.Study, "tell", lambda own, trial, score: (told.append(score), real(own, trial, score))[1]
        )
        with open_study(tmp_path / "store", 2) as fitting:
            predictions, tried = search_guided(fitting, train, "auc", 5, 4, 1)
    np.testing.assert_allclose(prepare(predictions, "auc").scores, told, atol=1e-12)
    assert list(tried) == list(predictions.names)


def _plain(row: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in row.items() if key != "seconds"}


def test_other_data_of_the_same_name_are_other_data(source: RealSetting, tmp_path: Path) -> None:
    first = run_real([source], tmp_path / "study", 1, ["bbc"])
    frame = pd.read_csv(source.path)
    noise = frame.assign(kind=np.random.default_rng(0).permutation(frame["kind"]))
    noise.to_csv(source.path, index=False)
    again = run_real([source], tmp_path / "study", 1, ["bbc"])
    assert again[0].truth < 0.7 < first[0].truth
    with pytest.raises(ConfigError, match="Two data sets would be called 'cancer"):
        run_real([source, source], tmp_path / "study", 1, ["bbc"])
    (tmp_path / "taken").write_text("")
    with pytest.raises(ConfigError, match="taken is a file"):
        run_real([source], tmp_path / "taken", 1, ["bbc"])
