"""A user's own metric in a file."""

import os

import pytest

from assay.errors import ConfigError
from assay.metrics import UndefinedMetric, get_metric, score

COST = '''
from __future__ import annotations
from dataclasses import dataclass

@dataclass
class Prices:
    missed: float = 5.0

def cost(truth, prediction):
    """Price of the mistakes."""
    return Prices().missed * (truth > prediction).mean()

cost.higher_is_better = False
cost.types = ("binary",)
cost.low = 0
def aimless(truth, prediction): return 0.0
def failing(truth, prediction): return 1 / 0
failing.higher_is_better = True
'''


@pytest.fixture
def file(tmp_path, monkeypatch):
    """Return the name of a metric file in the working directory."""
    (tmp_path / "mine.py").write_text(COST)
    monkeypatch.chdir(tmp_path)
    return "mine.py"


def test_function_in_a_file_is_a_metric(file, tmp_path):
    metric = get_metric(f"{file}:cost")
    assert (metric.name, metric.higher_is_better, metric.types, metric.low) == (
        "mine.py:cost",
        False,
        ("binary",),
        0,
    )
    assert metric.description == "Price of the mistakes."
    assert score(metric, [1, 0, 1, 0], labels=[0, 0, 1, 0]) == pytest.approx(1.25)
    assert get_metric(metric.name) == get_metric(metric.name)
    assert not (tmp_path / "__pycache__").exists()


def test_changed_file_is_read_again(file, tmp_path):
    before = get_metric(f"{file}:cost").function
    (tmp_path / file).write_text(COST.replace("5.0", "7.0"))
    os.utime(tmp_path / file, ns=(1, 1))
    after = get_metric(f"{file}:cost").function
    assert before is not after


def test_direction_is_required(file):
    with pytest.raises(ConfigError, match=r"'mine.py:aimless' does not say which direction is better"):
        get_metric(f"{file}:aimless")


def test_missing_file_and_function_are_named(file):
    with pytest.raises(ConfigError, match=r"'none.py:cost' in x: there is no file none.py"):
        get_metric("none.py:cost", "in x")
    with pytest.raises(ConfigError, match=r"mine.py has no 'costs'. Did you mean 'cost'\?"):
        get_metric("mine.py:costs")


def test_file_that_fails_is_a_users_error(tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    with pytest.raises(ConfigError, match=r"broken\.py fails with ModuleNotFoundError: No module named"):
        get_metric(f"{tmp_path}/broken.py:cost")
    (tmp_path / "unfinished.py").write_text("def cost(\n")
    with pytest.raises(ConfigError, match="fails with SyntaxError"):
        get_metric(f"{tmp_path}/unfinished.py:cost")


def test_function_that_fails_leaves_the_metric_undefined(file):
    with pytest.raises(UndefinedMetric, match=r"'mine\.py:failing' fails with ZeroDivisionError"):
        score(f"{file}:failing", [0, 1], labels=[0, 1])
