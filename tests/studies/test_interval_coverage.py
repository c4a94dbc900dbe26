"""Simulated searches: the settings of the presets, and their repetitions."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from assay.studies.interval_coverage import PRESETS, run_batch, run_coverage, run_one
from assay.studies.simulate import Setting, draw_search
from assay.uncertainty.coverage import summarise

SMALL = Setting(n=40, c=4, folds=5)


def plain(rows: list[dict]) -> list[dict]:
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


@pytest.mark.parametrize("name", PRESETS)
def test_settings_of_a_preset_have_names_of_their_own_and_can_be_drawn(name: str) -> None:
    found = PRESETS[name]()
    assert len({one.name for one in found}) == len(found) > 1
    for one in found:
        if one.strategy == "static":
            small = replace(one, n=min(one.n, 60), c=2, folds=3)
            drawn = draw_search(small, np.random.default_rng(0))
            assert len(drawn.truth) == 2 and np.isfinite(drawn.truth).all()


def test_guided_settings_come_in_pairs_that_differ_in_the_strategy_only() -> None:
    found = PRESETS["guided"]()
    by_chance, guided = found[::2], found[1::2]
    assert [replace(one, strategy="guided") for one in by_chance] == guided


def test_times_vary_one_thing_at_once() -> None:
    usual = {"n": 500, "c": 5, "folds": 3}
    for one in PRESETS["times"]():
        assert sum(asdict(one)[key] != value for key, value in usual.items()) <= 1


def test_a_batch_is_its_repetitions_in_order() -> None:
    batch = run_batch(SMALL, 2, 5, ["bbc", "tt"])
    assert [(row["number"], row["method"]) for row in batch] == [
        (number, method) for number in (2, 3, 4) for method in ("bbc", "tt")
    ]
    assert plain(batch[2:4]) == plain(run_one(SMALL, 3, ["bbc", "tt"]))


def test_more_repetitions_keep_the_earlier_ones(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    run_coverage([SMALL], tmp_path, 10, ["naive_folds"])
    more = run_coverage([SMALL], tmp_path, 25, ["naive_folds"], progress=lambda *one: told.append(one))
    assert told == [(1, 3), (2, 3), (3, 3)], "ten repetitions are one piece"
    (alone,) = summarise(run_batch(SMALL, 0, 25, ["naive_folds"]))
    assert replace(more[0], seconds=0) == replace(alone, seconds=0) and more[0].repetitions == 25


def test_settings_that_differ_in_anything_are_different_searches() -> None:
    first = run_one(SMALL, 0, ["naive_folds"])[0]["estimate"]
    for change in ({"n": 42}, {"c": 5}, {"rho": 0.5}, {"beta": (24, 6)}, {"folds": 4}, {"balance": 0.4}):
        assert run_one(replace(SMALL, **change), 0, ["naive_folds"])[0]["estimate"] != first, change


def test_the_truth_of_a_row_is_that_of_its_winner() -> None:
    for setting in (SMALL, Setting("rmse", n=40, c=4, classes=0), Setting("logloss", n=40, c=4)):
        rows = run_one(setting, 1, ["bbc", "naive_samples"])
        assert rows[0]["winner"] == rows[1]["winner"] and rows[0]["truth"] == rows[1]["truth"]
        assert rows[0]["setting"] == setting.name and (rows[0]["n"], rows[0]["c"]) == (40, 4)
