from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.data.arff_header import unquoted_fields
from assay.data.formats import format_of, is_archive, read_table_file, stem_of
from assay.data.infer import infer_table
from assay.data.table import MISSING_DATE, Table
from assay.errors import DataError

Write = Callable[..., Path]


def read(path: Path) -> Table:
    return infer_table(read_table_file(path, path.name), {}, "")


@pytest.mark.parametrize(
    ("name", "kind", "stem"),
    [("a.csv", "csv", "a"), ("A.B.CSV.GZ", "csv", "A.B"), ("x.pq", "pq", "x"), ("n.txt", "", "n.txt")],
)
def test_format_and_stem_come_from_the_name(name: str, kind: str, stem: str) -> None:
    assert format_of(name) == kind
    assert stem_of(name) == stem


def test_archives_are_told_by_name() -> None:
    assert all(is_archive(name) for name in ("a.zip", "a.tar.gz", "a.TGZ", "a.tbz"))
    assert not is_archive("a.csv.gz")
    assert stem_of("folds.tar.gz") == "folds"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_delimiter_of_a_csv_file_is_detected(write: Write, delimiter: str) -> None:
    table = read(write("a.csv", f"x{delimiter}y\n1{delimiter}a\n2{delimiter}b\n"))
    assert list(table.arrays) == ["x", "y"]


def test_delimiter_inside_quotes_does_not_count(write: Write) -> None:
    table = read(write("a.csv", '"a;b;c;d",y\n1,2\n'))
    assert list(table.arrays) == ["a;b;c;d", "y"]


def test_quoted_fields_may_hold_delimiters_quotes_and_line_ends(write: Write) -> None:
    table = read(write("a.csv", 'x,y\n"a,b\n""c""",1\nd,2\n'))
    assert table.columns[0].categories == ('a,b\n"c"', "d")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_is_understood_and_the_last_is_optional(write: Write, end: str) -> None:
    assert read(write("a.csv", f"x,y{end}1,2{end}3,4")).arrays["y"].tolist() == [2, 4]


def test_byte_order_mark_is_not_part_of_the_first_name(write: Write) -> None:
    assert list(read(write("a.csv", "\ufeffx,y\n1,2\n")).arrays) == ["x", "y"]


def test_empty_lines_are_skipped_but_missing_in_a_single_column(write: Write) -> None:
    assert read(write("a.csv", "x,y\n\n1,2\n\n3,4\n")).n_rows == 2
    assert read(write("b.csv", "x\n1\n\n3\n")).n_rows == 3


def test_many_rows_are_read_in_chunks_without_loss(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.data.read_delimited._ROWS_PER_CHUNK", 7)
    table = read(write("a.csv", "x,y\n" + "".join(f"{row},{row % 3}\n" for row in range(100))))
    assert table.arrays["x"].tolist() == list(range(100))


ARFF = r"""% a comment
@RELATION 'two words'

@attribute 'size in cm' REAL
@attribute count integer
@attribute "it's" {b, a, 'c d', "?", 50%}
@attribute note string
@attribute day date "yyyy-MM-dd"
@attribute odd date 'dd.MM.yyyy HH:mm'
@DATA
% another
1.5, 2, a, 'hello, world', 2024-02-29, '31.12.1999 23:30'
?, 3, 'c d', ?, ?, ?
-1e3,4,'?','a \'quote\' and \\',2024-03-01,'01.01.2000 00:00'
0 , 5 , ?, plain , 2024-03-02, '01.01.2000 00:00'
"""


def test_arff_is_read_as_declared(write: Write) -> None:
    table = read(write("a.arff", ARFF))
    kinds = {column.name: column.kind for column in table.columns}
    assert kinds == {
        "size in cm": "numeric",
        "count": "numeric",
        "it's": "categorical",
        "note": "categorical",
        "day": "date",
        "odd": "date",
    }
    assert table.column("it's").categories == ("b", "a", "c d", "?", "50%")
    assert table.arrays["it's"].tolist() == [1, 2, 3, -1]
    assert table.column("note").categories == ("a 'quote' and \\", "hello, world", "plain")
    assert table.arrays["size in cm"][0] == 1.5
    assert np.isnan(table.arrays["size in cm"][1])
    assert table.arrays["day"][1] == MISSING_DATE
    assert str(np.datetime64(int(table.arrays["odd"][0]), "ns"))[:16] == "1999-12-31T23:30"


def test_sparse_rows_hold_zero_and_the_first_label_where_nothing_stands(write: Write) -> None:
    text = "@relation s\n@attribute a numeric\n@attribute b {u,v}\n@attribute c numeric\n@data\n"
    table = read(write("a.arff", text + "{0 1, 2 5}\n{1 v}\n{ 1 'v' , 2 ? }\n{}\n"))
    assert table.arrays["a"].tolist() == [1, 0, 0, 0]
    assert table.arrays["b"].tolist() == [0, 1, 1, 0]
    assert np.isnan(table.arrays["c"][2])


def test_labels_that_no_row_has_stay_in_their_declared_place(write: Write) -> None:
    table = read(write("a.arff", "@relation r\n@attribute c {z,y,x}\n@data\nx\nz\n"))
    assert table.columns[0].categories == ("z", "y", "x")


def test_arff_is_read_in_chunks_without_loss(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.data.read_arff._CELLS_PER_CHUNK", 1)
    rows = "".join(f"{row}\n" for row in range(250))
    assert read(write("a.arff", f"@relation r\n@attribute x real\n@data\n{rows}")).arrays[
        "x"
    ].tolist() == list(range(250))


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ("a,b", ["a", "b"]),
        ("a,,b", ["a", "", "b"]),
        ("a,", ["a", ""]),
        ("?,'?'", [None, "?"]),
        (r"'x\ty','\u00fc'", ["x\ty", "ü"]),
        ("'a,b' , c", ["a,b", "c"]),
    ],
)
def test_row_is_split_at_commas_outside_quotes(row: str, fields: list[str | None]) -> None:
    assert unquoted_fields(row, "here") == fields


def parquet(write: Write, **columns: Any) -> Path:
    path: Path = write("a.parquet", b"")
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_types_decide_the_kinds(write: Write) -> None:
    table = read(
        parquet(
            write,
            i=pa.array([1, None], pa.int8()),
            u=pa.array([1, 2], pa.uint64()),
            f=pa.array([1.5, None], pa.float32()),
            dec=pa.array([decimal.Decimal("1.25"), None]),
            b=pa.array([True, None]),
            s=pa.array(["12", None]),
            c=pa.array(["b", None]).dictionary_encode(),
            day=pa.array([datetime.date(1970, 1, 2), None]),
            us=pa.array([1, None], pa.timestamp("us")),
            nothing=pa.array([None, None], pa.null()),
        )
    )
    assert {column.name: column.kind for column in table.columns} == {
        "i": "numeric",
        "u": "numeric",
        "f": "numeric",
        "dec": "numeric",
        "b": "boolean",
        "s": "categorical",
        "c": "categorical",
        "day": "date",
        "us": "date",
        "nothing": "numeric",
    }
    assert table.arrays["dec"][0] == 1.25
    assert table.arrays["day"].tolist() == [86_400_000_000_000, MISSING_DATE]
    assert table.arrays["us"][0] == 1000
    assert table.arrays["b"].tolist() == [1, -1]
    assert np.isnan(table.arrays["i"][1])


def test_nan_and_null_are_both_missing_in_parquet(write: Write) -> None:
    assert np.isnan(read(parquet(write, x=pa.array([float("nan"), None]))).arrays["x"]).all()


def test_dictionary_labels_keep_their_order_and_are_joined_over_row_groups(write: Write) -> None:
    path = write("a.parquet", b"")
    with pq.ParquetWriter(path, pa.schema([("c", pa.dictionary(pa.int32(), pa.string()))])) as writer:
        for values in (["b", "a"], ["c", None]):
            writer.write_table(pa.table({"c": pa.array(values).dictionary_encode()}))
    table = read(path)
    assert table.columns[0].categories == ("b", "a", "c")
    assert table.arrays["c"].tolist() == [0, 1, 2, -1]


def test_categories_written_by_pandas_as_integers_become_labels(write: Write) -> None:
    import pandas as pd

    path = write("a.parquet", b"")
    frame = pd.DataFrame({"c": pd.Categorical([10, 9, None]), "x": [1, 2, 3]}, index=[5, 6, 7])
    frame.to_parquet(path)
    table = read(path)
    assert [column.name for column in table.columns] == ["c", "x"]
    assert table.columns[0].categories == ("9", "10")


def test_unknown_format_lists_those_that_are_known(write: Write) -> None:
    with pytest.raises(DataError, match=r"a\.xlsx has an unknown format.*\.csv"):
        read(write("a.xlsx", "x"))
