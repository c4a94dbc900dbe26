from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.table import DTYPES, MISSING_DATE, Table, missing_mask
from assay.data.table_file import load_table, save_table
from assay.data.task import Column
from assay.errors import ConfigError, DataError, InternalError


def make_table() -> Table:
    text = np.array(["a", None, "ü\n"], dtype=object)
    return Table(
        (
            Column("x", "numeric"),
            Column("c", "categorical", categories=("A", "a ")),
            Column("b", "boolean"),
            Column("d", "date"),
            Column("t", "text"),
        ),
        {
            "x": np.array([1.5, np.nan, -0.0]),
            "c": np.array([1, -1, 0], dtype=np.int32),
            "b": np.array([0, 1, -1], dtype=np.int8),
            "d": np.array([0, MISSING_DATE, 5], dtype=np.int64),
            "t": text,
        },
    )


def assert_equal(left: Table, right: Table) -> None:
    assert left.columns == right.columns
    for name in left.arrays:
        assert left.arrays[name].dtype == right.arrays[name].dtype
        np.testing.assert_array_equal(left.arrays[name], right.arrays[name])


def test_take_returns_rows_in_the_order_asked_for() -> None:
    table = make_table().take(np.array([2, 0]))
    assert table.n_rows == 2
    assert table.arrays["c"].tolist() == [0, 1]
    assert table.arrays["t"].tolist() == ["ü\n", "a"]


def test_select_returns_columns_in_the_order_asked_for() -> None:
    table = make_table().select(["t", "x"])
    assert [column.name for column in table.columns] == ["t", "x"]
    assert set(table.arrays) == {"t", "x"}


def test_unknown_column_is_named_with_those_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"no column 'z'.*x, c, b, d, t"):
        make_table().select(["z"])


def test_table_without_columns_has_no_rows() -> None:
    assert Table((), {}).n_rows == 0


def test_missing_is_found_in_every_kind() -> None:
    table = make_table()
    found = {c.name: missing_mask(c, table.arrays[c.name]).tolist() for c in table.columns}
    assert found == {
        "x": [False, True, False],
        "c": [False, True, False],
        "b": [False, False, True],
        "d": [False, True, False],
        "t": [False, True, False],
    }


@pytest.mark.parametrize(
    "arrays",
    [
        {"x": np.zeros(2, dtype=np.float32)},
        {"y": np.zeros(2)},
        {"x": np.zeros(2), "y": np.zeros(2)},
    ],
)
def test_table_refuses_arrays_that_do_not_match_its_columns(arrays: dict[str, np.ndarray]) -> None:
    with pytest.raises(InternalError):
        Table((Column("x", "numeric"),), arrays)


def test_table_refuses_columns_of_different_length() -> None:
    with pytest.raises(InternalError, match="different lengths"):
        Table((Column("x", "numeric"), Column("y", "numeric")), {"x": np.zeros(2), "y": np.zeros(3)})


def test_saved_table_is_loaded_as_it_was(tmp_path: Path) -> None:
    save_table(make_table(), tmp_path / "deep" / "t.npz")
    assert_equal(load_table(tmp_path / "deep" / "t.npz"), make_table())


def test_saving_leaves_no_scratch_file(tmp_path: Path) -> None:
    save_table(make_table(), tmp_path / "t.npz")
    assert [path.name for path in tmp_path.iterdir()] == ["t.npz"]


def test_saved_table_holds_no_pickle(tmp_path: Path) -> None:
    save_table(make_table(), tmp_path / "t.npz")
    with np.load(tmp_path / "t.npz", allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored.files)


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 not a zip", b"hello"])
def test_damaged_cache_file_is_a_data_error_with_remedy(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "t.npz").write_bytes(damage)
    with pytest.raises(DataError, match=r"t\.npz is damaged.*Delete it"):
        load_table(tmp_path / "t.npz")


def test_pickled_object_in_a_cache_file_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", columns=np.array([{"evil": 1}], dtype=object))
    with pytest.raises(DataError, match="damaged"):
        load_table(tmp_path / "t.npz")


def test_cache_file_without_its_columns_is_a_data_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", other=np.zeros(3))
    with pytest.raises(DataError, match="damaged"):
        load_table(tmp_path / "t.npz")


labels = st.text(max_size=6)
int64 = st.integers(min_value=-(2**63), max_value=2**63 - 1)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    n_rows = draw(st.integers(0, 6))
    kinds = draw(st.lists(st.sampled_from(sorted(DTYPES)), min_size=1, max_size=5))
    columns, arrays = [], {}
    for number, kind in enumerate(kinds):
        name = f"{draw(labels)}{number}"
        categories: tuple[str, ...] = ()
        if kind == "categorical":
            categories = tuple(draw(st.lists(labels, unique=True, max_size=4)))
        values = {
            "numeric": st.floats(width=64),
            "categorical": st.integers(-1, len(categories) - 1),
            "boolean": st.integers(-1, 1),
            "date": int64,
            "text": st.none() | st.text(max_size=8),
        }[kind]
        array = np.empty(n_rows, dtype=DTYPES[kind])
        array[:] = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
        columns.append(Column(name, kind, categories=categories))  # type: ignore[arg-type]
        arrays[name] = array
    return Table(tuple(columns), arrays)


@given(table=tables())
def test_any_table_survives_saving_and_loading(
    tmp_path_factory: pytest.TempPathFactory, table: Table
) -> None:
    path = tmp_path_factory.mktemp("tables") / "t.npz"
    save_table(table, path)
    assert_equal(load_table(path), table)
