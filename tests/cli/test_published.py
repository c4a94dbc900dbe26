"""The commands on AMLB's published results and on reference outputs: what the paper and R say, to the printed digit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from .conftest import Assay

pytestmark = pytest.mark.shared
SHARED = Path(__file__).resolve().parents[3] / "shared"
RESULTS = SHARED / "data" / "results" / "amlb_2021"
BASELINES = ("constantpredictor", "RandomForest", "TunedRandomForest")


@pytest.fixture
def of(assay: Assay) -> Callable[..., Any]:
    """Return what `assay WORDS --json` says."""
    if not RESULTS.is_dir():
        pytest.skip(f"the reference data are not there: {SHARED}")

    def read(*words: str) -> Any:
        said = assay(*words, "--json")
        assert said.code == 0, said.err
        return json.loads(said.out)

    return read


def two_digits(value: float) -> float:
    return float(f"{value:.2g}")


@pytest.mark.parametrize("file", ["amlb_2021_1h.csv.gz", "amlb_2021_1h.parquet"])
def test_tables_6_and_8_are_reproduced_to_the_printed_digit(of: Callable[..., Any], file: str) -> None:
    cells = {
        (c["task_id"], c["framework"]): c for c in of("analyse", "table", "--scores", str(RESULTS / file))
    }
    printed = pd.read_csv(RESULTS / "paper_tables_6_8.csv", dtype={"task_id": str})
    checked = 0
    for row in printed.itertuples():
        cell = cells.get((row.task_id, row.framework))
        if row.status != "value" or pd.isna(row.paper_mean):
            continue
        assert cell is not None and cell["mean"] is not None, row
        show = (lambda value: round(value, 3)) if row.table == "T6" else two_digits
        assert show(cell["mean"]) == pytest.approx(row.paper_mean, rel=1e-9, abs=1e-9), row
        assert show(cell["std"]) == pytest.approx(row.paper_std, rel=1e-9, abs=1e-9), row
        assert cell["fails"] == row.paper_fails, row
        checked += 1
    assert checked == 514


def test_what_the_paper_prints_as_a_dash_is_a_dash(of: Callable[..., Any], assay: Assay) -> None:
    printed = pd.read_csv(RESULTS / "paper_tables_6_8.csv", dtype={"task_id": str})
    tpot = printed[(printed["framework"] == "TPOT") & (printed["task_id"] == "189355")].iloc[0]
    assert pd.isna(tpot["paper_mean"]) and tpot["recomputed_fails"] == 9
    words = ("--task", "189355", "--framework", "TPOT", "--framework", "RandomForest")
    said = assay("analyse", "table", "--scores", str(RESULTS / "amlb_2021_1h.csv.gz"), *words)
    assert "- ✗9" in said.out


def suites() -> list[str]:
    path = SHARED / "reference" / "cd" / "cd_reference.json"
    return list(json.loads(path.read_text(encoding="utf-8"))["results"]) if path.is_file() else ["none"]


@pytest.mark.parametrize("name", suites())
def test_friedman_and_nemenyi_are_those_of_r(of: Callable[..., Any], name: str) -> None:
    text = (SHARED / "reference" / "cd" / "cd_reference.json").read_text(encoding="utf-8")
    said = json.loads(text)["results"][name]
    kind = [] if said["suite"] == "all" else ["--type", said["suite"]]
    leave = [word for one in BASELINES for word in ("--exclude", one)] if said["set"] == "automl_only" else []
    found = of("analyse", "ranks", "--scores", str(RESULTS / "amlb_2021_1h.csv.gz"), *kind, *leave)
    assert found["average_ranks"] == pytest.approx(said["average_ranks"], abs=1e-9)
    assert found["friedman"]["chi2"] == pytest.approx(said["friedman_tie_corrected"]["chi2"], abs=1e-6)
    assert found["friedman"]["chi2_uncorrected"] == pytest.approx(
        said["friedman_uncorrected"]["chi2"], abs=1e-6
    )
    assert found["iman_davenport"]["F"] == pytest.approx(said["iman_davenport_tie_corrected"]["F"], abs=1e-6)
    plain = said["iman_davenport_uncorrected"]["F"]
    assert found["iman_davenport"]["F_uncorrected"] == pytest.approx(plain, abs=1e-6)
    assert found["critical_distance"] == pytest.approx(said["nemenyi"]["critical_distance"], abs=1e-6)
    assert (found["n_tasks"], found["n_frameworks"]) == (said["n_tasks"], said["n_frameworks"])
    assert found["n_imputed"] == said["n_imputed_folds"]


CASES = ["classification_1h_fig4", "binary_1h", "synthetic1_no_ties", "synthetic2_ties_folds"]


@pytest.mark.parametrize("case", CASES)
def test_trees_are_those_of_psychotree(of: Callable[..., Any], case: str) -> None:
    folder = SHARED / "reference" / "bt"
    said = json.loads((folder / f"{case}_output.json").read_text(encoding="utf-8"))
    own = said["settings"]
    depth, size = str(own["maxdepth"] or 0), str(own["minsize"])
    found = of(
        "analyse", "tree", "--scores", str(folder / f"{case}_input.csv"), "--columns", ",".join(said["covariates"]),
        "--unit", "fold", "--compat", "psychotree", "--max-depth", depth, "--min-size", size,
    )  # fmt: skip
    assert len(found["nodes"]) == len(said["nodes"]) and found["unit"] == "fold"
    for ours, theirs in zip(found["nodes"], said["nodes"], strict=True):
        same = ("id", "parent", "depth", "n")
        assert {key: ours[key] for key in same} == {key: theirs[key] for key in same}
        assert ours["worth"] == pytest.approx(theirs["worth"], abs=1e-8)
        split = theirs.get("split")
        assert (ours["split"] is None) == (not split)
        if split and "threshold" in split:
            assert ours["split"] == {"variable": split["variable"], "threshold": split["threshold"]}
        elif split:
            for side in ("left_levels", "right_levels"):
                assert ours["split"][side] == ([split[side]] if isinstance(split[side], str) else split[side])
        statistics = {test["variable"]: test["statistic"] for test in ours["tests"]}
        for test in theirs.get("tests") or ():
            if test.get("p_raw") is not None:
                assert statistics[test["variable"]] == pytest.approx(test["statistic"], rel=1e-7)


def test_a_scale_with_ties_that_do_not_occur_is_handled(of: Callable[..., Any]) -> None:
    """R's tests fail there and the tree stays a single node; ours finds what the same data without ties give."""
    words = ("--unit", "fold", "--compat", "psychotree", "--max-depth", "0", "--min-size", "5")
    path = SHARED / "reference" / "bt" / "synthetic1b_no_ties_3scale_input.csv"
    found = of("analyse", "tree", "--scores", str(path), "--columns", "x1,x2,x3,g", *words)
    assert len(found["nodes"]) > 1 and found["nodes"][0]["split"]["variable"] == "x1"


def test_the_report_of_all_results_is_small_and_whole(assay: Assay, tmp_path: Path) -> None:
    if not RESULTS.is_dir():
        pytest.skip(f"the reference data are not there: {SHARED}")
    words = (
        "--scores",
        str(RESULTS / "amlb_2021_1h.parquet"),
        "--covariates",
        str(RESULTS / "task_metadata_104.csv"),
    )
    said = assay("report", *words, "-o", "report.html")
    assert said.code == 0, said.err
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(page.encode()) < 5e6 and page.count("<svg") >= 9
    assert page.count("Nothing to show") == 4, "batches, budgets, traces and models are not in these data"
    assert "AutoGluon_benchmark comes out first on 104 tasks" in page
