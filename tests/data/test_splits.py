from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.data.split_spec import SplitSpec, parse_split
from assay.data.splits import Splits, Strata, load_splits, make_splits, save_splits
from assay.data.table_file import save_arrays
from assay.errors import ConfigError, DataError


def classes(*counts: int) -> Strata:
    labels = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return Strata(sum(counts), "rows.csv", labels, tuple(f"c{code}" for code in range(len(counts))))


def split(strata: Strata, **said: Any) -> Splits:
    return make_splits(parse_split(said, ""), strata)


def assert_partition(splits: Splits, n_rows: int) -> None:
    """Each repeat tests every row once, and trains on all the others."""
    for repeat in {fold[0] for fold in splits.folds}:
        folds = [fold for fold in splits.folds if fold[0] == repeat]
        np.testing.assert_array_equal(
            np.sort(np.concatenate([test for *_, test in folds])), np.arange(n_rows)
        )
        for _, _, train, test in folds:
            np.testing.assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(n_rows))


@given(n_rows=st.integers(10, 60), folds=st.integers(2, 10), seed=st.integers(0, 2**32 - 1))
def test_folds_of_a_regression_are_a_partition(n_rows: int, folds: int, seed: int) -> None:
    assert_partition(split(Strata(n_rows, "t"), folds=folds, seed=seed), n_rows)


@given(
    counts=st.lists(st.integers(5, 20), min_size=2, max_size=5),
    folds=st.integers(2, 5),
    repeats=st.integers(1, 3),
)
def test_repeated_folds_are_a_stratified_partition(counts: list[int], folds: int, repeats: int) -> None:
    strata = classes(*counts)
    splits = split(strata, kind="repeated", folds=folds, repeats=repeats)
    assert len(splits.folds) == folds * repeats
    assert_partition(splits, sum(counts))
    assert strata.classes is not None
    for *_, test in splits.folds:
        for code, count in enumerate(counts):
            in_test = np.count_nonzero(strata.classes[test] == code)
            assert count // folds <= in_test <= -(-count // folds)


def test_repeats_differ_from_each_other() -> None:
    splits = split(Strata(50, "t"), kind="repeated", folds=2, repeats=3)
    assert len({test.tobytes() for *_, test in splits.folds}) == 6


def test_seed_is_fixed_by_default_and_changes_the_folds() -> None:
    assert split(classes(30, 30)).digest() == split(classes(30, 30), seed=0).digest()
    assert split(classes(30, 30)).digest() != split(classes(30, 30), seed=1).digest()


def test_default_is_ten_folds_or_as_many_as_the_smallest_class_has_rows() -> None:
    assert len(split(classes(50, 50)).folds) == 10
    assert len(split(classes(50, 4)).folds) == 4
    assert len(split(Strata(7, "t")).folds) == 7


def test_stated_number_of_folds_is_not_changed_silently() -> None:
    with pytest.raises(DataError, match=r"rows\.csv.*into 5 folds: class 'c1' has only 4 rows"):
        split(classes(50, 4), folds=5)


@pytest.mark.parametrize("said", [{}, {"kind": "holdout"}, {"folds": 2}])
def test_class_with_one_row_is_an_error(said: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"Class 'c1' of rows\.csv has a single row"):
        split(classes(50, 1), **said)


def test_holdout_keeps_the_shares_of_classes() -> None:
    strata = classes(80, 20)
    ((_, _, train, test),) = split(strata, kind="holdout", test_size=0.25).folds
    assert strata.classes is not None
    assert np.bincount(strata.classes[test]).tolist() == [20, 5]
    assert len(train) == 75


def test_holdout_by_number_of_rows() -> None:
    ((_, _, train, test),) = split(Strata(50, "t"), kind="holdout", test_size=7).folds
    assert (len(train), len(test)) == (43, 7)


@given(groups=st.lists(st.integers(0, 8), min_size=20, max_size=60), stratified=st.booleans())
def test_grouped_folds_never_share_a_group(groups: list[int], stratified: bool) -> None:
    codes = np.array(groups)
    if len(np.unique(codes)) < 2:
        return
    labels = np.arange(len(codes), dtype=np.int32) % 2 if stratified else None
    strata = Strata(len(codes), "t", labels, ("a", "b") if stratified else (), groups=codes)
    splits = split(strata, kind="grouped", folds=2)
    assert_partition(splits, len(codes))
    for _, _, train, test in splits.folds:
        assert not set(codes[train]) & set(codes[test])


@given(
    times=st.lists(st.integers(0, 30), min_size=12, max_size=80),
    folds=st.integers(1, 4),
)
def test_temporal_folds_never_train_on_the_future(times: list[int], folds: int) -> None:
    moments = np.array(times, dtype=np.int64)
    try:
        splits = split(Strata(len(times), "t", times=moments), kind="temporal", folds=folds)
    except DataError as error:
        assert "fewer 'folds'" in str(error) or "Ask for" in str(error) or "cannot be split" in str(error)
        return
    assert len(splits.folds) == folds
    sizes = [len(train) for _, _, train, _ in splits.folds]
    assert sizes == sorted(sizes)
    for _, _, train, test in splits.folds:
        assert moments[train].max() < moments[test].min()


def test_temporal_folds_expand_over_all_rows() -> None:
    splits = split(Strata(60, "t", times=np.arange(60)[::-1].copy()), kind="temporal")
    assert [(len(train), len(test)) for _, _, train, test in splits.folds] == [
        (10 * k, 10) for k in range(1, 6)
    ]


def test_rows_of_one_moment_stay_together() -> None:
    with pytest.raises(DataError, match=r"too many rows share one point in time.*1 can be made"):
        split(Strata(100, "t", times=np.array([0] * 90 + list(range(1, 11)))), kind="temporal", folds=4)


def test_predefined_folds_follow_the_labels() -> None:
    splits = make_splits(
        SplitSpec(kind="predefined", column="f"), Strata(4, "t", labels=np.array([1, 0, 1, 0]))
    )
    assert [test.tolist() for *_, test in splits.folds] == [[1, 3], [0, 2]]


def test_saved_splits_are_loaded_as_they_were(tmp_path: Path) -> None:
    splits = split(classes(20, 20), kind="repeated", folds=3, repeats=2)
    save_splits(splits, tmp_path / "s.npz")
    again = load_splits(tmp_path / "s.npz")
    assert again.digest() == splits.digest()
    assert again.summary() == splits.summary()


def test_splits_file_that_lacks_a_fold_is_damaged(tmp_path: Path) -> None:
    save_arrays(tmp_path / "s.npz", {"numbers": np.array([[0, 0]])})
    with pytest.raises(DataError, match=r"s\.npz is damaged"):
        load_splits(tmp_path / "s.npz")


@pytest.mark.parametrize(
    ("folds", "message"),
    [
        ([(0, 0, [0, 1], [1])], "holds a row twice"),
        ([(0, 0, [0], [1]), (0, 0, [1], [0])], "given twice"),
        ([(0, 0, [], [1])], "no training rows"),
        ([(0, 0, [0, -1], [1])], "negative row number"),
        ([(0, 0, [0], [])], "no test rows"),
    ],
)
def test_folds_that_overlap_or_are_empty_are_refused(folds: list[Any], message: str) -> None:
    made = tuple((r, f, np.array(train, np.int64), np.array(test, np.int64)) for r, f, train, test in folds)
    with pytest.raises(DataError, match=message):
        Splits(made)


@pytest.mark.parametrize(
    "said", [{"kind": "nested"}, {"folds": "many"}, {"test_size": -1, "kind": "holdout"}, {"seed": -1}]
)
def test_wrong_value_in_a_split_is_a_config_error(said: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"in the split in s\.yaml"):
        parse_split(said, "in s.yaml")
