"""The scores table has the documented columns, and failed jobs stay in it."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from assay.errors import DataError
from assay.jobs.row import Row, row_columns
from assay.results.scores import COLUMNS, MADE, check_scores, long_rows, scores_table, write_rows_csv
from assay.store.store import Store


@pytest.fixture
def rows(finished: Path) -> list[Row]:
    return Store(finished).rows()


def test_the_columns_are_those_of_a_row_and_what_is_made_of_them() -> None:
    assert COLUMNS[:3] == ("key", "attempt", "framework") and COLUMNS[-1] == "origin"
    assert set(MADE) < set(COLUMNS) <= {*MADE, *(name for name, _ in row_columns())}
    assert len(set(COLUMNS)) == len(COLUMNS) == 36


def test_there_is_one_row_per_job_and_metric_and_failed_jobs_stay(rows: list[Row]) -> None:
    table = scores_table(rows)
    assert list(table.columns) == list(COLUMNS)
    assert len(table) == sum(len(row.scores) for row in rows)
    failed = table[table["status"] != "ok"]
    assert set(failed["framework"]) == {"raises"} and len(failed) == 2 * 3
    assert failed["value"].isna().all() and failed["message"].str.contains("never learns").all()
    assert table[table["status"] == "ok"]["value"].notna().all()


def test_values_and_directions_are_the_rows_own(rows: list[Row]) -> None:
    by_key = {row.key: row for row in rows}
    for record in long_rows(rows):
        row = by_key[record["key"]]
        assert record["value"] == row.scores[record["metric"]]
        assert record["higher_is_better"] == row.higher_is_better[record["metric"]]
        assert record["optimised"] == (record["metric"] == row.metric)
        assert json.loads(record["params"]) == row.params


def test_no_rows_are_a_table_with_columns() -> None:
    assert list(scores_table([]).columns) == list(COLUMNS)
    assert len(scores_table([])) == 0


def test_the_table_survives_parquet(rows: list[Row], tmp_path: Path) -> None:
    import pandas as pd

    table = scores_table(rows)
    table.to_parquet(tmp_path / "scores.parquet")
    back = pd.read_parquet(tmp_path / "scores.parquet")
    pd.testing.assert_frame_equal(back, table, check_dtype=False)


def test_rows_as_csv_read_back_exactly(rows: list[Row]) -> None:
    file = io.StringIO()
    write_rows_csv(file, rows)
    back = list(csv.DictReader(io.StringIO(file.getvalue())))
    assert [line["key"] for line in back] == [row.key for row in rows]
    for line, row in zip(back, rows, strict=True):
        assert json.loads(line["scores"]) == row.scores
        assert (float(line["score"]) if line["score"] else None) == row.score
        assert line["message"] == row.message


def test_the_table_made_by_columns_is_the_one_of_the_records(rows: list[Row]) -> None:
    import pandas as pd

    pd.testing.assert_frame_equal(scores_table(rows), pd.DataFrame(long_rows(rows), columns=list(COLUMNS)))


def test_a_table_that_lacks_a_column_or_has_texts_for_numbers_is_refused(rows: list[Row]) -> None:
    table = scores_table(rows)
    check_scores(table, "it")
    with pytest.raises(
        DataError, match=r"scores.csv is not a scores table: it has no column status, fit_s\."
    ):
        check_scores(table.drop(columns=["status", "fit_s"]), "scores.csv")
    with pytest.raises(DataError, match=r"scores.csv: the column value holds \w+, not numbers"):
        check_scores(table.assign(value="high"), "scores.csv")
