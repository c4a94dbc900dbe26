"""Failures by kind: texts of AMLB fall into the paper's four categories, and counts add up."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from assay.analysis.failures import CATEGORIES, category_of, count_failures
from assay.results.formats.foreign import read_scores

from .conftest import holed_table, scores_frame

AMLB_TEXTS = [
    ("TimeoutError: Interrupting thread MainThread [ident=140] after 7200s timeout.", "time"),
    ("NoResultError: Interrupting thread MainThread [ident=140] after 7200s timeout.", "time"),
    (
        "NoResultError: Unable to allocate 1.2 GiB for an array with shape (9, 9) and data type int64",
        "memory",
    ),
    ("NoResultError: [Errno 12] Cannot allocate memory", "memory"),
    ("NoResultError: std::bad_alloc", "memory"),
    ("MemoryError", "memory"),
    ("CalledProcessError: Command 'python exec.py' returned non-zero exit status 137.", "memory"),
    ("CalledProcessError: Command 'python exec.py' died with <Signals.SIGSEGV: 11>.", "memory"),
    ("NoResultError: A worker process managed by the executor was unexpectedly terminated.", "memory"),
    ("NoResultError: y_true and y_pred contain different number of classes 5, 6.", "data"),
    ("NoResultError: The least populated class in y has only 1 member, which is too few.", "data"),
    ("NoResultError: Input contains infinity or a value too large for dtype('float32').", "data"),
    ("NoResultError: Expected n_neighbors <= n_samples,  but n_samples = 4, n_neighbors = 6", "data"),
    ("NoResultError: 'NoneType' object is not iterable", "implementation"),
    ("NoResultError: A pipeline has not yet been optimized. Please call fit() first.", "implementation"),
    ("NoResultError: Object of type float32 is not JSON serializable", "implementation"),
    ("NoResultError: 'LinearSVC' object has no attribute 'predict_proba'", "implementation"),
    ("NoResultError: ", "implementation"),
    ("", "implementation"),
]


@pytest.fixture
def amlb(tmp_path: Path) -> pd.DataFrame:
    """A table of AMLB in which every fold failed, each in its own words."""
    frame = pd.DataFrame({"fold": range(len(AMLB_TEXTS)), "info": [text for text, _ in AMLB_TEXTS]}).assign(
        id="openml.org/t/1", task="x", framework="a", constraint="1h8c", result="", metric="auc"
    )
    frame.to_csv(tmp_path / "results.csv", index=False)
    return read_scores(tmp_path / "results.csv").table


def test_texts_of_amlb_fall_into_the_papers_four_categories(amlb: pd.DataFrame) -> None:
    found = [category_of(s, m) for s, m in zip(amlb["status"], amlb["message"], strict=True)]
    assert list(zip(amlb["message"], found, strict=True)) == AMLB_TEXTS


def test_categories_of_a_foreign_table_are_counted(amlb: pd.DataFrame) -> None:
    (found,) = count_failures(amlb).by_framework
    assert found.failed == found.jobs == len(AMLB_TEXTS)
    assert found.by_category == {"memory": 7, "time": 2, "data": 4, "implementation": 6}
    assert found.by_status == {"crash": 2, "error": 10, "memory": 5, "timeout": 2}


def test_counts_by_hand() -> None:
    table = scores_frame({"a": {"x": [0.5, None, None]}, "b": {"x": [None, 0.5, 0.5]}})
    table["status"] = ["ok", "timeout", "setup", "memory", "ok", "ok"]
    found = count_failures(table)
    assert (found.jobs, found.failed) == (6, 3)
    a, b = found.by_framework
    assert (a.name, a.jobs, a.failed, a.by_status) == ("a", 3, 2, {"setup": 1, "timeout": 1})
    assert a.by_category == {"memory": 0, "time": 1, "data": 0, "implementation": 0}
    assert (b.name, b.failed, b.by_category["memory"]) == ("b", 1, 1)
    assert [(one.name, one.failed) for one in found.by_task] == [("x", 3)]
    assert [(one.name, one.failed) for one in found.by_type] == [("binary", 3)]
    assert [(one.name, one.failed) for one in found.by_constraint] == [("1h8c", 3)]


def test_failures_are_counted_by_the_size_of_the_task_from_the_smallest() -> None:
    table = scores_frame({"a": {"large": [None, 0.5], "small": [0.5], "unknown": [None], "edge": [None]}})
    sizes = {("small", ""): 999.0, ("large", ""): 1e6, ("edge", ""): 1000.0}
    found = [(one.name, one.jobs, one.failed) for one in count_failures(table, sizes).by_size]
    assert found == [("fewer than 1,000 rows", 1, 0), ("1,000 to 10,000", 1, 1), ("100,000 and more", 2, 1)]
    assert count_failures(table).by_size == ()


def test_setup_is_counted_but_is_no_example_of_a_category() -> None:
    table = scores_frame({"a": {"x": [None, None]}})
    table["status"], table["message"] = ["setup", "error"], ["no Java", "broken"]
    (example,) = count_failures(table).examples
    assert example == {
        "framework": "a",
        "category": "implementation",
        "jobs": 1,
        "task": "x",
        "message": "broken",
    }


def test_the_worst_come_first_and_equals_by_name() -> None:
    table = scores_frame({"c": {"x": [0.5]}, "a": {"x": [0.5]}, "b": {"x": [None]}})
    assert [one.name for one in count_failures(table).by_framework] == ["b", "a", "c"]


@pytest.mark.parametrize("seed", range(3))
def test_parts_sum_to_the_whole(seed: int) -> None:
    table = holed_table(seed)
    found = count_failures(table)
    assert found.failed == table["value"].isna().sum()
    for counts in (found.by_framework, found.by_task, found.by_type, found.by_constraint):
        assert sum(one.jobs for one in counts) == found.jobs == len(table)
        assert sum(one.failed for one in counts) == found.failed
        for one in counts:
            assert sum(one.by_status.values()) == one.failed == sum(one.by_category.values())
            assert tuple(one.by_category) == CATEGORIES
    assert sum(one["jobs"] for one in found.examples) == found.failed


def test_no_rows_are_no_failures() -> None:
    found = count_failures(scores_frame({"a": {"x": [0.5]}})[:0])
    assert (found.jobs, found.failed, found.by_framework, found.examples) == (0, 0, (), ())


def test_without_failures_there_are_no_examples() -> None:
    found = count_failures(scores_frame({"a": {"x": [0.5]}}))
    assert (found.failed, found.examples, found.by_framework[0].by_status) == (0, (), {})


def test_a_missing_message_is_an_error_of_the_implementation(tmp_path: Path) -> None:
    scores_frame({"a": {"x": [None, 0.5]}}).to_csv(tmp_path / "scores.csv", index=False)
    found = count_failures(read_scores(tmp_path / "scores.csv").table)
    assert found.by_framework[0].by_category["implementation"] == 1
