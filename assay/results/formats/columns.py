"""Columns of foreign tables: texts, numbers and folds as they are meant, and what names of constraints say."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from assay.errors import DataError

if TYPE_CHECKING:
    from assay.typing import Bools, Frame, Series

__all__ = [
    "budget_of", "budgets", "cores_of", "folds", "is_higher", "numbers",
    "plain_name", "texts",
]  # fmt: skip

SECONDS = {"h": 3600, "m": 60, "s": 1}


def folds(frame: Frame) -> Series:
    """Return the folds as integers; raises DataError with the first that is none."""
    import pandas as pd

    values = pd.to_numeric(frame["fold"], errors="coerce")
    bad = ~(values == values.round()) | ~(values.abs() < 2**53)  # beyond it, neighbours are the same number
    if bad.any():
        at = int(bad.to_numpy().argmax())
        raise DataError(f"Row {at + 1} has the fold '{frame['fold'].iloc[at]}': a fold is a whole number.")
    return values.astype("int64")


def texts(frame: Frame, name: str) -> Series:
    """Return a column as texts; empty ones where a cell, or the column, is missing."""
    import pandas as pd

    if name not in frame:
        return pd.Series("", index=frame.index)
    return frame[name].astype(object).fillna("").astype(str)


def numbers(frame: Frame, name: str) -> Series:
    """Return a column as numbers; NaN where a cell, or the column, is missing. Other texts are an error."""
    import pandas as pd

    if name not in frame:
        return pd.Series(float("nan"), index=frame.index)
    values = pd.to_numeric(frame[name], errors="coerce")
    bad = values.isna() & frame[name].notna()
    if bad.any():
        at = int(bad.to_numpy().argmax())
        value = str(frame[name].iloc[at])[:40]
        raise DataError(
            f"Row {at + 1} has '{value}' in the column {name}, which is not a number. Fix or empty it."
        )
    return values


def is_higher(metrics: Series, otherwise: Bools | bool) -> Bools:
    """Return the direction of metrics we know; AMLB negates what should be low, but not in columns of its own."""
    import numpy as np

    from assay.metrics.registry import BUILTIN, get_metric

    directions = {name: get_metric(name).higher_is_better for name in set(metrics) & set(BUILTIN)}
    return np.where(metrics.isin(list(directions)), metrics.map(directions).eq(True), otherwise)


def budget_of(constraint: str) -> float:
    """Return the seconds that a constraint's name begins with (`1h8c_gp3`: 3600), or NaN."""
    match = re.match(r"(\d+(?:\.\d+)?) ?([hms])", constraint)
    return float(match[1]) * SECONDS[match[2]] if match else float("nan")


def budgets(frame: Frame) -> Series:
    """Return the column `budget` as names of constraints; a plain number is seconds."""
    return texts(frame, "budget").str.replace(r"^(\d+)(?:\.0+)?$", r"\1s", regex=True)


def cores_of(constraint: str) -> float:
    """Return the cores that a constraint's name gives after its time (`1h8c`: 8), or NaN."""
    match = re.match(r"\d+(?:\.\d+)?[hms](\d+)c", constraint)
    return float(match[1]) if match else float("nan")


def plain_name(name: str) -> str:
    """Return the letters and digits of a framework's name."""
    return re.sub(r"[^a-z0-9]", "", name.lower())
