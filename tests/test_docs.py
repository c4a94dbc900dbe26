"""The pages made from the code are current, and name what there is."""

import importlib.util
from pathlib import Path

import pytest

from assay.metrics import BUILTIN

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def generate():
    """Return docs/generate.py as a module; it is a script and no part of the package."""
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_current(generate):
    for name, make in generate.GENERATORS.items():
        assert generate.outdated(make()) == [], f"run: python docs/generate.py {name}"


def test_metrics_page_has_one_row_per_metric():
    rows = [
        line for line in (DOCS / "reference/metrics.md").read_text().splitlines() if line.startswith("| `")
    ]
    assert [row.split("`")[1] for row in rows] == list(BUILTIN)
    for row, metric in zip(rows, BUILTIN.values(), strict=True):
        assert metric.description in row and f"| {metric.needs} |" in row and f"| {metric.kind} |" in row


def test_check_writes_nothing_and_fails_on_an_old_page(generate, tmp_path, capsys):
    assert generate.main(["--check", "metrics"], docs=tmp_path) == 1
    assert "out of date: reference/metrics.md" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert generate.main(["metrics"], docs=tmp_path) == 0
    assert generate.main(["--check", "metrics"], docs=tmp_path) == 0
    (tmp_path / "reference/metrics.md").write_text("old\n")
    assert generate.main(["--check", "metrics"], docs=tmp_path) == 1


def test_unknown_reference_is_refused(generate, capsys):
    with pytest.raises(SystemExit):
        generate.main(["metricks"])
    assert "there are metrics" in capsys.readouterr().err
