"""The results row: written and read again without loss, refused where a column is not what it should be."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from assay.jobs.row import SCHEMA, Row, row_columns, row_schema

ROW = Path(__file__).parents[2] / "benchmarks" / "row.json"


@pytest.fixture
def written() -> dict[str, Any]:
    """Return a row as the first stores held it, before rows had a schema number and some of the columns."""
    return {**json.loads(ROW.read_text()), "key": "ab12"}


def test_a_row_is_the_same_after_it_was_written_and_read(written: dict[str, Any]) -> None:
    row = replace(
        Row.from_json(written), notes=("a", "ü\x00"), score=1 / 3, params={"deep": {"list": [1, None]}}
    )
    text = json.dumps(row.to_json())
    assert Row.from_json(text) == Row.from_json(text.encode()) == Row.from_json(row.to_json()) == row
    assert json.loads(text)["score"] == 1 / 3, "at full precision"


def test_a_row_of_the_first_stores_has_defaults_for_later_columns(written: dict[str, Any]) -> None:
    row = Row.from_json(written)
    assert "schema" not in written and row.schema == SCHEMA
    assert (row.has_oof, row.has_trace, row.meta_learning) == (False, False, "")


def test_columns_of_a_later_version_are_ignored_but_not_a_later_schema(written: dict[str, Any]) -> None:
    assert Row.from_json({**written, "new": 1}) == Row.from_json(written)
    with pytest.raises(ValueError, match="a later version of Assay"):
        Row.from_json({**written, "schema": SCHEMA + 1})


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("fold", "0", "fold"),
        ("fold", 0.5, "fold"),
        ("attempt", True, "attempt"),
        ("attempt", -1, "attempt -1"),
        ("key", "../x", r"\.\./x"),
        ("status", "fine", "status"),
        ("type", "ranking", "type"),
        ("role", "", "role"),
        ("enforcement", "none", "enforcement"),
        ("score", "0.5", "score"),
        ("scores", {"auc": "0.5"}, "scores.auc"),
        ("scores", {"other": 0.5}, "higher_is_better lacks"),
        ("higher_is_better", {"logloss": 1}, "higher_is_better.logloss"),
        ("inference_s", {"ten": 0.1}, "numbers of rows"),
        ("inference_s", {"١": 0.1}, "numbers of rows"),
        ("phases", {"fit": None}, "phases.fit"),
        ("notes", "text", "notes"),
        ("notes", [1], "notes.0"),
        ("wall_s", None, "wall_s"),
        ("contended", 0, "contended"),
    ],
)
def test_a_column_of_another_type_is_named(
    written: dict[str, Any], column: str, value: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Row.from_json({**written, column: value})


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_a_number_that_is_not_finite_is_refused(written: dict[str, Any], number: str) -> None:
    text = json.dumps({**written, "fit_s": 12345.5}).replace("12345.5", number)
    with pytest.raises(ValueError, match="fit_s"):
        Row.from_json(text)


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{", '"row"', "[" * 100_000, b"\xff", '{"key": "\\ud800"}']
)
def test_what_is_no_row_at_all_is_one_line(text: str | bytes) -> None:
    with pytest.raises(ValueError) as caught:
        Row.from_json(text)
    assert 0 < len(str(caught.value)) <= 300 and "\n" not in str(caught.value)


def test_a_row_cannot_be_changed(written: dict[str, Any]) -> None:
    with pytest.raises(FrozenInstanceError):
        Row.from_json(written).status = "ok"  # type: ignore[misc]


def test_every_column_says_what_it_holds() -> None:
    columns = dict(row_columns())
    assert list(columns) == [column.name for column in fields(Row)]
    assert all(column.text and not column.text.endswith(".") for column in columns.values())


def test_the_json_schema_takes_rows_and_refuses_others(written: dict[str, Any]) -> None:
    schema = row_schema()
    validator = jsonschema.Draft202012Validator(schema)
    validator.validate(written)
    validator.validate(Row.from_json(written).to_json())
    assert set(schema["properties"]) == {column.name for column in fields(Row)}
    assert all("description" in column for column in schema["properties"].values())
    for wrong in ({**written, "status": "fine"}, {**written, "fold": "0"}, {}):
        assert list(validator.iter_errors(wrong)), wrong
