from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from assay.frameworks.border.contract import MISSING_DATE, Rows
from assay.frameworks.border.encode import Encoder, plain_frame

DAY = 86_400 * 10**9


def column(kind: str, values: Any, **more: Any) -> Rows:
    dtype = {"numeric": float, "categorical": np.int32, "boolean": np.int8, "date": np.int64, "text": object}[
        kind
    ]
    return Rows([{"name": "x", "kind": kind, **more}], [np.array(values, dtype=dtype)], len(values))


def colours(values: list[int], levels: int = 3) -> Rows:
    return column("categorical", values, categories=[f"l{i}" for i in range(levels)])


@pytest.mark.parametrize(
    ("train", "test", "expected"),
    [
        (column("numeric", [1.0, 2.0, 9.0, np.nan]), column("numeric", [np.nan, 5.0]), [2.0, 5.0]),
        (column("boolean", [1, 1, 0, -1]), column("boolean", [-1, 0, 1]), [1.0, 0.0, 1.0]),
        (column("boolean", [0, 1, 0]), column("boolean", [-1]), [0.0]),
        (column("date", [DAY, 3 * DAY, MISSING_DATE]), column("date", [MISSING_DATE, DAY]), [2.0, 1.0]),
        (column("numeric", [np.nan, np.nan]), column("numeric", [np.nan, 1.0]), [0.0, 1.0]),
        (colours([0, 1, 2]), colours([-1, 0, 2]), [3.0, 0.0, 2.0]),
    ],
)
def test_missing_values_are_filled_from_training(train: Rows, test: Rows, expected: list[float]) -> None:
    assert Encoder().fit(train).transform(test).ravel().tolist() == expected


def test_missing_values_stay_where_the_learner_wants_them() -> None:
    encoder = Encoder(impute=False)
    assert np.isnan(encoder.fit(column("numeric", [1.0, 2.0])).transform(column("numeric", [np.nan]))).all()
    assert np.isnan(encoder.fit(column("boolean", [1, 0])).transform(column("boolean", [-1]))).all()
    assert encoder.fit(colours([0, 1])).transform(colours([-1])).tolist() == [[3.0]]


def test_one_hot_has_a_column_per_level_of_training() -> None:
    encoder = Encoder(categories="onehot").fit(colours([1, 1, 1, 0, 0, -1]))
    # By frequency: level 1, level 0, missing; level 2 was never seen.
    assert encoder.transform(colours([1, 0, -1, 2])).tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]


def test_rare_levels_are_all_zero() -> None:
    encoder = Encoder(categories="onehot", max_levels=2).fit(colours([3, 3, 3, 1, 1, 0, 2], levels=4))
    assert encoder.transform(colours([3, 1, 0, 2], levels=4)).tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]


def test_scaled_numbers_have_mean_zero_and_deviation_one() -> None:
    train = column("numeric", [2.0, 4.0, 6.0, np.nan])
    encoder = Encoder(scale=True).fit(train)
    scaled = encoder.transform(train).ravel()[:3]
    assert scaled.mean() == pytest.approx(0.0, abs=1e-12)
    assert scaled.std() == pytest.approx(1.0, rel=1e-12)
    assert Encoder(scale=True).fit(column("numeric", [7.0, 7.0])).transform(
        column("numeric", [7.0])
    ).tolist() == [[0.0]]


def test_huge_numbers_are_cut_to_what_float32_holds() -> None:
    train = column("numeric", [1e300, -1e300, 0.0])
    found = Encoder().fit(train).transform(train)
    assert np.isfinite(found.astype(np.float32)).all()
    assert np.isfinite(Encoder(scale=True).fit(train).transform(train)).all()


def test_text_is_left_out_and_nothing_left_is_one_column_of_zeros() -> None:
    text = column("text", ["a", None, "c"])
    assert Encoder().fit(text).transform(text).tolist() == [[0.0], [0.0], [0.0]]
    both = Rows([*text.columns, {"name": "n", "kind": "numeric"}], [*text.arrays, np.arange(3.0)], 3)
    assert Encoder().fit(both).transform(both).tolist() == [[0.0], [1.0], [2.0]]


@pytest.mark.parametrize("categories", ["ordinal", "onehot"])
def test_mixed_table_leaves_no_gap_and_matches_in_width(samples: Any, categories: str) -> None:
    sample = samples["binary"]
    described = [
        {"name": c.name, "kind": c.kind, "categories": list(c.categories)} for c in sample.task.features
    ]
    train, test = (
        Rows(described, [table.arrays[c["name"]] for c in described], table.n_rows)
        for table in (sample.train, sample.test)
    )
    encoder = Encoder(categories=categories, scale=True).fit(train)
    one, other = encoder.transform(train), encoder.transform(test)
    assert one.shape[1] == other.shape[1] == (5 if categories == "ordinal" else 8)
    assert (one.dtype, np.isnan(one).any(), np.isnan(other).any()) == (np.float64, False, False)


def test_unknown_kind_of_encoding_is_refused() -> None:
    with pytest.raises(ValueError, match="'ordinal' or 'onehot', not 'target'"):
        Encoder(categories="target")


def test_plain_frame_has_few_types_and_plain_names() -> None:
    rows = Rows(
        [
            {"name": "a [b]", "kind": "numeric", "integer": True},
            {"name": "c", "kind": "categorical", "categories": ["x", "y, z"]},
            {"name": "c", "kind": "boolean"},
            {"name": "day", "kind": "date"},
            {"name": "t", "kind": "text"},
        ],
        [
            np.array([1.0, np.nan, 3.0]),
            np.array([1, -1, 0], dtype=np.int32),
            np.array([1, -1, 0], dtype=np.int8),
            np.array([86_400 * 10**9, MISSING_DATE, 0]),
            np.array(["é", None, ""], dtype=object),
        ],
        3,
    )
    frame = plain_frame(rows)
    assert [str(dtype) for dtype in frame.dtypes] == ["float64", "category", "float64", "float64", "object"]
    assert list(frame) == ["c0", "c1", "c2", "c3", "c4"]
    assert frame.isna().to_numpy().tolist() == [[False] * 5, [True] * 5, [False] * 5]
    assert frame["c1"].tolist()[0] == "y, z" and frame["c1"].cat.categories.tolist() == ["x", "y, z"]
    assert frame["c2"].tolist()[::2] == [1.0, 0.0] and frame["c3"].tolist()[::2] == [1.0, 0.0]
    other = plain_frame(rows, categories="text", dates="date", text="drop")
    assert [str(dtype) for dtype in other.dtypes] == ["float64", "object", "float64", "datetime64[ns]"]
    assert other["c1"].tolist() == ["y, z", None, "x"]
    assert len(plain_frame(Rows([], [], 4))) == 4
