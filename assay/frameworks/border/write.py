"""Write files as a child does: by rename, so that a half-written file is never seen. JSON values are made plain.

Runs in foreign environments: standard library and numpy only, Python 3.8's language.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any, BinaryIO, Callable, Mapping

import numpy as np


def write_report(job_folder: Path, report: Mapping[str, object]) -> None:
    """Write `out/report.json` by rename."""
    text = json.dumps(plain(report), allow_nan=False).encode()
    replace_file(job_folder / "out" / "report.json", lambda file: file.write(text))


def plain(value: object) -> Any:
    """Return a copy of plain JSON values: numpy's numbers as numbers, NaN and infinity as null, the rest as text."""
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item) for item in value]
    return str(value)


def put_array(archive: zipfile.ZipFile, name: str, array: np.ndarray) -> None:
    """Put an array into an npz archive that is being written."""
    with archive.open(name + ".npy", "w", force_zip64=True) as member:
        np.lib.format.write_array(member, array, allow_pickle=False)


def replace_file(path: Path, write: Callable[[BinaryIO], object]) -> None:
    """Write a file under another name and give it its own when it is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    with open(str(partial), "wb") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(str(partial), str(path))
