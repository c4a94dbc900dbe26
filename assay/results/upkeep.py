"""Keep a store honest: rebuild its index from the folders, verify every row, merge another store into it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from assay.errors import StoreError, UserError
from assay.jobs.folder import AttemptFolder, JobFolder, StoreFolder, read_json
from assay.jobs.job import Job
from assay.results.judge import judge_attempt, predictions_digest, row_of
from assay.store.store import Store, is_held

__all__ = ["Merged", "merge", "rebuild", "verify"]

Merged = tuple[int, int]


def rebuild(root: Path) -> int:
    """Make the index anew from the folders alone; return the number of jobs. The old index is kept aside."""
    folder = StoreFolder(root.absolute())
    if not folder.format.exists():
        raise StoreError(f"There is no store at {folder.root}.")
    found = list(_jobs(folder))
    running = [job.key for job, attempts in found if any(is_held(attempt) for attempt in attempts)]
    if running:
        raise StoreError(
            f"{len(running)} job(s) of {folder.root} are running, such as {running[0]}. Wait or stop them."
        )
    # Made beside the old one, which stays until the new one is whole.
    new = folder.index.with_name(f"new-{folder.index.name}")
    for path in _with_logs(new):
        path.unlink(missing_ok=True)
    store = Store(folder.root, index=new)
    store.add([job for job, _ in found])
    for job, attempts in found:
        complete = [attempt for attempt in attempts if attempt.is_complete]
        if complete:
            store.finish(job.key, complete[-1].number, _judge_or_keep(folder, job, complete[-1]))
    store.close()
    for path in _with_logs(folder.index):
        if path.exists():
            os.replace(path, path.with_name(f"old-{path.name}"))
    os.replace(new, folder.index)
    return len(found)


def _with_logs(index: Path) -> list[Path]:
    return [index.with_name(index.name + suffix) for suffix in ("", "-wal", "-shm")]


def _judge_or_keep(folder: StoreFolder, job: Job, attempt: AttemptFolder) -> dict[str, Any]:
    """Judge an attempt; where its truth is gone, what was said of it once stands."""
    try:
        return judge_attempt(folder, job, attempt)
    except UserError:
        if not attempt.verdict.exists():
            raise
        return read_json(attempt.verdict)


def _jobs(folder: StoreFolder) -> Iterator[tuple[Job, list[AttemptFolder]]]:
    for key in folder.job_keys():
        job = folder.job(key)
        if job.job.exists():
            yield Job.from_json(read_json(job.job)), job.attempts()


def verify(store: Store) -> list[str]:
    """Return what is wrong with a store, a sentence each; empty when every row can be made again from its files."""
    problems = []
    rows, states = {row["key"]: row for row in store.rows()}, store.states()
    for key, row in rows.items():
        problems += [f"{key}: {problem}" for problem in _problems(store.folder, row)]
    for key in store.folder.job_keys():
        complete = any(attempt.is_complete for attempt in store.folder.job(key).attempts())
        if complete and key not in states:
            problems.append(f"{key}: is on disk but not in the index; run `assay store rebuild`.")
    return problems


def _problems(folder: StoreFolder, row: dict[str, Any]) -> Iterator[str]:
    job_folder = folder.job(row["key"])
    attempt = job_folder.attempt(row["attempt"])
    if not job_folder.job.exists() or not attempt.is_complete:
        yield "its folder or its facts are gone."
        return
    if predictions_digest(attempt) != row["predictions_digest"]:
        yield f"its predictions in {attempt.out} are not those that were scored."
        return
    stored = read_json(attempt.verdict) if attempt.verdict.exists() else None
    try:
        again = row_of(folder, Job.from_json(read_json(job_folder.job)), attempt)
    except UserError as error:
        yield f"it cannot be judged again: {error}"
        return
    if stored is not None and stored != row:
        yield "the index and verdict.json differ; run `assay store rebuild`."
    if again != row:
        different = sorted(name for name in row if again.get(name) != row[name])
        yield f"judged again, it differs in {', '.join(different)}."


def merge(store: Store, other: Store) -> Merged:
    """Take over the finished jobs of another store; return (taken, already here). Ours win where both have one."""
    states = store.states()
    taken = already = 0
    for row in other.rows():
        key = row["key"]
        if states.get(key) is not None and states[key].state == "done":
            already += 1
            continue
        theirs, ours = other.folder.job(key), store.folder.job(key)
        job = _job_of(row, theirs)
        number = _copy_attempt(theirs, ours, row["attempt"])
        for name, file in (("truth", f"{row['fold_digest']}.npz"), ("tasks", f"{row['task_digest']}.json")):
            _copy_new(other.folder.root / name / file, store.folder.root / name / file)
        store.add([job])
        store.finish(key, number, judge_attempt(store.folder, job, ours.attempt(number)))
        taken += 1
    return taken, already


def _job_of(row: dict[str, Any], theirs: JobFolder) -> Job:
    """Return the job of another store's row; the row names files, so it is read with distrust."""
    names = [row["key"], row["task_digest"], row["fold_digest"]]
    try:
        job = Job.from_json(read_json(theirs.job))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise StoreError(f"{theirs.job} cannot be read: {error}. Run `assay store verify` there.") from error
    if [job.key, job.task_digest] != names[:2] or not all(name.isalnum() or not name for name in names):
        raise StoreError(
            f"{theirs.job} is not the job of its row {row['key']}. Run `assay store rebuild` there."
        )
    return job


def _copy_attempt(theirs: JobFolder, ours: JobFolder, number: int) -> int:
    """Copy one attempt under the next free number, complete or not at all."""
    new = max((attempt.number for attempt in ours.attempts()), default=0) + 1
    target = ours.attempt(new).path
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    shutil.copytree(theirs.attempt(number).path, partial, symlinks=True)
    os.rename(partial, target)
    _copy_new(theirs.job, ours.job)
    return new


def _copy_new(source: Path, target: Path) -> None:
    if source.is_file() and not target.exists():
        partial = target.with_name(f".{target.name}.partial")
        shutil.copyfile(source, partial)
        os.replace(partial, target)
