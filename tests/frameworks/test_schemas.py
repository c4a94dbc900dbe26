"""The contract for programs in any language, as JSON Schemas: what Assay writes and its child answers fits them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from assay.frameworks.find import find_framework

SIMPLE = """
def fit(train, budget, params):
    train.report(models_count=1, notes="done", own={"depth": 3})

def predict(model, test):
    if test.n_rows == 3:
        raise ValueError("no")
    return Prediction(labels=np.zeros(test.n_rows, dtype=int))
"""


@pytest.fixture
def validator() -> Callable[[str], Any]:
    def make(name: str) -> Any:
        text = (files("assay.frameworks") / "schemas" / f"{name}.schema.json").read_text(encoding="utf-8")
        return jsonschema.Draft202012Validator(json.loads(text))

    return make


@pytest.fixture
def good_job(samples: Any, build_job: Callable[..., Path]) -> Callable[[str], dict[str, Any]]:
    """Return what `describe_job` makes of a sample; the fixture's folder is written with it."""

    def describe(kind: str) -> dict[str, Any]:
        said: dict[str, Any] = json.loads((build_job(samples[kind], name=kind) / "job.json").read_text())
        return said

    return describe


@pytest.mark.parametrize("name", ["job", "report"])
def test_schema_is_valid_itself(validator: Any, name: str) -> None:
    validator(name).check_schema(validator(name).schema)
    assert validator(name).schema["$schema"].endswith("/2020-12/schema")


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_described_job_fits_the_schema(validator: Any, good_job: Any, kind: str) -> None:
    said = good_job(kind)
    validator("job").validate(said)
    assert {column["kind"] for column in said["columns"]} == {
        "numeric",
        "categorical",
        "boolean",
        "date",
        "text",
    }


def test_schema_knows_exactly_the_keys_of_a_job(validator: Any, good_job: Any) -> None:
    assert (
        set(validator("job").schema["required"])
        == set(validator("job").schema["properties"])
        == set(good_job("binary"))
    )


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("columns", 0, "kind"), "image"),
        (("columns", 0, "name"), 3),
        (("columns", 0, "categories"), ["a"]),
        (("columns", 2, "categories"), ["a", "a"]),
        (("columns", 0, "integer"), None),
        (("type",), "ranking"),
        (("classes",), ["only one"]),
        (("classes",), []),
        (("classes",), ["a", "b", "c"]),
        (("classes",), ["a", "a"]),
        (("classes",), [0, 1]),
        (("format",), "pickle"),
        (("budget_s",), 0),
        (("cores",), 1.5),
        (("seed",), -1),
        (("seed",), 2**31),
        (("schema",), 2),
        (("params",), []),
        (("n_test",), "20"),
        (("task",), "the name of the dataset"),
    ],
    ids=str,
)
def test_job_that_is_none_does_not_fit(
    validator: Any, good_job: Any, place: tuple[Any, ...], value: Any
) -> None:
    said = copy.deepcopy(good_job("binary"))
    inside = said
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validator("job").validate(said)


def test_classes_of_a_regression_are_none(validator: Any, good_job: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator("job").validate({**good_job("regression"), "classes": ["a", "b"]})


@pytest.mark.parametrize(
    "text",
    [
        SIMPLE,
        SIMPLE.replace("    train", "    raise ValueError('no')\n    train"),
        SIMPLE.replace("dtype=int", "dtype=float"),
        "import no_such_library",
    ],
    ids=["done", "raised", "invalid", "not importable"],
)  # fmt: skip
def test_report_of_the_real_child_fits_the_schema(
    validator: Any, samples: Any, build_job: Any, run_child: Any, write_adapter: Any, text: str
) -> None:
    ended = run_child(build_job(samples["binary"]), write_adapter(text))
    validator("report").validate(ended.report)
    assert ("error" in ended.report) == (text is not SIMPLE)
    assert ("timing" in ended.report) == (text is SIMPLE)


def test_report_of_a_baseline_fits_the_schema(
    validator: Any, samples: Any, build_job: Any, run_child: Any
) -> None:
    ended = run_child(build_job(samples["binary"]), find_framework("constant").adapter)
    validator("report").validate(ended.report)
    assert ended.report["models_count"] == 0


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"schema": 2},
        {"schema": 1, "models_count": "3"},
        {"schema": 1, "models_count": -1},
        {"schema": 1, "phases": {"warmup": 1.0}},
        {"schema": 1, "phases": {"fit": None}},
        {"schema": 1, "error": "died"},
        {"schema": 1, "error": {"type": "E"}},
        {"schema": 1, "timing": {"1": {"median_s": 1.0}}},
        {"schema": 1, "timing": {"one": {"error": "x"}}},
        {"schema": 1, "invalid_predictions": "yes"},
    ],
    ids=str,
)
def test_report_that_is_none_does_not_fit(validator: Any, said: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validator("report").validate(said)


def test_report_may_hold_what_a_framework_likes(validator: Any) -> None:
    validator("report").validate({"schema": 1, "leaderboard": [{"model": "a", "score": 0.5}]})
