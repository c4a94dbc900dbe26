"""The scores table has the documented columns, and failed jobs stay in it."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest

from assay.results import scores
from assay.results.scores import COLUMNS, long_rows, scores_table, write_rows_csv
from assay.store.store import Store


@pytest.fixture
def rows(finished: Path) -> list[dict]:
    return Store(finished).rows()


def test_the_columns_are_those_of_the_documented_table() -> None:
    documented = re.findall(r"^\| ([\w, ]+) \|", scores.__doc__ or "", re.MULTILINE)[1:]
    assert sorted(name for line in documented for name in line.split(", ")) == sorted(COLUMNS)
    assert len(set(COLUMNS)) == len(COLUMNS)


def test_there_is_one_row_per_job_and_metric_and_failed_jobs_stay(rows: list[dict]) -> None:
    table = scores_table(rows)
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == sum(len(row["scores"]) for row in rows)
    failed = table[table["status"] != "ok"]
    assert set(failed["framework"]) == {"raises"} and len(failed) == 2 * 3
    assert failed["value"].isna().all() and failed["message"].str.contains("never learns").all()
    assert table[table["status"] == "ok"]["value"].notna().all()


def test_values_and_directions_are_the_rows_own(rows: list[dict]) -> None:
    by_key = {row["key"]: row for row in rows}
    for record in long_rows(rows):
        row = by_key[record["key"]]
        assert record["value"] == row["scores"][record["metric"]]
        assert record["higher_is_better"] == row["higher_is_better"][record["metric"]]
        assert record["optimised"] == (record["metric"] == row["metric"])
        assert json.loads(record["params"]) == row["params"]


def test_no_rows_are_a_table_with_columns() -> None:
    assert list(scores_table([]).columns) == list(COLUMNS)
    assert len(scores_table([])) == 0


def test_the_table_survives_parquet(rows: list[dict], tmp_path: Path) -> None:
    import pandas as pd

    table = scores_table(rows)
    table.to_parquet(tmp_path / "scores.parquet")
    back = pd.read_parquet(tmp_path / "scores.parquet")
    pd.testing.assert_frame_equal(back, table, check_dtype=False)


def test_rows_as_csv_read_back_exactly(rows: list[dict]) -> None:
    file = io.StringIO()
    write_rows_csv(file, rows)
    back = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [line["key"] for line in back] == [row["key"] for row in rows]
    for line, row in zip(back, rows, strict=True):
        assert json.loads(line["scores"]) == row["scores"]
        assert (float(line["score"]) if line["score"] else None) == row["score"]
        assert line["message"] == row["message"]
