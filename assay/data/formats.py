"""Which file is read how: by the end of its name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import DataError

if TYPE_CHECKING:
    from assay.data.csv_options import CsvOptions
    from assay.data.raw import RawTable

__all__ = ["ARCHIVES", "FORMATS", "format_of", "is_archive", "read_table_file", "stem_of"]

FORMATS = ("csv", "tsv", "arff", "parquet", "pq")
ARCHIVES = ("zip", "tar", "tgz", "tar.gz", "tbz", "tbz2", "tar.bz2")
_DATA_NAME = re.compile(rf"\.({'|'.join(FORMATS)})(\.gz)?\Z", re.IGNORECASE)
_ARCHIVE_NAME = re.compile(rf"\.({'|'.join(re.escape(end) for end in ARCHIVES)})\Z", re.IGNORECASE)


def format_of(name: str) -> str:
    """Return the format of a data file ("csv" for `a.csv.gz`), or an empty string if its name tells none."""
    match = _DATA_NAME.search(name)
    return match[1].lower() if match else ""


def is_archive(name: str) -> bool:
    """Return whether a file name is that of an archive."""
    return _ARCHIVE_NAME.search(name) is not None


def stem_of(name: str) -> str:
    """Return a file name without the end that tells its format."""
    return _ARCHIVE_NAME.sub("", _DATA_NAME.sub("", name)) or name


def read_table_file(path: Path, source: str, options: CsvOptions | None = None) -> RawTable:
    """Read an uncompressed data file; `source` names it in messages, `options` are for CSV and TSV."""
    kind = format_of(path.name)
    if kind in ("csv", "tsv"):
        from assay.data.read_delimited import read_delimited

        return read_delimited(path, source, "\t" if kind == "tsv" else "", options)
    if kind == "arff":
        from assay.data.read_arff import read_arff

        return read_arff(path, source)
    if kind in ("parquet", "pq"):
        from assay.data.read_parquet import read_parquet

        return read_parquet(path, source)
    raise DataError(
        f"{source} has an unknown format. Give a file that ends in .{', .'.join(FORMATS)} (also with .gz), "
        f"or an archive that ends in .{', .'.join(ARCHIVES)}."
    )
