"""A store is verified, rebuilt and merged; what is wrong with it is found, and looking changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import StoreError
from assay.files import read_json, write_json
from assay.jobs.row import Row
from assay.results import upkeep
from assay.results.judge import judge, judge_attempt
from assay.results.upkeep import Merged, Rebuilt, merge, rebuild, verify
from assay.store.store import Store

from .conftest import Bench


def everything(root: Path) -> dict[str, bytes]:
    """Return all files of a store but the index."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.name.startswith("index.sqlite")]
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def attempt_of(store: Store, row: Row):
    return store.folder.job(row.key).attempt(row.attempt)


# --- verify ----------------------------------------------------------------------------------------------


def test_a_finished_store_has_no_problem_and_verifying_changes_nothing(copied: Path) -> None:
    before = everything(copied)
    assert verify(Store(copied)) == []
    assert everything(copied) == before


def change_predictions(store: Store, row: Row) -> None:
    path = attempt_of(store, row).out / "predictions.npz"
    path.write_bytes(path.read_bytes() + b"\0")


def delete_outcome(store: Store, row: Row) -> None:
    attempt_of(store, row).outcome.unlink()


def delete_job(store: Store, row: Row) -> None:
    shutil.rmtree(store.folder.job(row.key).path)


def change_index(store: Store, row: Row) -> None:
    store.finish(row.key, row.attempt, replace(row, score=0.0))


def change_facts(store: Store, row: Row) -> None:
    path = attempt_of(store, row).outcome
    write_json(path, {**read_json(path).get(), "memory_peak_mb": 0.5})


def change_truth(store: Store, row: Row) -> None:
    import numpy as np

    path = store.folder.truth / f"{row.fold_digest}.npz"
    with np.load(path) as file:
        y, rows = file["y"], file["row"]
    np.savez(path, y=y[::-1] if row.type == "regression" else (y + 1) % 3, row=rows)


def delete_truth(store: Store, row: Row) -> None:
    (store.folder.truth / f"{row.fold_digest}.npz").unlink()


@pytest.mark.parametrize(
    ("harm", "word"),
    [
        (change_predictions, "not those that were scored"),
        (delete_outcome, "gone"),
        (delete_job, "gone"),
        (change_index, "differ"),
        (change_facts, "peak_memory_mb"),
        (change_truth, "score"),
        (delete_truth, "truth"),
    ],
)
def test_verify_finds_what_was_changed(copied: Path, harm: Callable[[Store, Row], None], word: str) -> None:
    store = Store(copied)
    row = next(row for row in store.rows() if row.framework == "decision_tree")
    harm(store, row)
    for _ in range(2):  # looking at it does not mend it
        found = [problem for problem in verify(store) if row.key in problem]
        assert any(word in problem for problem in found), found
    others = [problem for problem in verify(store) if row.key not in problem]
    assert all("truth" in str(harm) for _ in others), others


def test_verify_finds_a_finished_job_that_the_index_does_not_know(copied: Path) -> None:
    store = Store(copied)
    key = store.rows()[0].key
    with store.transaction() as db:
        db.execute("DELETE FROM jobs WHERE key = ?", (key,))
    assert verify(store) == [f"{key}: is on disk but not in the index; run `assay store rebuild`."]


# --- rebuild ---------------------------------------------------------------------------------------------


def test_rebuild_gives_the_same_rows_from_the_folders_alone(copied: Path) -> None:
    store = Store(copied)
    before = store.rows()
    store.close()
    for path in copied.glob("index.sqlite*"):
        path.unlink()
    assert rebuild(copied) == Rebuilt(len(before)) == Rebuilt(10)
    assert Store(copied).rows() == before
    assert verify(Store(copied)) == []


def test_rebuild_keeps_the_old_index_aside(copied: Path) -> None:
    rebuild(copied)
    assert (copied / "old-index.sqlite").exists()
    with closing(sqlite3.connect(copied / "old-index.sqlite")) as db:
        assert db.execute("SELECT COUNT(*) FROM jobs").fetchone() == (10,)
    db.close()
    assert not list(copied.glob("new-*"))


def test_rebuild_that_is_stopped_half_way_leaves_the_index_as_it_was(
    copied: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Store(copied).rows()
    calls = []

    def stop(*arguments: Any) -> Any:
        calls.append(arguments)
        if len(calls) > 3:
            raise KeyboardInterrupt
        return judge(*arguments)

    monkeypatch.setattr(upkeep, "judge", stop)
    with pytest.raises(KeyboardInterrupt):
        rebuild(copied)
    monkeypatch.undo()
    assert Store(copied).rows() == before
    assert rebuild(copied) == Rebuilt(10)
    assert Store(copied).rows() == before


def test_rebuild_keeps_the_rows_of_jobs_whose_truth_is_gone(copied: Path) -> None:
    before = Store(copied).rows()
    for path in (copied / "truth").iterdir():
        path.unlink()
    rebuild(copied)
    assert Store(copied).rows() == before


def test_rebuild_is_refused_while_a_job_runs(bench: Bench) -> None:
    job = bench.job()
    bench.store.add([job])
    claim = bench.store.claim(job)
    assert claim is not None
    with pytest.raises(StoreError, match=job.key):
        rebuild(bench.store.folder.root)
    assert not (bench.store.folder.root / "old-index.sqlite").exists()
    os.close(claim.lock)
    assert rebuild(bench.store.folder.root) == Rebuilt(1)


def test_rebuild_takes_the_last_attempt_that_has_facts(bench: Bench) -> None:
    job = bench.job()
    bench.attempt(job, None, exit_code=1, phase="fit")
    bench.attempt(job, bench.answer())
    unfinished = bench.attempt(job)
    unfinished.outcome.unlink()
    bench.store.close()
    rebuild(bench.store.folder.root)
    (row,) = Store(bench.store.folder.root).rows()
    assert (row.attempt, row.status) == (2, "ok")


def test_what_is_no_store_is_not_rebuilt(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no store"):
        rebuild(tmp_path)


# --- merge -----------------------------------------------------------------------------------------------


def done(bench: Bench, kind: str, wrong: int = 0) -> Row:
    job = bench.job(kind)
    folder = bench.attempt(job, bench.answer(kind, wrong))
    row = judge_attempt(bench.store.folder, job, folder)
    bench.store.finish(job.key, folder.number, row)
    return row


def test_disjoint_stores_merge_to_all_rows_with_their_truth(make_bench: Callable[[str], Bench]) -> None:
    one, two = make_bench("one"), make_bench("two")
    rows = [done(one, "binary"), done(two, "multiclass", 2), done(two, "regression", 1)]
    assert merge(one.store, two.store) == Merged(2, 0)
    assert sorted(one.store.rows(), key=lambda row: row.task) == sorted(rows, key=lambda row: row.task)
    assert verify(one.store) == []
    assert merge(one.store, two.store) == Merged(0, 2), "once more changes nothing"
    assert len(one.store.rows()) == 3 and len(two.store.rows()) == 2
    one.store.close()
    assert rebuild(one.store.folder.root) == Rebuilt(3)


def test_where_both_have_a_job_ours_stays(make_bench: Callable[[str], Bench]) -> None:
    one, two = make_bench("one"), make_bench("two")
    ours, theirs = done(one, "binary", 5), done(two, "binary", 0)
    done(two, "regression")
    assert ours.key == theirs.key and ours.score != theirs.score
    assert merge(one.store, two.store) == Merged(1, 1)
    assert one.store.row(ours.key) == ours
    assert len(one.store.folder.job(ours.key).attempts()) == 1


def test_a_job_that_we_only_began_is_taken_over_as_a_further_attempt(
    make_bench: Callable[[str], Bench],
) -> None:
    one, two = make_bench("one"), make_bench("two")
    one.attempt(one.job()).outcome.unlink()
    theirs = done(two, "binary")
    assert merge(one.store, two.store) == Merged(1, 0)
    (row,) = one.store.rows()
    assert row == replace(theirs, attempt=2)
    assert verify(one.store) == []


@pytest.mark.parametrize("name", ["fold_digest", "task_digest", "key"])
def test_names_that_lead_out_of_the_store_are_refused(make_bench: Callable[[str], Bench], name: str) -> None:
    one, two = make_bench("one"), make_bench("two")
    row = done(two, "binary")
    with two.store.transaction() as db:
        text = json.dumps({**row.to_json(), name: f"../../{getattr(row, name)}"})
        db.execute("UPDATE jobs SET row = ?", (text,))
    before = {path for path in one.store.folder.root.parent.rglob("*") if "one" not in path.parts}
    merged = merge(one.store, two.store)
    assert (merged.taken, merged.already, len(merged.problems)) == (0, 0, 1)
    assert {path for path in one.store.folder.root.parent.rglob("*") if "one" not in path.parts} == before
    assert one.store.rows() == []


def test_a_job_file_of_another_kind_is_named(make_bench: Callable[[str], Bench]) -> None:
    one, two = make_bench("one"), make_bench("two")
    row = done(two, "binary")
    two.store.folder.job(row.key).job.write_text('{"surprise": 1}')
    (problem,) = merge(one.store, two.store).problems
    assert row.key in problem and "job.json has unexpected content: key is missing" in problem


def test_the_last_digits_of_a_score_may_differ_on_another_processor(copied: Path) -> None:
    """Sums are added in another order there; a store that was copied between machines is not damaged."""
    store = Store(copied)
    row = next(row for row in store.rows() if row.framework == "decision_tree" and row.score)
    assert row.score is not None
    nudged = {name: value and value * (1 + 1e-14) for name, value in row.scores.items()}
    moved = replace(row, score=row.score * (1 + 1e-14), scores=nudged)
    assert moved != row
    write_json(attempt_of(store, row).verdict, moved.to_json())
    store.finish(row.key, row.attempt, moved)
    assert verify(store) == []
    store.close()
    rebuild(copied)
    assert Store(copied).row(row.key) == moved, "rebuilding changes no digit"
    worse = replace(moved, score=row.score * (1 + 1e-6))
    Store(copied).finish(row.key, row.attempt, worse)
    assert any("differs in score" in problem for problem in verify(Store(copied)))
