"""Metrics without a short cut: concordance is that of an area where all times are known, functions are called."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import kendalltau

from assay.uncertainty import slow_scorers
from assay.uncertainty.scorers import make_scorer, of_each

N = 40


def survival(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    time = random.exponential(size=N)
    weights = random.multinomial(N, np.full(N, 1 / N), size=4)
    return time, random.random(N) < 0.7, -time[:, None] + random.normal(size=(N, 3)), weights


def test_with_every_event_known_concordance_follows_from_kendalls_tau() -> None:
    time, _, risk, _ = survival()
    found = make_scorer("cindex", time, risk, np.ones(N, dtype=bool)).weighted(np.ones((1, N), dtype=int))
    wanted = [(1 - kendalltau(time, column).statistic) / 2 for column in risk.T]
    np.testing.assert_allclose(found[0], wanted)


def test_blocks_of_rows_do_not_change_the_concordance(monkeypatch: pytest.MonkeyPatch) -> None:
    time, event, risk, weights = survival()
    scorer = make_scorer("cindex", time, risk, event)
    whole = scorer.weighted(weights)
    monkeypatch.setattr(slow_scorers, "BLOCK", 7)
    np.testing.assert_allclose(scorer.weighted(weights), whole)
    np.testing.assert_allclose(scorer.weighted(weights, [2]), whole[:, [2]])


def test_turned_risks_have_one_minus_the_concordance_and_no_event_has_none() -> None:
    time, event, risk, weights = survival()
    plain, turned = (make_scorer("cindex", time, one, event).weighted(weights) for one in (risk, -risk))
    np.testing.assert_allclose(turned, 1 - plain)
    flat = make_scorer("cindex", time, np.zeros((N, 1)), event).weighted(weights)
    assert (flat == 0.5).all()
    assert np.isnan(make_scorer("cindex", time, risk, np.zeros(N, dtype=bool)).weighted(weights)).all()


def test_a_function_has_no_value_for_a_draw_of_no_rows(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def middle(truth, prediction):\n    return float(abs(truth - prediction).sum() / len(truth))\n"
        "middle.higher_is_better = False\nmiddle.needs = 'values'\n"
    )
    y, values, weights = survival()[0], survival()[2], survival()[3]
    weights[1] = 0
    slow, fast = (make_scorer(name, y, values) for name in (f"{tmp_path}/mine.py:middle", "mae"))
    np.testing.assert_allclose(slow.weighted(weights), fast.weighted(weights))
    assert np.isnan(slow.weighted(weights)[1]).all()
    columns = np.array([2, 0, 0, 1])
    np.testing.assert_allclose(of_each(slow, weights, columns), fast.weighted(weights)[np.arange(4), columns])
