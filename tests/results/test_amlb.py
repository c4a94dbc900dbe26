"""AMLB's results.csv: its columns, its signs, our precision."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from assay.jobs.row import Row
from assay.metrics import get_metric
from assay.results.formats.amlb import amlb_rows, write_amlb
from assay.results.judge import judge_attempt
from assay.store.store import Store

from .conftest import Bench

# As in AMLB 2.1: https://openml.github.io/automlbenchmark/docs/using/#results
PUBLISHED = (
    "id,task,framework,constraint,fold,type,result,metric,mode,version,params,app_version,utc,duration,"
    "training_duration,predict_duration,models_count,seed,info"
)


@pytest.fixture
def rows(finished: Path) -> list[dict[str, Any]]:
    return Store(finished).rows()


@pytest.fixture
def written(rows: list[Row], tmp_path: Path) -> list[dict[str, str]]:
    write_amlb(tmp_path / "results.csv", rows)
    with open(tmp_path / "results.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_columns_are_amlbs_then_metrics_then_inference_times(written: list[dict[str, str]]) -> None:
    names = list(written[0])
    assert ",".join(names[:19]) == PUBLISHED
    metrics = [name for name in names[19:] if not name.startswith("infer_batch_size_df_")]
    assert metrics == sorted(metrics) == ["acc", "balacc", "logloss", "mae", "r2", "rmse"]
    assert names[19 + len(metrics) :] == [f"infer_batch_size_df_{10**i}" for i in range(5)]


def test_results_are_higher_is_better_and_say_so(written: list[dict[str, str]], rows: list[Row]) -> None:
    for line, row in zip(written, rows, strict=True):
        assert line["metric"] == f"neg_{row.metric}" and not get_metric(row.metric).higher_is_better
        if row.status == "ok":
            assert float(line["result"]) == -row.score
            assert float(line[row.metric]) == row.score, "the metric's own column keeps its sign"


def test_numbers_read_back_exactly(written: list[dict[str, str]], rows: list[Row]) -> None:
    for line, row in zip(written, rows, strict=True):
        assert float(line["duration"]) == row.wall_s
        assert (float(line["training_duration"]) if line["training_duration"] else None) == row.fit_s
        assert int(line["seed"]) == row.seed
        for name, value in row.scores.items():
            assert (float(line[name]) if line[name] else None) == value


def test_a_failure_has_an_empty_result_and_an_info(written: list[dict[str, str]]) -> None:
    failed = [line for line in written if line["framework"] == "raises"]
    assert len(failed) == 2
    for line in failed:
        assert line["result"] == "" and line["logloss"] == ""
        assert line["info"] == "error: ValueError: this one never learns"
    assert all(line["info"] == "" for line in written if line["framework"] != "raises")


def test_baselines_carry_amlbs_names_and_pandas_reads_the_file(
    written: list[dict[str, str]], tmp_path: Path
) -> None:
    assert {line["framework"] for line in written} == {"constantpredictor", "DecisionTree", "raises"}
    table = pd.read_csv(tmp_path / "results.csv")
    assert len(table) == 10 and table["fold"].tolist() == [int(line["fold"]) for line in written]


def row_of(bench: Bench, **changed: Any) -> Row:
    job = bench.job()
    return replace(judge_attempt(bench.store.folder, job, bench.attempt(job, bench.answer())), **changed)


def test_openml_tasks_have_amlbs_ids(bench: Bench) -> None:
    (record,) = amlb_rows([row_of(bench, task_id="openml/t/31", params={"depth": 3})])
    assert record["id"] == "openml.org/t/31"
    assert record["params"] == "{'depth': 3}"
    assert record["utc"] == "2026-01-02T03:04:05"


def test_folds_of_further_repeats_go_on_counting(bench: Bench) -> None:
    row = row_of(bench)
    rows = [replace(row, repeat=repeat, fold=fold) for repeat in (0, 1) for fold in range(3)]
    assert [record["fold"] for record in amlb_rows(rows)] == list(range(6))


def test_a_score_of_zero_is_not_minus_zero(bench: Bench) -> None:
    row = row_of(bench, metric="logloss", score=0.0)
    assert amlb_rows([row])[0]["result"] == "0.0"


def test_a_metric_that_a_row_names_is_not_looked_up(bench: Bench, tmp_path: Path) -> None:
    """A row of somebody's store may name a file; exporting it must not run that."""
    (tmp_path / "planted.py").write_text("raise SystemExit('it ran')")
    name = f"{tmp_path}/planted.py:f"
    row = row_of(bench, metric=name, scores={name: 0.5}, score=0.5, higher_is_better={name: False})
    assert amlb_rows([row])[0]["result"] == "-0.5"


def test_what_is_exported_is_read_back(rows: list[Row], tmp_path: Path) -> None:
    from assay.results.formats.foreign import read_scores
    from assay.vocabulary import STATUSES

    failed = next(row for row in rows if row.status == "error")
    made = [
        replace(failed, status=status, message=f"why: {status}, exit status 143", fold=100 + at)
        for at, status in enumerate(STATUSES[1:])
    ]
    write_amlb(tmp_path / "results.csv", [*rows, *made])
    found = read_scores(tmp_path / "results.csv")
    table = found.table[found.table["optimised"]].reset_index(drop=True)
    assert found.notes == () and len(table) == len(rows) + len(made)
    for line, row in zip(table.to_dict("records"), [*rows, *made], strict=True):
        assert (line["status"], line["task"], line["type"]) == (row.status, row.task, row.type)
        assert line["message"] == row.message and line["metric"] == row.metric
        assert line["value"] == row.score or (row.score is None and line["value"] != line["value"])
        assert (line["constraint"], line["budget_s"], line["cores"]) == (
            row.constraint, row.budget_s, row.cores,
        )  # fmt: skip
