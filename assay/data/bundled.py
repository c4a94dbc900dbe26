"""The tables that scikit-learn ships as files; read without importing it.

They sit in many environments, so a framework may have seen them: good for a demonstration and for tests.
"""

from __future__ import annotations

import csv
import gzip
import importlib.util
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from assay.data.raw import RawTable, StringColumn
from assay.data.source import Loaded
from assay.data.task import TaskRequest
from assay.errors import ConfigError, NotInstalled
from assay.plugins import suggest
from assay.settings import Settings
from assay.vocabulary import TaskType

__all__ = ["BUNDLED", "BundledSource"]

_CELL = (
    *("radius", "texture", "perimeter", "area", "smoothness", "compactness", "concavity", "concave points"),
    *("symmetry", "fractal dimension"),
)
_BREAST = (
    *(f"mean {name}" for name in _CELL),
    *(f"{name} error" for name in _CELL),
    *(f"worst {name}" for name in _CELL),
)
_WINE = (
    *("alcohol", "malic_acid", "ash", "alcalinity_of_ash", "magnesium", "total_phenols", "flavanoids"),
    *("nonflavanoid_phenols", "proanthocyanins", "color_intensity", "hue", "od280/od315_of_diluted_wines"),
    "proline",
)
_IRIS = tuple(f"{part} {side} (cm)" for part in ("sepal", "petal") for side in ("length", "width"))
_DIGITS = tuple(f"pixel_{row}_{column}" for row in range(8) for column in range(8))


@dataclass(frozen=True)
class BundledTable:
    """One table: its files, the names of its columns, and how a line of the header is to be read.

    `labelled` files begin with `rows,features,label0,label1,…` and end each row with the number of a label.
    Several files stand beside each other, with the same rows; `delimiter` None means blanks.
    """

    files: tuple[str, ...]
    names: tuple[str, ...]
    target: str
    type: TaskType
    labelled: bool = False
    has_header: bool = False
    delimiter: str | None = ","
    origin: str = ""
    columns: Mapping[str, Mapping[str, object]] = field(default_factory=dict)


_UCI = "UCI Machine Learning Repository, as packaged by scikit-learn"
BUNDLED: Mapping[str, BundledTable] = {
    "breast_cancer": BundledTable(
        ("breast_cancer.csv",), (*_BREAST, "diagnosis"), "diagnosis", "binary", labelled=True, origin=_UCI
    ),
    "diabetes": BundledTable(
        ("diabetes_data_raw.csv.gz", "diabetes_target.csv.gz"),
        ("age", "sex", "bmi", "bp", "s1", "s2", "s3", "s4", "s5", "s6", "progression"),
        "progression",
        "regression",
        delimiter=None,
        origin="Efron et al. (2004), Least Angle Regression, as packaged by scikit-learn",
        columns={"sex": {"kind": "categorical"}},
    ),
    "digits": BundledTable(
        ("digits.csv.gz",),
        (*_DIGITS, "digit"),
        "digit",
        "multiclass",
        origin=_UCI,
        columns={"digit": {"kind": "categorical"}},
    ),
    "iris": BundledTable(
        ("iris.csv",), (*_IRIS, "species"), "species", "multiclass", labelled=True, origin=_UCI
    ),
    "linnerud": BundledTable(
        ("linnerud_exercise.csv", "linnerud_physiological.csv"),
        ("Chins", "Situps", "Jumps", "Weight", "Waist", "Pulse"),
        "Weight",
        "regression",
        has_header=True,
        delimiter=None,
        origin="Tenenhaus (1998), as packaged by scikit-learn",
        columns={"Waist": {"role": "ignore"}, "Pulse": {"role": "ignore"}},
    ),
    "wine": BundledTable(
        ("wine_data.csv",), (*_WINE, "cultivar"), "cultivar", "multiclass", labelled=True, origin=_UCI
    ),
}


class BundledSource:
    """The source `bundled/NAME`."""

    def list(self) -> tuple[str, ...]:
        """Return all bundled references."""
        return tuple(f"bundled/{name}" for name in BUNDLED)

    def load(self, request: TaskRequest, settings: Settings) -> Loaded:
        """Read one bundled table."""
        name = request.ref.removeprefix("bundled/")
        if name not in BUNDLED:
            place = f" {request.where}" if request.where else ""
            raise ConfigError(f"Unknown bundled table '{name}'{place}. {suggest(name, BUNDLED)}")
        table = BUNDLED[name]
        paths = tuple(_data_folder() / file for file in table.files)
        other_target = bool(request.target) and request.target != table.target
        return Loaded(
            raw=_read(table, paths, request.ref),
            name=name,
            id=request.ref,
            target=table.target,
            type=None if other_target else table.type,
            columns=table.columns,
            licence="CC BY 4.0" if table.origin == _UCI else "",
            origin=table.origin,
            files=paths,
        )


def _data_folder() -> Path:
    spec = importlib.util.find_spec("sklearn")
    if spec is None or spec.origin is None:
        raise NotInstalled(
            "The bundled tables are part of scikit-learn. Install it: pip install scikit-learn"
        )
    return Path(spec.origin).parent / "datasets" / "data"


def _read(table: BundledTable, paths: tuple[Path, ...], source: str) -> RawTable:
    import pyarrow as pa

    parts = [list(_rows(path, table.delimiter)) for path in paths]
    labels: list[str] = []
    if table.labelled:
        labels = parts[0][0][2:]
    if table.labelled or table.has_header:
        parts = [rows[1:] for rows in parts]
    rows = [[value for piece in pieces for value in piece] for pieces in zip(*parts, strict=True)]
    if labels:
        rows = [[*row[:-1], labels[int(row[-1])]] for row in rows]
    columns = tuple(
        StringColumn(name, (pa.array(values, type=pa.large_string()),), True)
        for name, values in zip(table.names, zip(*rows, strict=True), strict=True)
    )
    return RawTable(source, columns, len(rows))


def _rows(path: Path, delimiter: str | None) -> Iterator[list[str]]:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8")
    if delimiter is None:
        return (line.split() for line in text.splitlines() if line.strip())
    return csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
