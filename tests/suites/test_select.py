from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from assay.data.resolve import broken
from assay.data.task import Task, TaskRequest
from assay.errors import ConfigError
from assay.suites.select import Selection, preselect, select


def task(name: str, kind: Any = "binary", **facts: float) -> Task:
    whole = {
        "n_rows": 100,
        "n_features": 5,
        "n_classes": 2,
        "n_missing": 0,
        "missing_share": 0,
        "categorical_share": 0,
    }
    made = broken(TaskRequest(f"bundled/{name}", name=name, type=kind), "")
    return replace(made, facts={**whole, **facts})


TASKS = (
    task("adult", n_rows=48842, n_missing=5, missing_share=0.01, categorical_share=0.6),
    task("iris", "multiclass", n_rows=150, n_classes=3),
    task("digits", "multiclass", n_rows=1797, n_classes=10, n_features=64),
    task("boston", "regression", n_rows=506, n_classes=0, n_features=13, categorical_share=0.1),
)


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({}, ["adult", "iris", "digits", "boston"]),
        ({"names": ("iris",)}, ["iris"]),
        ({"names": ("bundled/iris",)}, ["iris"]),
        ({"names": ("*i*s",)}, ["iris", "digits"]),
        ({"names": ("boston", "adult")}, ["adult", "boston"]),
        ({"types": ("multiclass", "regression")}, ["iris", "digits", "boston"]),
        ({"min_rows": 506}, ["adult", "digits", "boston"]),
        ({"max_rows": 506}, ["iris", "boston"]),
        ({"min_rows": 150, "max_rows": 1000}, ["iris", "boston"]),
        ({"min_classes": 3}, ["iris", "digits"]),
        ({"max_classes": 2}, ["adult", "boston"]),
        ({"min_features": 13}, ["digits", "boston"]),
        ({"max_features": 5}, ["adult", "iris"]),
        ({"missing": True}, ["adult"]),
        ({"missing": False}, ["iris", "digits", "boston"]),
        ({"max_missing_share": 0.005}, ["iris", "digits", "boston"]),
        ({"min_categorical_share": 0.1}, ["adult", "boston"]),
        ({"max_categorical_share": 0.1}, ["iris", "digits", "boston"]),
        ({"types": ("multiclass",), "max_rows": 1000}, ["iris"]),
        ({"min_rows": 10**9}, []),
    ],
)
def test_selection_keeps_what_matches_in_its_order(wanted: dict[str, Any], names: list[str]) -> None:
    assert [found.name for found in select(TASKS, Selection(**wanted))] == names


def test_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"Unknown task 'irsi'\. Did you mean 'iris'"):
        select(TASKS, Selection(names=("adult", "irsi")))


def test_names_are_case_sensitive() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'iris'"):
        select(TASKS, Selection(names=("Iris",)))


def test_task_that_could_not_be_read_is_chosen_by_name_only() -> None:
    bad = broken(TaskRequest("file", name="bad", path="bad.csv"), "It is empty.")
    assert select((*TASKS, bad), Selection(min_rows=10**9)) == (bad,)
    assert select((*TASKS, bad), Selection(names=("iris",))) == (TASKS[1],)


def test_bounds_that_cross_are_refused() -> None:
    with pytest.raises(ConfigError, match="min_rows 10 is above max_rows 5"):
        Selection(min_rows=10, max_rows=5)


REQUESTS = (
    TaskRequest("bundled/iris", name="iris", columns={"x": {"kind": "text"}}),
    TaskRequest("file", name="cars", path="cars.csv"),
    TaskRequest("openml/t/31"),
    TaskRequest("openml/t/7"),
)


@pytest.mark.parametrize(
    ("names", "kept"),
    [
        ((), [0, 1, 2, 3]),
        (("iris",), [0]),
        (("bundled/*",), [0]),
        (("openml/t/31",), [2]),
        (("iris", "openml/t/7"), [0, 3]),
        (("credit-g",), [2, 3]),
        (("cars", "credit-g"), [1, 2, 3]),
    ],
)
def test_preselection_keeps_what_may_match_before_anything_is_read(
    names: tuple[str, ...], kept: list[int]
) -> None:
    assert preselect(REQUESTS, names) == tuple(REQUESTS[number] for number in kept)


def test_preselection_refuses_a_name_that_cannot_match() -> None:
    with pytest.raises(ConfigError, match=r"Unknown task 'car'\. Did you mean 'cars'"):
        preselect(REQUESTS[:2], ("car",))
