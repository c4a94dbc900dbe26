"""Five rounds of what `make chaos` plays fifty of."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.chaos import play

AWKWARD = f"{Path(__file__).parent / 'awkward.py'}:Awkward"


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_lost_and_nothing_runs_twice_when_somebody_is_killed(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))
    # On a fast machine all jobs may be done before the moment comes: then that round says nothing.
    for tried in range(4):
        played = play(100 + seed + 30 * tried, tmp_path / f"store-{tried}")
        assert not played.problems
        if played.kills:
            return
    pytest.fail("nobody was killed in four rounds")


@pytest.mark.parametrize("seed", [1, 2])
def test_the_plain_tier_survives_a_kill_too(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))
    assert not play(200 + seed, tmp_path / "store", tier="plain").problems


@pytest.mark.parametrize("seed", range(4))
def test_an_awkward_executor_loses_and_repeats_nothing_either(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Coordinator, supervisor, child and helper in turn; `benchmarks.chaos --on` plays more of it."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))
    assert not play(300 + seed, tmp_path / "store", on=AWKWARD).problems
