"""The pieces of a study: kept ones are read, damaged ones done again, in the order that was asked for."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import assay.studies.pieces as module
from assay.errors import ConfigError, UserError
from assay.studies.pieces import StudyPiece, run_pieces


def note(folder: str, name: str, times: int = 1) -> list:
    """Leave a mark for every time that this ran, and return rows."""
    with open(Path(folder) / f"{name}.ran", "a", encoding="utf-8") as file:
        file.write("x")
    return [{"name": name, "at": at} for at in range(times)]


def no_rows() -> list:
    return []


def leave() -> list:
    os._exit(3)


def pieces_of(folder: Path, *names: str) -> list[StudyPiece]:
    return [StudyPiece(note, (str(folder), name), ("noted", name)) for name in names]


def ran(folder: Path) -> dict[str, int]:
    return {path.stem: len(path.read_text()) for path in sorted(folder.glob("*.ran"))}


def test_rows_come_in_the_order_of_the_pieces_whoever_was_first(tmp_path: Path) -> None:
    rows = run_pieces(pieces_of(tmp_path, "c", "a", "b"), tmp_path / "study", jobs=2)
    assert [row["name"] for row in rows] == ["c", "a", "b"]
    turned = run_pieces(pieces_of(tmp_path, "b", "c"), tmp_path / "study")
    assert [row["name"] for row in turned] == ["b", "c"]
    assert ran(tmp_path) == {"a": 1, "b": 1, "c": 1}, "what was kept is not done again"


DAMAGED = {
    "empty": "", "cut": "[{", "object": "{}", "numbers": "[1]", "text": '"text"', "null": "null",
    "deep": "[" * 100_000, "mixed": '[{"a": 1}, 2]', "zeros": "\x00",
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_pieces_are_done_again(kind: str, tmp_path: Path) -> None:
    own = pieces_of(tmp_path, "a", "b")
    whole = list(run_pieces(own, tmp_path / "study"))
    (tmp_path / "study" / own[0].file).write_text(DAMAGED[kind])
    assert list(run_pieces(own, tmp_path / "study")) == whole
    assert ran(tmp_path) == {"a": 2, "b": 1}


def test_bytes_that_are_no_text_are_done_again(tmp_path: Path) -> None:
    (own,) = pieces_of(tmp_path, "a")
    whole = list(run_pieces([own], tmp_path / "study"))
    (tmp_path / "study" / own.file).write_bytes(b"\xff\xfe[]")
    assert list(run_pieces([own], tmp_path / "study")) == whole and ran(tmp_path) == {"a": 2}


def test_a_piece_without_rows_is_done_once(tmp_path: Path) -> None:
    own = StudyPiece(no_rows, (), ("nothing",))
    assert list(run_pieces([own], tmp_path)) == [] == list(run_pieces([own], tmp_path))
    assert json.loads((tmp_path / own.file).read_text()) == []


def test_another_version_does_the_work_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = pieces_of(tmp_path, "a")
    first = own[0].file
    list(run_pieces(own, tmp_path / "study"))
    monkeypatch.setattr(module, "__version__", "0.0.0-another")
    assert own[0].file != first
    list(run_pieces(own, tmp_path / "study"))
    assert ran(tmp_path) == {"a": 2} and len(list((tmp_path / "study").glob("*.json"))) == 2


def test_a_file_is_named_by_what_the_rows_depend_on() -> None:
    one, same = (StudyPiece(no_rows, (), ({"n": 1, "c": 2}, number)) for number in (0, 0))
    turned = StudyPiece(no_rows, (7,), ({"c": 2, "n": 1}, 0))
    other = StudyPiece(no_rows, (), ({"n": 1, "c": 3}, 0))
    assert one.file == same.file == turned.file != other.file
    assert one.file.endswith(".json") and "/" not in one.file


def test_progress_is_told_from_what_was_found_to_the_end(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    list(run_pieces(pieces_of(tmp_path, "a"), tmp_path / "study"))
    list(run_pieces(pieces_of(tmp_path, "a", "b", "c"), tmp_path / "study", 1, lambda *one: told.append(one)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_worker_that_leaves_is_said_and_what_was_done_is_kept(tmp_path: Path) -> None:
    list(run_pieces(pieces_of(tmp_path, "a"), tmp_path / "study"))
    with pytest.raises(UserError, match="A process was killed from outside"):
        list(run_pieces([*pieces_of(tmp_path, "a"), StudyPiece(leave, (), ("leaves",))], tmp_path / "study"))
    assert [row["name"] for row in run_pieces(pieces_of(tmp_path, "a"), tmp_path / "study")] == ["a"]
    assert ran(tmp_path) == {"a": 1}


def test_a_piece_that_is_removed_meanwhile_is_named(tmp_path: Path) -> None:
    own = pieces_of(tmp_path, "a", "b")
    rows = run_pieces(own, tmp_path / "study")
    assert next(rows)["name"] == "a"
    (tmp_path / "study" / own[1].file).unlink()
    with pytest.raises(ConfigError, match=f"{own[1].file} was removed while the study ran"):
        next(rows)
