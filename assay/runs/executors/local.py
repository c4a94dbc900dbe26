"""Supervisors as processes on this machine."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

from assay.errors import ConfigError
from assay.files import remove_tree
from assay.jobs.folder import AttemptFolder
from assay.runs.executors.base import Finished
from assay.runs.sandbox.cgroup import sweep
from assay.runs.sandbox.strict import group_name

__all__ = ["Local"]

GRACE_S = 10.0


class Local:
    """One supervisor process per attempt; when one is killed, its control group is swept.

    `workers` bounds how many run at a time; by default as many as the machine has cores, of which every job
    claims its own.
    """

    def __init__(self, workers: int | None = None) -> None:
        if workers is not None and workers < 1:
            raise ConfigError(f"-p {workers}: at least one job must run at a time.")
        self.workers = workers or len(os.sched_getaffinity(0))
        self._running: dict[int, tuple[subprocess.Popen[bytes], AttemptFolder]] = {}

    def submit(self, folder: AttemptFolder, descriptors: Sequence[int]) -> None:
        """Start `supervise` on the folder."""
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        command = [sys.executable, "-I", "-m", "assay.runs.supervise", str(folder.path), str(descriptors[0])]
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                pass_fds=tuple(descriptors),
                env=environ,
                start_new_session=True,  # Ctrl-C reaches us alone; we stop them in order
            )
        finally:
            for descriptor in descriptors:
                os.close(descriptor)
        self._running[os.pidfd_open(process.pid)] = (process, folder)

    def poll(self, timeout_s: float) -> list[Finished]:
        """Wait for the first to end and return all that did."""
        if not self._running:
            return []
        poller = select.poll()
        for pidfd in self._running:
            poller.register(pidfd, select.POLLIN)
        return [self._collect(pidfd) for pidfd, _ in poller.poll(timeout_s * 1000)]

    def _collect(self, pidfd: int) -> Finished:
        process, folder = self._running.pop(pidfd)
        os.close(pidfd)
        _, errors = process.communicate()
        if not folder.is_complete:
            _clean(folder)
        lines = errors.decode("utf-8", "replace").strip().splitlines()
        return Finished(folder, process.returncode, lines[-1] if lines else "")

    def cancel(self) -> None:
        """Ask all supervisors to end, then make sure."""
        for process, _ in self._running.values():
            process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        while self._running and time.monotonic() < deadline:
            self.poll(0.1)
        for process, _ in self._running.values():
            process.kill()
        while self._running:
            self.poll(1.0)


def _clean(folder: AttemptFolder) -> None:
    """Remove what a killed supervisor left: its group with everybody in it, and the child's scratch."""
    with contextlib.suppress(OSError):
        sweep(group_name(folder.path))
    remove_tree(folder.tmp)
