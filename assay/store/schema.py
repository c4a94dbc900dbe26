"""The SQLite index: its tables, and connections that wait for each other instead of failing."""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path

from assay.errors import StoreError
from assay.files import is_regular

__all__ = ["connect"]

WAIT_S = 60.0
MOST_BYTES = 64 * 2**20  # of one value
# A row takes about 1.2 kB. In pages of 4 kB each would have an overflow page of its own, four times as many bytes.
PAGE_BYTES = 16384

# One row per job. `row` is the results row as JSON, set when the job is done.
SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    key TEXT PRIMARY KEY,
    framework TEXT NOT NULL,
    task TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    fold INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running', 'done')),
    attempt INTEGER NOT NULL DEFAULT 0,
    status TEXT,
    digest TEXT,
    row TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS jobs_running ON jobs (key) WHERE state = 'running';
"""


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switch the journal; for this alone SQLite does not wait by itself when two processes make an index at once."""
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def connect(path: Path) -> sqlite3.Connection:
    """Open the index, making it where there is none.

    Autocommit: every write is inside an explicit `BEGIN IMMEDIATE`, which waits for other writers, where a
    deferred transaction would fail half way. In a folder that cannot be written it is opened to be read only.
    """
    for file in (path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm"))):
        if os.path.lexists(file) and not is_regular(file):
            raise StoreError(f"{file} is not a regular file. Remove it, then run `assay store rebuild`.")
    if path.exists() and not os.access(path.parent, os.W_OK):
        return _connect_to_read(path)
    connection = sqlite3.connect(path, timeout=WAIT_S, isolation_level=None)
    try:
        _check_schema(connection, path)
        connection.execute(f"PRAGMA page_size={PAGE_BYTES}")  # of a new index; another keeps its own
        _use_write_ahead_log(connection)
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.executescript(SCHEMA)
    except (sqlite3.Error, StoreError):
        connection.close()
        raise
    except UnicodeDecodeError as error:  # a name or a message of a damaged schema
        connection.close()
        raise sqlite3.DatabaseError(f"its schema is not text: {error}") from None
    return connection


def _check_schema(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse an index that is more than a table: a view or a trigger of somebody else's runs when it is read."""
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_BYTES)
    known = {("table", "jobs"), ("index", "jobs_running")}
    strange = set(connection.execute("SELECT type, name FROM sqlite_master")) - known
    strange = {(kind, name) for kind, name in strange if not str(name).startswith("sqlite_")}
    if strange:
        kind, name = sorted(strange)[0]
        raise StoreError(f"The index {path} has a {kind} '{name}'. Run `assay store rebuild`.")


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open the index as it stands; possible only when no changes wait beside it to be written into it."""
    waiting = path.with_name(path.name + "-wal")
    if waiting.exists() and waiting.stat().st_size:
        raise StoreError(
            f"The store {path.parent} cannot be written, and its index has changes that wait in {waiting.name}. "
            "Copy the store to a place that can be written."
        )
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        _check_schema(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection
