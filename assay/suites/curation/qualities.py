"""OpenML's data qualities under OpenML's names and definitions: the 62 that need no learner.

The target counts as a feature everywhere but among the entropies. Counts are over all columns of the data set,
everything else over the columns that are used, which is how OpenML's published values come about. What has no value for
a task, such as class sizes in regression, is None.

The 45 landmarkers are left out: they depend on WEKA's learners, and published values that should differ often do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.data.table import Array, Table, missing_mask
from assay.data.task import Column

if TYPE_CHECKING:
    from assay.typing import Floats, Ints

__all__ = ["SCOPES", "Scope", "compute_qualities"]

Scope = Literal["all", "used"]
Values = dict[str, float | None]

NOMINAL = ("categorical", "boolean")
ROUNDED_TO = 14  # decimals of mutual information: what is independent is zero, not a rounding error
COUNTED = (
    "MissingValues",
    "InstancesWithMissingValues",
    "NumericFeatures",
    "SymbolicFeatures",
    "BinaryFeatures",
)
MOMENTS = ("Means", "StdDev", "Kurtosis", "Skewness")
SPREAD = ("Mean", "Min", "Max", "Quartile1", "Quartile2", "Quartile3")
QUARTILES = {"Quartile1": 0.25, "Quartile2": 0.5, "Quartile3": 0.75}


@dataclass(frozen=True, eq=False)
class Codes:
    """The values of a nominal column as codes; a missing one is counted as the first declared category, as in OpenML.

    Attributes:
        values: a code per row.
        n_categories: how many categories are declared.
        n_observed: how many of them occur.
    """

    values: Ints
    n_categories: int
    n_observed: int


def compute_qualities(table: Table, target: str) -> Values:
    """Return the qualities of a data set with this target, by OpenML's names.

    Columns with another role than feature or target are in the counts only.
    """
    used = [
        column for column in table.columns if column.role in ("feature", "target") or column.name == target
    ]
    codes = {
        column.name: _codes(column, table.arrays[column.name]) for column in used if column.kind in NOMINAL
    }
    return {
        **_counts(table, target),
        **_class_sizes(codes.get(target)),
        "AutoCorrelation": _auto_correlation(table, target),
        **_moments([table.arrays[column.name] for column in used if column.kind == "numeric"]),
        **_distinct_values([one.n_observed for one in codes.values()]),
        **_entropies([one for name, one in codes.items() if name != target], codes.get(target)),
    }


def _codes(column: Column, values: Array) -> Codes:
    present = values[values >= 0]
    n_categories = 2 if column.kind == "boolean" else len(column.categories)
    return Codes(np.maximum(values, 0).astype(np.int64), n_categories, len(np.unique(present)))


def _counts(table: Table, target: str) -> Values:
    n_rows, n_features = table.n_rows, len(table.columns)
    has_gap, n_missing = np.zeros(n_rows, dtype=bool), 0
    for column in table.columns:
        mask = missing_mask(column, table.arrays[column.name])
        has_gap |= mask
        n_missing += int(mask.sum())
    kinds = [column.kind for column in table.columns]
    found = {
        "MissingValues": n_missing,
        "InstancesWithMissingValues": int(has_gap.sum()),
        "NumericFeatures": kinds.count("numeric"),
        "SymbolicFeatures": sum(kind in NOMINAL for kind in kinds),
        "BinaryFeatures": sum(_is_binary(column) for column in table.columns),
    }
    of = dict.fromkeys(COUNTED, n_features) | {
        "MissingValues": n_rows * n_features,
        "InstancesWithMissingValues": n_rows,
    }
    labels = table.arrays[target]
    is_nominal = table.column(target).kind in NOMINAL
    return {
        "NumberOfInstances": n_rows,
        "NumberOfFeatures": n_features,
        "NumberOfClasses": len(np.unique(labels[labels >= 0])) if is_nominal else 0,
        **{f"NumberOf{name}": count for name, count in found.items()},
        **{
            f"PercentageOf{name}": 100 * count / of[name] if of[name] else None
            for name, count in found.items()
        },
        "Dimensionality": n_features / n_rows if n_rows else None,
    }


def _is_binary(column: Column) -> bool:
    return column.kind == "boolean" or (column.kind == "categorical" and len(column.categories) == 2)


def _class_sizes(target: Codes | None) -> Values:
    """Return the sizes of the largest and the smallest class that occurs."""
    sizes = np.bincount(target.values) if target is not None and len(target.values) else np.zeros(0)
    sizes = sizes[sizes > 0]
    if not len(sizes):
        names = (
            f"{which}Class{what}" for which in ("Majority", "Minority") for what in ("Size", "Percentage")
        )
        return dict.fromkeys(names)
    found: Values = {}
    for which, size in (("Majority", sizes.max()), ("Minority", sizes.min())):
        found |= {
            f"{which}ClassSize": int(size),
            f"{which}ClassPercentage": 100 * float(size) / float(sizes.sum()),
        }
    return found


def _auto_correlation(table: Table, target: str) -> float | None:
    """Return one less the mean difference between the targets of rows that follow each other; classes differ by 1."""
    values, n_rows = table.arrays[target], table.n_rows
    kind = table.column(target).kind
    if n_rows < 2 or kind not in (*NOMINAL, "numeric"):
        return None
    if kind == "numeric":
        return 1 - float(np.abs(np.diff(values)).sum()) / (n_rows - 1)
    return 1 - float(np.count_nonzero(np.diff(values))) / (n_rows - 1)


def _spread(what: str, values: Sequence[float]) -> Values:
    """Return mean, ends and quartiles; the quartiles lie at p(n + 1), between the two values nearest to it."""
    if not len(values):
        return {f"{name}{what}": None for name in SPREAD}
    array = np.asarray(values, dtype=np.float64)
    found: Values = {"Mean": float(array.mean()), "Min": float(array.min()), "Max": float(array.max())}
    found |= {name: float(np.quantile(array, p, method="weibull")) for name, p in QUARTILES.items()}
    return {f"{name}{what}": found[name] for name in SPREAD}


def _moments(columns: Iterable[Array]) -> Values:
    """Return how the four moments of numeric columns are spread; those of a constant column end at the second."""
    known: Mapping[str, list[float]] = {name: [] for name in MOMENTS}
    for values in columns:
        for name, value in zip(MOMENTS, _four_moments(values[~np.isnan(values)]), strict=True):
            if value is not None:
                known[name].append(value)
    spreads = (_spread(f"{name}OfNumericAtts", found) for name, found in known.items())
    return {name: value for spread in spreads for name, value in spread.items()}


def _four_moments(x: Floats) -> tuple[float | None, float | None, float | None, float | None]:
    """Return mean, standard deviation (n − 1), excess kurtosis and skewness, the last two corrected for bias."""
    n = len(x)
    if n == 0:
        return None, None, None, None
    mean = float(x.mean())
    if n == 1:
        return mean, None, None, None
    if x.min() == x.max():
        return mean, 0.0, None, None
    away = x - mean
    square = away * away
    m2 = float(square.sum())
    deviation = float(np.sqrt(m2 / (n - 1)))
    kurtosis = skewness = None
    if n > 2:
        m3 = float((square * away).sum())
        skewness = n * np.sqrt(n - 1) / (n - 2) * m3 / m2**1.5
    if n > 3:
        m4 = float((square * square).sum())
        kurtosis = (n + 1) * n * (n - 1) / ((n - 2) * (n - 3)) * m4 / m2**2
        kurtosis -= 3 * (n - 1) ** 2 / ((n - 2) * (n - 3))
    return mean, deviation, kurtosis, skewness


def _distinct_values(counts: Sequence[int]) -> Values:
    """Return how many values nominal columns have, the target's included."""
    array = np.asarray(counts, dtype=np.float64)
    found: Values = dict.fromkeys(("Max", "Min", "Mean", "Stdv"))
    if len(array):
        found = {"Max": float(array.max()), "Min": float(array.min()), "Mean": float(array.mean())}
        found["Stdv"] = float(array.std(ddof=1)) if len(array) > 1 else 0.0
    return {f"{name}NominalAttDistinctValues": value for name, value in found.items()}


def _entropies(features: Sequence[Codes], target: Codes | None) -> Values:
    """Return entropies in bits, of the target, of nominal features, and what these tell of the target."""
    own, told = [], []
    class_entropy = None
    if target is not None:
        class_entropy = _entropy(np.bincount(target.values))
        for feature in features:
            own.append(_entropy(np.bincount(feature.values)))
            together = np.bincount(feature.values * target.n_categories + target.values)
            told.append(round(own[-1] + class_entropy - _entropy(together), ROUNDED_TO))
    mean_own, mean_told = (float(np.mean(values)) if values else None for values in (own, told))
    ratio = noise = None
    if class_entropy is not None and mean_own is not None and mean_told:
        ratio, noise = class_entropy / mean_told, (mean_own - mean_told) / mean_told
    return {
        "ClassEntropy": class_entropy,
        **_spread("AttributeEntropy", own),
        **_spread("MutualInformation", told),
        "EquivalentNumberOfAtts": ratio,
        "MeanNoiseToSignalRatio": noise,
    }


def _entropy(counts: Ints) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _scopes() -> Mapping[str, Scope]:
    table = Table((Column("y", "categorical", "target", ("a", "b")),), {"y": np.zeros(1, dtype=np.int32)})
    counts = {*_counts(table, "y")}
    return {name: "all" if name in counts else "used" for name in compute_qualities(table, "y")}


SCOPES = _scopes()  # which columns a quality is computed from, by its name
