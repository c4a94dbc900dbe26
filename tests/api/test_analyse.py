"""Analyses of a store: what only a store knows (facts of tasks, inference times, traces, machines), and covariates."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay import Store, UserError, analyse
from assay.analysis.filter import Filter


def test_a_store_knows_its_tasks_its_machine_and_its_inference(finished: Path) -> None:
    found = analyse(Store(finished, create=False))
    assert {"n_rows", "n_features", "n_classes"} <= set(found.inputs.scores.properties.columns)
    assert set(found.inputs.scores.properties["task"]) == {"iris", "diabetes"}
    assert {time.framework for time in found.batches().times} >= {"constant", "decision_tree"}
    assert len(found.inputs.hardware) == 1 and "cores" in found.inputs.hardware[0]
    assert found.inputs.scores.origin == "assay"


def test_all_metrics_that_were_scored_can_be_ranked_by(finished: Path) -> None:
    found = analyse(Store(finished, create=False))
    by_accuracy = found.using(selection=Filter(metric="acc", types=("multiclass",)))
    assert by_accuracy.inputs.folds.metrics == ("acc",)
    others = {
        variant.name
        for variant in found.using(selection=Filter(types=("multiclass",))).sensitivity().variants
    }
    assert {"impute worst", "impute none", "metric acc"} <= others


def test_a_trace_that_is_no_trace_is_passed_over(finished: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "store"
    shutil.copytree(finished, copy, symlinks=True)
    store = Store(copy, create=False)
    rows = [replace(row, has_trace=True) for row in store.rows() if row.status == "ok"]
    points = {
        "metric": "loss",
        "higher_is_better": False,
        "points": [[1, 0.5], [None, 3], "x", [2, 0.25, "m"]],
    }
    texts = [json.dumps(points), "{", "[]", '{"points": 3}', "[" * 100_000]
    for row, text in zip(rows, texts, strict=False):
        folder = store.folder.job(row.key).attempt(row.attempt).out / "artifacts"
        folder.mkdir(exist_ok=True)
        (folder / "trace.json").write_text(text)
    from assay.results.traces import read_traces

    read = list(read_traces(store.folder, rows))
    assert [trace for _, trace in read] == [points]
    anytime = analyse(store).using(traces=lambda: read).anytime()
    assert [(one.first_s, one.last_s) for one in anytime.frameworks] == [(1.0, 2.0)]


# --- properties from a file ------------------------------------------------------------------------------


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    rows = [
        (f"t{t}", f"openml.org/t/{t}", fold, name, random.random())
        for t in range(8)
        for fold in range(2)
        for name in ("a", "b")
    ]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["task", "task_id", "fold", "framework", "score"]).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("key", ["task_id", "tid", "task", "name"])
def test_properties_are_joined_by_id_or_name(scores: Path, tmp_path: Path, key: str) -> None:
    names = [t if "id" in key else f"t{t}" for t in range(8)]
    pd.DataFrame({key: names, "size": range(8)}).to_csv(tmp_path / "c.csv", index=False)
    found = analyse(scores, tmp_path / "c.csv")
    by_task = found.inputs.scores.properties.set_index("task")["size"]
    assert by_task.to_dict() == {f"t{t}": t for t in range(8)}
    tree = found.tree(columns=("size",))
    assert tree.nodes[0].n_tasks == 8 and not any("left out" in note for note in tree.notes)


def test_tasks_without_a_property_are_left_out_and_named(scores: Path, tmp_path: Path) -> None:
    pd.DataFrame({"task": [f"t{t}" for t in range(7)], "size": range(7)}).to_csv(
        tmp_path / "c.csv", index=False
    )
    tree = analyse(scores, tmp_path / "c.csv").tree(columns=("size",))
    assert tree.nodes[0].n_tasks == 7
    assert "Left out, because a property is missing: 1 of 8 tasks (t7)." in tree.notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size\n1\n", "neither a column task_id nor task"),
        ("task,size\nother,1\n", "No task of the scores stands in"),
        ("task,size\n", "it has no rows"),
        ("task,size\nt1,1\nt1,2\n", "says two things of the task t1"),
    ],
)
def test_properties_that_cannot_be_joined_are_refused(
    scores: Path, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "c.csv").write_text(text)
    with pytest.raises(UserError, match=message):
        analyse(scores, tmp_path / "c.csv")
