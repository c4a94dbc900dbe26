"""Bring the rows of a store that an earlier version wrote to the present columns.

Facts and predictions stay as they are: they are what rows are made from, and every version reads them. A column that
a row lacks is computed from them; columns that it has keep their values, to the last digit.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from assay.errors import StoreError
from assay.files import write_json
from assay.jobs.folder import StoreFolder
from assay.jobs.packed_row import columns_written, is_packed
from assay.jobs.row import SCHEMA, Row
from assay.results.judge import Judgement, judge
from assay.store.locks import hold_store
from assay.store.problems import explained
from assay.store.store import Store, read_row
from assay.typing import JsonObject

__all__ = ["Migrated", "migrate"]

COLUMNS = tuple(column.name for column in fields(Row))


@dataclass(frozen=True)
class Migrated:
    """How many rows a store has and how many were rewritten, with a sentence for each that could not be completed."""

    rows: int
    rewritten: int = 0
    problems: tuple[str, ...] = ()


def migrate(store: Store) -> Migrated:
    """Rewrite the rows that an earlier version wrote, in the index and in `verdict.json`.

    It may be stopped at any moment and called again: what is done is not done twice. A row that changes meanwhile,
    because its job was run again, is left as it is then.

    Raises:
        StoreError: a later version of Assay wrote some of the rows; nothing was changed.
    """
    texts = store.row_texts()
    later = [key for key, text in texts if _schema(_parsed(text)) > SCHEMA]
    if later:
        raise StoreError(
            f"A later version of Assay wrote {len(later)} rows of {store.folder.root}, such as {later[0]}. "
            "Nothing was changed. Install that version to use this store."
        )
    rewritten, problems = 0, list[str]()
    with explained(store.folder.root), hold_store(store.folder):
        for key, text in texts:
            written = _parsed(text)
            if is_packed(text):
                continue
            problem = _rewrite(store, key, text, written)
            rewritten += not problem
            problems += [f"{key}: {problem}"] if problem else []
    return Migrated(len(texts), rewritten, tuple(problems))


def _parsed(text: object) -> JsonObject:
    """Return the row as it is written; nothing of it where it is damaged."""
    try:
        return columns_written(text)
    except ValueError:
        return {}


def _schema(written: JsonObject) -> int:
    """Return the version of a row's columns; the first version did not write one."""
    schema = written.get("schema", 1)
    return schema if type(schema) is int else 1


def _rewrite(store: Store, key: str, text: str, written: JsonObject) -> str:
    """Rewrite one row; return why it was left as it is, or an empty text."""
    try:
        row = read_row(key, text)
    except ValueError as error:
        return f"its row is damaged: {error}; run `assay store rebuild`."
    missing = [name for name in COLUMNS if name not in written and name != "schema"]
    again = _judge_again(store.folder, row) if missing else Judgement(row)
    if again.damage:
        return f"{again.damage}; its row was left as it is."
    new = replace(row, schema=SCHEMA, **{name: getattr(again.row, name) for name in missing})
    attempt = store.folder.job(key).attempt(row.attempt)
    verdict = attempt.read_verdict()
    if verdict.value is None and not verdict.is_missing:
        return f"{verdict.sentence}; run `assay store rebuild`."
    if verdict.value not in (None, row, new):
        return "the index and verdict.json differ; run `assay store rebuild`."
    # The file first: if this is stopped in between, the row in the index still says that it is to be rewritten.
    if attempt.path.is_dir():
        write_json(attempt.verdict, new.to_json())
    store.replace_row(key, text, new)
    return ""


def _judge_again(store: StoreFolder, row: Row) -> Judgement:
    """Make a row from its files once more."""
    folder = store.job(row.key)
    attempt = folder.attempt(row.attempt)
    job = folder.read_job()
    if job.value is None:
        return Judgement(row, job.sentence)
    if not attempt.is_complete:
        return Judgement(row, f"{attempt.outcome} does not exist")
    return judge(store, job.value, attempt)
