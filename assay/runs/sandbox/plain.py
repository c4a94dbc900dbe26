"""The plain tier, with or without Landlock: limits by watching, kill by scan. For machines that offer no more."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from assay.runs.gpus import device_nodes
from assay.runs.launch import Launch
from assay.runs.sandbox.base import Ended, Sample, Streams, ended
from assay.runs.sandbox.short import remove_short_path, short_path
from assay.runs.sandbox.spawn import child_environment, drop_capabilities, spawn
from assay.vocabulary import Blindness

__all__ = ["Plain"]

KILL_SECONDS = 5.0
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty")
SYSTEM = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/proc",
    "/sys/fs/cgroup",
    "/sys/devices/system",
)


class Plain:
    """Everything a process without privileges can do: a session, affinity, watching, killing by scan."""

    hard_memory = False

    def __init__(self, launch: Launch, folder: Path, landlock: bool) -> None:
        self.launch = launch
        self.folder = folder
        self.landlock = landlock
        # Landlock cannot take back a part of what it allows: what lies inside a readable folder stays readable.
        roots = [os.path.realpath(path) for path in (*SYSTEM, *launch.readable, launch.framework) if path]
        hidden = [Path(os.path.realpath(path)) for path in launch.hidden if os.path.exists(path)]
        shown = [path for path in hidden if any(path.is_relative_to(root) for root in roots)]
        self.blindness: Blindness = "files" if landlock and not shown else "convention"
        self.home = folder / "tmp"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, streams: Streams) -> int:
        """Lay the fold's files into the folder and start the child there."""
        for folder in self.writable:
            folder.mkdir(exist_ok=True)
        for name, path in self.launch.data.items():
            local_file = self.folder / name
            local_file.unlink(missing_ok=True)
            if self.landlock:
                local_file.symlink_to(path)
            else:  # nothing protects them here, so the child gets copies: it can spoil only its own
                shutil.copyfile(path, local_file)
        self.home = short_path(self.folder / "tmp")
        home = str(self.home)
        path = ":".join(f"{p}/bin" for p in (*self.launch.readable, "/usr/local", "/usr")) + ":/bin"
        environ = child_environment(self.launch, streams.phases, home, path)
        argv = self.launch.words(job=str(self.folder), code=self.launch.code, framework=self.launch.framework)
        argv[0] = shutil.which(argv[0], path=path) or argv[0]
        self.process = spawn(argv, environ, streams, self.launch, home, before_exec=self._restrict)
        return self.process.pid

    def _restrict(self) -> None:
        drop_capabilities()
        if self.landlock:
            self._restrict_files()

    def _restrict_files(self) -> None:
        from assay.runs.sandbox.description import ETC
        from assay.runs.sandbox.landlock import restrict

        etc = [path for pattern in ETC for path in Path("/etc").glob(pattern)]
        inputs = [Path(path) for path in self.launch.data.values()]
        readable = [*map(Path, SYSTEM), *etc, *map(Path, self.launch.readable), Path(self.launch.code)]
        readable += [self.folder / "job.json", *inputs]
        if self.launch.framework:
            readable.append(Path(self.launch.framework))
        writable = [self.folder / "out", self.folder / "tmp", Path("/dev/shm"), *map(Path, DEVICES)]
        writable += device_nodes(self.launch.gpus)
        restrict(readable, writable, self.launch.network)

    @property
    def writable(self) -> tuple[Path, Path]:
        """Return the folders of the attempt, which the child writes itself."""
        return self.folder / "out", self.folder / "tmp"

    def wait(self) -> Ended:
        """Return how the child ended."""
        assert self.process is not None
        return ended(self.process.wait())

    def collect(self) -> None:
        """Do nothing: the output is in its place already."""

    def sample(self) -> Sample:
        """Add up what all descendants use; shared pages are counted once when it gets close."""
        import psutil

        memory, cpu, members = 0.0, 0.0, _descendants()
        for member in members:
            try:
                with member.oneshot():
                    memory += member.memory_info().rss / 2**20
                    times = member.cpu_times()
                    cpu += times.user + times.system + times.children_user + times.children_system
            except psutil.Error:
                continue
        if memory > 0.8 * self.launch.memory_mb:
            memory = _shared_once(members)
        return Sample(memory, len(members), cpu)

    def oom_kills(self) -> int:
        """Return 0: nobody counts here."""
        return 0

    def peak_mb(self) -> float | None:
        """Return None: the kernel keeps no peak of a tree."""
        return None

    def process_limit_hits(self) -> int:
        """Return 0: processes are watched, not refused."""
        return 0

    def kill(self) -> int:
        """Kill all descendants, orphans included: they are ours because we are the subreaper."""
        killed: set[int] = set()
        deadline = time.monotonic() + KILL_SECONDS
        while time.monotonic() < deadline:
            members = [member for member in _descendants() if not _is_zombie(member)]
            if not members:
                break
            killed.update(member.pid for member in members)
            # Stopped first, so that a fork bomb cannot outrun the scan.
            for signal_number in (signal.SIGSTOP, signal.SIGKILL):
                for member in members:
                    try:
                        os.kill(member.pid, signal_number)
                    except ProcessLookupError:
                        continue
            time.sleep(0.005)
            self._reap()
        return len(killed)

    def _reap(self) -> None:
        """Collect orphans that fell to us, but not the child: its exit status is the supervisor's to read."""
        child = self.process.pid if self.process else 0
        for member in _descendants():
            if member.pid != child and _is_zombie(member):
                try:
                    os.waitpid(member.pid, os.WNOHANG)
                except (ChildProcessError, OSError):
                    continue

    def close(self) -> None:
        """Remove the links or copies, and collect who has ended: the next job's processes are counted too."""
        self._reap()
        remove_short_path(self.home)
        for name in self.launch.data:
            (self.folder / name).unlink(missing_ok=True)


def _descendants() -> list:  # type: ignore[type-arg]
    import psutil

    try:
        return psutil.Process().children(recursive=True)
    except psutil.Error:
        return []


def _is_zombie(member: object) -> bool:
    import psutil

    try:
        return bool(member.status() == psutil.STATUS_ZOMBIE)  # type: ignore[attr-defined]
    except psutil.Error:
        return True


def _shared_once(members: list) -> float:  # type: ignore[type-arg]
    import psutil

    total = 0.0
    for member in members:
        try:
            total += member.memory_full_info().pss / 2**20
        except psutil.Error:
            continue
    return total
