"""An analysis in one file outside the package is a command, a section of the report and a line of the docs."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay import analyse
from assay.analysis.registry import BUILTIN, all_analyses, find_analysis
from assay.errors import ConfigError

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "howto" / "add-an-analysis.md"


@pytest.fixture
def spread(tmp_path: Path) -> Path:
    """The file of the how-to, as a user saves it."""
    path = tmp_path / "spread.py"
    path.write_text(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)[0])
    return path


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    random = np.random.default_rng(0)
    rows = [
        (f"t{t}", fold, name, 0.7 + scale * random.random())
        for t in range(6)
        for fold in range(3)
        for name, scale in (("constant", 0.0), ("random_forest", 0.01), ("wide", 0.2))
    ]
    path = tmp_path / "scores.csv"
    pd.DataFrame(rows, columns=["task", "fold", "framework", "score"]).to_csv(path, index=False)
    return path


@pytest.fixture
def installed(spread: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package as pip leaves it: a module that is the file, its dist-info, and an entry point."""
    site = tmp_path / "site"
    info = site / "plugged_spread-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-spread\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[assay.analyses]\nspread = plugged_spread:ANALYSIS\n")
    (site / "plugged_spread.py").write_text(spread.read_text())
    monkeypatch.syspath_prepend(str(site))


@pytest.fixture
def broken(installed: None, tmp_path: Path) -> None:
    """The package also names an analysis that it does not have."""
    points = tmp_path / "site" / "plugged_spread-1.0.dist-info" / "entry_points.txt"
    points.write_text(f"{points.read_text()}broken = plugged_spread:NO_SUCH_NAME\n")


def call(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: str
) -> tuple[int, str, str]:
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


def test_every_built_in_module_has_the_analysis_of_its_name() -> None:
    for name in BUILTIN:
        spec = find_analysis(name)
        assert spec.name == name and spec.help.endswith(".") and spec.examples
        assert all(example.split()[0] == name for example in spec.examples)


def test_sections_of_the_report_have_anchors_of_their_own() -> None:
    anchors = [section.anchor for spec in all_analyses() for section in spec.report_sections]
    assert len(anchors) == len(set(anchors)) and anchors[0] == "standings" and anchors[-1] == "scores"


def test_an_installed_analysis_is_a_command_with_table_json_and_options(
    installed: None, scores: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = call(capsys, monkeypatch, "analyse", "--help")
    assert code == 0 and re.search(r"spread +Show how far the folds", out) and "ranks" in out
    code, out, _ = call(capsys, monkeypatch, "analyse", "spread", "--help")
    assert code == 0 and "Only tasks with at least N folds." in out and "--least" in out
    code, out, _ = call(capsys, monkeypatch, "analyse", "spread", "--scores", str(scores))
    assert code == 0 and "The folds of wide lie furthest apart." in out and "random_forest" in out
    code, out, _ = call(capsys, monkeypatch, "analyse", "spread", "--scores", str(scores), "--json")
    values = json.loads(out)
    assert values["least"] == 2 and values["ranges"]["constant"] == 0.0 and values["notes"] == []
    code, out, _ = call(capsys, monkeypatch, "analyse", "spread", "--scores", str(scores), "--format", "csv")
    assert out.splitlines()[0] == "framework,range" and len(out.splitlines()) == 4
    code, _, err = call(capsys, monkeypatch, "analyse", "spread", "--scores", str(scores), "--least", "0")
    assert code == 2 and "--least 0: give a number 1 or more." in err


def test_an_installed_analysis_is_in_the_report_with_its_methods(installed: None, scores: Path) -> None:
    from assay.api import make_parts, make_report

    names = [part.name for part in make_parts(analyse(scores))]
    assert names[-2:] == ["spread", "scores"], "all scores stay at the end"
    page = make_report(analyse(scores))
    assert "Spread of the folds" in page and "The folds of wide lie furthest apart." in page
    assert "mean over tasks with at least 2 folds" in page, "from the option that was used"


def test_a_file_is_an_analysis_in_the_report_that_adds_it(
    spread: Path, scores: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("--scores", str(scores), "--add", str(spread), "--json")
    code, out, err = call(capsys, monkeypatch, "report", *words)
    assert code == 0, err
    parts = {part["name"]: part for part in json.loads(out)}
    assert parts["spread"]["section"]["sees"] == "The folds of wide lie furthest apart."
    code, out, err = call(capsys, monkeypatch, "analyse", str(spread), "--scores", str(scores))
    assert code == 0 and "wide" in out, err


def test_an_installed_analysis_is_a_line_of_the_docs(installed: None) -> None:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generate)
    text = generate.analyses()["reference/analyses.md"]
    assert "| `spread` | Show how far the folds of each framework lie apart. |" in text
    assert "| `spread` | `least` | Only tasks with at least N folds | `2` |" in text


def test_an_installed_analysis_is_a_method_in_python(installed: None, scores: Path) -> None:
    analysis = analyse(scores)
    assert "spread" in dir(analysis)
    frame = analysis.spread(least=3).to_frame()
    assert frame.set_index("framework")["range"].idxmax() == "wide"
    assert analysis.run("spread", least=3).to_json() == analysis.spread(least=3).to_json()
    with pytest.raises(ConfigError, match=r"There is no option 'leest'\. Did you mean 'least'\?"):
        analysis.spread(leest=3)
    with pytest.raises(AttributeError, match="There is no analysis 'spred'"):
        analysis.spred()


def test_a_broken_package_fails_only_when_it_is_used(
    broken: None, scores: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = call(capsys, monkeypatch, "analyse", "--help")
    assert code == 0 and "broken" in out
    code, _, err = call(capsys, monkeypatch, "analyse", "broken", "--scores", str(scores))
    assert code == 2 and "Analysis 'broken' of plugged_spread:NO_SUCH_NAME cannot be loaded" in err
    code, out, _ = call(capsys, monkeypatch, "report", "--scores", str(scores), "--json")
    parts = {part["name"]: part for part in json.loads(out)}
    assert code == 0 and "cannot be loaded" in parts["broken"]["empty"] and parts["ranks"]["section"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "has no ANALYSIS = AnalysisSpec"),
        ("ANALYSIS = 3", "has no ANALYSIS = AnalysisSpec"),
        ("1 / 0", "fails with ZeroDivisionError: division by zero"),
        (None, "there is no file"),
    ],
)
def test_a_file_that_is_no_analysis_is_refused(tmp_path: Path, text: str | None, message: str) -> None:
    path = tmp_path / "mine.py"
    if text is not None:
        path.write_text(text)
    with pytest.raises(ConfigError, match=message):
        find_analysis(str(path))


def test_an_unknown_name_gets_a_suggestion() -> None:
    with pytest.raises(ConfigError, match=r"Unknown analysis 'rankz'\. Did you mean 'ranks'\?"):
        find_analysis("rankz")
