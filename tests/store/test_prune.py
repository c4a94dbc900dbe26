"""Pruning frees space and changes no result, whatever it meets and whenever it is killed."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assay import Local, api
from assay.errors import StoreError
from assay.files import write_json
from assay.jobs.folder import AttemptFolder
from assay.jobs.row import Row
from assay.results.explain import explain
from assay.results.judge import judge_attempt
from assay.results.upkeep import rebuild, verify
from assay.runs.run import Event
from assay.settings import Settings
from assay.store.locks import hold_attempt, is_held
from assay.store.prune import ALL_RULES, Pruned, PruneRules, prune
from assay.store.store import Store

FORK = multiprocessing.get_context("fork")
NO_LOCKS = shutil.ignore_patterns("claim", "lock", "verdict.json")


def counted(store: Store, key: str) -> AttemptFolder:
    row = store.row(key)
    assert row is not None
    return store.folder.job(key).attempt(row.attempt)


def run_again(store: Store, key: str, source: Path | None = None) -> AttemptFolder:
    """Do what a rerun does, with the files of the attempt before or of `source`; return the new attempt."""
    before = source or counted(store, key).path
    job = store.folder.job(key).read_job().get()
    claim = store.claim(job, again=True)
    assert claim is not None
    shutil.copytree(before, claim.folder.path, dirs_exist_ok=True, ignore=NO_LOCKS)
    store.finish(key, claim.folder.number, judge_attempt(store.folder, job, claim.folder))
    os.close(claim.lock)
    return claim.folder


def save_models(attempt: AttemptFolder, count: int = 3) -> None:
    """Leave artifacts as a framework does: some models in folders, and a trace of the search."""
    for number in range(count):
        folder = attempt.out / "artifacts" / f"model{number}"
        folder.mkdir(parents=True)
        (folder / "weights.bin").write_bytes(b"w" * 20_000)
    write_json(attempt.out / "artifacts" / "trace.json", {"points": []})


@pytest.fixture
def store(copied: Path) -> Iterator[Store]:
    """Ten jobs; the first four were run again, and the first eight have models."""
    made = Store(copied)
    keys = sorted(made.states())
    for key in keys[:8]:
        save_models(counted(made, key))
        made.finish(
            key, 1, judge_attempt(made.folder, made.folder.job(key).read_job().get(), counted(made, key))
        )
    for key in keys[:4]:
        run_again(made, key)
    assert verify(made) == []
    yield made
    made.close()


def files(root: Path) -> dict[str, int]:
    """Return all files but the index, with their sizes."""
    found = (path for path in root.rglob("*") if path.is_file() and "index.sqlite" not in path.name)
    return {str(path.relative_to(root)): path.stat().st_size for path in found}


def check_unharmed(store: Store, rows: list[Row]) -> None:
    assert verify(store) == []
    assert store.rows() == rows
    root = store.folder.root
    rebuild(root)
    again = Store(root)
    assert again.rows() == rows and verify(again) == []
    again.close()


# --- what is removed -------------------------------------------------------------------------------------


def test_everything_that_can_go_goes_and_no_result_changes(store: Store, shared_settings: Settings) -> None:
    rows = store.rows()
    before = files(store.folder.root)
    pruned = prune(store, ALL_RULES)
    assert not pruned.problems and not pruned.in_use
    assert {rule: count for rule, (count, _) in pruned.by_rule().items()} == {
        "attempts": 4, "models": 8, "logs": 8, "failed_logs": 2,
    }  # fmt: skip
    left = files(store.folder.root)
    gone = set(before) - set(left)
    assert not set(left) - set(before) and not [
        name for name in left if "weights" in name or "log.txt" in name
    ]
    assert pruned.bytes >= sum(before[name] for name in gone) > 8 * 3 * 20_000
    assert sum("trace.json" in name for name in left) == 8
    check_unharmed(store, rows)
    assert prune(store, ALL_RULES) == Pruned(), "there is nothing left to remove"
    suite = api.load_suite("bundled")
    jobs = api.plan(
        suite,
        "constant,decision_tree",
        "30s1c",
        tasks=["iris", "diabetes"],
        folds=[0, 1],
        settings=shared_settings,
    )
    events: list[Event] = []
    api.run(jobs, Store(store.folder.root), Local(1), settings=shared_settings, tell=events.append)
    assert events == [], "nothing runs again"


def test_a_dry_run_names_what_would_go_and_changes_nothing(store: Store) -> None:
    before = files(store.folder.root)
    told = prune(store, ALL_RULES, dry_run=True)
    assert files(store.folder.root) == before
    assert prune(store, ALL_RULES).to_json() == told.to_json()


def test_without_a_rule_nothing_is_removed(store: Store) -> None:
    before = files(store.folder.root)
    assert prune(store, PruneRules()) == prune(store, PruneRules(), dry_run=True) == Pruned()
    assert files(store.folder.root) == before


@pytest.mark.parametrize(
    ("rule", "is_of_it"),
    [
        ("models", lambda name: "/artifacts/model" in name),
        ("logs", lambda name: name.endswith("log.txt")),
        ("failed_logs", lambda name: name.endswith("log.txt")),
        ("attempts", lambda name: "/attempts/001/" in name),
    ],
)
def test_a_rule_removes_only_what_it_names(store: Store, rule: str, is_of_it: Callable[[str], bool]) -> None:
    rows = store.rows()
    before = files(store.folder.root)
    pruned = prune(store, PruneRules(**{rule: True}))
    gone = set(before) - set(files(store.folder.root))
    assert gone and all(map(is_of_it, gone)) and set(pruned.by_rule()) == {rule}
    failed = {row.key for row in rows if row.status != "ok"}
    if "logs" in rule:
        keys = {name.split("/")[2] for name in gone}
        assert keys == failed if rule == "failed_logs" else not keys & failed
    check_unharmed(store, rows)


def test_jobs_that_ended_recently_are_left(store: Store) -> None:
    (oldest, *_, newest) = sorted(store.rows(), key=lambda row: row.ended_at)
    job = store.folder.job(oldest.key).read_job().get()
    attempt = counted(store, oldest.key)
    facts = attempt.read_facts().get()
    write_json(attempt.outcome, replace(facts, ended_at="2020-01-01T00:00:00+00:00").to_json())
    store.finish(oldest.key, oldest.attempt, judge_attempt(store.folder, job, attempt))
    rules = PruneRules(logs=True, failed_logs=True, older_than_s=86400)
    pruned = prune(store, rules)
    assert {removal.attempt.key for removal in pruned.removals} == {oldest.key} != {newest.key}
    assert len(prune(store, rules, now_s=time.time() + 90_000).removals) > 8


def test_an_attempt_that_never_started_is_as_old_as_its_facts(store: Store) -> None:
    row = store.rows()[0]
    store.finish(row.key, row.attempt, replace(row, ended_at=""))
    os.utime(counted(store, row.key).outcome, (0, 0))
    pruned = prune(store, PruneRules(logs=True, older_than_s=3600))
    assert {removal.attempt.key for removal in pruned.removals} == {row.key}


# --- what is left alone ----------------------------------------------------------------------------------


def test_a_job_that_runs_again_keeps_its_row_and_its_new_attempt(store: Store) -> None:
    rows = store.rows()
    job = store.folder.job(rows[0].key).read_job().get()
    claim = store.claim(job, again=True)
    assert claim is not None
    (claim.folder.out / "artifacts" / "model").mkdir(parents=True)
    claim.folder.log.write_text("working")
    prune(store, ALL_RULES)
    assert (
        is_held(claim.folder)
        and claim.folder.log.exists()
        and (claim.folder.out / "artifacts" / "model").exists()
    )
    assert counted(store, job.key).is_complete and store.rows() == rows
    # It ended, and nobody has judged it.
    shutil.copy(counted(store, job.key).outcome, claim.folder.outcome)
    os.close(claim.lock)
    prune(store, ALL_RULES)
    assert [folder.number for folder in store.unjudged()] == [claim.folder.number]
    assert claim.folder.log.exists() and counted(store, job.key).is_complete


def test_an_attempt_that_came_to_nothing_is_left_until_a_later_one_counts(store: Store) -> None:
    key = store.rows()[0].key
    claim = store.claim(store.folder.job(key).read_job().get(), again=True)
    assert claim is not None
    os.close(claim.lock)  # its coordinator was killed
    prune(store, ALL_RULES)
    assert claim.folder.path.is_dir()
    last = run_again(store, key)
    prune(store, ALL_RULES)
    assert [attempt.number for attempt in store.folder.job(key).attempts()] == [last.number]


@pytest.mark.parametrize("rules", [ALL_RULES, PruneRules(models=True), PruneRules(attempts=True)])
def test_an_attempt_that_somebody_holds_is_left(store: Store, rules: PruneRules) -> None:
    """After `store merge`, a job can have a row while an earlier attempt at it is running."""
    key = sorted(store.states())[0]
    first = store.folder.job(key).attempt(1)
    before = files(first.path)
    lock = os.open(first.lock, os.O_RDWR | os.O_CREAT)
    import fcntl

    fcntl.flock(lock, fcntl.LOCK_EX)
    pruned = prune(store, rules)
    assert pruned.in_use == 1 and files(first.path) == before
    os.close(lock)
    assert prune(store, rules).in_use == 0 and files(first.path) != before


def test_old_attempts_stay_where_the_one_that_counts_has_lost_its_facts(store: Store) -> None:
    key = sorted(store.states())[0]
    counted(store, key).outcome.write_text("{")
    prune(store, ALL_RULES)
    assert [attempt.number for attempt in store.folder.job(key).attempts()] == [1, 2]


def test_a_damaged_row_is_named_and_its_job_is_left(store: Store) -> None:
    key = sorted(store.states())[0]
    with store.transaction() as db:
        db.execute("UPDATE jobs SET row = ? WHERE key = ?", (json.dumps({"key": key}), key))
    before = files(store.folder.job(key).path)
    pruned = prune(store, ALL_RULES)
    assert len(pruned.problems) == 1 and key in pruned.problems[0]
    assert files(store.folder.job(key).path) == before and len(pruned.removals) > 10


@pytest.mark.parametrize("name", ["out/artifacts", "out", "log.txt", "out/artifacts/model0", "", ".."])
def test_nothing_behind_a_link_is_removed(store: Store, tmp_path: Path, name: str) -> None:
    key = sorted(store.states())[5]
    path = counted(store, key).path / name if name != ".." else counted(store, key).path.parent
    outside = tmp_path / "outside"
    shutil.move(path, outside)
    path.symlink_to(outside)
    before = files(tmp_path / "outside") if outside.is_dir() else outside.read_bytes()
    assert prune(store, ALL_RULES).problems == ()
    assert (files(outside) if outside.is_dir() else outside.read_bytes()) == before


def test_an_attempt_that_is_a_link_loses_only_the_link(store: Store, tmp_path: Path) -> None:
    key = sorted(store.states())[0]
    first = store.folder.job(key).attempt(1)
    shutil.move(first.path, tmp_path / "outside")
    first.path.symlink_to(tmp_path / "outside")
    before = files(tmp_path / "outside")
    prune(store, ALL_RULES)
    assert not os.path.lexists(first.path) and files(tmp_path / "outside") == before


def test_folders_deeper_than_a_path_and_without_permissions_are_removed(store: Store) -> None:
    attempt = counted(store, sorted(store.states())[0])
    deep = attempt.out / "artifacts" / "deep"
    deep.mkdir()
    folder = os.open(deep, os.O_RDONLY)
    for _ in range(400):
        os.mkdir("a" * 20, dir_fd=folder)
        below = os.open("a" * 20, os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)
    deep.chmod(0)
    assert prune(store, ALL_RULES).problems == () and not deep.exists()


def test_a_store_that_cannot_be_written_is_refused_in_one_sentence(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = files(store.folder.root)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    with pytest.raises(StoreError, match="cannot be written"):
        prune(store, ALL_RULES)
    assert prune(store, ALL_RULES, dry_run=True).bytes and files(store.folder.root) == before


def test_a_file_that_cannot_be_removed_is_named_and_the_rest_goes(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    from assay.store import prune as module

    real, key = module.remove_tree, sorted(store.states())[0]

    def fail(path: Path) -> str:
        return f"{path} cannot be removed: Busy" if key in str(path) else real(path)

    monkeypatch.setattr(module, "remove_tree", fail)
    pruned = prune(store, PruneRules(models=True))
    assert {removal.attempt.key for removal in pruned.removals} == set(sorted(store.states())[1:8])
    assert pruned.problems and all(key in problem for problem in pruned.problems)


# --- killed, twice at a time, beside a run ---------------------------------------------------------------


def _prune(root: Path, told: object = None) -> None:
    pruned = prune(Store(root), ALL_RULES)
    if told is not None:
        told.put((pruned.bytes, pruned.in_use, pruned.problems))  # type: ignore[attr-defined]


def test_killed_at_any_moment_the_store_is_whole_and_the_next_call_ends_the_work(store: Store) -> None:
    rows = store.rows()
    root = store.folder.root
    rng = random.Random(1)
    for _ in range(12):
        for key in sorted(store.states())[:6]:
            attempt = run_again(store, key)
            shutil.rmtree(attempt.out / "artifacts")
            save_models(attempt, 30)
        process = FORK.Process(target=_prune, args=(root,))
        process.start()
        time.sleep(rng.uniform(0, 0.06))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        assert verify(store) == []
        assert [replace(row, attempt=1) for row in store.rows()] == [replace(row, attempt=1) for row in rows]
    prune(store, ALL_RULES)
    left = files(root)
    assert not [name for name in left if "weights" in name or "pruned" in name or "log.txt" in name]
    assert all(len(store.folder.job(key).attempts()) == 1 for key in store.states())
    check_unharmed(store, store.rows())


def test_what_was_renamed_and_not_removed_goes_with_the_next_call(store: Store) -> None:
    key = sorted(store.states())[0]
    first = store.folder.job(key).attempt(1)
    first.path.rename(first.path.with_name(".001.pruned"))
    assert verify(store) == [] and explain(store, key).attempts == 2
    prune(store, PruneRules(attempts=True))
    assert not list(store.folder.root.rglob("*.pruned"))


def test_two_calls_at_a_time_remove_everything_once(store: Store) -> None:
    rows = store.rows()
    expected = prune(store, ALL_RULES, dry_run=True).bytes
    told = FORK.Queue()
    processes = [FORK.Process(target=_prune, args=(store.folder.root, told)) for _ in range(3)]
    for process in processes:
        process.start()
    answers = [told.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sorted(answers) == [(0, 0, ()), (0, 0, ()), (expected, 0, ())]
    check_unharmed(store, rows)


def _prune_often(root: Path, stop: object) -> None:
    store = Store(root)
    while not stop.is_set():  # type: ignore[attr-defined]
        assert not prune(store, ALL_RULES).problems


def test_beside_a_run_that_tries_jobs_again_no_job_is_refused_or_lost(store: Store, tmp_path: Path) -> None:
    keys = sorted(store.states())
    for key in keys:
        shutil.copytree(counted(store, key).path, tmp_path / "sources" / key)
    stop = FORK.Event()
    process = FORK.Process(target=_prune_often, args=(store.folder.root, stop))
    process.start()
    try:
        for _ in range(15):
            for key in keys:
                attempt = run_again(store, key, tmp_path / "sources" / key)  # the job can be claimed
                assert attempt.is_complete
    finally:
        stop.set()
        process.join()
    assert process.exitcode == 0
    prune(store, ALL_RULES)
    assert all(len(store.folder.job(key).attempts()) == 1 for key in keys)
    check_unharmed(store, store.rows())


def test_a_supervisor_that_comes_after_its_attempt_was_removed_does_nothing(store: Store) -> None:
    key = sorted(store.states())[0]
    first = store.folder.job(key).attempt(1)
    prune(store, ALL_RULES)
    with pytest.raises(FileNotFoundError):
        hold_attempt(first)
    assert not first.path.exists()


# --- what is said afterwards -----------------------------------------------------------------------------


def test_explain_says_what_was_removed(store: Store) -> None:
    failed = next(row for row in store.rows() if row.status != "ok")
    for _ in range(2):
        run_again(store, failed.key)
    before = explain(store, failed.key)
    assert before.removed == () and "about to give up" in before.log
    prune(store, ALL_RULES)
    told = explain(store, failed.key)
    assert told.attempts == before.attempts == told.folder.number and not told.log
    attempts, log = told.removed
    assert "earlier attempt(s) were removed" in attempts and log.startswith("Its log (1 kB) was removed")
    assert told.row is not None and told.facts == before.facts and told.remedy == before.remedy
