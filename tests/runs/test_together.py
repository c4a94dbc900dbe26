"""Several coordinators, full disks, read-only stores, interrupts: real processes, real mounts."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from assay.results.upkeep import rebuild, verify
from assay.store.store import Store

ASSAY = [sys.executable, "-m", "assay.cli"]
RUN = [
    "run",
    "constant,decision_tree",
    "bundled",
    "10s1c",
    "-t",
    "iris",
    "-t",
    "wine",
    "-t",
    "diabetes",
    "-f",
    "0",
    "-f",
    "1",
]
PLANNED = 12


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {**os.environ, "ASSAY_CACHE": str(tmp_path / "cache"), "ASSAY_STATE": str(tmp_path / "state")}


def start(environ: dict[str, str], store: Path, *more: str) -> subprocess.Popen[str]:
    command = [*ASSAY, *RUN, "--store", str(store), *more]
    return subprocess.Popen(
        command,
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background, interrupts are ignored, and that is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_two_coordinators_share_a_store_without_loss_or_double_work(
    environ: dict[str, str], tmp_path: Path
) -> None:
    runs = [start(environ, tmp_path / "store"), start(environ, tmp_path / "store")]
    ends = [process.communicate(timeout=300) for process in runs]
    assert [process.returncode for process in runs] == [0, 0], ends
    store = Store(tmp_path / "store")
    rows = store.rows()
    assert len(rows) == len({row.key for row in rows}) == PLANNED
    assert {row.attempt for row in rows} == {1}
    attempts = [folder for row in rows for folder in store.folder.job(row.key).attempts()]
    assert len(attempts) == PLANNED


def test_cores_are_not_shared_between_coordinators(environ: dict[str, str], tmp_path: Path) -> None:
    runs = [start(environ, tmp_path / name) for name in ("one", "two")]
    for process in runs:
        process.communicate(timeout=300)
    spans = []
    for name in ("one", "two"):
        store = Store(tmp_path / name)
        for row in store.rows():
            facts = store.folder.job(row.key).attempt(row.attempt).read_facts().get()
            spans += [(core, row.started_at, row.ended_at) for core in facts.circumstances.cores]
    assert len(spans) == 2 * PLANNED
    for core in {span[0] for span in spans}:
        times = sorted((begin, end) for own, begin, end in spans if own == core)
        assert all(first[1] <= second[0] for first, second in pairwise(times))


def test_two_stores_may_run_the_same_jobs_at_the_same_time(environ: dict[str, str], tmp_path: Path) -> None:
    runs = [start(environ, tmp_path / name, "-t", "iris", "-f", "0") for name in ("one", "two")]
    for process in runs:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
    one, two = (Store(tmp_path / name).rows() for name in ("one", "two"))
    assert [row.key for row in one] == [row.key for row in two]
    assert {row.status for row in (*one, *two)} == {"ok"}


def test_ctrl_c_stops_children_keeps_work_and_says_how_to_go_on(
    environ: dict[str, str], tmp_path: Path
) -> None:
    process = start(environ, tmp_path / "store", "-p", "1")
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if (tmp_path / "store" / "index.sqlite").exists() and Store(tmp_path / "store").rows():
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "go on with the same command" in errors and "assay run" in errors and "Traceback" not in errors
    kept = {row.key: row for row in Store(tmp_path / "store").rows()}
    assert 0 < len(kept) < PLANNED
    again = start(environ, tmp_path / "store")
    _, errors = again.communicate(timeout=300)
    assert again.returncode == 0
    assert f"{len(kept)} of {PLANNED} jobs are done already" in errors
    after = {row.key: row for row in Store(tmp_path / "store").rows()}
    assert len(after) == PLANNED
    assert {key: after[key] for key in kept} == kept


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 3 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True
    )
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_until_ended(ballast: Path, process: subprocess.Popen[str]) -> None:
    """Keep a disk full: jobs that end give space back, in which others could finish."""
    with open(ballast, "wb", buffering=0) as file:
        while process.poll() is None:
            try:
                while True:
                    file.write(b"\0" * 4096)
            except OSError:
                time.sleep(0.001)


def test_a_full_disk_is_a_clear_error_and_the_store_stays_valid(
    environ: dict[str, str], tmp_path: Path, small_disk: Path
) -> None:
    ballast = small_disk / "ballast"
    process = start(environ, small_disk / "store", "-p", "1")
    while process.poll() is None and not list(small_disk.glob("store/jobs/*/*/attempts/*/verdict.json")):
        time.sleep(0.02)
    fill_until_ended(ballast, process)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2, errors
    assert "full" in errors or "No space left" in errors
    assert "Traceback" not in errors
    ballast.unlink()
    kept = {row.key for row in Store(small_disk / "store").rows()}
    assert kept
    shutil.copytree(small_disk / "store", tmp_path / "copy")
    again = start(environ, tmp_path / "copy")
    _, errors = again.communicate(timeout=300)
    assert again.returncode == 0, errors
    store = Store(tmp_path / "copy")
    assert len(store.rows()) == PLANNED
    assert verify(store) == []


def test_a_read_only_store_is_a_clear_error_for_a_run_and_can_be_read(
    environ: dict[str, str], tmp_path: Path, small_disk: Path
) -> None:
    first = start(environ, small_disk / "store", "-t", "iris", "-f", "0")
    first.communicate(timeout=120)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    whole = start(environ, small_disk / "store")
    whole.communicate(timeout=120)
    assert whole.returncode == 0, "nothing is missing, so nothing is written"
    process = start(environ, small_disk / "store", "--seed", "1")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "cannot be written" in errors and str(small_disk) in errors
    assert "Traceback" not in errors
    shown = [*ASSAY, "results", "--format", "json", "--store", str(small_disk / "store")]
    read = subprocess.run(shown, env=environ, capture_output=True, text=True)
    assert read.returncode == 0 and '"status": "ok"' in read.stdout, "it can be read all the same"


def test_rebuild_gives_the_same_rows(environ: dict[str, str], tmp_path: Path) -> None:
    start(environ, tmp_path / "store").communicate(timeout=300)
    store = Store(tmp_path / "store")
    before = store.rows()
    store.close()
    index = tmp_path / "store" / "index.sqlite"
    for path in (index, index.with_name("index.sqlite-wal"), index.with_name("index.sqlite-shm")):
        path.unlink(missing_ok=True)
    assert rebuild(tmp_path / "store").jobs == PLANNED
    assert Store(tmp_path / "store").rows() == before


def test_a_damaged_index_is_named_and_rebuilt(environ: dict[str, str], tmp_path: Path) -> None:
    start(environ, tmp_path / "store", "-t", "iris").communicate(timeout=300)
    before = Store(tmp_path / "store").rows()
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        (tmp_path / "store" / name).unlink(missing_ok=True)
    (tmp_path / "store" / "index.sqlite").write_bytes(b"this is not a database" * 100)
    shown = subprocess.run(
        [*ASSAY, "results", "--store", str(tmp_path / "store")], env=environ, capture_output=True, text=True
    )
    assert shown.returncode == 2 and "assay store rebuild" in shown.stderr
    assert rebuild(tmp_path / "store").jobs == len(before)
    assert Store(tmp_path / "store").rows() == before
    with closing(sqlite3.connect(tmp_path / "store" / "index.sqlite")) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
