"""Made-up searches: the noise, the classes and the truth are those of closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest, norm
from sklearn.metrics import log_loss, roc_auc_score

from assay.studies.simulate import KINDS, Setting, _noise, _smooth_noise, _surface, draw_search


def draw(seed: int = 0, **said):
    return draw_search(Setting(**said), np.random.default_rng(seed))


def test_true_performances_have_the_stated_distribution() -> None:
    for metric, classes in (("auc", 2), ("acc", 2), ("auc", 3)):
        truth = draw(metric=metric, classes=classes, n=30, c=2000, beta=(24, 6)).truth
        assert kstest(truth, "beta", args=(24, 6)).pvalue > 0.001
    errors = draw(metric="rmse", classes=0, n=30, c=2000, beta=(9, 6)).truth
    assert kstest(1 - errors / 1.5, "beta", args=(9, 6)).pvalue > 0.001


@given(st.integers(10, 200), st.sampled_from([0.1, 0.3, 0.5, 0.9]), st.sampled_from([2, 3, 10]))
@settings(max_examples=25, deadline=None)
def test_rows_of_two_classes_have_the_stated_balance_in_every_fold(
    n: int, balance: float, folds: int
) -> None:
    drawn = draw(n=n, c=1, balance=balance, folds=folds)
    first = round(n * balance)
    assert (drawn.data.y == 0).sum() == first and drawn.data.n_folds == folds
    shares = [(drawn.data.y[drawn.data.folds[0] == k] == 0).sum() for k in range(folds)]
    assert max(shares) - min(shares) <= 1 and sum(shares) == first


def test_several_classes_are_equally_frequent() -> None:
    assert np.bincount(draw(n=60, c=1, classes=4).data.y).tolist() == [15] * 4


@pytest.mark.parametrize(
    ("said", "folds"),
    [
        ({"n": 500}, 10), ({"n": 50, "balance": 0.1}, 5), ({"n": 12, "classes": 4}, 3), ({"n": 40, "folds": 4}, 4),
        ({"n": 40, "metric": "r2", "classes": 0}, 10),
    ],
)  # fmt: skip
def test_there_are_ten_folds_or_as_many_as_the_rarest_class_has_rows(said: dict, folds: int) -> None:
    assert Setting(**said).n_folds == folds == draw(c=1, **said).data.n_folds


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("rho", [0.0, 0.3, 0.9])
def test_noise_has_the_stated_correlation_and_size(rho: float, classes: int) -> None:
    setting = Setting(n=6000, c=3, rho=rho, classes=classes)
    noise = _noise(setting, np.random.default_rng(2)).reshape(6000, 3, -1)[:, :, 0]
    wanted = np.full((3, 3), rho) + (1 - rho) * np.eye(3)
    np.testing.assert_allclose(np.cov(noise.T), wanted, atol=0.06)


@pytest.mark.parametrize("level", [0.5, 0.7, 0.95])
def test_scores_of_two_classes_have_the_area_of_two_normals(level: float) -> None:
    n = 40_000
    y = (np.arange(n) >= n // 2).astype(int)
    noise = np.random.default_rng(0).normal(size=(n, 1))
    values, truth = KINDS["auc"](Setting(n=n, c=1), y, np.array([level]), noise)
    apart = values[y == 1].mean() - values[y == 0].mean()
    assert norm.cdf(apart / np.sqrt(2)) == pytest.approx(level, abs=0.01)
    assert roc_auc_score(y, values[:, 0]) == pytest.approx(truth[0], abs=0.01)


@pytest.mark.parametrize(("level", "balance"), [(0.6, 0.5), (0.8, 0.2), (0.95, 0.7)])
def test_the_true_log_loss_is_the_integral_over_both_classes(level: float, balance: float) -> None:
    setting = Setting("logloss", n=40_000, c=1, balance=balance)
    y = (np.arange(setting.n) >= round(setting.n * balance)).astype(int)
    noise = np.random.default_rng(0).normal(size=(setting.n, 1))
    values, truth = KINDS["logloss"](setting, y, np.array([level]), noise)
    apart = np.sqrt(2) * norm.ppf(level)

    def cost(x: float, own: float, other: float, at: float, away: float) -> float:
        mine, theirs = own * norm.pdf(x, at), other * norm.pdf(x, away)
        return -mine * np.log(mine / (mine + theirs))

    both = (balance, 1 - balance, 0.0, apart), (1 - balance, balance, apart, 0.0)
    wanted = sum(quad(cost, -12, 12, args=one)[0] for one in both)
    assert truth[0] == pytest.approx(wanted, abs=1e-6)
    assert log_loss(y, values[:, 0]) == pytest.approx(wanted, abs=0.02)


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_wrong_classes_are_spread_over_all_others(classes: int) -> None:
    setting = Setting("acc", n=20_000, c=1, classes=classes)
    drawn = draw_search(setting, np.random.default_rng(1))
    values, y = drawn.data.values[0][:, 0], drawn.data.y
    said = (values > 0.5).astype(int) if classes == 2 else values.argmax(axis=1)
    assert (said == y).mean() == pytest.approx(drawn.truth[0], abs=0.015)
    away = np.bincount((said - y)[said != y] % classes, minlength=classes)[1:]
    np.testing.assert_allclose(away / away.sum(), 1 / (classes - 1), atol=0.03)


def test_a_level_of_one_makes_no_error() -> None:
    y = np.random.default_rng(0).normal(size=50)
    noise = np.random.default_rng(1).normal(size=(50, 2))
    for metric, wanted in (("rmse", [0.0, 0.75]), ("r2", [1.0, 1 - 0.75**2])):
        values, truth = KINDS[metric](Setting(metric, classes=0), y, np.array([1.0, 0.5]), noise)
        np.testing.assert_allclose(truth, wanted)
        np.testing.assert_allclose(values - y[:, None], noise * [0.0, 0.75])


def test_the_same_seed_is_the_same_search() -> None:
    one, same, other = (draw(seed, n=40, c=3) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.data.values[0], same.data.values[0])
    assert (one.truth == same.truth).all() and (one.truth != other.truth).all()


def test_near_configurations_err_on_the_same_rows_and_far_ones_do_not() -> None:
    setting = Setting(n=5000, rho=1.0, strategy="guided")
    noise = _smooth_noise(setting, np.random.default_rng(0))
    here, near, far = (noise(np.array([at, 0.1, 0.1]))[:, 0] for at in (0.1, 0.11, 0.9))
    assert np.corrcoef(here, near)[0, 1] > 0.98 and abs(np.corrcoef(here, far)[0, 1]) < 0.6
    assert here.std() == pytest.approx(1, abs=0.35)
    alone = _smooth_noise(replace(setting, rho=0.0), np.random.default_rng(0))
    again = np.corrcoef(alone(np.full(3, 0.1))[:, 0], alone(np.full(3, 0.1))[:, 0])[0, 1]
    assert again == pytest.approx(0, abs=0.06), "without shared noise nothing is alike"


def test_the_surface_is_smooth_and_within_its_range() -> None:
    level = _surface(Setting(beta=(24, 6), strategy="random"), np.random.default_rng(0))
    places = np.random.default_rng(1).random((200, 3))
    found = np.array([level(place) for place in places])
    moved = np.array([level(place + 1e-4) for place in places])
    assert (found > 0).all() and (found < 1).all() and found.std() > 0.02
    assert np.abs(found - moved).max() < 1e-3


def test_names_say_what_differs() -> None:
    assert Setting().name == "auc, Beta(9, 6), N=500, C=100, b=0.5, K=10"
    assert Setting(classes=4, rho=0.8).name == "auc, 4 classes, Beta(9, 6), N=500, C=100, K=10, ρ=0.8"
    assert (
        Setting("rmse", classes=0, strategy="random").name == "rmse, Beta(9, 6), N=500, C=100, K=10, random"
    )
