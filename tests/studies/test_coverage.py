"""Simulated searches have the truth they claim, and the study counts as the paper does."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binomtest

from assay.errors import ConfigError, UserError
from assay.studies.interval_coverage import PRESETS, run_coverage, run_one
from assay.studies.pieces import StudyPiece, run_pieces
from assay.studies.simulate import Setting, draw_search
from assay.uncertainty.bbc import prepare
from assay.uncertainty.coverage import Coverage, average_ranks, summarise

LARGE = [
    Setting(n=8000, c=6), Setting(n=8000, c=6, rho=0.8), Setting(n=8000, c=6, classes=4), Setting("acc", n=8000, c=6),
    Setting("acc", n=8000, c=6, classes=3), Setting("logloss", n=8000, c=6, balance=0.3),
    Setting("rmse", n=8000, c=6, classes=0), Setting("r2", n=8000, c=6, classes=0),
]  # fmt: skip


@pytest.mark.parametrize("setting", LARGE, ids=lambda one: one.name)
def test_scores_of_many_rows_approach_the_truth(setting: Setting) -> None:
    drawn = draw_search(setting, np.random.default_rng(0))
    found = prepare(drawn.data, setting.metric)
    np.testing.assert_allclose(found.scores, drawn.truth, atol=0.03)


def test_paper_has_sixteen_settings_with_its_folds() -> None:
    settings = PRESETS["paper"]()
    assert len({one.name for one in settings}) == 16
    assert {(one.n, one.balance): one.n_folds for one in settings} == {
        (500, 0.1): 10, (500, 0.5): 10, (50, 0.1): 5, (50, 0.5): 10,
    }  # fmt: skip
    drawn = draw_search(settings[0], np.random.default_rng(0))
    assert (np.bincount(drawn.data.y) == [50, 450]).all(), "the first class is the share b"


def test_correlated_configurations_err_together() -> None:
    for rho in (0.0, 0.8):
        drawn = draw_search(Setting(n=4000, c=5, rho=rho, beta=(24, 6)), np.random.default_rng(1))
        first = drawn.data.values[0][drawn.data.y == 0]
        assert np.corrcoef(first.T)[0, 1] == pytest.approx(rho, abs=0.05)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"metric": "mcc"}, "cannot be simulated"),
        ({"metric": "rmse"}, "numbers have 0"),
        ({"classes": 0}, "numbers have 0"),
        ({"n": 10, "balance": 0.1}, "leave 1 folds"),
    ],
)
def test_settings_that_cannot_be_are_refused(said, text: str) -> None:
    with pytest.raises(ConfigError, match=text):
        Setting(**said)


def test_guided_searches_come_nearer_to_the_best() -> None:
    pytest.importorskip("optuna")
    setting = Setting(n=100, c=40, beta=(9, 6), rho=0.5, strategy="guided")
    gained: dict[str, float] = {}
    for strategy in ("random", "guided"):
        drawn = [
            draw_search(replace(setting, strategy=strategy), np.random.default_rng(s)).truth for s in range(4)
        ]
        gained[strategy] = float(np.mean([truth[-10:].mean() - truth[:10].mean() for truth in drawn]))
    assert gained["guided"] > 0.02 and gained["guided"] > gained["random"] + 0.02


def test_one_repetition_says_the_same_again() -> None:
    setting = Setting(n=50, c=10)
    plain = [
        {key: value for key, value in row.items() if key != "seconds"}
        for row in run_one(setting, 3, ["bbc", "tt"])
    ]
    again = [
        {key: value for key, value in row.items() if key != "seconds"}
        for row in run_one(setting, 3, ["bbc", "tt"])
    ]
    assert plain == again and run_one(setting, 4, ["bbc"])[0]["bound"] != plain[0]["bound"]
    assert plain[0]["truth"] == pytest.approx(plain[1]["truth"]), "both speak of the same winner"


def test_finished_work_is_not_done_again(tmp_path: Path) -> None:
    settings = [Setting(n=50, c=5), Setting(n=50, c=6)]
    told: list[tuple[int, int]] = []
    first = run_coverage(settings, tmp_path, 20, ["bbc"], progress=lambda *one: told.append(one))
    assert told[-1] == (4, 4) and len(list(tmp_path.glob("*.json"))) == 4
    next(iter(tmp_path.glob("*.json"))).unlink()
    again = run_coverage(settings, tmp_path, 20, ["bbc"], progress=lambda *one: told.append(one))
    assert told[5:] == [(3, 4), (4, 4)], "one piece was missing"
    assert [replace(one, seconds=0) for one in again] == [replace(one, seconds=0) for one in first]
    assert {one.repetitions for one in again} == {20}
    with pytest.raises(ConfigError, match="Unknown method 'magic'"):
        run_coverage(settings, tmp_path, 20, ["magic"])


def test_a_damaged_piece_is_done_again_and_a_failure_ends_the_rest(tmp_path: Path) -> None:
    settings = [Setting(n=50, c=5)]
    first = run_coverage(settings, tmp_path / "kept", 20, ["bbc"])
    next(tmp_path.glob("kept/*.json")).write_text('[{"setting": "cut')
    again = run_coverage(settings, tmp_path / "kept", 20, ["bbc"])
    assert [replace(one, seconds=0) for one in again] == [replace(one, seconds=0) for one in first]
    pieces = [
        StudyPiece(fail, (), ("fails",)),
        *(StudyPiece(wait, (number,), ("waits", number)) for number in range(40)),
    ]
    with pytest.raises(ArithmeticError):
        list(run_pieces(pieces, tmp_path / "other", 2))
    assert len(list(tmp_path.glob("other/*.json"))) < 20
    with pytest.raises(UserError, match="A process was killed from outside"):
        list(run_pieces([StudyPiece(die, (), ("dies",))], tmp_path / "third"))


def fail() -> list:
    raise ArithmeticError("no")


def wait(number: int) -> list:
    time.sleep(0.2)
    return [{"number": number}]


def die() -> list:
    os.kill(os.getpid(), signal.SIGKILL)
    return []


def test_corrected_intervals_hold_and_naive_ones_do_not(tmp_path: Path) -> None:
    found = run_coverage(
        [Setting(n=50, c=100, beta=(24, 6))], tmp_path, 60, ["bbc", "bbc_f", "naive_folds", "tt"]
    )
    by = {one.method: one for one in found}
    assert by["bbc"].holds and by["bbc"].inclusion > 0.9 and by["bbc_f"].inclusion > 0.9
    assert not by["naive_folds"].holds and by["naive_folds"].inclusion < 0.5
    assert by["naive_folds"].bias > 0.05 > abs(by["bbc"].bias)
    assert by["tt"].repetitions == 0 and by["tt"].failed == 60 and np.isfinite(by["tt"].bias)


def test_losses_are_counted_in_their_own_direction() -> None:
    rows = [
        {
            "setting": "s",
            "method": "m",
            "higher": False,
            "bound": 0.5,
            "truth": truth,
            "estimate": 0.3,
            "seconds": 1,
        }
        for truth in (0.4, 0.6)
    ]
    (found,) = summarise(rows)
    assert found.inclusion == 0.5 and found.tightness == pytest.approx(0.0)
    assert found.bias == pytest.approx(0.2), "an estimate of the loss that is too low is too good"
    assert found.p == pytest.approx(binomtest(1, 2, 0.95, alternative="less").pvalue)


def test_a_method_that_gives_no_bound_has_still_chosen_a_model() -> None:
    row = {"setting": "s", "method": "m", "higher": True, "seconds": 1}
    rows = [
        {**row, "bound": 0.7, "estimate": 0.9, "truth": 0.8},
        {**row, "bound": None, "estimate": 1.0, "truth": 0.6},
        {**row, "problem": "one class only"},
    ]
    (found,) = summarise(rows)
    assert (found.repetitions, found.failed, found.inclusion) == (1, 2, 1.0)
    assert found.truth == pytest.approx(0.7) and found.bias == pytest.approx(0.25)
    assert found.tightness == pytest.approx(0.1)
    (nothing,) = summarise(rows[2:])
    assert (nothing.repetitions, nothing.failed, nothing.holds) == (0, 1, False)


def made(method: str, inclusion: float, p: float, tightness: float, setting: str = "s") -> Coverage:
    return Coverage(setting, method, 200, 0, inclusion, p, tightness, 0.9, 0.0, 0.1)


def test_ranks_follow_the_papers_rules() -> None:
    found = [
        made("loose", 0.99, 0.9, 0.3), made("tight", 0.95, 0.5, 0.1), made("near", 0.90, 0.01, 0.05),
        made("far", 0.50, 0.0, 0.01), made("as tight", 0.96, 0.6, 0.1),
    ]  # fmt: skip
    assert average_ranks(found) == {"loose": 3, "tight": 1, "near": 4, "far": 5, "as tight": 1}
    absent = Coverage("t", "far", 0, 200, *[float("nan")] * 6)
    other = [made(name, 0.99, 0.9, 0.1, "t") for name in ("loose", "tight", "near", "as tight")]
    assert average_ranks([*found, absent, *other]) == average_ranks(found), (
        "where one has no bounds nobody is ranked"
    )
