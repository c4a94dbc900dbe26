"""Write real data sets in many dialects, read them again, and list every difference with its cause.

`python -m benchmarks.dialects` (or `make dialects`) needs the reference data in ../shared, and R for R's own dialect.
Each of the 80 sets (the first 5,000 rows) is written as CSV in eight dialects, as ARFF and as Parquet, and compared
with the Parquet file that it came from: names, kinds, values, missing cells and, where the format can carry it, the
order of categories. A CSV file has no types, so that some columns must differ; the list says which, and why.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from assay.data.formats import read_table_file
from assay.data.infer import infer_table, labels_of
from assay.data.numbers import is_number_like
from assay.data.parse import NUMBER, is_boolean_pair
from assay.data.raw import TypedColumn
from assay.data.style import MISSING, MISSING_IN_LABELS, MISSING_IN_NUMBERS
from assay.data.table import Table, missing_mask
from assay.data.task import Column
from assay.errors import DataError

SHARED = Path(__file__).resolve().parents[2] / "shared"
MOST_ROWS = 5000
HERE = Path(__file__).resolve().parents[1]
LIST = HERE / "docs" / "data" / "dialects.json"

# Why a column of a file without types cannot be what it was. Anything else is a fault.
CAUSES = {
    "labels are numbers": "a CSV file has no types, so that labels which are all numbers are numbers",
    "labels are true and false": "a CSV file has no types, so that two labels such as yes and no are booleans",
    "label means missing": "a label is one of the markers of missing values",
    "labels are text": "the labels are too many or too long for a categorical column",
    "text is labels": "the strings are few enough for a categorical column",
    "mostly numbers": "nearly all labels are numbers; the file is refused until the column is declared categorical",
    "no booleans": "an ARFF file has no booleans, so that true and false are labels",
    "15 digits": "R writes 15 significant digits",
    "no order": "a CSV file declares no order of categories, so that they are sorted, and names only those that occur",
}


@dataclass(frozen=True)
class Difference:
    """One column that is not the same after it was written and read again."""

    dataset: str
    dialect: str
    column: str
    what: str
    cause: str


def main(arguments: list[str] | None = None) -> int:
    """Write, read and compare everything; return 1 if there is a difference without a known cause."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--only", nargs="*", default=[], help="data sets, by name")
    parser.add_argument("--write", action="store_true", help="write the list into the docs")
    options = parser.parse_args(arguments)
    paths = sorted((options.shared / "data" / "datasets").glob("*.parquet"))
    paths = [path for path in paths if not options.only or path.stem in options.only]
    if not paths:
        print(f"There are no data sets in {options.shared}.", file=sys.stderr)
        return 2
    differences: list[Difference] = []
    n_columns = 0
    for path in paths:
        with tempfile.TemporaryDirectory() as folder:
            table, found = compare_set(path, Path(folder))
        n_columns += len(table.columns)
        differences += found
        print(f"{path.stem:40} {len(table.columns):5} columns, {len(found):5} differences", flush=True)
    show(differences, len(paths), n_columns)
    if options.write:
        LIST.write_text(
            json.dumps(summary(differences, len(paths), n_columns), indent=1, ensure_ascii=False) + "\n"
        )
    return 1 if any(not item.cause for item in differences) else 0


def compare_set(path: Path, folder: Path) -> tuple[Table, list[Difference]]:
    """Return the table of one data set, and how its copies differ from it."""
    frame = pd.read_parquet(path).head(MOST_ROWS)
    copy = folder / "copy.parquet"
    frame.to_parquet(copy)
    table = infer_table(read_table_file(copy, path.name), {}, "")
    found: list[Difference] = []
    for number, (dialect, (ending, write)) in enumerate(DIALECTS.items()):
        file = folder / f"copy-{number}.{ending}"
        if not write(frame, table, file):
            continue
        again, refused = read_again(file, table)
        found += [Difference(path.stem, dialect, name, "refused", "mostly numbers") for name in refused]
        found += compare_tables(path.stem, dialect, table, again)
        file.unlink()
    return table, found


def read_again(file: Path, table: Table) -> tuple[Table, list[str]]:
    """Read a file; columns that are refused because nearly all of their labels are numbers are declared."""
    declared: dict[str, dict[str, str]] = {}
    while True:
        try:
            return infer_table(read_table_file(file, file.name), declared, ""), list(declared)
        except DataError as error:
            refused = re.match(r"Column '(.*)' of .* holds numbers, but row", str(error))
            if refused is None or refused[1] in declared or table.column(refused[1]).kind != "categorical":
                raise
            declared[refused[1]] = {"kind": "categorical"}


def compare_tables(dataset: str, dialect: str, table: Table, again: Table) -> Iterable[Difference]:
    """Yield the columns in which two tables differ."""
    names, others = [c.name for c in table.columns], [c.name for c in again.columns]
    if names != others:
        yield Difference(dataset, dialect, "", f"columns {names[:3]} … are {others[:3]} …", "")
        return
    for column in table.columns:
        other = again.column(column.name)
        pair = (column, table.arrays[column.name]), (other, again.arrays[column.name])
        what, cause = compare_columns(*pair, typed=dialect in TYPED, dialect=dialect)
        if what:
            yield Difference(dataset, dialect, column.name, what, cause)


def compare_columns(
    left: tuple[Column, Any], right: tuple[Column, Any], typed: bool, dialect: str
) -> tuple[str, str]:
    """Return what differs and why; two empty words if nothing does."""
    (column, values), (other, others) = left, right
    texts, other_texts = as_texts(column, values), as_texts(other, others)
    if column.kind != other.kind:
        return f"{column.kind} is {other.kind}", cause_of_kind(column, other, texts, other_texts, typed)
    if len(texts) != len(other_texts):
        return f"{len(texts)} rows are {len(other_texts)}", ""
    if column.kind == "numeric" and dialect == "R's write.csv":
        same = np.array_equal(values, others, equal_nan=True)
        close = np.allclose(values, others, rtol=1e-14, atol=0, equal_nan=True)
        return ("", "") if same else ("values", "15 digits" if close else "")
    different = np.flatnonzero(texts != other_texts)
    if len(different):
        row = different[0]
        lost = {texts[at] for at in different}
        cause = "label means missing" if not typed and all(is_marker(text) for text in lost) else ""
        return f"row {row + 1}: {texts[row]!r} is {other_texts[row]!r}", cause
    if column.categories != other.categories:
        return "order of categories", "" if typed else "no order"
    return "", ""


def cause_of_kind(column: Column, other: Column, texts: Any, other_texts: Any, typed: bool) -> str:
    """Return why a column became one of another kind, if its values are still the same."""
    if typed:
        return "no booleans" if (column.kind, other.kind) == ("boolean", "categorical") else ""
    labels = set(texts[texts != MISSING_CELL])
    values = {label for label in labels if not is_marker(label)}
    pair = (column.kind, other.kind)
    gone = np.array([is_marker(text) for text in texts])
    if pair == ("categorical", "numeric") and all(NUMBER.match(v) or is_number_like(v) for v in values):
        same = [g or float(a) == float(b) for a, b, g in zip(texts, other_texts, gone, strict=True)]
        return "labels are numbers" if all(same) and all(other_texts[gone] == MISSING_CELL) else ""
    if pair == ("categorical", "boolean") and is_boolean_pair(values):
        return "labels are true and false"
    same_texts = np.array_equal(texts[~gone], other_texts[~gone])
    if pair == ("categorical", "text") and same_texts:
        return "labels are text"
    return "text is labels" if pair == ("text", "categorical") and same_texts else ""


MISSING_CELL = "\0missing"


def is_marker(text: str) -> bool:
    """Return whether a cell of a CSV file may mean that nothing is known."""
    return text == MISSING_CELL or text.strip() in MISSING | MISSING_IN_NUMBERS | MISSING_IN_LABELS


def as_texts(column: Column, values: Any) -> Any:
    """Return the cells of a column as text, so that columns of different kinds can be compared."""
    if column.kind == "text":
        return np.array([MISSING_CELL if value is None else value for value in values], dtype=object)
    labels, codes = labels_of(TypedColumn(column, values))
    cells = np.array([*labels, MISSING_CELL], dtype=object)[codes]
    assert ((cells == MISSING_CELL) == missing_mask(column, values)).all()
    return cells


def show(differences: list[Difference], n_sets: int, n_columns: int) -> None:
    """Print how many columns differ in which dialect and why, and those without a known cause in full."""
    print(f"\n{n_sets} data sets, {n_columns} columns in each of {len(DIALECTS)} dialects")
    for dialect in DIALECTS:
        causes = Counter(item.cause or "FAULT" for item in differences if item.dialect == dialect)
        print(
            f"{dialect:28}"
            + (", ".join(f"{count} {cause}" for cause, count in causes.items()) or "no difference")
        )
    for item in differences:
        if not item.cause:
            print("fault:", item)


def summary(differences: list[Difference], n_sets: int, n_columns: int) -> dict[str, Any]:
    """Return the list for the docs; dialects in which a column differs in the same way share an entry."""
    entries: dict[tuple[str, ...], list[str]] = {}
    for item in differences:
        what = "values" if item.what.startswith("row ") else item.what
        entries.setdefault((item.dataset, item.column, what, item.cause), []).append(item.dialect)
    listed = [
        {"dataset": dataset, "column": column, "what": what, "cause": cause, "dialects": dialects}
        for (dataset, column, what, cause), dialects in entries.items()
    ]
    # One entry for all columns of a data set that differ for one reason in the same dialects.
    grouped: dict[tuple[str, ...], list[str]] = {}
    for entry in listed:
        key = (entry["dataset"], entry["what"], entry["cause"], "|".join(entry["dialects"]))
        grouped.setdefault(key, []).append(entry["column"])
    return {
        "sets": n_sets,
        "columns": n_columns,
        "dialects": list(DIALECTS),
        "causes": CAUSES,
        "faults": [asdict(item) for item in differences if not item.cause],
        "differences": [
            {
                "dataset": dataset,
                "what": what,
                "cause": cause,
                "dialects": dialects.split("|"),
                "columns": columns,
            }
            for (dataset, what, cause, dialects), columns in grouped.items()
        ],
    }


# Writers: frame and table to file; False where the dialect cannot be written on this machine.


def write_pandas(**options: Any) -> Callable[[Any, Table, Path], bool]:
    """Return a writer by pandas."""

    def write(frame: Any, table: Table, path: Path) -> bool:
        frame.to_csv(path, **options)
        return True

    return write


def write_spreadsheet(frame: Any, table: Table, path: Path) -> bool:
    """Write as a spreadsheet in Germany does: mark, semicolons, commas, TRUE and FALSE, spare columns and rows."""
    columns = [as_texts(column, table.arrays[column.name]) for column in table.columns]
    texts = [_german(column, cells) for column, cells in zip(table.columns, columns, strict=True)]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file, delimiter=";", lineterminator="\r\n")
        writer.writerow([*(column.name for column in table.columns), ""])
        for row in zip(*texts, strict=True):
            writer.writerow([*row, ""])
        writer.writerow([""] * (len(texts) + 1))
    return True


def _german(column: Column, cells: Any) -> list[str]:
    out = ["" if cell == MISSING_CELL else str(cell) for cell in cells]
    if column.kind == "numeric":
        return [cell.replace(".", ",") for cell in out]
    return [cell.upper() for cell in out] if column.kind == "boolean" else out


def write_quoted(frame: Any, table: Table, path: Path) -> bool:
    """Write with every field in quotes, in Latin-1 where that is possible."""
    frame.to_csv(path, index=False, quoting=csv.QUOTE_ALL)
    try:
        path.write_bytes(path.read_text(encoding="utf-8").encode("latin-1"))
    except UnicodeEncodeError:
        pass
    return True


def write_r(frame: Any, table: Table, path: Path) -> bool:
    """Let R read the table and write it with `write.csv`."""
    if shutil.which("Rscript") is None:
        return False
    plain = path.with_suffix(".plain.csv")
    frame.to_csv(plain, index=False, na_rep="<absent>")
    kinds = ",".join(
        f'"{"numeric" if column.kind == "numeric" else "character"}"' for column in table.columns
    )
    code = (
        f'd <- read.csv("{plain}", colClasses=c({kinds}), na.strings="<absent>", check.names=FALSE, '
        f'encoding="UTF-8"); write.csv(d, "{path}", fileEncoding="UTF-8")'
    )
    script = path.with_suffix(".R")
    script.write_text(code)
    subprocess.run(["Rscript", str(script)], check=True, capture_output=True, timeout=600)
    return True


def write_arff(frame: Any, table: Table, path: Path) -> bool:
    """Write with nominal attributes in the order of their categories."""

    def quoted(text: str) -> str:
        return (
            "'"
            + text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")
            + "'"
        )

    columns = []
    with path.open("w", encoding="utf-8") as file:
        file.write("@relation copy\n")
        for column in table.columns:
            labels = column.categories if column.kind == "categorical" else ("False", "True")
            kinds = {"numeric": "numeric", "text": "string", "date": "date"}
            kind = kinds.get(column.kind) or "{" + ",".join(map(quoted, labels)) + "}"
            file.write(f"@attribute {quoted(column.name)} {kind}\n")
            cells = as_texts(column, table.arrays[column.name])
            write = str if column.kind == "numeric" else quoted
            columns.append(["?" if cell == MISSING_CELL else write(cell) for cell in cells])
        file.write("@data\n")
        file.writelines(",".join(row) + "\n" for row in zip(*columns, strict=True))
    return True


def write_parquet(frame: Any, table: Table, path: Path) -> bool:
    """Write in several row groups, so that dictionaries have to be joined."""
    frame.to_parquet(path, row_group_size=700)
    return True


DIALECTS: dict[str, tuple[str, Callable[[Any, Table, Path], bool]]] = {
    "semicolon, decimal comma": ("csv", write_pandas(sep=";", decimal=",", index=False)),
    "tab": ("csv", write_pandas(sep="\t", index=False)),
    "bar": ("csv", write_pandas(sep="|", index=False)),
    "pandas default": ("csv", write_pandas()),
    "n/a for missing": ("csv", write_pandas(index=False, na_rep="n/a")),
    "R's write.csv": ("csv", write_r),
    "spreadsheet": ("csv", write_spreadsheet),
    "everything quoted": ("csv", write_quoted),
    "ARFF": ("arff", write_arff),
    "Parquet": ("parquet", write_parquet),
}
TYPED = ("ARFF", "Parquet")

if __name__ == "__main__":
    sys.exit(main())
