"""Whatever stands in a file, the answer is a table or one UserError; never a traceback of ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from assay.data.archive import unpack
from assay.data.formats import read_table_file
from assay.data.infer import infer_table
from assay.data.table_file import load_table, save_table
from assay.errors import UserError
from assay.suites.find import read_suite

quick = settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
cell = st.sampled_from(
    ["1", "-2.5", "", "NA", "a", "A ", "true", "False", "2024-01-01", "9" * 20, "inf", '"', "'", "\\"]
)
line = st.lists(cell | st.text(max_size=5), max_size=5).map(",".join)
table_text = st.lists(line, max_size=8).map("\n".join)
arff_word = st.sampled_from(
    [
        "@relation r",
        "@attribute a real",
        "@attribute 'b c' {u,'v w'}",
        "@attribute s string",
        "@attribute d date",
        "@data",
        "1,u,x,2024-01-01",
        "{0 1,1 'v w'}",
        "{",
        "}",
        "?",
        "% note",
        "'",
        "1,?,'a,b',?",
        "@attribute x {",
    ]
)
arff_text = st.lists(arff_word | st.text(max_size=6), max_size=12).map("\n".join)


def read_anything(path: Path) -> None:
    try:
        table = infer_table(read_table_file(path, path.name), {}, "")
    except UserError as error:
        assert path.name in str(error)
        return
    save_table(table, path.with_suffix(".npz"))
    assert load_table(path.with_suffix(".npz")).columns == table.columns


@quick
@given(text=table_text, name=st.sampled_from(["a.csv", "a.tsv"]))
def test_any_delimited_text_is_a_table_or_an_error(tmp_path: Path, text: str, name: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="", errors="surrogatepass")
    read_anything(tmp_path / name)


@quick
@given(text=arff_text)
def test_any_arff_text_is_a_table_or_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.arff").write_text(text, encoding="utf-8", newline="", errors="surrogatepass")
    read_anything(tmp_path / "a.arff")


@quick
@example(data=b"\x00\xc2", name="a.csv")  # a NUL byte, and an incomplete character at the end
@given(data=st.binary(max_size=60), name=st.sampled_from(["a.csv", "a.arff", "a.parquet"]))
def test_any_bytes_are_a_table_or_an_error(tmp_path: Path, data: bytes, name: str) -> None:
    (tmp_path / name).write_bytes(data)
    read_anything(tmp_path / name)


@quick
@given(data=st.binary(max_size=60), name=st.sampled_from(["a.zip", "a.tar", "a.tgz", "a.tbz"]))
def test_any_bytes_are_an_archive_or_an_error(tmp_path: Path, data: bytes, name: str) -> None:
    start = b"PK\x05\x06" if name == "a.zip" else b""
    (tmp_path / name).write_bytes(start + data)
    try:
        unpack(tmp_path / name, tmp_path / "out")
    except UserError as error:
        assert name in str(error)


yaml_word = st.sampled_from(
    [
        "tasks:",
        "- bundled/iris",
        "  - name: a",
        "    file: a.csv",
        "    split: {kind: cv}",
        "defaults:",
        "- name: b",
        "  openml_task_id: 3",
        "  dataset: a.csv",
        "name: x",
        "&a",
        "*a",
        "? x",
        ": y",
        "[1, 2]",
        "{a: 1}",
        "!!set {a}",
    ]
)


@quick
@given(text=st.lists(yaml_word | st.text(max_size=6), max_size=8).map("\n".join))
def test_any_yaml_is_a_suite_or_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
    try:
        read_suite(tmp_path / "s.yaml")
    except UserError as error:
        assert "s.yaml" in str(error)


@pytest.mark.parametrize("name", ["a.csv", "a.arff", "a.parquet"])
def test_file_cut_in_the_middle_is_a_table_or_an_error(tmp_path: Path, name: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if name == "a.parquet":
        pq.write_table(pa.table({"x": list(range(50)), "y": ["u", "v"] * 25}), tmp_path / name)
    else:
        header = (
            "@relation r\n@attribute x real\n@attribute 'y y' {'u u',v}\n@data\n"
            if name == "a.arff"
            else "x,y\n"
        )
        (tmp_path / name).write_text(
            header + "1,'u u'\n2,v\n" if name == "a.arff" else header + '1,"u\nu"\n2,v\n'
        )
    whole = (tmp_path / name).read_bytes()
    for end in range(0, len(whole), max(1, len(whole) // 60)):
        (tmp_path / name).write_bytes(whole[:end])
        read_anything(tmp_path / name)
