"""Rows in the index: packed without names, read back to the last digit, and checked like any other row."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path

import pytest

from assay.jobs.packed_row import (
    PACKED_ATTEMPT,
    columns_written,
    is_packed,
    pack_row,
    unpack_rows,
)
from assay.jobs.row import SCHEMA, Row

NAMED = json.loads((Path(__file__).parents[2] / "benchmarks" / "row.json").read_text())
ROW = replace(
    Row.from_json({**NAMED, "key": "abc"}),
    params={"a": [1, {"b": None}], "c": "ü\u2028"},
    notes=("auc: none", ""),
    score=None,
    scores={"logloss": 0.1 + 0.2, "auc": None},
    higher_is_better={"logloss": False, "auc": True},
)


def unpack_row(text: str) -> Row:
    (row,) = unpack_rows([(ROW.key, text)])
    return row


def test_a_row_is_the_same_after_it_was_packed() -> None:
    text = pack_row(ROW)
    assert is_packed(text) and unpack_row(text) == ROW
    assert columns_written(text) == json.loads(json.dumps(ROW.to_json()))
    assert len(text) < 0.7 * len(json.dumps(ROW.to_json()))


def test_an_unpacked_row_is_like_any_other() -> None:
    row = unpack_row(pack_row(ROW))
    assert replace(row, message="x").message == "x" and row.notes == ROW.notes
    assert list(row.__dict__) == [field.name for field in fields(Row)]
    with pytest.raises(AttributeError):
        row.message = "y"  # type: ignore[misc]


def test_rows_of_an_index_that_an_earlier_version_wrote_have_names() -> None:
    older = {name: value for name, value in ROW.to_json().items() if name not in ("schema", "phases", "host")}
    text = json.dumps(older)
    assert not is_packed(text) and unpack_row(text) == replace(ROW, phases={}, host="")


def test_sql_finds_the_attempt_in_both_forms() -> None:
    row = replace(ROW, attempt=7)
    with closing(sqlite3.connect(":memory:")) as db:
        for text in (pack_row(row), json.dumps(row.to_json())):
            assert db.execute(f"SELECT {PACKED_ATTEMPT} FROM (SELECT ? AS row)", (text,)).fetchone() == (7,)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not JSON"),
        ("[", "not JSON"),
        ("[]", "neither a JSON object nor a packed row"),
        ("7", "neither a JSON object nor a packed row"),
        ("[true]", "neither a JSON object nor a packed row"),
        ("[1, 2]", "neither a JSON object nor a packed row"),
        (f"[{SCHEMA}]", "1 values for"),
        (f"[{SCHEMA + 1}, 1]", "a later version of Assay wrote it"),
        ("[" * 10_000, "not JSON"),
        (b"[2]", "there is no JSON"),
        (None, "there is no JSON"),
    ],
)
def test_what_is_not_a_row_is_a_value_error(text: object, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        Row.from_json(columns_written(text))
    if isinstance(text, str):
        with pytest.raises(ValueError):
            unpack_row(text)


def test_values_are_checked_in_packed_rows_too() -> None:
    values = list(ROW.to_json().values())
    names = [field.name for field in fields(Row)]
    for name, wrong in (
        ("attempt", "1"), ("attempt", -1), ("key", "../x"), ("status", "fine"), ("fit_s", float("inf")), ("notes", "x"),
        ("scores", {"unheard": 1.0}), ("inference_s", {"many": 1.0}), ("contended", 0), ("repeat", 1.5),
    ):  # fmt: skip
        damaged = [wrong if column == name else value for column, value in zip(names, values, strict=True)]
        with pytest.raises(ValueError):
            unpack_row(json.dumps(damaged, separators=(",", ":")))


def test_a_row_under_another_key_is_refused() -> None:
    text = pack_row(ROW)
    assert unpack_rows([("abc", text), ("abc", text)]) == [ROW, ROW]
    with pytest.raises(ValueError, match="the key is 'abc'"):
        unpack_rows([("abd", text)])
