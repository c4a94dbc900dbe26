"""From columns of any kind to a matrix that every learner takes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from assay.typing import Array, Bools, Floats, Frame, Series, Texts

    from .estimator import Columns

__all__ = ["Preparation"]

NANOSECONDS_PER_DAY = 86_400e9
# Files are read with these as booleans; pandas leaves most of them as text.
TRUTHS = {
    "true": 1.0, "t": 1.0, "yes": 1.0, "1": 1.0, "1.0": 1.0, "false": 0.0, "f": 0.0, "no": 0.0, "0": 0.0, "0.0": 0.0,
}  # fmt: skip


@dataclass(frozen=True)
class _Plan:
    """What is done with one column: `levels` of a category, or the mean of numbers; `fill` is for missing values."""

    name: Hashable
    kind: str
    fill: float | str
    levels: tuple[str, ...] = ()


class Preparation(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Mean imputation, mode imputation, one column per category, constant columns out, mean 0 and deviation 1.

    Numbers, booleans and dates (in days) take their mean where they are missing or infinite. Other columns are
    categories, known by their text; missing ones take the most frequent. A category of two levels becomes one column,
    one of more a column for each of the `max_levels` most frequent levels that occur twice at least (so names and
    identifiers, all different, become none). Levels that were not seen in training are zero in all columns.
    """

    def __init__(self, max_levels: int = 30) -> None:
        self.max_levels = max_levels

    def fit(self, x: Columns, y: Array | None = None) -> Preparation:
        """Learn fill values, levels and scales."""
        frame = _frame(x)
        self.plans_ = [self._plan(name, frame[name]) for name in frame.columns]
        matrix, names = self._matrix(frame)
        # Rounding makes a constant vary by a share of its own size.
        mean, deviation = matrix.mean(axis=0), matrix.std(axis=0)
        self.kept_ = np.flatnonzero(deviation > 1e-12 * np.maximum(np.abs(mean), 1e-300))
        self.mean_, self.deviation_ = mean[self.kept_], deviation[self.kept_]
        self.names_ = [names[at] for at in self.kept_]
        return self

    def transform(self, x: Columns) -> Floats:
        """Return a float64 matrix; one column of zeros where all columns were constant."""
        check_is_fitted(self)
        matrix = self._matrix(_frame(x))[0][:, self.kept_]
        return (matrix - self.mean_) / self.deviation_ if matrix.shape[1] else np.zeros((len(matrix), 1))

    def get_feature_names_out(self, given: object = None) -> Array:
        """Return `column`, or `column=level`, of each column of the matrix."""
        return np.array(self.names_ or ["nothing"], dtype=object)

    def _plan(self, name: Hashable, column: Series) -> _Plan:
        if _is_number(column):
            kind = "date" if _is_date(column) else "boolean" if _is_boolean(column) else "number"
            values = _numbers(column, kind)
            known = values[~np.isnan(values)]
            return _Plan(name, kind, float(known.mean()) if len(known) else 0.0)
        texts, missing = _texts(column)
        levels, counts = np.unique(texts[~missing], return_counts=True)
        order = np.argsort(-counts, kind="stable")
        mode = str(levels[order[0]]) if len(levels) else ""
        often = [str(levels[at]) for at in order if counts[at] > 1][: self.max_levels]
        return _Plan(name, "category", mode, (often[1],) if len(levels) == len(often) == 2 else tuple(often))

    def _matrix(self, frame: Frame) -> tuple[Floats, list[str]]:
        parts, names = [], []
        for plan in self.plans_:
            if plan.name not in frame:
                raise ValueError(
                    f"There is no column '{plan.name}', which the model learned from. Give all its columns."
                )
            if plan.kind == "category":
                texts, missing = _texts(frame[plan.name])
                texts = np.where(missing, plan.fill, texts)
                parts += [(texts == level).astype(float) for level in plan.levels]
                names += [f"{plan.name}={level}" for level in plan.levels]
            else:
                values = _checked(frame[plan.name], plan)
                parts.append(np.where(np.isnan(values), plan.fill, values))
                names.append(str(plan.name))
        return np.column_stack(parts) if parts else np.empty((len(frame), 0)), names


def _frame(x: Columns) -> Frame:
    return x if isinstance(x, pd.DataFrame) else pd.DataFrame(np.asarray(x))


def _is_date(column: Series) -> bool:
    return bool(pd.api.types.is_datetime64_any_dtype(column))


def _is_number(column: Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column)) or _is_date(column)  # booleans are numeric to pandas


def _is_boolean(column: Series) -> bool:
    return bool(pd.api.types.is_bool_dtype(column))


def _checked(column: Series, plan: _Plan) -> Floats:
    """Return numbers; raises ValueError where none of the values that are there is of the kind the model learned."""
    values = _numbers(column, plan.kind)
    is_other = np.isnan(values).all() if not _is_number(column) else _is_date(column) != (plan.kind == "date")
    if is_other and column.notna().any():
        first = column[column.notna()].iloc[0]
        raise ValueError(
            f"The column '{plan.name}' was a {plan.kind} when the model learned, and now has others, as '{first}'."
        )
    return values


def _numbers(column: Series, kind: str) -> Floats:
    if kind == "date":
        days = pd.to_datetime(column, utc=True, errors="coerce").astype("datetime64[ns, UTC]")
        nanoseconds = days.astype("int64").to_numpy(dtype=float)
        return np.where(days.isna().to_numpy(), np.nan, nanoseconds / NANOSECONDS_PER_DAY)
    if kind == "boolean" and not _is_number(column):
        column = column.astype(str).str.lower().map(TRUTHS)
    values = pd.to_numeric(column, errors="coerce").to_numpy(dtype=float, na_value=np.nan)
    return np.where(np.isfinite(values), values, np.nan)


def _texts(column: Series) -> tuple[Texts, Bools]:
    """Return values as text, and which are missing."""
    missing = column.isna().to_numpy(dtype=bool)
    return np.array(["" if gone else str(one) for one, gone in zip(column, missing, strict=True)]), missing
