"""Keep a table or plain arrays in an npz file without pickles; written under another name, then renamed."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

import numpy as np

from assay.data.table import Array, Table
from assay.data.task import Column
from assay.errors import DataError

__all__ = ["load_arrays", "load_table", "save_arrays", "save_table"]


def save_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays to `path` so that a reader sees the whole file or none."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.{uuid4().hex[:8]}.tmp")
    try:
        with scratch.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **arrays)
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def load_arrays(path: Path) -> dict[str, Array]:
    """Read what `save_arrays` wrote; objects are refused, so nothing in the file can run."""
    try:
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, KeyError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise DataError(
            f"The cached file {path} is damaged ({error}). Delete it; it will be made again."
        ) from error


def save_table(table: Table, path: Path) -> None:
    """Write a table; column i is stored as `c<i>`, text as UTF-8 bytes, offsets and a mask of the missing."""
    header = json.dumps([asdict(column) for column in table.columns]).encode()
    arrays: dict[str, Array] = {"columns": np.frombuffer(header, dtype=np.uint8)}
    for number, column in enumerate(table.columns):
        values = table.arrays[column.name]
        if column.kind == "text":
            arrays |= _pack_text(f"c{number}", values)
        else:
            arrays[f"c{number}"] = values
    save_arrays(path, arrays)


def load_table(path: Path) -> Table:
    """Read what `save_table` wrote."""
    stored = load_arrays(path)
    try:
        columns = tuple(
            Column(**{**item, "categories": tuple(item["categories"])})
            for item in json.loads(stored["columns"].tobytes())
        )
        arrays = {
            column.name: _unpack_text(f"c{number}", stored) if column.kind == "text" else stored[f"c{number}"]
            for number, column in enumerate(columns)
        }
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(
            f"The cached file {path} is damaged ({error}). Delete it; it will be made again."
        ) from error
    return Table(columns, arrays)


def _pack_text(key: str, values: Array) -> dict[str, Array]:
    encoded = [b"" if value is None else value.encode("utf-8", "surrogatepass") for value in values]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in encoded], out=offsets[1:])
    return {
        f"{key}.bytes": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{key}.offsets": offsets,
        f"{key}.missing": np.array([value is None for value in values], dtype=bool),
    }


def _unpack_text(key: str, stored: Mapping[str, Array]) -> Array:
    data, offsets = stored[f"{key}.bytes"].tobytes(), stored[f"{key}.offsets"]
    values = np.empty(len(offsets) - 1, dtype=object)
    for row, is_missing in enumerate(stored[f"{key}.missing"]):
        part = data[offsets[row] : offsets[row + 1]]
        values[row] = None if is_missing else part.decode("utf-8", "surrogatepass")
    return values
