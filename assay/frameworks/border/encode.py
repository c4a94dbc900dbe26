"""Turn typed rows into what learners want: one matrix of numbers, or a DataFrame of few plain types.

Standard library and numpy only, Python 3.8's language: it runs beside the adapters, as `assay_encode`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Protocol, Sequence

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


class TypedRows(Protocol):
    """What is read here of rows of the contract."""

    arrays: Sequence[np.ndarray]
    columns: Sequence[Mapping[str, Any]]
    n_rows: int


class Encoder:
    """Learns from training rows how to make numbers of all columns, and applies it to any rows.

    Numeric, date (in days) and boolean columns become one column each; missing values take the training median
    (the most frequent value for booleans) unless `impute` is False. Categories become their code
    (`categories="ordinal"`, missing is a code of its own) or one column for each of the `max_levels` most
    frequent levels in training, missing being one of them (`"onehot"`; all other levels are zero in all). Text
    is left out. With `scale` numeric columns have mean 0 and deviation 1 in training. Numbers beyond
    ±1e30 are cut there, because learners that work in float32 refuse them.
    """

    def __init__(
        self, categories: str = "ordinal", impute: bool = True, scale: bool = False, max_levels: int = 30
    ) -> None:
        if categories not in ("ordinal", "onehot"):
            raise ValueError("categories must be 'ordinal' or 'onehot', not %r" % (categories,))
        self.categories = categories
        self.impute = impute
        self.scale = scale
        self.max_levels = max_levels
        self.plans: List[Dict[str, Any]] = []

    def fit(self, rows: TypedRows) -> "Encoder":
        """Learn fill values, levels and scales from training rows."""
        self.plans = [self._plan(array, column) for array, column in zip(rows.arrays, rows.columns)]
        return self

    def transform(self, rows: TypedRows) -> np.ndarray:
        """Return a float64 matrix with as many rows; never a missing value when `impute` is on."""
        parts = [self._apply(array, plan) for array, plan in zip(rows.arrays, self.plans)]
        parts = [part for part in parts if part.shape[1]]
        return np.concatenate(parts, axis=1) if parts else np.zeros((rows.n_rows, 1))

    def _plan(self, array: np.ndarray, column: Mapping[str, Any]) -> Dict[str, Any]:
        kind = column["kind"]
        if kind == "text":
            return {"kind": "drop"}
        if kind == "categorical":
            n_levels = len(column["categories"])
            counts = np.bincount(array + 1, minlength=n_levels + 1)
            order = np.argsort(-counts, kind="stable")
            levels = [int(code) - 1 for code in order if counts[code]][: self.max_levels]
            return {"kind": "categorical", "levels": levels, "missing": float(n_levels)}
        values = _numbers(array, kind)
        known = values[~np.isnan(values)]
        if kind == "boolean":
            fill = float(known.mean() >= 0.5) if len(known) else 0.0
        else:
            fill = float(np.median(known)) if len(known) else 0.0
        plan = {"kind": kind, "fill": fill, "mean": 0.0, "deviation": 1.0}
        if self.scale and len(known):
            deviation = float(known.std())
            plan.update(mean=float(known.mean()), deviation=deviation if deviation > 0 else 1.0)
        return plan

    def _apply(self, array: np.ndarray, plan: Dict[str, Any]) -> np.ndarray:
        if plan["kind"] == "drop":
            return np.empty((len(array), 0))
        if plan["kind"] == "categorical":
            if self.categories == "ordinal":
                return np.where(array < 0, plan["missing"], array).astype(float)[:, None]
            is_level: np.ndarray = array[:, None] == np.array(plan["levels"])[None, :]
            return is_level.astype(float)
        values = _numbers(array, plan["kind"])
        if self.impute:
            values = np.where(np.isnan(values), plan["fill"], values)
        scaled: np.ndarray = (values - plan["mean"]) / plan["deviation"]
        return scaled[:, None]


def plain_frame(
    rows: TypedRows, categories: str = "category", dates: str = "number", text: str = "keep"
) -> pd.DataFrame:
    """Return rows as a DataFrame that most libraries take: columns `c0`, `c1` …, float64 but for categories and text.

    Booleans become 0.0 and 1.0, missing NaN. Categories are pandas categories, or with "text" strings (missing
    None). Dates are days since 1970, or with "date" datetimes. Text is kept as strings (missing None), or left
    out with "drop". Names are plain because several libraries refuse brackets, quotes or spaces in them.
    """
    import pandas as pd

    data = {}
    for i, (array, column) in enumerate(zip(rows.arrays, rows.columns)):
        kind, name = column["kind"], "c%d" % i
        if kind == "categorical":
            levels = np.array([*column["categories"], None], dtype=object)  # code -1 is the last: missing
            data[name] = levels[array]
            if categories == "category":
                data[name] = pd.Categorical.from_codes(array, pd.Index(column["categories"], dtype=object))
        elif kind == "text":
            if text == "keep":
                data[name] = array
        elif kind == "date" and dates == "date":
            data[name] = array.view("datetime64[ns]")
        else:
            data[name] = _numbers(array, kind)
    series = {
        name: pd.Series(values, dtype=object if _is_text(values) else None) for name, values in data.items()
    }
    return pd.DataFrame(series, index=pd.RangeIndex(rows.n_rows))


def _is_text(values: object) -> bool:
    return isinstance(values, np.ndarray) and values.dtype == object


def _numbers(array: np.ndarray, kind: str) -> np.ndarray:
    if kind == "numeric":
        numbers: np.ndarray = np.clip(array.astype(float), -1e30, 1e30)
        return numbers
    if kind == "boolean":
        return np.where(array < 0, np.nan, array).astype(float)
    missing = np.iinfo(np.int64).min
    return np.where(array == missing, np.nan, array / 86_400e9)
