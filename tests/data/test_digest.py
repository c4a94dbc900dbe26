from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import assay
from assay.data.digest import digest_splits, digest_table
from assay.data.formats import read_table_file
from assay.data.infer import infer_table
from assay.data.raw import RawTable, StringColumn, TypedColumn, with_sorted_labels
from assay.data.resolve import resolve
from assay.data.table import Table
from assay.data.task import Column, TaskRequest
from assay.settings import Settings

CSV = "x,day,who,flag\n0.1,2024-02-29,Ann,true\n1e-5,2024-03-01 10:00:00+02:00,Bob,false\n,,?,true\n-0.0,NA,ann,\n"


def numbers(*values: float) -> Table:
    return Table((Column("x", "numeric"),), {"x": np.array(values, dtype=np.float64)})


def digest_file(path: Path) -> str:
    return digest_table(infer_table(read_table_file(path, path.name), {}, ""))


def write_parquet(path: Path) -> None:
    table = pa.table(
        {
            "x": pa.array([0.1, None, 3.0], pa.float32()),
            "n": pa.array([1, 2, None], pa.int16()),
            "when": pa.array([0, 1, None], pa.timestamp("ms", tz="Europe/Berlin")),
            "who": pa.array(["b", "a", None]).dictionary_encode(),
            "text": ["one", "two", None],
            "flag": [True, None, False],
        }
    )
    pq.write_table(table, path)


def test_all_nan_are_one_nan_and_minus_zero_is_zero() -> None:
    odd = np.array([0x7FF8000000000001, 0xFFF8000000000000], dtype=np.uint64).view(np.float64)
    assert digest_table(numbers(odd[0], odd[1], -0.0)) == digest_table(numbers(np.nan, np.nan, 0.0))


def test_digest_leaves_the_table_alone() -> None:
    table = numbers(-0.0, np.nan)
    digest_table(table)
    assert np.signbit(table.arrays["x"][0])


@pytest.mark.parametrize(
    "column",
    [Column("y", "numeric"), Column("x", "date"), Column("x", "categorical", categories=("a",))],
)
def test_name_kind_and_categories_change_the_digest(column: Column) -> None:
    kinds = {"numeric": np.float64, "date": np.int64, "categorical": np.int32}
    other = Table((column,), {column.name: np.zeros(2, dtype=kinds[column.kind])})
    assert digest_table(other) != digest_table(numbers(0, 0))


def test_role_and_memory_layout_do_not_change_the_digest() -> None:
    plain = numbers(1, 2, 3)
    strided = Table((replace(plain.columns[0], role="target"),), {"x": np.array([1.0, 0, 2, 0, 3])[::2]})
    assert digest_table(strided) == digest_table(plain)


def test_order_of_columns_and_rows_changes_the_digest() -> None:
    x, y = Column("x", "numeric"), Column("y", "numeric")
    arrays = {"x": np.zeros(2), "y": np.ones(2)}
    assert digest_table(Table((x, y), arrays)) != digest_table(Table((y, x), arrays))
    assert digest_table(numbers(1, 2)) != digest_table(numbers(2, 1))


def test_text_boundaries_and_missing_text_are_told_apart() -> None:
    def text(*values: str | None) -> str:
        return digest_table(Table((Column("t", "text"),), {"t": np.array(values, dtype=object)}))

    assert len({text("ab", "c"), text("a", "bc"), text("", "abc"), text(None, "abc"), text("abc", None)}) == 5


def test_digest_of_splits_knows_numbers_sides_and_rows() -> None:
    a, b = np.array([0, 1]), np.array([2])
    digests = {
        digest_splits([(0, 0, a, b)]),
        digest_splits([(1, 0, a, b)]),
        digest_splits([(0, 1, a, b)]),
        digest_splits([(0, 0, b, a)]),
        digest_splits([(0, 0, a, b), (0, 1, b, a)]),
    }
    assert len(digests) == 5
    assert digest_splits([(0, 0, a.astype(np.int32), b)]) == digest_splits([(0, 0, a, b)])


def test_chunks_of_a_column_do_not_change_the_digest() -> None:
    def table(*chunks: list[str]) -> Table:
        arrays = tuple(pa.array(chunk, pa.large_string()) for chunk in chunks)
        return infer_table(RawTable("t", (StringColumn("x", arrays, True),), 3), {}, "")

    assert digest_table(table(["a", "b", "a"])) == digest_table(table(["a"], ["b", "a"]))


def test_same_values_in_csv_and_compressed_csv_have_one_digest(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.tsv").write_text(CSV.replace(",", "\t"))
    (tmp_path / "c.csv").write_text("\ufeff" + CSV.replace(",", ";").replace("\n", "\r\n"), newline="")
    assert len({digest_file(path) for path in tmp_path.iterdir()}) == 1


def test_digests_are_those_of_earlier_versions(tmp_path: Path) -> None:
    """These constants may only change together with the version of the digest, and tasks know the earlier ones."""
    (tmp_path / "a.csv").write_text(CSV)
    write_parquet(tmp_path / "a.parquet")
    assert (
        digest_file(tmp_path / "a.csv") == "3482d2d8476073609f9e0079c1174af0f8abe51af5dd9b7abe2bcfed1166529c"
    )
    raw = read_table_file(tmp_path / "a.parquet", "a.parquet")
    table = infer_table(raw, {}, "")
    assert digest_table(table) == "460766134738310e792e7475f856f29299f1c466a3d451cee86bf30143be022a"
    assert raw.sorted_before == {"who"}
    part = with_sorted_labels(TypedColumn(table.column("who"), table.arrays["who"]))
    columns = tuple(part.column if column.name == "who" else column for column in table.columns)
    version_1 = digest_table(Table(columns, {**table.arrays, "who": part.values}))
    assert version_1 == "232fd096ccedd3d130d3d5ff03ca25d632fc2085bccd8f473434fd81275981d3"


def test_a_table_whose_labels_are_sorted_has_one_digest_in_both_versions(tmp_path: Path) -> None:
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0]), pa.array(["a", "b", "c"]))
    pq.write_table(pa.table({"x": labels, "y": pa.array([1.5, 2, 3, 4])}), tmp_path / "a.parquet")
    settings = Settings(cache=tmp_path / "cache", state=tmp_path / "state")
    assert resolve(TaskRequest("file", path=str(tmp_path / "a.parquet")), settings).data_digest_v1 == ""


OTHER_VERSIONS = """
import sys
from pathlib import Path
from assay.data.formats import read_table_file
from assay.data.infer import infer_table
from assay.data.digest import digest_table
from assay.data.resolve import resolve
from assay.data.task import TaskRequest
from assay.settings import Settings
import pandas, pyarrow
folder = Path(sys.argv[1])
for name in ("a.csv", "a.parquet"):
    print(digest_table(infer_table(read_table_file(folder / name, name), {}, "")))
settings = Settings(cache=folder / sys.argv[2], state=folder / "state")
task = resolve(TaskRequest("bundled/wine"), settings)
print(task.data_digest, task.split_digest)
print(pandas.__version__.split(".")[0], pyarrow.__version__.split(".")[0], file=sys.stderr)
"""


def run_digests(python: Path | str, folder: Path, cache: str) -> tuple[str, str]:
    alone = folder / "alone"  # the package without its neighbours, which would hide the other versions
    alone.mkdir(exist_ok=True)
    if not (alone / "assay").exists():
        (alone / "assay").symlink_to(Path(assay.__file__).parent)
    environment = {"PYTHONPATH": str(alone), "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    command = [str(python), "-c", OTHER_VERSIONS, str(folder), cache]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_digests_agree_between_pandas_2_and_3_and_old_and_new_pyarrow(tmp_path: Path) -> None:
    beside = Path(sys.executable).with_name("uv")
    uv = str(beside) if beside.exists() else shutil.which("uv")
    if uv is None:
        pytest.skip("uv is neither beside the interpreter nor on the path")
    (tmp_path / "a.csv").write_text(CSV)
    write_parquet(tmp_path / "a.parquet")
    venv = tmp_path / "venv"
    packages = ["pandas==2.2.3", "pyarrow==17.0.0", "numpy<2.2", "scikit-learn==1.5.2", "pydantic", "pyyaml"]
    subprocess.run([uv, "venv", "--python", sys.executable, str(venv)], check=True, timeout=120)
    made = subprocess.run(
        [uv, "pip", "install", "--python", str(venv / "bin/python"), *packages],
        capture_output=True,
        text=True,
        timeout=600,
    )
    if made.returncode != 0:
        pytest.skip(f"the old packages cannot be installed here: {made.stderr[-300:]}")
    old, versions = run_digests(venv / "bin/python", tmp_path, "cache-old")
    new, _ = run_digests(sys.executable, tmp_path, "cache-new")
    assert versions.split() == ["2", "17"]
    assert old == new
