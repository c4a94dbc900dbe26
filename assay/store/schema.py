"""The SQLite index: its tables, and connections that wait for each other instead of failing."""

from __future__ import annotations

import sqlite3
from pathlib import Path

__all__ = ["COLUMNS", "connect"]

# One row per job. `row` is the results row as JSON, set when the job is done.
COLUMNS = (
    "key", "framework", "version", "task", "task_id", "type", "repeat", "fold", "constraint_name", "budget_s",
    "run_seed", "position", "state", "attempt", "status", "digest", "row",
)  # fmt: skip

SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    key TEXT PRIMARY KEY,
    framework TEXT NOT NULL,
    version TEXT NOT NULL,
    task TEXT NOT NULL,
    task_id TEXT NOT NULL,
    type TEXT NOT NULL,
    repeat INTEGER NOT NULL,
    fold INTEGER NOT NULL,
    constraint_name TEXT NOT NULL,
    budget_s REAL NOT NULL,
    run_seed INTEGER NOT NULL,
    position INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'running', 'done')),
    attempt INTEGER NOT NULL DEFAULT 0,
    status TEXT,
    digest TEXT,
    row TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state);
"""


def connect(path: Path) -> sqlite3.Connection:
    """Open the index, making it where there is none.

    Autocommit: every write is inside an explicit `BEGIN IMMEDIATE`, which waits for other writers, where a
    deferred transaction would fail half way.
    """
    connection = sqlite3.connect(path, timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.executescript(SCHEMA)
    return connection
