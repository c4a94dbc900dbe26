"""`assay run`: what is planned, run, kept, tried again; and which exit code says so."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.frameworks.find import find_framework
from assay.store.store import Store

from ..conftest import RAISES, write_framework
from .conftest import Assay

ONE = ["bundled", "10s1c", "-t", "iris", "-f", "0", "-p", "1"]
WORKS = """\
from assay_contract import Prediction


def fit(train, budget, params):
    train.report(models_count=1)


def predict(model, test):
    raise NotImplementedError
"""


def rows(folder: Path) -> list[dict]:
    return [row.to_json() for row in Store(folder / "results").rows()]


def test_a_dry_run_prints_the_plan_and_makes_no_store(assay: Assay, tmp_path: Path) -> None:
    said = assay("run", "constant,linear", "bundled", "1h1c", "-t", "iris", "-t", "wine", "--dry-run")
    assert said.code == 0
    assert re.search(r"iris +multiclass +5 +5", said.out)
    assert "20 jobs to run, 0 done already." in said.out and "20.0 h of jobs" in said.out
    plan = json.loads(assay("run", "constant", *ONE, "--dry-run", "--json").out)
    assert [(job["framework"], job["task"], job["fold"]) for job in plan["jobs"]] == [("constant", "iris", 0)]
    assert plan["budget_h"] == 10 / 3600 and plan["done"] == 0
    assert not (tmp_path / "results").exists()


def test_estimator_that_cannot_do_a_type_of_task_is_not_applicable(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "from sklearn.linear_model import LinearRegression\nfrom sklearn.svm import SVC\n"
    )
    words = (
        "run",
        "mine.py:SVC,mine.py:LinearRegression,constant",
        "bundled",
        "10s1c",
        "-t",
        "diabetes",
        "-f",
        "0",
    )
    reason = "SVC is not applicable to diabetes (regression): "
    planned = assay(*words, "--dry-run")
    assert planned.code == 0 and f"{reason}not planned." in planned.out
    plan = json.loads(assay(*words, "--dry-run", "--json").out)
    assert plan["not_applicable"] == [{"framework": "SVC", "task": "diabetes"}]
    assert [job["framework"] for job in plan["jobs"]] == ["LinearRegression", "constant"]
    done = assay(*words)
    assert done.code == 0 and f"{reason}not run." in done.out
    assert {row["framework"] for row in rows(tmp_path)} == {"LinearRegression", "constant"}
    again = assay(*words, "--json")
    assert len(json.loads(again.out)) == 2 and f"{reason}not run." in again.err


def test_the_second_run_runs_nothing(assay: Assay, tmp_path: Path) -> None:
    first = assay("run", "constant,decision_tree", *ONE)
    assert first.code == 0, first.err
    assert "[2/2] decision_tree on iris, fold 0: logloss" in first.err
    assert "iris (logloss↓)" in first.out and "Next: assay results, assay leaderboard" in first.out
    before = rows(tmp_path)
    second = assay("run", "constant,decision_tree", *ONE)
    assert second.code == 0 and "2 of 2 jobs are done already." in second.err
    assert second.out == first.out and rows(tmp_path) == before
    third = assay("run", "constant,decision_tree", *ONE, "--json")
    assert json.loads(third.out) == before and third.err == ""
    plan = json.loads(assay("run", "constant,decision_tree", *ONE, "--dry-run", "--json").out)
    assert (plan["jobs"], plan["done"]) == ([], 2)


def test_failed_jobs_are_exit_code_1_and_only_they_run_again(assay: Assay, tmp_path: Path) -> None:
    folder = write_framework(tmp_path / "mine", RAISES)
    first = assay("run", "constant,./mine", *ONE)
    assert first.code == 1
    key = next(row["key"] for row in rows(tmp_path) if row["framework"] == "mine")
    assert f"1 of 2 jobs failed. Why: assay explain {key[:10]}" in first.out
    assert "error: ValueError: this one never learns" in first.err
    assert assay("run", "constant,./mine", *ONE).code == 1, "a failure is still one when nothing was run"
    assert [row["attempt"] for row in rows(tmp_path)] == [1, 1]
    # Mended, the row is stale; --retry-failed runs the failed job alone.
    constant = Path(str(find_framework("constant").adapter)).read_text()
    (folder / "adapter.py").write_text(constant)
    stale = assay("run", "constant,./mine", *ONE)
    assert stale.code == 1 and "1 row(s) were made with another adapter" in stale.out
    again = assay("run", "constant,./mine", *ONE, "--retry-failed")
    assert again.code == 0 or "trained no model" in again.err
    assert {row["framework"]: row["attempt"] for row in rows(tmp_path)} == {"constant": 1, "mine": 2}
    # A changed adapter is stale, and runs again only when asked for.
    (folder / "adapter.py").write_text(constant + "\n# changed\n")
    assert "1 row(s) were made with another adapter" in assay("run", "constant,./mine", *ONE).out
    fresh = assay("run", "constant,./mine", *ONE, "--rerun-stale")
    assert "another adapter" not in fresh.out
    assert {row["framework"]: row["attempt"] for row in rows(tmp_path)} == {"constant": 1, "mine": 3}


def test_a_broken_file_in_a_suite_is_a_data_row_for_its_task_only(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text(
        "a,y\n" + "".join(f"{i},{'no' if i % 3 else 'yes'}\n" for i in range(60))
    )
    (tmp_path / "bad.csv").write_text("a,y\n1,2,3\n")
    (tmp_path / "suite.yaml").write_text(
        "defaults: {split: {kind: holdout, test_size: 0.3}}\n"
        "tasks:\n- {path: good.csv, target: y}\n- {path: bad.csv, target: y}\n"
    )
    said = assay("run", "constant", "suite.yaml", "10s1c", "-p", "1")
    assert said.code == 1, said.err
    found = {row["task"]: row for row in rows(tmp_path)}
    assert {row["status"] for name, row in found.items() if "good" in name} == {"ok"}
    (bad,) = (row for name, row in found.items() if "bad" in name)
    assert bad["status"] == "data" and "bad.csv" in bad["message"]


def test_a_missing_environment_is_a_setup_row_with_the_remedy(assay: Assay, tmp_path: Path) -> None:
    folder = write_framework(tmp_path / "mine", WORKS, environment="own")
    (folder / "locks").mkdir()
    (folder / "locks" / "1.txt").write_text("no-such-package==1.0\n")
    said = assay("run", "constant,./mine", *ONE, "--no-install")
    assert said.code == 1
    found = {row["framework"]: row for row in rows(tmp_path)}
    assert found["constant"]["status"] == "ok" and found["mine"]["status"] == "setup"
    assert "assay framework install" in found["mine"]["message"]
    assert found["mine"]["framework_digest"], "it is not stale"
    assert assay("job", "pack", found["mine"]["key"]).code == 2, "it was never started"
    assert "assay framework" in assay("explain", found["mine"]["key"]).out


def test_an_environment_that_cannot_be_built_is_a_setup_row_and_the_rest_runs(
    assay: Assay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    folder = write_framework(tmp_path / "mine", WORKS, environment="own")
    (folder / "locks").mkdir()
    (folder / "locks" / "1.txt").write_text("no-such-package==1.0\n")
    said = assay("run", "constant,./mine", *ONE)
    assert said.code == 1 and "mine 1: making an environment" in said.err
    found = {row["framework"]: row for row in rows(tmp_path)}
    assert found["constant"]["status"] == "ok" and found["mine"]["status"] == "setup"
    assert (
        "no-such-package" in found["mine"]["message"]
        and "assay framework install" in found["mine"]["message"]
    )
    again = assay("run", "constant,./mine", *ONE)
    assert "making an environment" not in again.err, "what has nothing left to do is not built"


MODEL = """\
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin


class MyEstimator(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.share_ = counts / counts.sum()
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (len(X), 1))

    def predict(self, X):
        return np.full(len(X), self.classes_[self.share_.argmax()])
"""


def test_a_file_with_an_estimator_runs_on_a_file_with_data(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "mymodel.py").write_text(MODEL)
    (tmp_path / "my.csv").write_text(
        "a,y\n" + "".join(f"{i},{'no' if i % 3 else 'yes'}\n" for i in range(60))
    )
    said = assay("run", "mymodel.py:MyEstimator", "my.csv", "1m1c", "--target", "y", "-f", "0", "-p", "1")
    assert said.code == 0, said.err
    (row,) = rows(tmp_path)
    assert (row["framework"], row["status"], row["score"]) == ("MyEstimator", "ok", 0.5)
    assert len(row["version"]) == 12, "its version is the digest of the file"


# --- what is imported ------------------------------------------------------------------------------------

PROBE = """
import sys
sys.argv = ["assay", *sys.argv[1:]]
from assay.cli import main
try:
    main()
except SystemExit:
    pass
print([name for name in ("numpy", "pandas", "pyarrow", "scipy", "sklearn") if name in sys.modules])
"""


def imported(folder: Path, *words: str) -> list[str]:
    environ = {**os.environ, "ASSAY_CACHE": str(folder / ".cache"), "ASSAY_STATE": str(folder / ".state")}
    done = subprocess.run(
        [sys.executable, "-c", PROBE, *words],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1].replace("'", '"'))


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"], ["framework", "list"]])
def test_help_imports_nothing_heavy(tmp_path: Path, words: list[str]) -> None:
    assert imported(tmp_path, *words) == []


def test_planning_known_tasks_imports_neither_pandas_nor_sklearn(tmp_path: Path) -> None:
    words = ["run", "constant,random_forest", "bundled", "1h1c", "--dry-run"]
    imported(tmp_path, *words)  # the first time tables are read and digested
    assert set(imported(tmp_path, *words)) <= {"numpy"}
