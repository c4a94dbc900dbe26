"""The supervisor's eyes: the phase clock, samples of memory, the machine around."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from assay.jobs.circumstances import Circumstances

__all__ = ["PHASES", "Disturbance", "MemoryTrace", "PhaseClock"]

PHASES = ("start", "load", "fit", "predict", "timing", "export", "end")
END_LIMIT_S = 60.0


class PhaseClock:
    """Times the phases a child announces. A child can only go forward, so it cannot reset a clock."""

    def __init__(self, limits_s: Mapping[str, float]) -> None:
        self._limits = {"end": END_LIMIT_S, **limits_s}
        self._began = time.monotonic()
        self._phase_began = self._began
        self._pending = b""
        self.phase = PHASES[0]
        self.has_started = False  # whether the child has said anything
        self.seconds: dict[str, float] = {}

    def hear(self, data: bytes) -> bool:
        """Take bytes from the phase pipe; return whether a new phase began."""
        *lines, self._pending = (self._pending + data).split(b"\n")
        self._pending = self._pending[-100:]
        changed = False
        for line in lines:
            name = line.decode("ascii", "replace").strip()
            self.has_started |= name in PHASES
            if name in PHASES and PHASES.index(name) > PHASES.index(self.phase):
                self._enter(name)
                changed = True
        return changed

    def _enter(self, phase: str) -> None:
        now = time.monotonic()
        self.seconds[self.phase] = now - self._phase_began
        self.phase, self._phase_began = phase, now

    def stop(self) -> None:
        """Close the current phase."""
        self.seconds[self.phase] = time.monotonic() - self._phase_began

    @property
    def left_s(self) -> float:
        """Return how long the current phase may still take; below zero when it is over its limit."""
        return self._phase_began + self._limits.get(self.phase, 300.0) - time.monotonic()

    @property
    def elapsed_s(self) -> float:
        """Return the seconds since the child was started."""
        return time.monotonic() - self._began


class MemoryTrace:
    """Memory over time in at most a few hundred points, and its highest value."""

    def __init__(self, most: int = 400) -> None:
        self._most = most
        self._every = 1
        self._count = 0
        self.points: list[tuple[float, float]] = []
        self.peak_mb = 0.0

    def add(self, at_s: float, memory_mb: float) -> None:
        """Add one sample; when there are too many, every other one goes."""
        self.peak_mb = max(self.peak_mb, memory_mb)
        if self._count % self._every == 0:
            self.points.append((round(at_s, 3), round(memory_mb, 2)))
        self._count += 1
        if len(self.points) > self._most:
            self.points = self.points[::2]
            self._every *= 2


class Disturbance:
    """How busy the machine was during an attempt: CPU pressure, time stolen by the hypervisor, load."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._pressure = _pressure_us()
        self._steal, self._ticks = _ticks()

    def add_to(self, circumstances: Circumstances) -> Circumstances:
        """Return the circumstances with shares of the time since the beginning, and the load now."""
        wall_us = max(1.0, (time.monotonic() - self._began) * 1e6)
        steal, ticks = _ticks()
        return replace(
            circumstances,
            cpu_pressure=round((_pressure_us() - self._pressure) / wall_us, 4),
            steal=round((steal - self._steal) / max(1, ticks - self._ticks), 4),
            load=os.getloadavg()[0],
        )


def _pressure_us() -> int:
    try:
        first = Path("/proc/pressure/cpu").read_text(encoding="ascii").splitlines()[0]
    except (OSError, IndexError):
        return 0
    return int(first.rpartition("total=")[2] or 0)


def _ticks() -> tuple[int, int]:
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    except OSError:
        return 0, 1
    numbers = [int(field) for field in fields[:8]]
    return (numbers[7] if len(numbers) > 7 else 0), sum(numbers)
