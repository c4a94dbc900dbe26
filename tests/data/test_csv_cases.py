"""Every row of the tables in docs/howto/csv-files.md is true."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.data.csv_options import CsvOptions
from assay.data.formats import read_table_file
from assay.data.infer import infer_table
from assay.data.style import MISSING, MISSING_IN_LABELS, MISSING_IN_NUMBERS
from assay.data.table import Table, missing_mask
from assay.errors import DataError

Write = Callable[..., Path]
PAGE = (Path(__file__).parents[2] / "docs/howto/csv-files.md").read_text(encoding="utf-8")
CODE = re.compile(r"`([^`]+)`")


def rows_of(heading: str) -> list[list[str]]:
    """Return the cells of the table whose header begins so."""
    lines = PAGE.split(f"\n| {heading} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    return [
        [cell.replace("\\|", "|").strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
    ]


VALUES, FILES, OPTIONS = rows_of("values"), rows_of("file"), rows_of("key")


def write_column(path: Path, values: list[str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x", "label"])
        writer.writerows([value, "abc"[row % 3]] for row, value in enumerate(values))
    return path


def read(path: Path, target: str = "label", **options: Any) -> Table:
    return infer_table(read_table_file(path, path.name, CsvOptions(**options)), {}, target)


def shown(table: Table, name: str) -> list[str]:
    """Return the values of a column as the page writes them."""
    column, values = table.column(name), table.arrays[name]
    if column.kind == "categorical":
        texts = [column.categories[code] for code in values]
    elif column.kind == "date":
        texts = [
            str(np.datetime64(int(value), "ns").astype("datetime64[m]")).removesuffix("T00:00")
            for value in values
        ]
    else:
        texts = [f"{value:.12g}" if isinstance(value, float) else str(value) for value in values.tolist()]
    gone = missing_mask(column, values)
    return ["?" if missing else text for text, missing in zip(texts, gone, strict=True)]


@pytest.mark.parametrize(("values", "becomes"), [row[:2] for row in VALUES], ids=[row[0] for row in VALUES])
def test_column_is_read_as_the_page_says(tmp_path: Path, values: str, becomes: str) -> None:
    path = write_column(tmp_path / "a.csv", CODE.findall(values))
    if becomes.startswith("refused"):
        option = CODE.findall(becomes)[0]
        wanted = f'csv={{"{option}": ' if option in CsvOptions.model_fields else "'kind: categorical'"
        with pytest.raises(DataError, match=re.escape(wanted)):
            read(path)
        return
    table = read(path)
    assert table.column("x").kind == becomes.split()[0]
    assert shown(table, "x") == CODE.findall(becomes)


@pytest.mark.parametrize(("content", "columns"), [row[:2] for row in FILES], ids=[row[0] for row in FILES])
def test_file_is_read_as_the_page_says(tmp_path: Path, content: str, columns: str) -> None:
    path = tmp_path / "a.csv"
    text = CODE.findall(content)[0].replace("⏎", "\n").replace("→", "\t")
    path.write_text(text + "\n", encoding="utf-8")
    if columns.startswith("refused"):
        with pytest.raises(DataError, match=f'csv={{"{CODE.findall(columns)[0]}": '):
            read(path, target="")
        return
    table = read(path, target="")
    assert ", ".join(f"`{column.name}` {column.kind}" for column in table.columns) == columns


@pytest.mark.parametrize(
    "values",
    [CODE.findall(row[0]) for row in VALUES if row[1] == "refused `decimal`"],
)
def test_decimal_option_decides_what_is_open(tmp_path: Path, values: list[str]) -> None:
    path = write_column(tmp_path / "a.csv", values)
    assert read(path, decimal="comma").arrays["x"][0] == pytest.approx(1.234)
    assert read(path, decimal="point").arrays["x"][0] == 1234


@pytest.mark.parametrize(
    ("order", "day"), [("dmy", "2003-02-01"), ("mdy", "2003-01-02"), ("ymd", "2001-02-03")]
)
def test_dates_option_decides_what_is_open(tmp_path: Path, order: str, day: str) -> None:
    path = write_column(tmp_path / "a.csv", ["01/02/03", "04/05/06"])
    assert shown(read(path, dates=order), "x")[0] == day


def test_one_column_decides_for_the_others(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x;n;d;e\n1,5;1,234;01/02/2024;25/12/2024\n2,5;5,678;03/04/2024;01/01/2024\n")
    table = read(path, target="")
    assert table.arrays["n"].tolist() == [1.234, 5.678]
    assert shown(table, "d") == ["2024-02-01", "2024-04-03"]


def test_columns_that_contradict_each_other_decide_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x;n;y\n1,5;1,234;1.5\n2,5;5,678;2.5\n")
    with pytest.raises(DataError, match=re.escape('csv={"decimal": "comma"}')):
        read(path, target="")


def test_thousands_are_not_marked_beside_long_numbers_without_a_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x;n\n1,5;1.234\n2,5;1500\n")
    with pytest.raises(DataError, match=r"""Column 'n'.*csv=\{"decimal": "point"\}"""):
        read(path, target="")


def test_option_that_the_values_contradict_is_refused(tmp_path: Path) -> None:
    path = write_column(tmp_path / "a.csv", ["1.5", "2.5"])
    with pytest.raises(DataError, match=r"row 1: '1\.5' is not a number with a decimal comma"):
        read(path, decimal="comma")
    path = write_column(tmp_path / "b.csv", ["17/05/2024", "18/05/2024"])
    with pytest.raises(DataError, match="cannot be read in the order mdy"):
        read(path, dates="mdy")


def test_a_few_dates_that_are_none_are_refused_with_the_row(tmp_path: Path) -> None:
    values = [f"2024-05-{day:02d}" for day in range(1, 21)] + ["9999-12-31"]
    with pytest.raises(DataError, match="holds dates, but row 21 has '9999-12-31'"):
        read(write_column(tmp_path / "a.csv", values))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "utf-32"])
def test_text_is_read_in_its_own_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("größe;y\n1,5;ä\n2,5;é\n".encode(encoding))
    table = read(path, target="y")
    assert [column.name for column in table.columns] == ["größe", "y"]
    assert table.column("y").categories == ("ä", "é")
    assert any("encoding" in note for note in table.notes) == (encoding != "utf-8-sig")


def test_encoding_option_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes("x,y\n1,да\n2,нет\n".encode("cp1251"))
    assert read(path, target="y", encoding="cp1251").column("y").categories == ("да", "нет")


def test_missing_option_replaces_the_usual_markers(tmp_path: Path) -> None:
    path = write_column(tmp_path / "a.csv", ["NA", "none", "b", "-9"])
    table = read(path, missing="none,-9")
    assert table.column("x").categories == ("NA", "b")
    assert shown(table, "x") == ["NA", "?", "b", "?"]


def test_header_option_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("2019,2020\n5,6\n8,9\n")
    assert [column.name for column in read(path, target="", header=True).columns] == ["2019", "2020"]
    assert read(path, target="", header=False).n_rows == 3


def test_index_option_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",x\na,1\na,2\n")
    assert [column.name for column in read(path, target="", index="keep").columns] == ["index", "x"]
    assert [column.name for column in read(path, target="", index="drop").columns] == ["x"]


def test_usual_files_have_no_notes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("x,when,y\n1.5,2024-05-17,a\n,,b\nNA,2024-05-18,a\n")
    assert read(path, target="y").notes == ()


def test_page_names_every_option_and_every_marker() -> None:
    assert [CODE.findall(row[0])[0] for row in OPTIONS] == list(CsvOptions.model_fields)
    everywhere, among_numbers, among_labels = (row[1] for row in rows_of("where"))
    assert set(CODE.findall(everywhere)) == MISSING - {""}
    words = set(CODE.findall(among_numbers))
    assert words | {
        change(word) for word in ("missing", "unknown") for change in (str.capitalize, str.upper)
    } == (MISSING_IN_NUMBERS)
    assert {word for word in CODE.findall(among_labels) if word != "+"} == MISSING_IN_LABELS


@pytest.mark.parametrize(
    "values", [["12345678901234567890", "2"], ["1,234", "5,678"], ["01/02/03", "04/05/06"], ["inf", "1"]]
)
def test_an_ignored_column_stops_nothing(tmp_path: Path, values: list[str]) -> None:
    raw = read_table_file(write_column(tmp_path / "a.csv", values), "a.csv")
    with pytest.raises(DataError):
        infer_table(raw, {}, "label")
    table = infer_table(raw, {"x": {"role": "ignore"}}, "label")
    assert table.arrays["x"].tolist() == values


@pytest.mark.parametrize("first", ["²,³", "٣,٤", "9" * 5000 + ",1"])
def test_odd_digits_in_the_first_row_are_no_accident(tmp_path: Path, first: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{first}\n1,2\n3,4\n", encoding="utf-8")
    raw = read_table_file(path, "a.csv")
    assert raw.n_rows == (3 if first[0] == "9" else 2)


def test_a_name_may_be_a_label_of_another_column(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("shape,red,size\n" + "round,red,big\nflat,blue,small\n" * 5)
    assert [column.name for column in read(path, target="").columns] == ["shape", "red", "size"]
