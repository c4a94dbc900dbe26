"""Keep a store honest: rebuild its index from the folders, verify every row, merge another store into it.

Damaged files are named, and the rest of the store is dealt with all the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.errors import StoreError
from assay.files import copy_tree, read_bytes, remove_tree, replace_file, write_replace
from assay.jobs.folder import AttemptFolder, JobFolder, StoreFolder
from assay.jobs.job import Job
from assay.jobs.row import Row
from assay.results.judge import judge, judge_attempt, predictions_digest
from assay.store.locks import is_held
from assay.store.store import State, Store

__all__ = ["Merged", "Rebuilt", "merge", "rebuild", "verify"]

MOST_FILE_BYTES = 2**30  # of a truth or a task's description
# The same predictions give scores that differ in their last digits on another processor or with another numpy, which
# add in another order; a different prediction changes far more than this share of a score.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Rebuilt:
    """How many jobs are in the new index, and a sentence for each file that could not be used."""

    jobs: int
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Merged:
    """How many jobs were taken and how many were there before, and a sentence for each that could not be taken."""

    taken: int
    already: int
    problems: tuple[str, ...] = ()


def rebuild(root: Path) -> Rebuilt:
    """Make a new index from the folders alone. The old index is kept aside."""
    folder = StoreFolder(root.absolute())
    if not folder.format.exists():
        raise StoreError(f"There is no store at {folder.root}.")
    problems: list[str] = []
    jobs = list(_jobs(folder, problems))
    running = [job.key for job, attempts in jobs if any(is_held(attempt) for attempt in attempts)]
    if running:
        raise StoreError(
            f"{len(running)} job(s) of {folder.root} are running, such as {running[0]}. Wait or stop them."
        )
    # Made beside the old one, which stays until the new one is whole.
    new = folder.index.with_name(f"new-{folder.index.name}")
    for path in _with_logs(new):
        remove_tree(path)
    store = Store(folder.root, index=new)
    store.add([job for job, _ in jobs])
    for job, attempts in jobs:
        complete = [attempt for attempt in attempts if attempt.is_complete]
        if complete:
            store.finish(job.key, complete[-1].number, _judge_or_keep(folder, job, complete[-1], problems))
    store.close()
    for path in _with_logs(folder.index):
        if os.path.lexists(path):
            old = path.with_name(f"old-{path.name}")
            remove_tree(old)
            replace_file(path, old)
    replace_file(new, folder.index)
    return Rebuilt(len(jobs), tuple(problems))


def _with_logs(index: Path) -> list[Path]:
    return [index.with_name(index.name + suffix) for suffix in ("", "-wal", "-shm")]


def _jobs(folder: StoreFolder, problems: list[str]) -> Iterator[tuple[Job, list[AttemptFolder]]]:
    for key in folder.job_keys():
        content, attempts = folder.job(key).read_job(), folder.job(key).attempts()
        if content.value is not None:
            yield content.value, attempts
        elif not content.is_missing or any(attempt.is_complete for attempt in attempts):
            problems.append(f"{key}: {content.sentence}; the job is left out.")


def _judge_or_keep(folder: StoreFolder, job: Job, attempt: AttemptFolder, problems: list[str]) -> Row:
    """Judge an attempt; where a file that is needed for it is gone or damaged, an earlier verdict stands."""
    before = attempt.read_verdict()
    if before.problem and not before.is_missing:
        problems.append(f"{job.key}: {before.sentence}; it is made again.")
    again = judge(folder, job, attempt)
    if before.value is not None and _is_of(before.value, job, attempt):
        if again.damage:
            problems.append(f"{job.key}: {again.damage}; its earlier row is kept.")
        if again.damage or not differences(before.value, again.row):
            return before.value
    if again.damage:
        problems.append(f"{job.key}: {again.damage}; its row is `lost`.")
    return judge_attempt(folder, job, attempt)


def _is_of(row: Row, job: Job, attempt: AttemptFolder) -> bool:
    return row.key == job.key and row.attempt == attempt.number


def verify(store: Store) -> list[str]:
    """Return what is wrong with a store, a sentence each; empty when every row can be made again from its files."""
    problems = []
    states = store.states()
    for key, row, problem in store.check_rows():
        if row is None:
            problems.append(f"{key}: its row in the index is damaged: {problem}; run `assay store rebuild`.")
        else:
            problems += [f"{key}: {problem}" for problem in _problems(store.folder, row)]
    for key in store.folder.job_keys():
        problems += [f"{key}: {problem}" for problem in _stray_problems(store, key, states)]
    return problems


def _stray_problems(store: Store, key: str, states: dict[str, State]) -> Iterator[str]:
    """Yield what is wrong with a job apart from its row."""
    folder = store.folder.job(key)
    attempts = folder.attempts()
    complete = [attempt for attempt in attempts if attempt.is_complete]
    if complete and key not in states:
        yield "is on disk but not in the index; run `assay store rebuild`."
    if complete and key in states and states[key].state == "running" and not is_held(complete[-1]):
        yield "it ended but has no row yet; run the same command again, or `assay store rebuild`."
    job = folder.read_job()
    if job.problem and (complete or not job.is_missing):
        yield f"{job.sentence}."


def _problems(folder: StoreFolder, row: Row) -> Iterator[str]:
    job_folder = folder.job(row.key)
    attempt = job_folder.attempt(row.attempt)
    job = job_folder.read_job()
    if job.is_missing or not attempt.is_complete:
        yield "its folder or its facts are gone."
        return
    if job.value is None:
        return  # named with the jobs on disk
    if predictions_digest(attempt) != row.predictions_digest:
        yield f"its predictions in {attempt.out} are not those that were scored."
        return
    stored = attempt.read_verdict()
    if stored.problem and not stored.is_missing:
        yield f"{stored.sentence}; run `assay store rebuild`."
    again = judge(folder, job.value, attempt)
    if again.damage:
        yield f"it cannot be judged again: {again.damage}."
        return
    if stored.value is not None and stored.value != row:
        yield "the index and verdict.json differ; run `assay store rebuild`."
    if different := differences(row, again.row):
        yield f"judged again, it differs in {', '.join(different)}."


def differences(before: Row, now: Row) -> list[str]:
    """Return the columns in which two rows of an attempt differ by more than rounding."""
    old, new = before.to_json(), now.to_json()
    return sorted(name for name in old if not _is_same(old[name], new[name]))


def _is_same(old: object, new: object) -> bool:
    if isinstance(old, float) and isinstance(new, float):
        return old == new or abs(old - new) <= ROUNDING * max(abs(old), abs(new))
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_is_same(old[name], new[name]) for name in old)
    return bool(old == new)


def merge(store: Store, other: Store) -> Merged:
    """Take over the finished jobs of another store. Where both have a job, ours stays."""
    states = store.states()
    taken = already = 0
    problems = []
    for key, row, problem in other.check_rows():
        if states.get(key) is not None and states[key].state == "done":
            already += 1
            continue
        problem = problem or (_take(store, other, row) if row is not None else "")
        if problem:
            problems.append(f"{key}: {problem}. Run `assay store verify` there.")
        else:
            taken += 1
    return Merged(taken, already, tuple(problems))


def _take(store: Store, other: Store, row: Row) -> str:
    """Take over one job; return why it could not be taken, or an empty text."""
    key = row.key
    theirs, ours = other.folder.job(key), store.folder.job(key)
    content = theirs.read_job()
    if content.value is None:
        return content.sentence
    job = content.value
    # The row names files, so it is read with distrust.
    names = [row.task_digest, row.fold_digest]
    if job.task_digest != names[0] or not all(name.isalnum() or not name for name in names):
        return f"{theirs.job} is not the job of its row"
    number, problem = _copy_attempt(theirs, ours, row.attempt, job)
    if problem:
        return problem
    _copy_new(other.folder.truth, store.folder.truth, f"{names[1]}.npz")
    _copy_new(other.folder.tasks, store.folder.tasks, f"{names[0]}.json")
    store.add([job])
    store.finish(key, number, judge_attempt(store.folder, job, ours.attempt(number)))
    return ""


def _copy_attempt(theirs: JobFolder, ours: JobFolder, number: int, job: Job) -> tuple[int, str]:
    """Copy one attempt under the next free number, complete or not at all; return the number and a problem."""
    attempt = theirs.attempt(number)
    if not attempt.is_complete:
        return 0, f"{attempt.outcome} does not exist"
    new = max((attempt.number for attempt in ours.attempts()), default=0) + 1
    target = ours.attempt(new).path
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    remove_tree(partial)
    problem = copy_tree(
        attempt.path, partial, job.constraint.disk_mb * 2**20, job.constraint.max_files, attempt.root
    )
    if problem:
        remove_tree(partial)
        return 0, problem
    replace_file(partial, target)
    _copy_new(theirs.path, ours.path, "job.json")
    return new, ""


def _copy_new(source: Path, target: Path, name: str) -> None:
    """Copy a file that we do not have; one that cannot be read is missed when the row is made."""
    data = read_bytes(source / name, source, MOST_FILE_BYTES).value
    if data is not None and not os.path.lexists(target / name):
        write_replace(target / name, lambda file: file.write(data))
