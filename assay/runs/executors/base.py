"""Where supervised jobs run: a protocol of four methods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from assay.jobs.folder import AttemptFolder
from assay.runs.place import Place, Share

__all__ = ["Executor", "ExecutorOptions", "Finished"]


@dataclass(frozen=True)
class ExecutorOptions:
    """What a user may ask of any executor: how many jobs at a time (None: as it sees fit), and which tier."""

    workers: int | None = None
    tier: str = "auto"


@dataclass(frozen=True)
class Finished:
    """An attempt whose supervisor has ended, with or without facts."""

    folder: AttemptFolder
    exit_code: int
    message: str = ""


class Executor(Protocol):
    """Starts `supervise FOLDER` somewhere. An executor decides where, never what.

    Promises:

    - Making an executor starts nothing; `place` says what jobs get where it starts them.
    - `has_room` is True sooner or later whenever nothing of ours runs: a job that the place can hold is never refused
      for good.
    - Every submitted attempt is returned by `poll` exactly once, also when its supervisor was killed or its worker
      was lost. When it is returned, its files are in the folder, and its supervisor is gone or can no longer write to
      that folder.
    - After `cancel` no supervisor or child of ours is left, and nothing is returned any more; attempts that had not
      finished leave no facts. It may be called twice, and without anything having been submitted.
    - The supervisor holds the attempt's lock (`assay.store.locks`) as long as it lives, whatever becomes of the
      process that submitted it. The command `supervise` does that by itself where it sees the folder; an executor
      that works on a copy holds the lock (`hold_attempt`) in its stead.
    """

    @property
    def place(self) -> Place:
        """Return what a job gets where this executor runs it."""

    @property
    def workers(self) -> int:
        """Return how many attempts run at a time at most."""

    def has_room(self, share: Share) -> bool:
        """Whether an attempt that takes this share would be started now, without waiting for others."""

    def submit(self, folder: AttemptFolder, share: Share) -> None:
        """Have an attempt supervised, now or as soon as there is room."""

    def poll(self, timeout_s: float) -> list[Finished]:
        """Return attempts that ended, waiting at most about so long for the first."""

    def cancel(self) -> None:
        """Stop everything."""
