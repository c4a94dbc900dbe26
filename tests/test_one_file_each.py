"""What the how-tos promise: an extension is one file outside the package. Each file is taken from its page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.checkout


def code_of(page: str) -> str:
    """Return the first block of Python of a how-to."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "docs/howto" / page).read_text(encoding="utf-8"), re.S)[
        0
    ]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Lay a one-file package where pip would: the module, its dist-info, and an entry point."""

    def lay(page: str, group: str, name: str, thing: str) -> None:
        site, module = tmp_path / "site", f"plugged_{name}"
        info = site / f"{module}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[assay.{group}]\n{name} = {module}:{thing}\n")
        (site / f"{module}.py").write_text(code_of(page))
        monkeypatch.syspath_prepend(str(site))
        monkeypatch.delitem(sys.modules, module, raising=False)

    return lay


@pytest.fixture
def call(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        from assay.cli import main

        monkeypatch.setattr("sys.argv", ["assay", *words])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_a_data_source_is_one_file(install, call) -> None:
    install("add-a-data-source.md", "sources", "sine", "SineSource")
    code, _, err = call(
        "run", "linear,constant", "sine/200", "10s1c", "-f", "0", "--store", "results", "--no-install"
    )
    assert code == 0, err
    code, out, _ = call("results", "--store", "results", "--format", "json")
    rows = json.loads(out)
    assert {(row["framework"], row["task"], row["status"]) for row in rows} == {
        ("linear", "sine-200", "ok"),
        ("constant", "sine-200", "ok"),
    }
    code, _, err = call("run", "constant", "sine/many", "10s1c", "--store", "other")
    assert code == 1 or "Write sine/200" in err
    assert "Traceback" not in err


def test_a_study_is_one_file(call, tmp_path: Path) -> None:
    (tmp_path / "means.py").write_text(code_of("add-a-study.md"))
    code, out, err = call("study", "means.py", "--sizes", "10,100,1000")
    assert code == 0, err
    assert out.splitlines()[-1] == "The error is smallest with 1000 numbers: 0.0218."
    assert len(list((tmp_path / "means-study").iterdir())) == 3
    code, again, err = call("study", "means.py", "--sizes", "10,100,1000", "--json", "-o", "all.csv")
    assert code == 0 and len(json.loads(again)["errors"]) == 3
    assert (tmp_path / "all.csv").read_text().splitlines()[0] == "size,error"
    assert "0 of" not in err


def test_a_study_of_an_installed_package_has_a_command_and_help(install, call) -> None:
    install("add-a-study.md", "studies", "means", "STUDY")
    code, out, _ = call("study", "--help")
    assert code == 0 and "Measure the error of the mean by sample size." in out and "intervals" in out
    code, out, _ = call("study", "means", "--help")
    assert code == 0 and "--repetitions" in out and "assay study means --sizes 10,50" in out
    code, out, err = call("study", "means", "--repetitions", "0")
    assert code == 2 and "--repetitions 0: give a number 1 or more" in err
    code, out, err = call("study", "means", "--repetitions", "5", "--figure", "no.svg")
    assert code == 2 and "no such figure" in err


def test_a_study_that_is_not_one_is_refused(call, tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("x = 1\n")
    (tmp_path / "fails.py").write_text("raise RuntimeError('no')\n")
    for words, message in (
        (("intervalls",), "Did you mean 'intervals'?"),
        (("empty.py",), "has no STUDY = StudySpec(…)"),
        (("fails.py",), "fails with RuntimeError: no"),
        (("gone.py",), "there is no file"),
    ):
        code, _, err = call("study", *words)
        assert code == 2 and message in err and err.count("\n") == 1


def test_a_metric_is_one_file_and_is_found_in_a_package_too(install, call, tmp_path: Path) -> None:
    (tmp_path / "cost.py").write_text(code_of("add-a-metric.md"))
    install("add-a-metric.md", "metrics", "price", "cost")
    metrics = ("-m", "cost.py:cost", "-m", "price", "-m", "auc")
    words = ("run", "constant", "bundled", "10s1c", "-t", "breast_cancer", "-f", "0", "--store", "results")
    code, _, err = call(*words, *metrics, "--no-install")
    assert code == 0, err
    code, out, _ = call("results", "--store", "results", "--format", "json")
    (row,) = json.loads(out)
    assert row["metric"] == "cost.py:cost" and row["score"] == row["scores"]["price"] > 0
    assert row["higher_is_better"] == {"cost.py:cost": False, "price": False, "auc": True}
    code, out, _ = call("score", "--store", "results", "--metric", "price", "--json")
    assert code == 0 and {score["metric"] for score in json.loads(out)} == {"price"}


def test_an_executor_is_one_file(call, tmp_path: Path) -> None:
    code_text = code_of("add-an-executor.md")
    (tmp_path / "quiet.py").write_text(
        code_text.replace("os.nice(19 - os.nice(0))", "assert share.cores == 1")
    )
    words = ("run", "constant", "bundled", "10s1c", "-t", "iris", "-f", "0", "--store", "results")
    code, _, err = call(*words, "--on", "quiet.py:Nice", "--no-install")
    assert code == 0, err
    code, out, _ = call("results", "--store", "results", "--format", "json")
    assert [row["status"] for row in json.loads(out)] == ["ok"]
