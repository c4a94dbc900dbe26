"""Supervisors as processes on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from assay.errors import ConfigError
from assay.jobs.folder import AttemptFolder
from assay.runs.devices import count_free
from assay.runs.executors.base import Finished
from assay.runs.exit_codes import NOT_OURS
from assay.runs.machine import choose_tier, this_machine
from assay.runs.place import Place, Share, clean_up, clean_up_nurseries
from assay.settings import Settings

__all__ = ["Local"]

GRACE_S = 10.0


@dataclass
class _Supervisor:
    """A supervisor that stays, and what it is at work on."""

    process: subprocess.Popen[bytes]
    errors: IO[bytes]
    folder: AttemptFolder | None = None
    share: Share | None = None


class Local:
    """Supervisors that take one attempt after another; what a killed one leaves behind is cleaned up.

    `workers` bounds how many run at a time; by default as many as the machine has cores, of which every job
    claims its own. `tier` is how limits are enforced; `auto` is the best that works here.
    """

    def __init__(self, workers: int | None = None, tier: str = "auto") -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"`workers={workers}`: at least one job must run at a time.", ["workers"])
        self.workers = workers or len(os.sched_getaffinity(0))
        self._tier = tier
        self._supervisors: list[_Supervisor] = []

    @cached_property
    def place(self) -> Place:
        """Return this machine; whether its tiers work is tried when it is first asked for."""
        return Place(this_machine(), choose_tier(self._tier))

    @cached_property
    def _locks(self) -> Path:
        return Settings.from_environment().locks

    def has_room(self, share: Share) -> bool:
        """Whether a worker, the memory and enough cores and GPUs are free; a first job always has its memory."""
        running, machine = [one.share for one in self._supervisors if one.share], self.place.machine
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
        """Give the folder to a supervisor that is idle, or to a new one."""
        supervisor = next((one for one in self._supervisors if one.folder is None), None)
        if supervisor is None:
            supervisor = self._start(folder.root.parent)
            self._supervisors.append(supervisor)
        supervisor.folder, supervisor.share = folder, share
        assert supervisor.process.stdin is not None
        # One that was killed while it was idle is found by `poll`, as if it had been killed at work.
        with contextlib.suppress(BrokenPipeError):
            supervisor.process.stdin.write(json.dumps(str(folder.path)).encode() + b"\n")
            supervisor.process.stdin.flush()

    def _start(self, store: Path) -> _Supervisor:
        if not self._supervisors:
            clean_up_nurseries()  # of supervisors that were killed together with their coordinator
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environ.update(self.place.environ())
        errors = tempfile.TemporaryFile()  # noqa: SIM115  # kept; not a pipe, which would be full one day
        process = subprocess.Popen(
            [sys.executable, "-I", "-m", "assay.runs.stay", str(store)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environ,
            start_new_session=True,  # Ctrl-C reaches us alone; we stop them in order
        )
        return _Supervisor(process, errors)

    def poll(self, timeout_s: float) -> list[Finished]:
        """Wait for the first to end and return all that did."""
        working = {_answers(one): one for one in self._supervisors if one.folder is not None}
        if not working:
            return []
        poller = select.poll()
        for descriptor in working:
            poller.register(descriptor, select.POLLIN)
        return [self._collect(working[descriptor]) for descriptor, _ in poller.poll(timeout_s * 1000)]

    def _collect(self, supervisor: _Supervisor) -> Finished:
        assert supervisor.folder is not None and supervisor.process.stdout is not None
        folder = supervisor.folder
        answer = supervisor.process.stdout.readline()
        supervisor.folder = supervisor.share = None
        if answer.endswith(b"\n"):
            answered = json.loads(answer)
            finished = Finished(folder, answered["exit_code"], answered["message"])
        else:
            finished = Finished(folder, *self._bury(supervisor))
        # What another supervisor uses is not ours to remove.
        if not folder.is_complete and finished.exit_code != NOT_OURS:
            clean_up(folder)
        return finished

    def _bury(self, supervisor: _Supervisor) -> tuple[int, str]:
        """Forget a supervisor that has ended; return its exit code and the last line that it printed."""
        self._supervisors.remove(supervisor)
        with contextlib.suppress(BrokenPipeError):
            supervisor.process.stdin.close()  # type: ignore[union-attr]
        supervisor.process.stdin = None
        supervisor.process.communicate()
        clean_up_nurseries(supervisor.process.pid)
        with supervisor.errors as errors:
            errors.seek(0)
            lines = errors.read(1 << 20).decode("utf-8", "replace").strip().splitlines()
        return supervisor.process.returncode, lines[-1] if lines else ""

    def cancel(self) -> None:
        """Ask all supervisors to end, then make sure."""
        for supervisor in self._supervisors:
            supervisor.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while any(one.process.poll() is None for one in self._supervisors) and time.monotonic() < deadline:
            time.sleep(0.005)
        for supervisor in list(self._supervisors):
            supervisor.process.kill()
            folder = supervisor.folder
            self._bury(supervisor)
            if folder is not None and not folder.is_complete:
                clean_up(folder)


def _answers(supervisor: _Supervisor) -> int:
    assert supervisor.process.stdout is not None
    return supervisor.process.stdout.fileno()
