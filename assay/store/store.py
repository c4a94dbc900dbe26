"""Folders as the truth, an SQLite index beside them: claim, finish, resume.

A job is claimed in the index and held by a lock on its attempt's folder. The lock dies with the supervisor, so
a claim without a holder is free again, whatever was killed.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import gc
import json
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.errors import StoreError
from assay.jobs.folder import AttemptFolder, StoreFolder, read_json, write_json
from assay.jobs.job import Job
from assay.store.schema import connect

__all__ = ["Claim", "State", "Store", "explained", "is_held"]

FORMAT = 1
OURS = ("folds", "truth", "tasks", "jobs", "code", "index.sqlite", "assay-store.json", ".assay-store.json.")


@dataclass(frozen=True)
class State:
    """Where a job stands: `pending`, `running` or `done`; the status and the circumstances' digest if done."""

    state: str
    attempt: int
    status: str | None
    digest: str | None


@dataclass(frozen=True)
class Claim:
    """The right to make one attempt; `lock` is a descriptor to be handed to the supervisor and closed."""

    job: Job
    folder: AttemptFolder
    lock: int


class Store:
    """The folder that keeps jobs, attempts and predictions."""

    def __init__(self, root: Path | str, create: bool = True, index: Path | None = None) -> None:
        """Open a store, making it where there is none; `index` is another file than its own, for `rebuild`."""
        self.folder = StoreFolder(Path(root).absolute())
        if not self.folder.format.exists():
            if not create:
                raise StoreError(
                    f"There is no store at {self.folder.root}. Run something first, or give --store DIR."
                )
            self._create()
        elif (found := _format(self.folder)) != FORMAT:
            raise StoreError(f"The store {self.folder.root} has format {found}; this version reads {FORMAT}.")
        elif index is None and not self.folder.index.exists() and self.folder.job_keys():
            # An empty index would have every finished job run again.
            raise StoreError(f"The store {self.folder.root} has no index. Run `assay store rebuild`.")
        with explained(self.folder.root):
            self._db = connect(index or self.folder.index)

    def _create(self) -> None:
        root = self.folder.root
        with explained(root):
            # What another process is making at this moment is no stranger's.
            if root.is_dir() and any(not path.name.startswith(OURS) for path in root.iterdir()):
                raise StoreError(
                    f"{root} is not empty and is no store. Give --store an empty or a new folder."
                )
            for path in (root, self.folder.folds, self.folder.truth, self.folder.tasks, root / "jobs"):
                try:
                    path.mkdir(parents=True, exist_ok=True)
                except (FileExistsError, NotADirectoryError):
                    raise StoreError(
                        f"No store can be made at {root}: a file is in its place. Give --store a new folder."
                    ) from None
            # The truth and other folds lie here: not for other users of the machine.
            root.chmod(0o700)
            write_json(self.folder.format, {"format": FORMAT})

    def close(self) -> None:
        """Close the index."""
        self._db.close()

    def __del__(self) -> None:
        if hasattr(self, "_db"):  # else it was refused before it was opened
            with contextlib.suppress(sqlite3.Error):
                self._db.close()

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the write lock of the index for the length of a block."""
        with explained(self.folder.root):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    # --- planning ------------------------------------------------------------------------------------

    def add(self, jobs: Sequence[Job]) -> None:
        """Note planned jobs; those known already stay as they are."""
        # By key, the order of the table's tree: several times faster than at random.
        rows = sorted((job.key, job.framework, job.task, job.repeat, job.fold) for job in jobs)
        sql = "INSERT OR IGNORE INTO jobs (key, framework, task, repeat, fold) VALUES (?, ?, ?, ?, ?)"
        with self.transaction() as db:
            db.executemany(sql, rows)

    def states(self) -> dict[str, State]:
        """Return where every job stands, by key."""
        found = self._db.execute("SELECT key, state, attempt, status, digest FROM jobs")
        return {key: State(state, attempt, status, digest) for key, state, attempt, status, digest in found}

    # --- running -------------------------------------------------------------------------------------

    def claim(self, job: Job, again: bool = False) -> Claim | None:
        """Take a job, or return None when it is done or somebody holds it.

        `again` takes a job that is done once more (retry, stale). An attempt left without facts by somebody
        who is gone stays on disk and a new one is made.
        """
        with self.transaction() as db:
            row = db.execute("SELECT state, attempt FROM jobs WHERE key = ?", (job.key,)).fetchone()
            if row is None:
                raise StoreError(f"Job {job.key} is not in the index. Run `assay store rebuild`.")
            state, number = row
            folder = self.folder.job(job.key)
            if state == "done" and not again:
                return None
            if state == "running":
                current = folder.attempt(number)
                if is_held(current):
                    return None
                if current.is_complete and not again:
                    return None  # finished, but not yet judged: `unjudged` finds it
            taken = [attempt.number for attempt in folder.attempts()]
            attempt = folder.attempt(max([number, *taken], default=0) + 1)
            attempt.path.mkdir(parents=True)
            if not folder.job.exists():
                write_json(folder.job, job.to_json())
            lock = os.open(attempt.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(
                lock, fcntl.LOCK_EX
            )  # the folder is new: only an onlooker's `is_held` can be in the way
            db.execute(
                "UPDATE jobs SET state = 'running', attempt = ? WHERE key = ?", (attempt.number, job.key)
            )
        return Claim(job, attempt, lock)

    def release(self, claim: Claim) -> None:
        """Give a job back without a result: its attempt leaves no trace."""
        shutil.rmtree(claim.folder.path, ignore_errors=True)
        with self.transaction() as db:
            # A job that was done before has its row, and the attempt that is in it, again.
            db.execute(
                "UPDATE jobs SET state = CASE WHEN row IS NULL THEN 'pending' ELSE 'done' END, "
                "attempt = COALESCE(json_extract(row, '$.attempt'), attempt - 1) "
                "WHERE key = ? AND attempt = ? AND state = 'running'",
                (claim.job.key, claim.folder.number),
            )

    def finish(self, key: str, attempt: int, row: Mapping[str, Any]) -> None:
        """Make an attempt's row the row of its job."""
        with self.transaction() as db:
            db.execute(
                "UPDATE jobs SET state = 'done', attempt = ?, status = ?, digest = ?, row = ? WHERE key = ?",
                (attempt, row["status"], row["framework_digest"], json.dumps(row), key),
            )

    def unjudged(self) -> list[AttemptFolder]:
        """Return attempts whose facts are written but whose job has no row yet."""
        running = self._db.execute("SELECT key, attempt FROM jobs WHERE state = 'running'").fetchall()
        folders = [self.folder.job(key).attempt(number) for key, number in running]
        return [folder for folder in folders if folder.is_complete and not is_held(folder)]

    # --- reading -------------------------------------------------------------------------------------

    def rows(self) -> list[dict[str, Any]]:
        """Return the results rows of all jobs that have one, by task, fold and framework.

        A job that runs again (retry, stale) keeps its row until it has a new one.
        """
        found = self._db.execute(
            "SELECT row FROM jobs WHERE row IS NOT NULL ORDER BY task, repeat, fold, framework, key"
        )
        return _parse([row for (row,) in found])

    def counts(self) -> dict[str, int]:
        """Return how many jobs are `pending`, `running`, and done by status."""
        found = self._db.execute("SELECT state, status, COUNT(*) FROM jobs GROUP BY state, status")
        out: dict[str, int] = {}
        for state, status, count in found:
            name = status if state == "done" else state
            out[name] = out.get(name, 0) + count
        return out

    def running(self) -> list[tuple[str, AttemptFolder]]:
        """Return (key, attempt) of the jobs that somebody is at work on now."""
        found = self._db.execute("SELECT key, attempt FROM jobs WHERE state = 'running'").fetchall()
        pairs = [(key, self.folder.job(key).attempt(number)) for key, number in found]
        return [(key, folder) for key, folder in pairs if is_held(folder)]

    def find(self, start: str) -> str:
        """Return the one key that starts with `start`."""
        found = self._db.execute("SELECT key FROM jobs WHERE key GLOB ? LIMIT 3", (start + "*",)).fetchall()
        if not start or not start.isalnum() or not found:
            raise StoreError(f"No job's key starts with '{start}'. `assay results` lists the keys.")
        if len(found) > 1:
            raise StoreError(f"More than one job's key starts with '{start}'; give more of it.")
        return str(found[0][0])

    def state(self, key: str) -> State:
        """Return where one job stands."""
        row = self._db.execute(
            "SELECT state, attempt, status, digest FROM jobs WHERE key = ?", (key,)
        ).fetchone()
        if row is None:
            raise StoreError(f"There is no job {key} in {self.folder.root}.")
        return State(*row)

    def row(self, key: str) -> dict[str, Any] | None:
        """Return the results row of a job; None while it has none."""
        found = self._db.execute("SELECT row FROM jobs WHERE key = ? AND row IS NOT NULL", (key,)).fetchone()
        return json.loads(found[0]) if found else None


def _parse(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Parse many JSON texts: a thousand as one document, so that keys are shared, and without the collector.

    Together that is about twice as fast as one by one, and takes less memory.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        chunks = (texts[i : i + 1000] for i in range(0, len(texts), 1000))
        return [row for chunk in chunks for row in json.loads(f"[{','.join(chunk)}]")]
    finally:
        if was_on:
            gc.enable()


def is_held(folder: AttemptFolder) -> bool:
    """Whether a living process holds the attempt."""
    try:
        descriptor = os.open(folder.lock, os.O_RDWR | os.O_CLOEXEC)
    except (FileNotFoundError, PermissionError):
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two onlookers do not see each other
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def _format(folder: StoreFolder) -> Any:
    try:
        return read_json(folder.format)["format"]
    except (ValueError, KeyError, TypeError):
        return "unknown"


@contextlib.contextmanager
def explained(root: Path) -> Iterator[None]:
    """Turn a full disk, a read-only folder and a broken index into one sentence each."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        text = str(error)
        if "locked" in text:
            raise StoreError(f"The index of {root} was busy for too long: {text}. Run it again.") from error
        if "readonly" in text or "unable to open" in text:
            raise StoreError(f"The store {root} cannot be written: {text}. Check its permissions.") from error
        if "full" in text or "disk I/O" in text:
            raise StoreError(
                f"The disk of the store {root} is full or failing: {text}. Free space, run again."
            ) from error
        raise StoreError(f"The index of {root} is damaged: {text}. Run `assay store rebuild`.") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(
                f"The disk of the store {root} is full. Free space and run the same command again."
            ) from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise StoreError(
                f"The store {root} cannot be written: {error.strerror}. Check its permissions."
            ) from error
        raise
