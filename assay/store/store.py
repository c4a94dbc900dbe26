"""Folders as the truth, an SQLite index beside them: claim, finish, resume.

A job is claimed in the index and held by locks in its attempt's folder (`assay.store.locks`). They die with their
holders, so a claim without a holder is free again, whatever was killed.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from assay.errors import StoreError
from assay.files import read_json, remove_tree, write_json
from assay.jobs.folder import AttemptFolder, StoreFolder
from assay.jobs.job import Job
from assay.jobs.packed_row import PACKED_ATTEMPT, columns_written, pack_row, unpack_rows
from assay.jobs.row import Row
from assay.memory import no_collection
from assay.store.locks import hold_claim, is_held, unheld
from assay.store.problems import check_there, explained
from assay.store.schema import connect

__all__ = ["Claim", "State", "Store", "read_row"]

FORMAT = 1
MOST_NAMED = 500  # jobs in one question to the index
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
    """The right to make one attempt, which lasts until the descriptor `lock` is closed."""

    job: Job
    folder: AttemptFolder
    lock: int


class Store:
    """The folder that keeps jobs, attempts and predictions."""

    def __init__(self, root: Path | str, create: bool = True, index: Path | None = None) -> None:
        """Open a store, making it where there is none; `index` is another file than its own, for `rebuild`."""
        self.folder = StoreFolder(Path(root).absolute())
        if not os.path.exists(self.folder.format):
            if not create:
                raise StoreError(
                    f"There is no store at {self.folder.root}. Run something first, or name another folder."
                )
            self._create()
        elif (found := _format(self.folder)) != FORMAT:
            raise _other_format(self.folder, found)
        elif index is None and not self.folder.index.exists() and self.folder.job_keys():
            # An empty index would have every finished job run again.
            raise StoreError(f"The store {self.folder.root} has no index. Run `assay store rebuild`.")
        with explained(self.folder.root):
            self._db = connect(index or self.folder.index)

    def _query(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with explained(self.folder.root):
            return self._db.execute(sql, values).fetchall()

    def _create(self) -> None:
        root = self.folder.root
        with explained(root):
            # What another process is making at this moment is no stranger's.
            if root.is_dir() and any(not path.name.startswith(OURS) for path in root.iterdir()):
                raise StoreError(f"{root} is not empty and is not a store. Choose an empty or a new folder.")
            for path in (root, self.folder.folds, self.folder.truth, self.folder.tasks, root / "jobs"):
                try:
                    path.mkdir(parents=True, exist_ok=True)
                except (FileExistsError, NotADirectoryError):
                    raise StoreError(
                        f"No store can be made at {root}: a file is in its place. Choose another folder."
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
        known = {key for (key,) in self._of("SELECT key FROM jobs", [job.key for job in jobs])}
        with no_collection():  # there may be 100 000
            columns = attrgetter("key", "framework", "task", "repeat", "fold")
            rows = [columns(job) for job in jobs if job.key not in known]
            # By key, the order of the table's tree: several times faster than at random.
            rows.sort(key=itemgetter(0))
            if not rows:
                return
            sql = "INSERT OR IGNORE INTO jobs (key, framework, task, repeat, fold) VALUES (?, ?, ?, ?, ?)"
            with self.transaction() as db:
                db.executemany(sql, rows)

    def states(self, keys: Sequence[str] | None = None) -> dict[str, State]:
        """Return where every job stands, by key; with `keys` at least these."""
        found = self._of("SELECT key, state, attempt, status, digest FROM jobs", keys)
        return {key: self._state(key, values) for key, *values in found}

    def _of(self, sql: str, keys: Sequence[str] | None) -> list[Any]:
        """Ask about some jobs; about all where they are too many to name."""
        if keys is None or len(keys) > MOST_NAMED:
            return self._query(sql)
        return self._query(f"{sql} WHERE key IN ({', '.join('?' * len(keys))})", keys)

    def _state(self, key: Any, values: Sequence[Any]) -> State:
        state, attempt, status, digest = values
        is_key = type(key) is str and key.isalnum()  # it becomes the name of a folder
        if not is_key or type(attempt) is not int or type(state) is not str:
            raise self._damaged(f"the job {key!r} is at {state!r}, attempt {attempt!r}")
        return State(state, attempt, status, digest)

    def _damaged(self, what: str) -> StoreError:
        return StoreError(f"The index of {self.folder.root} is damaged: {what}. Run `assay store rebuild`.")

    # --- running -------------------------------------------------------------------------------------

    def claim(self, job: Job, again: bool = False) -> Claim | None:
        """Take a job, or return None when it is done or somebody holds it.

        `again` takes a job that is done once more (retry, stale). An attempt left without facts by somebody
        who is gone stays on disk and a new one is made.
        """
        check_there(self.folder)  # making a folder would bring back a part of it
        with self.transaction() as db:
            row = db.execute("SELECT state, attempt FROM jobs WHERE key = ?", (job.key,)).fetchone()
            if row is None:
                raise StoreError(f"Job {job.key} is not in the index. Run `assay store rebuild`.")
            state, number = row
            folder = self.folder.job(job.key)
            if state == "done" and not again:
                return None
            attempts = folder.attempts()
            with unheld(attempts[-1]) if attempts else contextlib.nullcontext(True) as is_free:
                if not is_free:
                    return None
                if state == "running" and folder.attempt(number).is_complete and not again:
                    return None  # finished, but not yet judged: `unjudged` finds it
                attempt = folder.attempt(max(number, attempts[-1].number if attempts else 0) + 1)
                attempt.path.mkdir(parents=True)
                lock = hold_claim(attempt)
            if not folder.job.exists():
                write_json(folder.job, job.to_json())
            db.execute(
                "UPDATE jobs SET state = 'running', attempt = ? WHERE key = ?", (attempt.number, job.key)
            )
        return Claim(job, attempt, lock)

    def release(self, claim: Claim) -> None:
        """Give a job back without a result: its attempt leaves no trace. No supervisor may have been asked for."""
        with self.transaction() as db:  # nobody claims the job while its folder goes
            remove_tree(claim.folder.path)
            # A job that was done before has its row, and the attempt that is in it, again.
            db.execute(
                "UPDATE jobs SET state = CASE WHEN row IS NULL THEN 'pending' ELSE 'done' END, "
                f"attempt = COALESCE({PACKED_ATTEMPT}, attempt - 1) "
                "WHERE key = ? AND attempt = ? AND state = 'running'",
                (claim.job.key, claim.folder.number),
            )

    def finish(self, key: str, attempt: int, row: Row) -> None:
        """Make an attempt's row the row of its job."""
        with self.transaction() as db:
            db.execute(
                "UPDATE jobs SET state = 'done', attempt = ?, status = ?, digest = ?, row = ? WHERE key = ?",
                (attempt, row.status, row.framework_digest, pack_row(row), key),
            )

    def unjudged(self) -> list[AttemptFolder]:
        """Return attempts whose facts are written but whose job has no row yet."""
        folders = [folder for _, folder in self._claimed()]
        return [folder for folder in folders if folder.is_complete and not is_held(folder)]

    # --- reading -------------------------------------------------------------------------------------

    def rows(self) -> list[Row]:
        """Return the results rows of all jobs that have one, by task, fold and framework.

        A job that runs again (retry, stale) keeps its row until it has a new one.
        """
        with explained(self.folder.root), no_collection():
            try:
                rows = unpack_rows(self._db.execute("SELECT key, row FROM jobs WHERE row IS NOT NULL"))
            except (ValueError, TypeError, AttributeError):  # the latter two: a value that is not text
                damaged = (f"{key}, {problem}" for key, row, problem in self.check_rows() if row is None)
                raise self._damaged(f"in the row of {next(damaged, 'a job')}") from None
            return sorted(rows, key=attrgetter("task", "repeat", "fold", "framework", "key"))

    def check_rows(self) -> Iterator[tuple[str, Row | None, str]]:
        """Yield (key, row, "") of each job that has a row, or (key, None, problem) where the index is damaged."""
        for key, text in self.row_texts():
            try:
                yield key, read_row(key, text), ""
            except ValueError as error:
                yield str(key), None, str(error)

    def row_texts(self) -> list[tuple[str, str]]:
        """Return the key of each job that has a row, and the text of the row as it is in the index, unchecked."""
        return self._query("SELECT key, row FROM jobs WHERE row IS NOT NULL ORDER BY key")

    def replace_row(self, key: str, before: str, row: Row) -> None:
        """Put a row in the place of another form of the same row, unless the job has a new row by now."""
        with self.transaction() as db:
            db.execute("UPDATE jobs SET row = ? WHERE key = ? AND row = ?", (pack_row(row), key, before))

    def counts(self) -> dict[str, int]:
        """Return how many jobs are `pending`, `running`, and done by status."""
        found = self._query("SELECT state, status, COUNT(*) FROM jobs GROUP BY state, status")
        out: dict[str, int] = {}
        for state, status, count in found:
            name = str(status if state == "done" else state)
            out[name] = out.get(name, 0) + count
        return out

    def running(self) -> list[tuple[str, AttemptFolder]]:
        """Return (key, attempt) of the jobs that somebody is at work on now."""
        return [(key, folder) for key, folder in self._claimed() if is_held(folder)]

    def _claimed(self) -> list[tuple[str, AttemptFolder]]:
        found = self._query("SELECT key, state, attempt, status, digest FROM jobs WHERE state = 'running'")
        states = [(key, self._state(key, values)) for key, *values in found]
        return [(key, self.folder.job(key).attempt(state.attempt)) for key, state in states]

    def find(self, start: str) -> str:
        """Return the one key that starts with `start`."""
        is_key = start.isascii() and start.isalnum()
        found = self._query("SELECT key FROM jobs WHERE key GLOB ? LIMIT 3", (start + "*",)) if is_key else []
        if not found:
            raise StoreError(f"No job's key starts with '{start}'. `assay results` lists the keys.")
        if len(found) > 1:
            raise StoreError(f"More than one job's key starts with '{start}'; give more of it.")
        return str(found[0][0])

    def state(self, key: str) -> State:
        """Return where one job stands."""
        found = self._query("SELECT state, attempt, status, digest FROM jobs WHERE key = ?", (key,))
        if not found:
            raise StoreError(f"There is no job {key} in {self.folder.root}.")
        return self._state(key, found[0])

    def row(self, key: str) -> Row | None:
        """Return the results row of a job; None while it has none."""
        found = self._query("SELECT row FROM jobs WHERE key = ? AND row IS NOT NULL", (key,))
        if not found:
            return None
        try:
            return read_row(key, found[0][0])
        except ValueError as error:
            raise self._damaged(f"in the row of {key}, {error}") from None


def read_row(key: object, text: object) -> Row:
    """Make the row of a job from its text in the index.

    Raises:
        ValueError: the text is damaged, or of another job; the message says what is wrong.
    """
    row = Row.from_json(columns_written(text))
    if row.key != key:
        raise ValueError(f"the key is {row.key[:40]!r}")
    return row


def _format(folder: StoreFolder) -> object:
    found = read_json(folder.format)
    return (found.value or {}).get("format", "unknown")


def _other_format(folder: StoreFolder, found: object) -> StoreError:
    """Return the error for a store of another format; there is no earlier one than 1."""
    if type(found) is int and found > FORMAT:
        return StoreError(
            f"A later version of Assay wrote the store {folder.root}: it has format {found}, and this version reads "
            f"format {FORMAT}. Install the later version."
        )
    return StoreError(
        f"The store {folder.root} has format {str(found)[:40]}, but this version reads format {FORMAT}. Restore "
        f"{folder.format.name}."
    )
