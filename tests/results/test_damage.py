"""Whatever a child or another store wrote, every job has its row, and every damaged file is named."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import struct
import tarfile
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.api import analyse, interval, make_report
from assay.errors import StoreError, UserError
from assay.files import write_json
from assay.jobs.folder import AttemptFolder
from assay.results.explain import explain
from assay.results.judge import judge_attempt
from assay.results.scores import scores_table, write_rows_csv
from assay.results.upkeep import merge, rebuild, verify
from assay.runs.launch import Launch
from assay.runs.shell import pack
from assay.store.store import Store

from .conftest import Bench

Damage = Callable[[Path], None]


def put(data: bytes) -> Damage:
    def write(path: Path) -> None:
        path.write_bytes(data)

    return write


def instead(make: Callable[[Path], Any]) -> Damage:
    def replace(path: Path) -> None:
        path.unlink(missing_ok=True)
        make(path)

    return replace


def npz(**arrays: Any) -> bytes:
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def encrypted() -> bytes:
    data = bytearray(npz(names=np.array(["a"])))
    struct.pack_into("<H", data, 6, 1)
    struct.pack_into("<H", data, data.index(b"PK\x01\x02") + 8, 1)
    return bytes(data)


def bomb() -> bytes:
    """Return a few kilobytes that unpack to 100 MB and claim to be 8 GB."""
    out = io.BytesIO()
    header = {"descr": "<f8", "fortran_order": False, "shape": (10**9,)}
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("names", "config_0", "prediction", "y", "row", "predictions"):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array_header_1_0(member, header)
                member.write(b"\0" * 10**7)
    return out.getvalue()


FILES: dict[str, Damage] = {
    "empty": put(b""),
    "noise": put(bytes(range(256)) * 8),
    "a bad zip": put(b"PK\x03\x04" + b"\0" * 40),
    "a list": put(b"[1, 2]"),
    "deep nesting": put(b'{"a":' * 50_000),
    "halves of characters": put(b'{"a": "\\ud800"}'),
    "no object": put(b"3"),
    "a pipe": instead(os.mkfifo),
    "a folder": instead(lambda path: path.mkdir()),
    "a link to zeros": instead(lambda path: path.symlink_to("/dev/zero")),
    "a dangling link": instead(lambda path: path.symlink_to("nowhere")),
    "0-d": put(npz(names=np.array(3), config_0=np.array(1.0), y=np.array(1), predictions=np.array(1.0))),
    "text": put(npz(names=["a"], config_0=["x"], y=["a"], row=["b"], prediction=["c"], predictions=[["d"]])),
    "encrypted": put(encrypted()),
    "a bomb": put(bomb()),
}


def finished(bench: Bench, kind: str = "binary") -> AttemptFolder:
    job = bench.job(kind)
    folder = bench.attempt(job, bench.answer(kind))
    launch = Launch(
        key=job.key, attempt=1, argv=("x",), code="/code/x", tier="plain", cores=(0,), memory_mb=100, disk_mb=100,
        limits_s={"fit": 20.0}, data={"train.npz": "/folds/f/train.npz"},
    )  # fmt: skip
    write_json(folder.attempt, launch.to_json())
    bench.store.finish(job.key, folder.number, judge_attempt(bench.store.folder, job, folder))
    return folder


# --- judging -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0xD800, 0x7FFFFFFF])
def test_text_that_is_no_text_is_an_invalid_prediction(bench: Bench, code: int) -> None:
    job = bench.job()
    labels = np.full(len(bench.truth()), code, dtype="<u4").view("<U1")
    folder = bench.attempt(job, {"prediction": labels})
    row = judge_attempt(bench.store.folder, job, folder)
    assert row.status == "invalid_predictions" and "not a character" in row.message
    bench.store.finish(job.key, 1, row)
    assert verify(bench.store) == []
    bench.store.close()
    assert rebuild(bench.store.folder.root).jobs == 1


@pytest.mark.parametrize("name", ["predictions.npz", "oof.npz", "report.json", "predictions.csv"])
@pytest.mark.parametrize("kind", FILES)
def test_no_output_of_a_child_ends_the_judging(bench: Bench, name: str, kind: str) -> None:
    job = bench.job()
    folder = bench.attempt(job, None if name.startswith("pred") else bench.answer())
    FILES[kind](folder.out / name)
    began = time.monotonic()
    row = judge_attempt(bench.store.folder, job, folder)
    assert time.monotonic() - began < 5.0
    expected = ("invalid_predictions", "error") if name.startswith("pred") else ("ok",)
    assert row.status in expected, row.message


STORED = ("outcome.json", "attempt.json", "verdict.json", "job.json", "task", "truth")


def stored(bench: Bench, folder: AttemptFolder, name: str) -> Path:
    row = bench.store.row(folder.key) or {}
    return {
        "job.json": bench.store.folder.job(folder.key).job,
        "task": bench.store.folder.tasks / f"{row.task_digest}.json",
        "truth": bench.store.folder.truth / f"{row.fold_digest}.npz",
    }.get(name, folder.path / name)


@pytest.mark.parametrize("name", STORED)
@pytest.mark.parametrize("kind", FILES)
def test_verify_and_rebuild_name_each_damaged_file_and_go_on(bench: Bench, name: str, kind: str) -> None:
    folder, other = finished(bench), finished(bench, "regression")
    path = stored(bench, folder, name)
    FILES[kind](path)
    if name != "attempt.json":  # without it the limits are those of the constraint: the same
        assert any(path.name in problem for problem in verify(bench.store))
        assert not any(other.key in problem for problem in verify(bench.store))
    bench.store.close()
    rebuilt = rebuild(bench.store.folder.root)
    store = Store(bench.store.folder.root)
    rows = {row.key: row for row in store.rows()}
    assert rows[other.key].status == "ok", "the innocent keeps its row"
    if name == "job.json":
        assert rebuilt.jobs == 1 and set(rows) == {other.key}
    else:
        assert rebuilt.jobs == 2 and set(rows) == {folder.key, other.key}
    if name != "attempt.json":
        assert any(path.name in problem for problem in rebuilt.problems), rebuilt
    store.close()


@pytest.mark.parametrize("name", ["task", "truth"])
def test_a_truth_that_is_gone_is_a_lost_row_and_explain_says_what_to_do(bench: Bench, name: str) -> None:
    folder = finished(bench)
    path = stored(bench, folder, name)
    path.unlink()
    folder.verdict.unlink()
    bench.store.close()
    rebuild(bench.store.folder.root)
    store = Store(bench.store.folder.root)
    (row,) = store.rows()
    assert row.status == "lost" and str(path) in row.message
    assert "Restore the file" in explain(store, folder.key).remedy
    store.close()


def damaged_types(value: dict[str, Any]) -> list[dict[str, Any]]:
    """Return copies with each key in turn of another type, or gone."""
    out = []
    for key, item in value.items():
        for other in (None, [1], {"a": {}}, "text", -1):
            if type(other) is not type(item):
                out.append({**value, key: other})
        out.append({name: kept for name, kept in value.items() if name != key})
    return out


@pytest.mark.parametrize("name", ["outcome.json", "attempt.json", "verdict.json", "job.json", "task"])
def test_a_wrong_type_at_any_key_is_survived_by_all_who_read_it(bench: Bench, name: str) -> None:
    folder = finished(bench)
    path = stored(bench, folder, name)
    original = path.read_text()
    for value in damaged_types(json.loads(original)):
        path.write_text(json.dumps(value))
        verify(bench.store)
        row = judge_attempt(bench.store.folder, bench.job(), folder)
        assert row.key == folder.key
        try:
            explain(bench.store, folder.key)
        except StoreError as error:
            assert path.name in str(error)
    path.write_text(original)
    judge_attempt(bench.store.folder, bench.job(), folder)
    assert verify(bench.store) == []


@pytest.mark.parametrize("form", [dict, list], ids=["named", "packed"])
def test_a_wrong_type_at_any_column_of_the_index_is_one_sentence(bench: Bench, form: type) -> None:
    folder = finished(bench)
    row = bench.store.row(folder.key)
    assert row is not None
    for damaged in damaged_types(row.to_json()):
        value = damaged if form is dict else list(damaged.values())
        with bench.store.transaction() as db:
            db.execute("UPDATE jobs SET row = ?", (json.dumps(value, separators=(",", ":")),))
        try:
            rows = bench.store.rows()
        except StoreError as error:
            assert folder.key in str(error) and "rebuild" in str(error)
            assert any("damaged" in problem for problem in verify(bench.store))
        else:  # a column that may be missing, or may have this type
            assert len(rows) == 1 and len(scores_table(rows)) == len(rows[0].scores)
            write_rows_csv(io.StringIO(), rows)
    with bench.store.transaction() as db:
        db.execute("UPDATE jobs SET row = ?", ("[" * 100_000,))
    with pytest.raises(StoreError, match="damaged"):
        bench.store.rows()


# --- what reads the store ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["oof.npz", "report.json", "artifacts/trace.json"])
@pytest.mark.parametrize("kind", FILES)
def test_what_is_shown_of_a_store_survives_the_files_of_a_job(bench: Bench, name: str, kind: str) -> None:
    job = bench.job()
    folder = bench.attempt(job, bench.answer())
    (folder.out / "artifacts").mkdir()
    path = folder.out / name
    path.write_text("{}")
    row = judge_attempt(bench.store.folder, job, folder)
    bench.store.finish(job.key, 1, row)
    FILES[kind](path)
    began = time.monotonic()
    data = analyse(bench.store)
    for make in (data.models, data.anytime):
        with pytest.raises(UserError):
            make()
    assert time.monotonic() - began < 10.0
    if kind == "a link to zeros":
        assert "<html" in make_report(data)


def test_a_folder_that_is_a_link_is_not_read_through(bench: Bench, tmp_path: Path) -> None:
    job = bench.job()
    folder = bench.attempt(job, bench.answer())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "trace.json").write_text('{"points": []}')
    (folder.out / "artifacts").symlink_to(elsewhere)
    assert judge_attempt(bench.store.folder, job, folder).has_trace is False


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("name", ["a.npz", "a.csv", "a.parquet"])
def test_an_interval_of_a_damaged_file_is_one_line_that_names_it(
    tmp_path: Path, name: str, kind: str
) -> None:
    path = tmp_path / name
    FILES[kind](path)
    with pytest.raises(UserError, match=r"a\.(npz|csv|parquet)") as caught:
        interval(path)
    assert "\n" not in str(caught.value)


def test_an_index_that_is_more_than_a_table_is_refused(bench: Bench) -> None:
    finished(bench)
    bench.store.close()
    path = bench.store.folder.index
    with closing(sqlite3.connect(path)) as db:
        db.executescript(
            "ALTER TABLE jobs RENAME TO j; CREATE VIEW jobs AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 "
            "FROM c) SELECT x AS key, x AS framework, x AS task, x AS repeat, x AS fold, x AS state, x AS attempt, "
            "x AS status, x AS digest, x AS row FROM c;"
        )
    with pytest.raises(StoreError, match="rebuild"):
        Store(bench.store.folder.root)
    assert rebuild(bench.store.folder.root).jobs == 1


@pytest.mark.parametrize("kind", ["a pipe", "a folder", "a link to zeros", "noise", "empty"])
def test_an_index_that_is_no_index_is_one_sentence_and_is_rebuilt(bench: Bench, kind: str) -> None:
    finished(bench)
    bench.store.close()
    for path in bench.store.folder.root.glob("index.sqlite-*"):
        path.unlink()
    FILES[kind](bench.store.folder.index)
    if kind != "empty":
        with pytest.raises(StoreError):
            Store(bench.store.folder.root).rows()
    assert rebuild(bench.store.folder.root).jobs == 1
    assert len(Store(bench.store.folder.root).rows()) == 1


# --- copies ------------------------------------------------------------------------------------------


def test_merge_takes_regular_files_only_and_names_what_it_cannot_take(
    make_bench: Callable[[str], Bench], tmp_path: Path
) -> None:
    ours, theirs = make_bench("ours"), make_bench("theirs")
    good, bad = finished(theirs), finished(theirs, "regression")
    (good.out / "secret").symlink_to("/etc/passwd")
    os.mkfifo(good.out / "pipe")
    kept = tmp_path / "kept"
    bad.path.rename(kept)
    bad.path.symlink_to(kept)
    merged = merge(ours.store, theirs.store)
    assert merged.taken == 1 and len(merged.problems) == 1 and bad.key in merged.problems[0]
    (row,) = ours.store.rows()
    copied = ours.store.folder.job(good.key).attempt(row.attempt)
    assert sorted(path.name for path in copied.out.iterdir()) == ["predictions.npz"]
    assert verify(ours.store) == []


def test_a_bundle_holds_only_files_of_the_store(bench: Bench, tmp_path: Path) -> None:
    folder = finished(bench)
    secret = tmp_path / "private" / "key.txt"
    secret.parent.mkdir()
    secret.write_text("not to be sent")
    attempt = json.loads(folder.attempt.read_text())
    attempt["data"] = {"key.txt": str(secret), "../up": str(secret), "": str(secret)}
    attempt["code"] = str(secret.parent)
    folder.attempt.write_text(json.dumps(attempt))
    (folder.out / "link").symlink_to(secret)
    deep = folder.out
    for _ in range(50):
        deep = deep / ("d" * 100)
        os.mkdir(deep) if len(str(deep)) < 4000 else None
    folder.log.unlink()
    folder.log.symlink_to(secret)
    with tarfile.open(pack(folder, tmp_path / "a.tar.gz")) as archive:
        names = archive.getnames()
        for member in archive.getmembers():
            stream = archive.extractfile(member)
            assert stream is None or b"not to be sent" not in stream.read()
    assert not any("key" in name or "link" in name or "log.txt" in name for name in names)


def test_a_schema_that_sqlite_quotes_over_several_lines_is_one_line(bench: Bench) -> None:
    finished(bench)
    bench.store.close()
    path = bench.store.folder.index
    with closing(sqlite3.connect(path)) as db:
        db.executescript("PRAGMA journal_mode=DELETE")
    damaged = path.read_bytes().replace(b"'pending', 'running', 'done'", b"'pending', 'running', \"done'", 1)
    path.write_bytes(damaged)
    with pytest.raises(StoreError, match=r"damaged: .* Run `assay store rebuild`\.$") as caught:
        Store(bench.store.folder.root)
    assert "\n" not in str(caught.value)
