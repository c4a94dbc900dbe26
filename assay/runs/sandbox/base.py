"""What every tier of enforcement offers the supervisor: a protocol and the records that go through it.

A tier is used by the supervisor only, in this order: `start` once, `sample` while the child lives, `kill` when a limit
is passed, `wait`, `kill` in any case at the end, then `collect`, and `close` last. `kill` returns only when no
process of the tree is left; `close` leaves neither cgroup nor mount nor folder behind and may be called twice.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assay.errors import AssayError
from assay.vocabulary import Blindness

__all__ = ["TIERS", "CannotFork", "Ended", "Sample", "Sandbox", "Streams", "ended"]

TIERS = ("strict", "landlock", "plain")


class CannotFork(AssayError):
    """Why a job cannot be forked from a nursery; it starts cold then, and its row says this."""


@dataclass(frozen=True)
class Sample:
    """One look at a running tree."""

    memory_mb: float
    processes: int
    cpu_s: float


@dataclass(frozen=True)
class Streams:
    """File descriptors for the child: where its output and its phase lines go.

    A nursery speaks through its control socket instead of phases, and reads its own log instead of nothing.
    """

    output: int
    phases: int
    input: int = subprocess.DEVNULL


@dataclass(frozen=True)
class Ended:
    """How a child ended: its exit code, and the signal that ended it."""

    code: int | None
    signal: int | None = None


def ended(code: int, through_bubblewrap: bool = False) -> Ended:
    """Return what Python's exit code of a process means: below zero it is a signal.

    Bubblewrap passes a signal of its child on as 128 + n.
    """
    if code < 0:
        return Ended(None, -code)
    return Ended(code, code - 128 if through_bubblewrap and 128 < code < 160 else None)


class Sandbox(Protocol):
    """One tier at work on one attempt."""

    blindness: Blindness
    hard_memory: bool

    @property
    def writable(self) -> tuple[Path, Path]:
        """Return the folders that the child writes: its output and its scratch."""

    def start(self, streams: Streams) -> int:
        """Start the child and return the number of the process with which it ends."""

    def wait(self) -> Ended:
        """Wait for the child's end and return how it ended."""

    def sample(self) -> Sample:
        """Look at memory, processes and CPU time of the whole tree."""

    def oom_kills(self) -> int:
        """Return how many processes the kernel killed for memory so far."""

    def peak_mb(self) -> float | None:
        """Return the kernel's own peak, page cache included; None where it keeps none."""

    def process_limit_hits(self) -> int:
        """Return how often starting a process was refused."""

    def kill(self) -> int:
        """Kill the whole tree and return how many processes were found alive."""

    def collect(self) -> None:
        """Bring the child's output to the attempt's folder; everybody is dead by then."""

    def close(self) -> None:
        """Remove what the tier made."""
