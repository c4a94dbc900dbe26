from __future__ import annotations

import json
import math
from pathlib import Path
from typing import BinaryIO

import pytest

from assay.files import read_json, write_json, write_replace
from assay.jobs.folder import JobFolder, StoreFolder


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_file_is_replaced_at_once(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def write(file: BinaryIO) -> None:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"

    write_replace(path, write)
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def write(file: BinaryIO) -> None:
        file.write(b"half")
        raise error

    with pytest.raises(error):
        write_replace(path, write)
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["a.txt"]


def test_failed_rename_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    with pytest.raises(OSError, match="directory"):
        write_replace(tmp_path / "a.txt", lambda file: file.write(b"x"))
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_nan_is_refused_and_the_old_file_stays(tmp_path: Path, value: float) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"score": 0.5})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(path, {"score": value})
    assert read_json(path).get() == {"score": 0.5}
    assert names(tmp_path) == ["a.json"]


@pytest.mark.parametrize("durable", [True, False])
def test_json_keeps_full_precision_and_any_text(tmp_path: Path, durable: bool) -> None:
    value = {"x": 0.1 + 0.2, "text": "Größe \u2603", "none": None}
    write_json(tmp_path / "a.json", value, durable)
    assert read_json(tmp_path / "a.json").get() == value
    assert "Größe" in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_attempts_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    job = JobFolder(tmp_path)
    assert job.attempts() == []
    for number in (1000, 2, 999, 1, 10):
        job.attempt(number).path.mkdir(parents=True)
    for stray in ("001.partial", "x", "²"):
        (tmp_path / "attempts" / stray).mkdir()
    assert [attempt.number for attempt in job.attempts()] == [1, 2, 10, 999, 1000]


def test_attempt_knows_its_job_and_whether_it_is_complete(tmp_path: Path) -> None:
    attempt = StoreFolder(tmp_path).job("abcdef").attempt(7)
    assert attempt.path == tmp_path / "jobs" / "ab" / "abcdef" / "attempts" / "007"
    assert (attempt.key, attempt.number) == ("abcdef", 7)
    attempt.path.mkdir(parents=True)
    assert not attempt.is_complete
    write_json(attempt.outcome, {"schema": 1})
    assert attempt.is_complete
    assert json.loads(attempt.outcome.read_text()) == {"schema": 1}


def test_keys_are_sorted_and_strays_are_not_jobs(tmp_path: Path) -> None:
    store = StoreFolder(tmp_path)
    assert store.job_keys() == []
    keys = [f"{number * 7919 % 65536:04x}" for number in range(100)]
    for key in keys:
        store.job(key).path.mkdir(parents=True)
    (tmp_path / "jobs" / keys[0][:2] / ".DS_Store").write_bytes(b"")
    (tmp_path / "jobs" / "readme.txt").write_bytes(b"")
    assert store.job_keys() == sorted(keys)
