"""Supervisors as processes on this machine."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.errors import ConfigError
from assay.jobs.folder import AttemptFolder
from assay.runs.devices import count_free
from assay.runs.executors.base import Finished
from assay.runs.exit_codes import NOT_OURS
from assay.runs.machine import choose_tier, this_machine
from assay.runs.place import Place, Share, clean_up
from assay.settings import Settings

__all__ = ["Local"]

GRACE_S = 10.0


@dataclass(frozen=True)
class _Running:
    process: subprocess.Popen[bytes]
    folder: AttemptFolder
    share: Share


class Local:
    """One supervisor process per attempt; what a killed one leaves behind is cleaned up.

    `workers` bounds how many run at a time; by default as many as the machine has cores, of which every job
    claims its own. `tier` is how limits are enforced; `auto` is the best that works here.
    """

    def __init__(self, workers: int | None = None, tier: str = "auto") -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"`workers={workers}`: at least one job must run at a time.", ["workers"])
        self.workers = workers or len(os.sched_getaffinity(0))
        self._tier = tier
        self._running: dict[int, _Running] = {}

    @cached_property
    def place(self) -> Place:
        """Return this machine; whether its tiers work is tried when it is first asked for."""
        return Place(this_machine(), choose_tier(self._tier))

    @cached_property
    def _locks(self) -> Path:
        return Settings.from_environment().locks

    def has_room(self, share: Share) -> bool:
        """Whether a worker, the memory and enough cores and GPUs are free; a first job always has its memory."""
        running, machine = [job.share for job in self._running.values()], self.place.machine
        if len(running) >= self.workers:
            return False
        if running and sum(other.memory_mb for other in running) + share.memory_mb > machine.memory_mb:
            return False
        # Ours may not have claimed theirs yet, so both are looked at: what is free, and what we need ourselves.
        free_cores, free_gpus = count_free(machine, self._locks)
        cores = min(len(machine.cores) - sum(other.cores for other in running), free_cores)
        gpus = min(len(machine.gpus) - sum(other.gpus for other in running), free_gpus)
        return (share.is_shared or share.cores <= cores) and share.gpus <= gpus

    def submit(self, folder: AttemptFolder, share: Share) -> None:
        """Start `supervise` on the folder."""
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environ.update(self.place.environ())
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "assay.runs.supervise", str(folder.path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environ,
            start_new_session=True,  # Ctrl-C reaches us alone; we stop them in order
        )
        self._running[os.pidfd_open(process.pid)] = _Running(process, folder, share)

    def poll(self, timeout_s: float) -> list[Finished]:
        """Wait for the first to end and return all that did."""
        if not self._running:
            return []
        poller = select.poll()
        for pidfd in self._running:
            poller.register(pidfd, select.POLLIN)
        return [self._collect(pidfd) for pidfd, _ in poller.poll(timeout_s * 1000)]

    def _collect(self, pidfd: int) -> Finished:
        ended = self._running.pop(pidfd)
        os.close(pidfd)
        _, errors = ended.process.communicate()
        code = ended.process.returncode
        if (
            not ended.folder.is_complete and code != NOT_OURS
        ):  # what another supervisor uses is not ours to remove
            clean_up(ended.folder)
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        return Finished(ended.folder, code, lines[-1] if lines else "")

    def cancel(self) -> None:
        """Ask all supervisors to end, then make sure."""
        for running in self._running.values():
            running.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while self._running and time.monotonic() < deadline:
            self.poll(0.1)
        for running in self._running.values():
            running.process.kill()
        while self._running:
            self.poll(1.0)
