"""The results row as the index of a store keeps it: a JSON array of values in the order of the columns.

Without the names of 55 columns it has 60 % of the bytes, and is read in less than half of the time. Rows that an
earlier version wrote into an index are JSON objects; they are read too. `verdict.json`, from which an index is rebuilt,
has names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from assay.jobs.row import SCHEMA, Row, row_columns, row_reader

if TYPE_CHECKING:
    from assay.typing import JsonObject

__all__ = ["PACKED_ATTEMPT", "columns_written", "is_packed", "pack_row", "unpack_rows"]

BEGINS = f"[{SCHEMA},"
FIRST_PACKED = 2  # the first schema whose rows are packed
# Where SQL finds the attempt: the schema is 0, the key 1, and these three stay where they are.
PACKED_ATTEMPT = "COALESCE(json_extract(row, '$[2]'), json_extract(row, '$.attempt'))"


def pack_row(row: Row) -> str:
    """Return the text of a row for the index."""
    return json.dumps(list(row.to_json().values()), separators=(",", ":"))


def is_packed(text: object) -> bool:
    """Return whether the text of a row has the form of this version; whether it is damaged is another question."""
    return isinstance(text, str) and text.startswith(BEGINS)


@cache
def packed_names(schema: int) -> tuple[str, ...]:
    """Return the columns of packed rows of a schema, in their order."""
    return tuple(name for name, column in row_columns() if column.since <= schema)


def unpack_rows(pairs: Iterable[tuple[str, str]]) -> list[Row]:
    """Make rows from their keys and their texts in the index; ValueError for a text that is damaged or of another key.

    `columns_written` and `Row.from_json` name the column that is wrong.
    """
    validate, names, new, fill = _validator(SCHEMA), packed_names(SCHEMA), object.__new__, object.__setattr__
    with_names = row_reader()  # of an index that an earlier version wrote
    rows: list[Row] = []
    for key, text in pairs:  # all in one loop: there may be 100 000
        if text.startswith(BEGINS):
            # Pydantic has checked every value, so the record need not be filled field by field, which takes longer.
            row = new(Row)
            fill(row, "__dict__", dict(zip(names, validate(text), strict=True)))
            row.__post_init__()
        else:
            row = with_names(text) if text.startswith("{") else Row.from_json(columns_written(text))
        if row.key != key:
            raise ValueError(f"the key is {row.key[:40]!r}")
        rows.append(row)
    return rows


@cache
def _validator(schema: int) -> Callable[[str], tuple[Any, ...]]:
    """Return what checks a packed row of a schema and returns its values."""
    from pydantic import ConfigDict, TypeAdapter

    hints = get_type_hints(Row)
    values: Any = tuple.__class_getitem__(tuple(hints[name] for name in packed_names(schema)))
    return TypeAdapter(values, config=ConfigDict(strict=True, allow_inf_nan=False)).validator.validate_json


def columns_written(text: object) -> JsonObject:
    """Return what the text of a row holds by column, unchecked; ValueError where it is not the text of a row."""
    if not isinstance(text, str):
        raise ValueError("there is no JSON")
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is not JSON: {error}") from None
    if isinstance(value, dict):
        return value
    schema = value[0] if isinstance(value, list) and value else None
    if type(schema) is not int or schema < FIRST_PACKED:
        raise ValueError("there is neither a JSON object nor a packed row")
    if schema > SCHEMA:
        return {"schema": schema}
    names = packed_names(schema)
    if len(names) != len(value):
        raise ValueError(f"it has {len(value)} values for {len(names)} columns")
    return dict(zip(names, value, strict=True))
