"""The simulation under the null counts what the tests say, always the same, and sees a test that is broken."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.null import TESTS, Check, Design, Line, Suite, main, make_differences, markdown, simulate

QUICK = Design(draws=50, samples=500)


def always(suite: Suite, random: np.random.Generator) -> bool:
    """Reject whatever there is."""
    return True


def never(suite: Suite, random: np.random.Generator) -> bool:
    """Reject nothing."""
    return False


BROKEN, SILENT = Check("rejects always", always), Check("rejects never", never)


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    return simulate(20, seed=0, design=QUICK)


def test_every_test_has_a_row_with_a_rate(lines: list[Line]) -> None:
    assert [line.test for line in lines] == list(TESTS)
    assert all(0 <= line.rate <= 1 and line.suites == 20 for line in lines)
    assert all(f"| {test.name} |" in markdown(lines) for test in TESTS)


def test_same_seed_gives_the_same_rates_with_any_number_of_processes(lines: list[Line]) -> None:
    again = simulate(20, seed=0, workers=2, design=QUICK)
    assert [line.rejected for line in again] == [line.rejected for line in lines]


def test_rates_of_a_test_do_not_depend_on_the_others(lines: list[Line]) -> None:
    alone = simulate(20, seed=0, design=QUICK, tests=TESTS[6:7])
    assert alone == lines[6:7]


def test_folds_taken_as_independent_are_seen_and_expected(lines: list[Line]) -> None:
    (line,) = (line for line in lines if "unit fold" in line.test.name)
    assert not line.keeps and not line.is_bad
    assert "no, as expected" in markdown([line])


def test_broken_test_is_reported_and_a_silent_one_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "null.md"
    words = ["--suites", "20", "-p", "1", "--out", str(out)]
    assert main(words, tests=[SILENT, BROKEN]) == 1
    rows = out.read_text(encoding="utf-8").splitlines()
    assert rows[-2] == "| rejects never | 0.05 | 0.000 | 0.000 | 0.147 | yes |"
    assert rows[-1] == "| rejects always | 0.05 | 1.000 | 0.000 | 0.147 | **no** |"
    printed = capsys.readouterr()
    assert printed.out == out.read_text(encoding="utf-8") and "20 of 20 suites" in printed.err
    assert main(words, tests=[SILENT]) == 0


def test_folds_of_the_one_task_correlate_as_those_of_cross_validation() -> None:
    drawn = np.array([make_differences(10, np.random.default_rng(i)) for i in range(4000)])
    between = np.corrcoef(drawn.T)[np.triu_indices(10, 1)]
    # 45 correlations of 0.1 over 4000 draws: their mean has an error of about 0.005.
    assert between.mean() == pytest.approx(0.1, abs=0.02)
    assert drawn.var() == pytest.approx(1.0, abs=0.05)
