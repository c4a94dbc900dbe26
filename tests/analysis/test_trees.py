"""Trees are those of R's psychotree where it is right; p-values keep their level where its do not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay.analysis.trees import Comparisons, Tree, TreeSettings, grow_tree
from assay.errors import ConfigError, UserError

VALID = ["classification_1h_fig4", "binary_1h", "synthetic1_no_ties", "synthetic2_ties_folds"]


def read_case(folder: Path, name: str) -> tuple[Comparisons, dict[str, Any]]:
    frame = pd.read_csv(folder / f"{name}_input.csv")
    said = json.loads((folder / f"{name}_output.json").read_text())
    scores = frame.pivot(index="obs", columns="framework", values="score")[said["frameworks"]].to_numpy()
    scores = scores if frame["higher_is_better"].iloc[0] else -scores
    first = frame.groupby("obs").first()
    kinds = said["covariate_kinds"]
    covariates = {
        name: first[name].to_numpy(dtype=float)
        if kinds[name] == "numeric"
        else first[name].to_numpy(dtype=str)
        for name in said["covariates"]
    }
    return Comparisons(tuple(said["frameworks"]), scores, first["task"].to_numpy(dtype=str), covariates), said


def grown(data: Comparisons, said: dict[str, Any], unit: str = "fold", psychotree: bool = True) -> Tree:
    own = said["settings"]
    depth = own["maxdepth"] if isinstance(own["maxdepth"], int) else 0
    return grow_tree(data, TreeSettings(unit, own["minsize"], depth, own["alpha"], psychotree))  # type: ignore[arg-type]


@pytest.mark.shared
@pytest.mark.parametrize("name", VALID)
def test_tree_is_that_of_psychotree(name: str, shared: Path) -> None:
    data, said = read_case(shared / "reference" / "bt", name)
    tree = grown(data, said)
    assert [node.id for node in tree.nodes] == [node["id"] for node in said["nodes"]]
    for node, other in zip(tree.nodes, said["nodes"], strict=True):
        assert (node.parent, node.depth, node.n) == (other["parent"], other["depth"], other["n"])
        assert node.loglik == pytest.approx(other["loglik"], abs=1e-5)
        for framework, worth in other["worth"].items():
            assert node.worth[framework] == pytest.approx(worth, abs=1e-9)
        for test, theirs in zip(node.tests, other.get("tests") or [], strict=bool(node.tests)):
            assert test.variable == theirs["variable"]
            if theirs.get("p_raw") is not None:
                assert test.statistic == pytest.approx(theirs["statistic"], rel=1e-8)
        split = other.get("split")
        assert (node.split is None) == (split is None)
        if node.split is not None and split is not None:
            assert node.split.variable == split["variable"]
            assert node.split.threshold == split.get("threshold")


@pytest.mark.shared
def test_scale_with_ties_that_do_not_occur_does_not_stop_the_tree(shared: Path) -> None:
    """R's undecided parameter diverges there, its tests fail, and the tree stays a single node."""
    data, said = read_case(shared / "reference" / "bt", "synthetic1b_no_ties_3scale")
    plain, reference = read_case(shared / "reference" / "bt", "synthetic1_no_ties")
    tree = grown(data, {**said, "settings": reference["settings"]})
    assert [node.split for node in tree.nodes] == [node.split for node in grown(plain, reference).nodes]
    assert len(tree.nodes) == 5


def null(random: np.random.Generator, tasks: int, folds: int, m: int) -> Comparisons:
    """Frameworks equal on average, each better on some tasks than on others."""
    effect = np.repeat(random.normal(size=(tasks, m)), folds, axis=0)
    scores = effect + 0.3 * random.normal(size=(tasks * folds, m))
    size = np.repeat(random.normal(size=tasks), folds)
    return Comparisons(
        tuple(f"f{j}" for j in range(m)),
        scores,
        np.repeat([f"t{t}" for t in range(tasks)], folds),
        {"size": size},
    )


def test_folds_taken_as_independent_find_what_is_not_there_and_clusters_do_not() -> None:
    random = np.random.default_rng(0)
    found = {"cluster": 0, "fold": 0}
    for _ in range(40):
        data = null(random, 30, 10, 5)
        for unit in found:
            compat = unit == "fold"
            tree = grow_tree(data, TreeSettings(unit, 50, 2, 0.05, compat), random)  # type: ignore[arg-type]
            found[unit] += len(tree.nodes) > 1
    assert found["cluster"] <= 6 < 20 < found["fold"]


def test_a_real_change_is_found_and_its_leaf_is_told() -> None:
    random = np.random.default_rng(1)
    size = np.repeat(np.arange(40.0), 5)
    scores = random.normal(size=(200, 3)) + np.where(size[:, None] < 20, [2.0, 0.0, 0.0], [0.0, 2.0, 0.0])
    data = Comparisons(("a", "b", "c"), scores, np.repeat([f"t{i}" for i in range(40)], 5), {"size": size})
    tree = grow_tree(data, TreeSettings(min_size=25))
    assert tree.nodes[0].split is not None and tree.nodes[0].split.threshold == 19.0
    assert max(tree.leaf({"size": 3.0}).worth, key=tree.leaf({"size": 3.0}).worth.__getitem__) == "a"
    assert max(tree.leaf({"size": 30.0}).worth, key=tree.leaf({"size": 30.0}).worth.__getitem__) == "b"
    with pytest.raises(UserError, match="'size' is needed"):
        tree.leaf({})


def test_order_of_rows_and_frameworks_does_not_matter() -> None:
    random = np.random.default_rng(2)
    data = null(random, 20, 4, 3)
    rows, columns = random.permutation(80), random.permutation(3)
    other = Comparisons(
        tuple(data.frameworks[j] for j in columns), data.scores[rows][:, columns], data.tasks[rows],
        {"size": data.covariates["size"][rows]},
    )  # fmt: skip
    first, second = (
        grow_tree(d, TreeSettings(min_size=10), np.random.default_rng(0)).nodes[0] for d in (data, other)
    )
    assert first.tests[0].statistic == pytest.approx(second.tests[0].statistic, rel=1e-9)
    assert first.worth == pytest.approx(second.worth, abs=1e-9)


def test_statistic_has_a_bound() -> None:
    """More than the number of units cannot come out; R's rounding once gave eight times that."""
    random = np.random.default_rng(3)
    for _ in range(20):
        data = null(random, 12, 3, 5)
        for unit, units in (("fold", 36), ("cluster", 12), ("task", 12)):
            tree = grow_tree(data, TreeSettings(unit, 2, 2), random)  # type: ignore[arg-type]
            for test in tree.nodes[0].tests:
                assert test.statistic is None or test.statistic <= units + 1e-6


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"frameworks": ("a",), "scores": np.zeros((4, 1))}, UserError, "at least two"),
        ({"scores": np.full((4, 2), np.nan)}, UserError, "Scores are missing"),
        ({"covariates": {"x": np.array([1.0, np.nan, 1, 2])}}, UserError, "'x' is missing"),
        ({"scores": np.zeros((0, 2))}, UserError, "no folds"),
    ],
)
def test_what_cannot_be_grown_from_is_refused(
    change: dict[str, Any], error: type[Exception], text: str
) -> None:
    said = {
        "frameworks": ("a", "b"), "scores": np.zeros((4, 2)), "tasks": np.array(list("wxyz")),
        "covariates": {"x": np.arange(4.0)}, **change,
    }  # fmt: skip
    with pytest.raises(error, match=text):
        Comparisons(**said)


def test_settings_are_checked_and_constant_properties_are_not_tested() -> None:
    with pytest.raises(ConfigError, match="Unknown unit 'folds'"):
        TreeSettings("folds")  # type: ignore[arg-type]
    data = null(np.random.default_rng(0), 10, 2, 3)
    flat = Comparisons(
        data.frameworks, data.scores, data.tasks, {"x": np.ones(20), "g": np.array(["a"] * 20)}
    )
    assert [test.statistic for test in grow_tree(flat, TreeSettings(min_size=2)).nodes[0].tests] == [
        None,
        None,
    ]
    many = Comparisons(
        data.frameworks, data.scores, data.tasks, {"g": np.array([f"l{i}" for i in range(20)])}
    )
    with pytest.raises(UserError, match="20 levels"):
        grow_tree(many, TreeSettings(min_size=2))
