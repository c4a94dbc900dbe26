"""Read a table of scores as it was written: any delimiter, a decimal comma, per-cent signs; compressed or not."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
from collections.abc import Collection
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.data.csv_options import CsvOptions
from assay.data.dialect import find_dialect
from assay.data.numbers import NumberColumn, read_number_labels
from assay.data.style import FileStyle, LabelStudy, study_labels
from assay.errors import DataError

if TYPE_CHECKING:
    from assay.typing import Array, Frame, Series

__all__ = ["find_delimiter", "read_csv", "read_frame"]

NO_VALUE = ["", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "-nan", "-NaN", "<NA>", "null", "NULL", "None"]
OPENERS: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
SAMPLE_LINES = 200


def read_frame(path: Path, names: Collection[str] = ()) -> Frame:
    """Return a CSV (also compressed) or Parquet file as a frame; columns of `names` are texts as they stand.

    Raises:
        DataError: the file is not a table, or its numbers can be read in two ways; the message names the file.
    """
    import pandas as pd

    if not os.path.isfile(path):
        raise DataError(f"There is no file {path}.")
    try:
        return pd.read_parquet(path) if path.suffix == ".parquet" else read_csv(path, names)
    except DataError as error:
        raise DataError(f"{path}: {error}") from None
    except Exception as error:  # pandas and pyarrow have a dozen of them
        raise DataError(f"{path} cannot be read as a table: {error}") from None


def read_csv(path: Path, names: Collection[str] = ()) -> Frame:
    """Return a CSV file as a frame, or raise what pandas raises; DataError for numbers that are ambiguous."""
    import pandas as pd

    delimiter = find_delimiter(path)
    columns = [str(name) for name in pd.read_csv(path, nrows=0, sep=delimiter).columns]
    missing = {name: NO_VALUE for name in columns if name not in names}
    kinds = {name: str for name in columns if name in names}
    frame = pd.read_csv(
        path, sep=delimiter, low_memory=False, keep_default_na=False, na_values=missing, dtype=kinds
    )
    return _with_numbers(frame, names, delimiter)


def find_delimiter(path: Path) -> str:
    """Return the delimiter of a CSV file by its first lines."""
    with OPENERS.get(path.suffix, open)(
        path, "rt", encoding="utf-8-sig", errors="replace", newline=""
    ) as file:
        lines = list(islice(file, SAMPLE_LINES))
    return find_dialect(lines, "", len(lines) < SAMPLE_LINES).delimiter


def _with_numbers(frame: Frame, names: Collection[str], delimiter: str) -> Frame:
    """Return the frame with the columns that pandas left as text, but which hold numbers, as numbers."""
    texts = {
        name: frame[name].dropna().unique()
        for name in frame.columns
        if name not in names and not _is_number(frame[name]) and frame[name].notna().any()
    }
    studies = {name: study_labels([str(label) for label in labels]) for name, labels in texts.items()}
    style = FileStyle.from_columns([*studies.values(), _plain_numbers(frame)], CsvOptions(), delimiter)
    for name, study in studies.items():
        if study.numbers is not None:
            frame[name] = frame[name].map(_values(texts[name], study.numbers, style, name)).astype(float)
    return frame


def _values(texts: Array, study: NumberColumn, style: FileStyle, name: str) -> dict[object, float]:
    try:
        decimal = style.decimal_for(study, name)
    except DataError:
        example = study.open or str(texts[0])
        raise DataError(
            f"The column '{name}' has numbers such as '{example}', which can be read in two ways. Write them with a "
            "decimal point and without marks for thousands."
        ) from None
    values = read_number_labels([str(label) for label in texts], decimal)
    return dict(zip(texts, (float(text) if text else float("nan") for text in values), strict=True))


def _is_number(column: Series) -> bool:
    return column.dtype.kind in "fiub"


def _plain_numbers(frame: Frame) -> LabelStudy:
    """Return what the numbers that pandas read say: fractions among them were written with a decimal point."""
    fractions = (frame[name] for name in frame.columns if frame[name].dtype.kind == "f")
    has_fraction = any(bool((column.dropna() % 1 != 0).any()) for column in fractions)
    return LabelStudy(NumberColumn("point" if has_fraction else ""))
