"""The conformance tests: every framework we ship keeps them, and one that breaks them is told which."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assay.frameworks.spec import builtin_names, find_framework
from assay.testing import check_framework

from .conftest import write_framework

QUICK = ["constant", "decision_tree", "linear"]
EVERY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in builtin_names()]


@pytest.mark.parametrize("name", EVERY)
def test_every_built_in_framework_keeps_the_contract(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))
    claims = list(check_framework(name))
    assert [claim for claim in claims if claim.problem] == []
    kinds = [claim.claim for claim in claims if claim.claim.startswith("it predicts: ")]
    assert len(kinds) == 4, "on every type of task, and on a table as real ones are"
    repeats = any("same seed" in claim.claim for claim in claims)
    assert repeats == (find_framework(name).stops_by == "count")


# Breaks four claims at once: it does not do regression, does not count, and says another thing every time.
BREAKS = """\
import os

import numpy as np
from assay_contract import Prediction


def fit(train, budget, params):
    if not train.is_classification:
        raise TypeError("numbers are beyond me")
    return train.classes


def predict(classes, test):
    noise = np.random.default_rng(int.from_bytes(os.urandom(8), "big")).uniform(0.1, 1.0, (len(test), len(classes)))
    return Prediction(probabilities=noise / noise.sum(axis=1, keepdims=True), classes=classes)
"""


def test_a_framework_that_breaks_the_contract_is_told_which_claim(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))
    folder = write_framework(tmp_path / "breaks", BREAKS, description="", stops_by="count")
    found = {claim.claim: claim.problem for claim in check_framework(str(folder))}
    broken = {claim for claim, problem in found.items() if problem}
    assert broken == {
        "its description says what it does",
        "it predicts: regression",
        "it counts its models",
        "the same seed gives the same predictions",
    }
    assert found["it predicts: regression"] == "error: TypeError: numbers are beyond me"
    assert "models_count" in found["it counts its models"]
    assert "stops_by" in found["the same seed gives the same predictions"]
    assert found["it predicts: binary"] == found["it predicts: multiclass"] == ""


def test_the_pytest_option_makes_a_test_of_every_claim(tmp_path: Path) -> None:
    """In somebody's own package, with a framework made by `assay framework new`."""
    from assay.frameworks.template import write_template

    write_template("mine", tmp_path / "mine")
    toml = tmp_path / "mine" / "framework.toml"
    toml.write_text(toml.read_text().replace('"count"', '"time"'))  # then it is run once, not twice
    (tmp_path / "test_mine.py").write_text(
        "def test_contract(assay_claim):\n    assert not assay_claim.problem\n"
    )
    command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--assay-framework", "mine"]
    done = subprocess.run(
        [*command, "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_contract[it predicts: multiclass] PASSED" in done.stdout
    assert "8 passed" in done.stdout


def test_without_the_option_such_a_test_is_skipped(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "def test_contract(assay_claim):\n    assert not assay_claim.problem\n"
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0 and "1 skipped" in done.stdout, done.stdout
