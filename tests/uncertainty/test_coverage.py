"""Coverage of methods: shares, tests and ranks by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from assay.uncertainty.coverage import Coverage, average_ranks, comparable, summarise


def row(method: str = "bbc", truth: float = 0.8, bound: float | None = 0.7, **said) -> dict:
    plain = {
        "setting": "s",
        "method": method,
        "higher": True,
        "truth": truth,
        "bound": bound,
        "estimate": 0.85,
    }
    return {**plain, "seconds": 1.0, **said}


def test_five_rows_are_counted_by_hand() -> None:
    rows = [
        row(truth=0.80, bound=0.70, estimate=0.82, seconds=1.0),
        row(truth=0.90, bound=0.85, estimate=0.95, seconds=9.0),
        row(truth=0.60, bound=0.65, estimate=0.70, seconds=2.0),
        row(truth=0.75, bound=0.75, estimate=0.74, seconds=3.0),
        row(truth=0.50, bound=None, estimate=0.90, seconds=4.0),
    ]
    (found,) = summarise(rows)
    assert (found.setting, found.method, found.repetitions, found.failed) == ("s", "bbc", 4, 1)
    assert found.inclusion == 0.75, "a truth at the bound is inside"
    assert found.p == pytest.approx(binom.cdf(3, 4, 0.95))
    assert found.tightness == pytest.approx((0.10 + 0.05 - 0.05 + 0.0) / 4)
    assert found.truth == pytest.approx(np.mean([0.8, 0.9, 0.6, 0.75, 0.5]))
    assert found.bias == pytest.approx(np.mean([0.02, 0.05, 0.10, -0.01, 0.40]))
    assert found.seconds == 3.0, "the median of all that gave an estimate"


def test_a_truth_that_rounding_put_outside_is_inside() -> None:
    (found,) = summarise([row(truth=0.7 - 1e-14, bound=0.7)])
    assert found.inclusion == 1.0
    (found,) = summarise([row(truth=0.7 - 1e-9, bound=0.7)])
    assert found.inclusion == 0.0


@pytest.mark.parametrize(
    ("inside", "holds"), [(200, True), (190, True), (185, True), (184, False), (150, False)]
)
def test_a_promise_is_refuted_by_the_exact_binomial_test(inside: int, holds: bool) -> None:
    rows = [row(truth=0.8 if at < inside else 0.6) for at in range(200)]
    (found,) = summarise(rows)
    assert found.holds == holds == (binom.cdf(inside, 200, 0.95) >= 0.05)


def test_settings_and_methods_are_apart_and_in_the_order_of_the_rows() -> None:
    rows = [row("tt"), row("bbc"), row("bbc", setting="t", n=50, c=7, folds=3), row("tt", bound=0.9)]
    found = summarise(rows)
    assert [(one.setting, one.method) for one in found] == [("s", "tt"), ("s", "bbc"), ("t", "bbc")]
    assert [one.inclusion for one in found] == [0.5, 1.0, 1.0]
    assert (found[2].n, found[2].c, found[2].folds) == (50, 7, 3) and found[0].n == 0
    assert summarise([]) == []


def test_searches_without_an_estimate_are_failed_and_in_no_mean() -> None:
    failed = {"setting": "s", "method": "bbc", "higher": True, "problem": "no value"}
    (found,) = summarise([failed, row(), failed])
    (alone,) = summarise([row()])
    assert found.failed == 2 and found.repetitions == 1
    assert (found.truth, found.bias, found.seconds) == (alone.truth, alone.bias, alone.seconds)
    (nothing,) = summarise([failed])
    numbers = (nothing.inclusion, nothing.p, nothing.tightness, nothing.truth, nothing.bias, nothing.seconds)
    assert all(math.isnan(one) for one in numbers)


def test_the_order_of_repetitions_does_not_matter() -> None:
    random = np.random.default_rng(0)
    rows = [row(truth=one, bound=other) for one, other in random.random((30, 2))]
    (plain,), (turned,) = summarise(rows), summarise(rows[::-1])
    assert (plain.inclusion, plain.p, plain.seconds) == (turned.inclusion, turned.p, turned.seconds)
    assert plain.tightness == pytest.approx(turned.tightness) and plain.bias == pytest.approx(turned.bias)


def test_a_loss_is_counted_as_the_gain_of_the_other_sign() -> None:
    random = np.random.default_rng(1)
    gains = [row(truth=one, bound=two, estimate=three) for one, two, three in random.random((20, 3))]
    losses = [
        {**one, "higher": False, **{key: -one[key] for key in ("truth", "bound", "estimate")}}
        for one in gains
    ]
    (gain,), (loss,) = summarise(gains), summarise(losses)
    assert (loss.inclusion, loss.p) == (gain.inclusion, gain.p)
    assert (loss.tightness, loss.bias, loss.truth) == pytest.approx((gain.tightness, gain.bias, -gain.truth))


def covered(setting: str, method: str, tightness: float = 0.1, p: float = 0.9, **said) -> Coverage:
    plain = {"repetitions": 100, "failed": 0, "inclusion": 0.95, "truth": 0.8, "bias": 0.0, "seconds": 1.0}
    return Coverage(setting=setting, method=method, tightness=tightness, p=p, **{**plain, **said})


def test_only_settings_where_all_gave_bounds_in_most_searches_are_compared() -> None:
    found = [
        covered("all", "a"), covered("all", "b"),
        covered("one lacks", "a"),
        covered("half failed", "a"), covered("half failed", "b", repetitions=50, failed=50),
        covered("most", "b", repetitions=51, failed=49), covered("most", "a"),
        covered("all", "tt", repetitions=0, failed=100),
    ]  # fmt: skip
    own = comparable(found)
    assert list(own) == ["all", "most"]
    assert list(own["most"]) == ["a", "b"], (
        "in the order in which methods came, without those that never bound"
    )


def test_ranks_are_means_over_settings_and_do_not_depend_on_the_order() -> None:
    found = [
        covered("s", "tight", 0.1), covered("s", "loose", 0.2), covered("s", "wrong", 0.0, p=0.01, inclusion=0.8),
        covered("t", "tight", 0.3), covered("t", "loose", 0.2), covered("t", "wrong", 0.2),
    ]  # fmt: skip
    wanted = {"tight": (1 + 3) / 2, "loose": (2 + 1) / 2, "wrong": (3 + 1) / 2}
    assert average_ranks(found) == wanted == average_ranks(found[::-1])
    assert average_ranks([]) == {}


def test_a_worse_method_more_never_changes_the_ranks_of_the_others() -> None:
    found = [covered("s", "a", 0.1), covered("s", "b", 0.3), covered("t", "a", 0.2), covered("t", "b", 0.1)]
    worse = [covered(setting, "c", 0.01, p=0.0, inclusion=0.2) for setting in ("s", "t")]
    ranks = average_ranks([*found, *worse])
    assert ranks.pop("c") == 3 and ranks == average_ranks(found)
