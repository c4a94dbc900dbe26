"""The strict tier: a control group for the limits, bubblewrap for what the child may see."""

from __future__ import annotations

import hashlib
import os
import subprocess
from pathlib import Path

from assay.errors import InternalError
from assay.runs.launch import Launch
from assay.runs.sandbox.base import Ended, Sample, Streams, ended
from assay.runs.sandbox.bubblewrap import AS_ANOTHER, AS_CALLER, become, run_bubblewrap
from assay.runs.sandbox.cgroup import find_cgroup
from assay.runs.sandbox.description import bubblewrap_arguments, inside
from assay.runs.sandbox.host_user import INSIDE, choose_host_user, give, make_readable, map_user
from assay.runs.sandbox.live import Live, open_live
from assay.runs.sandbox.seccomp import filter_program
from assay.vocabulary import Blindness

__all__ = ["Strict", "group_name"]

OWN = 2  # bubblewrap outside and inside the namespace


def group_name(folder: Path) -> str:
    """Return the name of an attempt's control group: two stores may run the same job at the same time."""
    place = hashlib.sha256(os.path.realpath(folder).encode()).hexdigest()[:12]
    return f"{folder.parent.parent.name}-{folder.name}-{place}"


class Strict:
    """An allow-list of files, own namespaces, no capabilities, hard limits."""

    blindness: Blindness = "enforced"
    hard_memory = True

    def __init__(self, launch: Launch, folder: Path) -> None:
        self.launch = launch
        self.folder = folder
        group = find_cgroup(group_name(folder))
        if group is None:
            raise InternalError("The strict tier was chosen on a machine without control groups.")
        self.group = group
        self.user = choose_host_user() if os.geteuid() == 0 else None
        self.process: subprocess.Popen[bytes] | None = None
        self.live: Live | None = None

    @property
    def writable(self) -> tuple[Path, Path]:
        """Return the folders that the child writes."""
        return self.live.writable if self.live else (self.folder / "out", self.folder / "tmp")

    def start(self, streams: Streams) -> int:
        """Make the group, then start bubblewrap inside it."""
        self.group.create(self.launch.memory_mb, self.launch.processes, self.launch.cores)
        self.live = open_live(self.launch, self.folder)
        self.launch = self.live.launch
        words = bubblewrap_arguments(self.launch, self.live.path, streams.phases, self.group.shown())
        if self.user is None:
            self._start(streams, [*words, *AS_CALLER, "--disable-userns"], inside(self.launch), ())
        else:
            self._start_as(self.user, self.live, streams, words)
        assert self.process is not None
        return self.process.pid

    def _start_as(self, user: int, live: Live, streams: Streams, words: list[str]) -> None:
        """Start the child as a user that nobody is; only its own folders and pipes belong to that user."""
        give((*live.writable, streams.output, streams.phases), user)
        code = live.path / "code"
        inputs = (live.path / name for name in ("job.json", *live.launch.data))
        make_readable((code, *code.rglob("*"), *inputs))
        (blocked, ready), (info, told) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        words += ["--unshare-user", *AS_ANOTHER, "--userns-block-fd", str(blocked), "--info-fd", str(told)]
        try:
            try:
                self._start(streams, words, [*become(INSIDE), *inside(self.launch)], (blocked, told))
            finally:  # else we would wait for ourselves
                os.close(told)
                os.close(blocked)
            map_user(info, ready, user)
        finally:
            os.close(info)
            os.close(ready)

    def _start(self, streams: Streams, words: list[str], argv: list[str], passed: tuple[int, ...]) -> None:
        self.process = run_bubblewrap(
            words, argv, streams, self.launch, filter_program(), passed, lambda: self.group.join(os.getpid())
        )

    def wait(self) -> Ended:
        """Return how the child ended, as bubblewrap tells it."""
        assert self.process is not None
        return ended(self.process.wait(), through_bubblewrap=True)

    def sample(self) -> Sample:
        """Read the group's files."""
        return Sample(self.group.memory_mb(), max(0, len(self.group.pids()) - OWN), self.group.cpu_s())

    def oom_kills(self) -> int:
        """Return the group's count."""
        return self.group.oom_kills()

    def peak_mb(self) -> float | None:
        """Return the group's peak."""
        return self.group.peak_mb()

    def process_limit_hits(self) -> int:
        """Return how often a fork was refused."""
        return self.group.process_limit_hits()

    def kill(self) -> int:
        """Kill the group; bubblewrap's first process may still be on its way out and is nobody's leftover."""
        return max(0, self.group.kill() - OWN)

    def collect(self) -> None:
        """Move the child's output to the attempt's folder."""
        if self.live is not None:
            self.live.collect()

    def close(self) -> None:
        """Remove the group and the live folder."""
        self.group.remove()
        if self.live is not None:
            self.live.remove()
