"""Write the rows of a fold in the format a framework asks for; the counterpart of `contract.py`'s readers."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from assay.data.task import Column, Task

if TYPE_CHECKING:
    import numpy as np

    from assay.data.table import Table

__all__ = ["FORMATS", "file_name", "write_rows"]


def write_rows(file: BinaryIO, form: str, task: Task, rows: Table, y: np.ndarray | None) -> None:
    """Write features, and the target last where it is given, to an open file."""
    FORMATS[form](file, task, rows, y)


def _npz(file: BinaryIO, task: Task, rows: Table, y: np.ndarray | None) -> None:
    """Positional names, `c0` …: a column may be called anything."""
    import numpy as np

    arrays: dict[str, Any] = {"n_rows": np.int64(rows.n_rows)}
    for i, column in enumerate(task.features):
        values = rows.arrays[column.name]
        if column.kind == "text":
            arrays.update(_text(f"c{i}", values))
        else:
            arrays[f"c{i}"] = values
    if y is not None:
        arrays["y"] = y
    np.savez(file, **arrays)


def _text(name: str, values: np.ndarray) -> dict[str, np.ndarray]:
    import numpy as np

    encoded = [b"" if value is None else value.encode() for value in values]
    return {
        name: np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{name}_ends": np.cumsum([len(part) for part in encoded], dtype=np.int64),
        f"{name}_missing": np.array([value is None for value in values], dtype=bool),
    }


def _csv(file: BinaryIO, task: Task, rows: Table, y: np.ndarray | None) -> None:
    """Labels as text, nothing for missing, `true`/`false`, ISO dates in UTC, numbers at full precision.

    Lines end as in RFC 4180; with a bare newline, Python up to 3.12 leaves a carriage return in a text unquoted.
    """
    text = io.TextIOWrapper(file, encoding="utf-8", newline="")
    writer = csv.writer(text, lineterminator="\r\n")
    names = [column.name for column in task.features]
    cells = [_as_text(column, rows.arrays[column.name]) for column in task.features]
    if y is not None:
        names.append(task.target)
        cells.append([task.classes[code] for code in y] if task.classes else [repr(float(v)) for v in y])
    writer.writerow(names)
    writer.writerows(zip(*cells, strict=True) if cells else [[] for _ in range(rows.n_rows)])
    text.flush()
    text.detach()


def _as_text(column: Column, values: np.ndarray) -> list[str]:
    import numpy as np

    if column.kind == "numeric":
        if column.integer:
            return [str(int(value)) for value in values]
        return ["" if value != value else repr(float(value)) for value in values]
    if column.kind == "categorical":
        return ["" if code < 0 else column.categories[code] for code in values]
    if column.kind == "boolean":
        return [{-1: "", 0: "false", 1: "true"}[int(value)] for value in values]
    if column.kind == "date":
        stamps = np.datetime_as_string(values.view("datetime64[ns]"))
        return ["" if stamp == "NaT" else str(stamp) for stamp in stamps]
    return ["" if value is None else str(value) for value in values]


def _parquet(file: BinaryIO, task: Task, rows: Table, y: np.ndarray | None) -> None:
    """Typed columns; categories as dictionaries. Types in `job.json` win where a reader loses them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = [_arrow(column, rows.arrays[column.name], pa) for column in task.features]
    names = [column.name for column in task.features]
    if y is not None:
        arrays.append(pa.array([task.classes[code] for code in y]) if task.classes else pa.array(y))
        names.append(task.target)
    pq.write_table(pa.Table.from_arrays(arrays, names=names), file)


def _arrow(column: Column, values: np.ndarray, pa: ModuleType) -> object:
    if column.kind == "numeric":
        return pa.array(values.astype("int64")) if column.integer else pa.array(values, mask=values != values)
    if column.kind == "categorical":
        indices = pa.array(values, mask=values < 0)
        return pa.DictionaryArray.from_arrays(indices, pa.array(list(column.categories), pa.string()))
    if column.kind == "boolean":
        return pa.array(values.astype(bool), mask=values < 0)
    if column.kind == "date":
        return pa.array(values.view("datetime64[ns]"))
    return pa.array(list(values), pa.string())


FORMATS: dict[str, Callable[[BinaryIO, Task, Table, np.ndarray | None], None]] = {
    "npz": _npz,
    "csv": _csv,
    "parquet": _parquet,
}


def file_name(part: str, form: str) -> str:
    """Return `train.npz` and the like."""
    return str(Path(part).with_suffix("." + form))
