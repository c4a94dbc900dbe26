"""Programs in other languages take part: one in shell and awk, the R child of docs/contract.md, and ranger."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay import api
from assay.data.task import TaskRequest
from assay.errors import NotInstalled
from assay.frameworks.envs import environment_of
from assay.frameworks.find import find_framework
from assay.frameworks.spec import FrameworkSpec
from assay.runs.executors.local import Local
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.suite import Suite

PROGRAM = Path(__file__).parent / "program"
PAGE = Path(__file__).parents[2] / "docs" / "contract.md"
SPLIT = {"kind": "holdout", "test_size": 0.25}
TASKS = tuple(
    TaskRequest(f"bundled/{name}", name=name, split=SPLIT) for name in ("breast_cancer", "iris", "diabetes")
)


def run(
    spec: FrameworkSpec, root: Path, settings: Settings, tier: str = "auto"
) -> dict[tuple[str, str], dict[str, Any]]:
    """Run a program beside the constant predictor; return rows by framework and task."""
    store = Store(root / "store")
    jobs = api.plan(Suite("small", TASKS), [spec, find_framework("constant")], "30s1c", settings=settings)
    api.run(jobs, store, Local(1, tier), settings=settings)
    return {(row.framework, row.task): row for row in store.rows()}


def page_block(heading: str, language: str) -> str:
    """Return the first block of a language below a heading of the page."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.search(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found, f"{PAGE.name} has no {language} block below '{heading}'"
    return found[1]


@pytest.mark.parametrize("tier", ["auto", "plain"])
def test_a_program_in_shell_and_awk_scores_as_the_constant_predictor(
    tier: str, tmp_path: Path, shared_settings: Settings
) -> None:
    rows = run(find_framework(str(PROGRAM)), tmp_path, shared_settings, tier)
    for task in ("breast_cancer", "iris", "diabetes"):
        row, constant = rows["program", task], rows["constant", task]
        assert row.status == "ok", row.message
        assert row.scores == pytest.approx(constant.scores, rel=1e-9)
        assert row.models_count == 0 and not row.notes
        assert set(row.phases) == {"start", "load", "fit", "predict", "end"}


def test_the_page_shows_the_program_as_it_is() -> None:
    assert page_block("A program in shell and awk", "sh") == (PROGRAM / "prior.sh").read_text()
    assert page_block("A program in shell and awk", "toml") == (PROGRAM / "framework.toml").read_text()


def need_r(*packages: str) -> None:
    """Skip the test where R or one of its packages is missing."""
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    for package in packages:
        if subprocess.run(["Rscript", "-e", f"library({package})"], capture_output=True).returncode != 0:
            pytest.skip(f"the R package {package} is not installed")


def test_the_r_child_of_the_page_honours_the_contract(tmp_path: Path, shared_settings: Settings) -> None:
    need_r("jsonlite")
    folder = tmp_path / "r_prior"
    folder.mkdir()
    (folder / "framework.toml").write_text(page_block("A child in R", "toml"), encoding="utf-8")
    (folder / "child.R").write_text(page_block("A child in R", "r"), encoding="utf-8")
    rows = run(find_framework(str(folder)), tmp_path, shared_settings)
    for task in ("breast_cancer", "iris", "diabetes"):
        row, constant = rows["r_prior", task], rows["constant", task]
        assert row.status == "ok", row.message
        assert row.scores == pytest.approx(constant.scores, rel=1e-9)


def test_ranger_learns_and_times_its_inference(tmp_path: Path, shared_settings: Settings) -> None:
    need_r("jsonlite", "ranger")
    spec = find_framework("ranger").with_params({"num.trees": 20})
    rows = run(spec, tmp_path, shared_settings)
    for task, higher in (("breast_cancer", True), ("iris", False), ("diabetes", False)):
        row, constant = rows["ranger", task], rows["constant", task]
        assert row.status == "ok", row.message
        assert (row.score > constant.score) == higher and row.score != constant.score
        assert row.models_count == 1 and set(row.inference_s) == set(constant.inference_s)


def test_an_r_package_of_another_version_or_none_is_a_matter_of_setup(
    tmp_path: Path, shared_settings: Settings
) -> None:
    need_r()
    spec = find_framework("ranger")
    asked = replace(spec, command=(*spec.command[:-1], "0"))
    rows = run(asked, tmp_path, shared_settings)
    row = rows["ranger", "iris"]
    assert row.status == "setup"
    assert "R has" in row.message


def test_a_machine_without_r_is_told_what_to_install(
    shared_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "which", lambda name, **_: None)
    with pytest.raises(NotInstalled, match=r"needs the program 'Rscript'.*r-cran-ranger"):
        environment_of(find_framework("ranger"), shared_settings)
