"""Where a supervised job runs: a protocol of three methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from assay.jobs.folder import AttemptFolder

__all__ = ["Executor", "Finished"]


@dataclass(frozen=True)
class Finished:
    """An attempt whose supervisor has ended, with or without facts."""

    folder: AttemptFolder
    exit_code: int
    message: str = ""


class Executor(Protocol):
    """Starts `supervise FOLDER` somewhere. An executor decides where, never what.

    Promises: every submitted attempt is returned by `poll` exactly once, also when its supervisor was
    killed; after `cancel` no supervisor or child of ours is left; descriptors handed to `submit` are held
    by the supervisor as long as it lives, and closed here. `workers` is how many attempts it takes at a time.
    """

    workers: int

    def submit(self, folder: AttemptFolder, descriptors: Sequence[int]) -> None:
        """Start supervising an attempt; the first descriptor is the attempt's lock."""

    def poll(self, timeout_s: float) -> list[Finished]:
        """Return attempts that ended, waiting at most so long for the first."""

    def cancel(self) -> None:
        """Stop everything; attempts that had not finished leave no facts."""
