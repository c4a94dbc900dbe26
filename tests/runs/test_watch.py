"""The supervisor's eyes."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest

from assay.jobs.circumstances import Circumstances
from assay.runs.watch import END_LIMIT_S, PHASES, Disturbance, MemoryTrace, PhaseClock

LIMITS = {"start": 60.0, "load": 50.0, "fit": 40.0, "predict": 30.0, "timing": 20.0, "export": 10.0}


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock that a test sets."""
    held = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: held[0])
    return held


def test_phases_are_timed_and_each_has_its_limit(now: list[float]) -> None:
    clock = PhaseClock(LIMITS)
    for i, phase in enumerate(PHASES[1:], 1):
        now[0] += i
        assert clock.hear(phase.encode() + b"\n")
        assert clock.phase == phase
        assert clock.left_s == {**LIMITS, "end": END_LIMIT_S}[phase]
    now[0] += 9
    clock.stop()
    assert clock.seconds == dict(zip(PHASES, (1, 2, 3, 4, 5, 6, 9), strict=True))
    assert clock.elapsed_s == 30


def test_a_phase_over_its_limit_has_less_than_nothing_left(now: list[float]) -> None:
    clock = PhaseClock(LIMITS)
    now[0] += 61
    assert clock.left_s == -1


def test_a_child_can_only_go_forward(now: list[float]) -> None:
    clock = PhaseClock(LIMITS)
    clock.hear(b"fit\n")
    now[0] += 30
    for line in (b"fit\n", b"load\n", b"start\n", b"start\nfit\nload\n"):
        assert not clock.hear(line)
    assert clock.phase == "fit" and clock.left_s == 10, "the clock was not set back"


def test_a_line_may_arrive_in_pieces_and_several_at_once() -> None:
    clock = PhaseClock(LIMITS)
    assert [clock.hear(bytes([byte])) for byte in b"load\n"] == [False] * 4 + [True]
    assert not clock.hear(b"fi")
    assert clock.hear(b"t\npredict\ntim") and clock.phase == "predict"
    assert clock.hear(b"ing\n") and clock.phase == "timing"


@pytest.mark.parametrize(
    "junk",
    [
        b"\n\n\n",
        b"FIT\n",
        b"fit",
        b"fit now\n",
        b"\xff\xfe\n",
        b"x" * 10_000,
        b"x" * 300 + b"fit\n",
        b"f\0it\n",
    ],
)
def test_junk_is_ignored(junk: bytes) -> None:
    clock = PhaseClock(LIMITS)
    assert not clock.hear(junk) and clock.phase == "start"


def test_endless_junk_takes_no_memory() -> None:
    clock = PhaseClock(LIMITS)
    for _ in range(100):
        clock.hear(b"x" * 10_000)
    assert len(clock._pending) <= 100
    assert not clock.hear(b"fit\n"), "the end of a junk line is no phase"
    assert clock.hear(b"fit\n")


def test_memory_over_time_is_bounded_and_its_peak_exact() -> None:
    trace = MemoryTrace(most=50)
    values = [float((i * 7919) % 1013) for i in range(5000)]
    for i, value in enumerate(values):
        trace.add(i * 0.25, value)
        assert len(trace.points) <= 51
    assert trace.peak_mb == max(values)
    times = [at for at, _ in trace.points]
    assert times[0] == 0.0 and times == sorted(times) and times[-1] > 0.95 * 5000 * 0.25
    assert all(value == values[round(at / 0.25)] for at, value in trace.points)
    gaps = {round(b - a, 3) for a, b in pairwise(times)}
    assert len(gaps) == 1, "points stay evenly spaced"


def test_disturbance_is_shares_of_the_time() -> None:
    disturbance = Disturbance()
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        pass
    circumstances = disturbance.add_to(Circumstances(neighbours=2))
    assert circumstances.neighbours == 2
    assert 0.0 <= circumstances.cpu_pressure <= 1.1 and 0.0 <= circumstances.steal <= 1.0
    assert circumstances.load >= 0.0
