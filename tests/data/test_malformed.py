"""Files that cannot be used: each gets one sentence with the file, the place and the remedy."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.data.resolve import resolve
from assay.data.task import TaskRequest
from assay.errors import ConfigError, DataError, UserError
from assay.settings import Settings

Write = Callable[..., Path]
ARFF = "@relation r\n@attribute a numeric\n@attribute c {u,v}\n@data\n"


def parquet(**columns: object) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def zipped(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "."), text)
    return buffer.getvalue()


def rows(*values: str) -> str:
    return "x,y\n" + "".join(f"{value},{number % 2}\n" for number, value in enumerate(values))


# name, content, what the message must hold: the place and the remedy.
CASES: list[tuple[str, str | bytes, list[str]]] = [
    ("empty.csv", "", ["is empty", "header and rows"]),
    ("blank.csv", "\n\n  \n", ["is empty", "header and rows"]),
    ("header.csv", "x,y\n", ["header but no rows", "Add rows"]),
    ("one.csv", "y\n1\n2\n1\n", ["no feature", "at least two columns"]),
    ("twice.csv", "x,x,y\n1,2,3\n", ["Column 'x' stands twice", "Rename"]),
    ("unnamed.csv", "x,,y\n1,2,3\n", ["line 1", "column 2 has no name", "Give every column a name"]),
    ("short.csv", "x,y\n1,2\n3\n4,5\n", ["line 3", "1 fields where the header has 2", "fix the row"]),
    ("long.csv", "x,y\n1,2\n3,4,5\n", ["line 3", "3 fields where the header has 2", "Quote fields"]),
    ("multiline.csv", 'x,y\n"a\nb",1\n2\n', ["line 4", "1 fields", "fix the row"]),
    ("open.csv", 'x,y\n1,2\n"3,4\n5,6\n', ["line 3", "broken quotes", "Close every quoted field"]),
    ("after.csv", 'x,y\n"1"2,3\n', ["line 2", "broken quotes", "double"]),
    ("marked.csv", b"\xef\xbb\xbfx,y\n\xe4,1\n", ["byte 7", "is not utf-8", 'csv={"encoding": "latin-1"}']),
    ("utf16.csv", "x,y\n1,2\n".encode("utf-16")[:-1], ["is not utf-16", 'csv={"encoding": "latin-1"}']),
    ("nul.csv", "x,y\n1,2\n\0,3\n", ["line 3", "NUL byte", "save it as plain UTF-8"]),
    ("big.csv", rows("1", str(2**53 + 1), "3"), ["Column 'x'", "row 2", "beyond 2^53", "role: ignore"]),
    ("inf.csv", rows("1", "inf", "3"), ["Column 'x'", "row 2", "is infinite", "Fix the value"]),
    ("overflow.csv", rows("1", "2", "1e400"), ["row 3", "is infinite", "Fix the value"]),
    ("mixed.csv", rows(*["1"] * 20, "1'5"), ["row 21", "1'5", "kind: categorical"]),
    ("constant.csv", "x,y\n1,a\n2,a\n", ["target 'y'", "same value in all rows", "another column"]),
    (
        "gaps.csv",
        "x,y\n1,a\n2,\n3,b\n4,NA\n",
        ["target 'y'", "missing in 2 of 4 rows", "row 2", "Drop these rows"],
    ),
    ("single.csv", "x,y\n1,a\n2,a\n3,b\n", ["Class 'b'", "single row", "merge the class"]),
    ("noheader.arff", "1,2\n3,4\n", ["line 1", "'1,2' is no ARFF header line", "@attribute"]),
    ("nodata.arff", "@relation r\n@attribute a numeric\n", ["no @data line", "Add it"]),
    ("noattr.arff", "@relation r\n@data\n1\n", ["line 2", "@data without any @attribute", "Declare"]),
    (
        "type.arff",
        "@relation r\n@attribute a relational\n@data\n",
        ["line 2", "type 'relational'", "Use numeric"],
    ),
    (
        "name.arff",
        "@relation r\n@attribute 'a numeric\n@data\n",
        ["line 2", "no readable name", "@attribute NAME"],
    ),
    (
        "labels.arff",
        "@relation r\n@attribute a {u,v\n@data\n",
        ["line 2", "labels of attribute 'a'", "Close them"],
    ),
    ("dup.arff", "@relation r\n@attribute a {u,u}\n@data\n", ["line 2", "declares a label twice", "once"]),
    ("value.arff", ARFF + "1,u\nx,v\n", ["line 6", "'x' in numeric attribute 'a'", "Fix the value"]),
    ("under.arff", ARFF + "1_0,u\n", ["line 5", "'1_0' in numeric attribute", "Fix the value"]),
    ("label.arff", ARFF + "1,u\n2,w\n", ["line 6", "'w' is not a declared label of attribute 'c'", "Add it"]),
    ("row.arff", ARFF + "1,u\n2\n", ["line 6", "1 values where the header declares 2", "fix the row"]),
    ("quotes.arff", ARFF + "1,'u\n", ["line 5", "broken quotes", "Close"]),
    ("sparse.arff", ARFF + "{0 1, 1 v\n", ["line 5", "sparse row does not end", "Close it"]),
    ("index.arff", ARFF + "{0 1, 2 v}\n", ["line 5", "index 2 is not between 1 and 1", "begin at 0"]),
    ("pair.arff", ARFF + "{0}\n", ["line 5", "not 'INDEX VALUE'", "Fix the sparse row"]),
    ("norows.arff", ARFF, ["no rows", "Add rows"]),
    (
        "twice.arff",
        "@relation r\n@attribute a real\n@attribute a real\n@data\n1,2\n",
        ["'a' stands twice", "Rename"],
    ),
    (
        "date.arff",
        "@relation r\n@attribute d date\n@attribute y real\n@data\nsoon,1\n",
        ["line 5", "'soon'", "Fix"],
    ),
    ("text.parquet", "not parquet at all", ["not a readable Parquet file", "Write it again"]),
    ("list.parquet", parquet(x=[[1], [2]], y=[1, 2]), ["Column 'x'", "list<", "or drop it"]),
    (
        "large.parquet",
        parquet(x=[1, 2**60], y=[1, 2]),
        ["Column 'x'", "row 2", "beyond 2^53", "Write it as a string"],
    ),
    ("inf.parquet", parquet(x=[1.0, np.inf], y=[1, 2]), ["Column 'x'", "row 2", "infinite", "Replace it"]),
    (
        "far.parquet",
        parquet(x=pa.array([0, 2**60], pa.timestamp("ms")), y=[1, 2]),
        ["Column 'x'", "1678", "Fix it"],
    ),
    ("rows.csv.gz", b"\x1f\x8b\x08 broken", ["is damaged", "Pack it again"]),
    ("cut.csv.gz", gzip.compress(rows(*"123456789").encode())[:-9], ["is damaged", "Pack it again"]),
    ("rows.zip", b"PK broken", ["is damaged", "Pack it again"]),
    ("none.zip", zipped(readme__txt="hello"), ["holds no data files", "xxx_train"]),
    ("half.zip", zipped(a_train__csv="x,y\n1,2\n"), ["no test file for fold 0", "xxx_test"]),
    (
        "loose.zip",
        zipped(a__csv="x,y\n1,2\n", b__csv="x,y\n1,2\n"),
        ["'a.csv' beside other data files", "Name them"],
    ),
    ("rows.xlsx", "PK", ["unknown format", ".csv"]),
]


@pytest.mark.parametrize(("name", "content", "parts"), CASES, ids=[case[0] for case in CASES])
def test_malformed_file_is_one_data_error_with_file_place_and_remedy(
    write: Write, settings: Settings, name: str, content: str | bytes, parts: list[str]
) -> None:
    with pytest.raises(DataError) as caught:
        resolve(TaskRequest("file", path=str(write(name, content))), settings)
    message = str(caught.value)
    assert "\n" not in message
    for part in (name, *parts):
        assert part in message
    assert not list((settings.cache / "resolved").glob("*"))
    assert not list((settings.cache / "tmp").glob("*"))


GOOD = "x,y,g,t\n" + "".join(f"{row},{'ab'[row % 2]},g{row % 4},{row}\n" for row in range(40))
REQUESTS: list[tuple[dict[str, object], type[UserError], list[str]]] = [
    ({"target": "z"}, ConfigError, ["no target column 'z'", "There are: g, t, x, y"]),
    ({"target": "Y "}, ConfigError, ["Did you mean 'y'"]),
    ({"columns": {"q": {"kind": "text"}}}, ConfigError, ["Unknown column 'q'", "rows.csv"]),
    (
        {"columns": {"x": {"role": "goup"}}},
        ConfigError,
        ["Unknown role 'goup'", "column 'x'", "Did you mean 'group'"],
    ),
    ({"columns": {"x": {"role": "target"}}}, ConfigError, ["Column 'x'", "the target is 'y'", "Name one"]),
    ({"split": {"kind": "cvs"}}, ConfigError, ["'cvs'", "'kind'", "in s.yaml, task 1"]),
    ({"split": {"kind": "cv", "fold": 3}}, ConfigError, ["Unknown key 'fold'", "Did you mean 'folds'"]),
    ({"split": {"kind": "cv", "folds": 1}}, ConfigError, ["One fold", "holdout"]),
    ({"split": {"kind": "cv", "folds": True}}, ConfigError, ["'folds'", "in s.yaml"]),
    (
        {"split": {"kind": "cv", "folds": 30}},
        DataError,
        ["30 folds", "class 'a' has only 20 rows", "fewer 'folds'"],
    ),
    ({"split": {"kind": "holdout", "folds": 3}}, ConfigError, ["does not use 'folds'", "Remove it"]),
    ({"split": {"kind": "holdout", "test_size": 1.5}}, ConfigError, ["1.5", "whole number of rows"]),
    ({"split": {"kind": "holdout", "test_size": 40}}, DataError, ["test_size 40", "Choose another"]),
    ({"split": {"kind": "grouped"}}, ConfigError, ["needs a group column", "Name it with 'group:'"]),
    ({"split": {"kind": "grouped", "group": "gg"}}, ConfigError, ["no column 'gg'", "Did you mean 'g'"]),
    ({"split": {"kind": "grouped", "group": "g", "folds": 5}}, DataError, ["only 4 groups", "fewer 'folds'"]),
    (
        {"split": {"kind": "temporal", "time": "g"}, "target": "y"},
        DataError,
        ["'g'", "is categorical", "ISO dates"],
    ),
    ({"split": {"kind": "temporal"}}, ConfigError, ["needs a time column"]),
    ({"split": {"kind": "predefined"}}, ConfigError, ["needs 'column'"]),
    ({"split": {"kind": "given"}}, ConfigError, ["comes without one", "another kind"]),
    ({"type": "regression", "target": "y"}, DataError, ["not numeric", "Change the 'type'"]),
    ({"type": "binary", "target": "g"}, DataError, ["4 classes", "type: multiclass"]),
    ({"positive": "c", "target": "y"}, ConfigError, ["no class 'c'", "There are: a, b"]),
    ({"positive": "g1", "target": "g"}, ConfigError, ["'positive' is for binary tasks", "Remove it"]),
    ({"positive": "1", "target": "x"}, ConfigError, ["is numeric", "Remove it"]),
]


@pytest.mark.parametrize(("said", "kind", "parts"), REQUESTS, ids=[str(case[0]) for case in REQUESTS])
def test_impossible_request_is_one_error_with_value_place_and_remedy(
    ask: Callable[..., TaskRequest],
    settings: Settings,
    said: dict[str, object],
    kind: type[UserError],
    parts: list[str],
) -> None:
    request = ask(GOOD, **{"target": "y", "where": "in s.yaml, task 1", **said})
    with pytest.raises(kind) as caught:
        resolve(request, settings)
    for part in parts:
        assert part in str(caught.value)


def test_file_that_is_not_there_is_named_with_its_place(settings: Settings, tmp_path: Path) -> None:
    request = TaskRequest("file", path=str(tmp_path / "gone.csv"), where="in s.yaml, task adult")
    with pytest.raises(DataError, match=r"no file .*gone\.csv in s\.yaml, task adult\. Check the path"):
        resolve(request, settings)


def test_pipe_instead_of_a_file_is_refused_and_not_waited_for(settings: Settings, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.csv")
    with pytest.raises(DataError, match=r"rows\.csv is neither a file nor a folder"):
        resolve(TaskRequest("file", path=str(tmp_path / "rows.csv")), settings)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_file_without_permission_is_named(ask: Callable[..., TaskRequest], settings: Settings) -> None:
    request = ask(GOOD)
    Path(request.path).chmod(0)
    with pytest.raises(DataError, match=r"rows\.csv: Permission denied.*permissions"):
        resolve(request, settings)


def test_unknown_source_gets_a_suggestion(settings: Settings) -> None:
    with pytest.raises(ConfigError, match=r"Unknown source 'bundle' in s\.yaml.*Did you mean 'bundled'"):
        resolve(TaskRequest("bundle/iris", where="in s.yaml"), settings)


def test_unknown_bundled_table_gets_a_suggestion(settings: Settings) -> None:
    with pytest.raises(ConfigError, match=r"Unknown bundled table 'irs' in s\.yaml\. Did you mean 'iris'"):
        resolve(TaskRequest("bundled/irs", where="in s.yaml"), settings)


def test_tar_with_a_link_is_refused_without_touching_anything(settings: Settings, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tgz", "w:gz") as archive:
        link = tarfile.TarInfo("a_train.csv")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(DataError, match=r"a\.tgz is not unpacked: its member 'a_train\.csv' is a link"):
        resolve(TaskRequest("file", path=str(tmp_path / "a.tgz")), settings)
