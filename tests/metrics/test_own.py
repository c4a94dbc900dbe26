"""A user's own metric in a file."""

import os

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.metrics import FailedMetric, UndefinedMetric, get_metric, score

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


def test_function_that_fails_names_its_line(file):
    with pytest.raises(
        FailedMetric, match=r"'mine\.py:failing' fails with ZeroDivisionError: .* \(mine\.py:\d+\)"
    ):
        score(f"{file}:failing", [0, 1], labels=[0, 1])


BROKEN = {
    "raises": ("return 1 / 0", r"ZeroDivisionError: division by zero \(bad\.py:2\)"),
    "raises_inside_numpy": ("return truth.reshape(7, -1, 5).mean()", r"ValueError: .* \(bad\.py:2\)"),
    "exits": ("import sys; sys.exit(0)", r"SystemExit: 0 \(bad\.py:2\)"),
    "never_ends": ("return metric(truth, prediction)", r"RecursionError: .* \(bad\.py:2\)"),
    "none": ("pass", r"it returns None \(NoneType\), not a number \(bad\.py:1\)"),
    "text": ("return '0.5'", r"it returns '0\.5' \(str\), not a number"),
    "array": ("return truth == prediction", r"it returns an array of shape \(4,\), not a number"),
    "list": ("return [0.5]", r"it returns \[0\.5\] \(list\), not a number"),
    "complex": ("return 1j", r"not a number"),
    "data_error": (
        "from assay.errors import DataError; raise DataError('no')",
        r"DataError: no \(bad\.py:2\)",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_metric_that_gives_no_number_fails_with_its_line(case, tmp_path):
    body, reason = BROKEN[case]
    (tmp_path / "bad.py").write_text(
        f"def metric(truth, prediction):\n    {body}\nmetric.higher_is_better = True\n"
    )
    with pytest.raises(FailedMetric, match=reason):
        score(f"{tmp_path}/bad.py:metric", [1, 0, 1, 0], labels=[0, 0, 1, 0])


@pytest.mark.parametrize(
    "returned",
    ["0.5", "numpy.float32(0.5)", "numpy.array(0.5)", "fractions.Fraction(1, 2)", "decimal.Decimal('0.5')"],
)
def test_every_kind_of_number_is_one(returned, tmp_path):
    (tmp_path / "good.py").write_text(
        "import decimal, fractions, numpy\n"
        f"def metric(truth, prediction): return {returned}\nmetric.higher_is_better = True\n"
    )
    assert score(f"{tmp_path}/good.py:metric", [1, 0], labels=[0, 0]) == 0.5


def test_reason_that_a_metric_gives_itself_is_no_failure(tmp_path):
    (tmp_path / "rare.py").write_text(
        "from assay.metrics import UndefinedMetric\n"
        "def metric(truth, prediction): raise UndefinedMetric('too few')\nmetric.higher_is_better = True\n"
    )
    with pytest.raises(UndefinedMetric, match="too few"):
        score(f"{tmp_path}/rare.py:metric", [1, 0], labels=[0, 0])


def test_metric_cannot_change_what_others_see_nor_print_into_our_output(tmp_path, capsys):
    (tmp_path / "rude.py").write_text(
        "print('loaded')\ndef metric(truth, prediction):\n    truth[:] = prediction\n    print('called')\n"
        "    return 1.0\nmetric.higher_is_better = True\n"
    )
    truth, labels = np.array([1, 0]), np.array([0, 0])
    assert score(f"{tmp_path}/rude.py:metric", truth, labels=labels) == 1.0
    assert truth.tolist() == [1, 0]
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "loaded\ncalled\n")


def test_file_that_ends_the_process_is_a_users_error(tmp_path):
    (tmp_path / "ends.py").write_text("x = 1\nimport sys; sys.exit(0)\n")
    with pytest.raises(ConfigError, match=r"ends\.py fails with SystemExit: 0 \(ends\.py:2\)"):
        get_metric(f"{tmp_path}/ends.py:cost")
