"""A store of an earlier version gets the present columns, and nothing else of it changes."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import StoreError
from assay.files import write_json
from assay.jobs.packed_row import columns_written
from assay.jobs.row import SCHEMA, Row
from assay.results import migrate as module
from assay.results.migrate import Migrated, migrate
from assay.results.upkeep import rebuild, verify
from assay.store.store import Store

FORK = multiprocessing.get_context("fork")
ADDED = ("schema", "phases", "host", "ended_at", "memory_limit_mb", "run_seed")  # all have defaults


def make_older(store: Store, keys: list[str] | None = None) -> None:
    """Take from rows, in the index and in `verdict.json`, what an earlier version did not write."""
    for key, text in store.row_texts():
        if keys is not None and key not in keys:
            continue
        older = {name: value for name, value in columns_written(text).items() if name not in ADDED}
        with store.transaction() as db:
            db.execute("UPDATE jobs SET row = ? WHERE key = ?", (json.dumps(older), key))
        write_json(store.folder.job(key).attempt(older["attempt"]).verdict, older)


def written(store: Store) -> dict[str, str]:
    return dict(store.row_texts())


@pytest.fixture
def store(copied: Path) -> Store:
    return Store(copied)


def test_missing_columns_are_computed_from_the_files(store: Store) -> None:
    rows, texts = store.rows(), written(store)
    make_older(store)
    assert store.rows() != rows and all(not row.phases for row in store.rows())
    assert migrate(store) == Migrated(10, 10)
    assert store.rows() == rows and written(store) == texts
    assert verify(store) == []
    root = store.folder.root
    store.close()
    rebuild(root)
    assert Store(root).rows() == rows


def test_a_second_call_and_a_present_store_change_nothing(store: Store) -> None:
    before = written(store)
    assert migrate(store) == Migrated(10) and written(store) == before
    make_older(store, sorted(before)[:3])
    assert migrate(store).rewritten == 3
    assert migrate(store) == Migrated(10) and written(store) == before


def test_values_that_a_row_has_keep_their_last_digit(store: Store) -> None:
    key = next(row.key for row in store.rows() if row.framework == "decision_tree")
    row = store.row(key)
    assert row is not None and row.score is not None
    moved = replace(row, score=row.score * (1 + 1e-14))
    write_json(store.folder.job(key).attempt(row.attempt).verdict, moved.to_json())
    store.finish(key, row.attempt, moved)
    make_older(store)
    migrate(store)
    assert store.row(key) == moved


def test_a_row_of_a_later_version_is_refused_and_nothing_is_changed(store: Store) -> None:
    make_older(store)
    key, text = store.row_texts()[4]
    with store.transaction() as db:
        later = json.dumps({**json.loads(text), "schema": SCHEMA + 1})
        db.execute("UPDATE jobs SET row = ? WHERE key = ?", (later, key))
    before = written(store)
    with pytest.raises(StoreError, match=f"later version of Assay wrote 1 rows .* such as {key}"):
        migrate(store)
    assert written(store) == before


def test_a_store_of_a_later_format_is_refused(store: Store) -> None:
    store.folder.format.write_text('{"format": 2}')
    with pytest.raises(StoreError, match=r"A later version of Assay wrote .* Install the later version\."):
        Store(store.folder.root)


@pytest.mark.parametrize(
    ("damage", "word"),
    [
        ("row", "its row is damaged"),
        ("facts", "outcome.json does not exist"),
        ("job", "job.json is not an object"),
        ("verdict", "verdict.json has unexpected content"),
        ("other verdict", "the index and verdict.json differ"),
    ],
)
def test_what_is_damaged_is_named_and_left_and_the_rest_is_rewritten(
    store: Store, damage: str, word: str
) -> None:
    make_older(store)
    key = store.row_texts()[2][0]
    folder = store.folder.job(key)
    attempt = folder.attempt(1)
    if damage == "row":
        with store.transaction() as db:
            db.execute("UPDATE jobs SET row = '{' WHERE key = ?", (key,))
    elif damage == "facts":
        attempt.outcome.unlink()
    elif damage == "job":
        folder.job.write_text("[]")
    elif damage == "verdict":
        attempt.verdict.write_text("{")
    else:
        write_json(attempt.verdict, {**json.loads(attempt.verdict.read_text()), "score": 0.125})
    before = written(store)[key]
    migrated = migrate(store)
    assert migrated.rewritten == 9 and len(migrated.problems) == 1
    assert migrated.problems[0].startswith(f"{key}: ") and word in migrated.problems[0]
    assert written(store)[key] == before


def test_a_job_that_gets_a_new_row_meanwhile_keeps_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    make_older(store)
    key = store.row_texts()[0][0]
    row = store.row(key)
    assert row is not None
    newer = Row.from_json(replace(row, message="made meanwhile").to_json())
    real = module.write_json

    def finish_first(path: Path, value: dict[str, object]) -> None:
        real(path, value)
        if key in str(path):
            Store(store.folder.root).finish(key, 1, newer)

    monkeypatch.setattr(module, "write_json", finish_first)
    migrate(store)
    assert store.row(key) == newer


def _migrate(root: Path) -> None:
    migrate(Store(root))


def test_killed_at_any_moment_the_next_call_ends_the_work(store: Store) -> None:
    rows = store.rows()
    rng = random.Random(3)
    for _ in range(12):
        make_older(store)
        process = FORK.Process(target=_migrate, args=(store.folder.root,))
        process.start()
        time.sleep(rng.uniform(0, 0.15))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert len(store.rows()) == 10, "it can be read at any time"
        migrate(store)
        assert store.rows() == rows and verify(store) == []
