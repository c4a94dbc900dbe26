"""The strict tier: a control group for the limits, bubblewrap for what the child may see."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from assay.errors import InternalError
from assay.runs.gpus import device_nodes
from assay.runs.launch import Launch
from assay.runs.sandbox.base import Sample, Streams
from assay.runs.sandbox.cgroup import find_cgroup
from assay.runs.sandbox.spawn import child_environment, spawn
from assay.vocabulary import Blindness

__all__ = ["ETC", "NAMESPACES", "Strict", "bubblewrap_arguments", "group_name"]

ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "passwd", "group", "hosts",
       "host.conf", "alternatives", "fonts", "R", "java-*", "*-release", "debian_version")  # fmt: skip
JOB, CODE, FRAMEWORK = "/job", "/assay", "/framework"
OWN = 2  # bubblewrap outside and inside the namespace
NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--disable-userns",
              "--uid", "1000", "--gid", "1000", "--cap-drop", "ALL")  # fmt: skip


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
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, streams: Streams) -> int:
        """Make the group, then start bubblewrap inside it."""
        self.group.create(self.launch.memory_mb, self.launch.processes, self.launch.cores)
        words = bubblewrap_arguments(self.launch, self.folder, streams.phases)
        arguments = os.memfd_create("assay-arguments")
        os.write(arguments, b"".join(word.encode() + b"\0" for word in words))
        os.lseek(arguments, 0, os.SEEK_SET)
        bwrap = shutil.which("bwrap") or "/usr/bin/bwrap"
        argv = [bwrap, "--args", str(arguments), "--", *inside(self.launch)]
        # bubblewrap's own environment would be readable at /proc/1/environ: it gets none.
        self.process = spawn(
            argv,
            {},
            streams,
            self.launch,
            "/",
            (arguments,),
            before_exec=lambda: self.group.join(os.getpid()),
        )
        os.close(arguments)
        return self.process.pid

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

    def close(self) -> None:
        """Remove the group."""
        self.group.remove()


def inside(launch: Launch) -> list[str]:
    """Return the command with the folders as the child sees them."""
    return launch.words(job=JOB, code=CODE, framework=FRAMEWORK)


def bubblewrap_arguments(launch: Launch, folder: Path, phases: int) -> list[str]:
    """Return the allow-list and the namespaces, as words for `bwrap --args`."""
    words = [*NAMESPACES, "--hostname", "assay", "--die-with-parent", "--new-session", "--clearenv"]
    if not launch.network:
        words.append("--unshare-net")
    words += _system()
    if launch.network:
        words += [
            w for name in ("resolv.conf", "ssl") for w in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
        ]
    words += ["--proc", "/proc", "--dev", "/dev"]
    for node in device_nodes(launch.gpus):  # after --dev, which shows none of them
        words += ["--dev-bind", str(node), str(node)]
    for path in ("/sys/fs/cgroup", "/sys/devices/system"):
        words += ["--ro-bind-try", path, path]
    # /tmp before what is readable: an interpreter or environment may lie below it.
    words += ["--bind", str(folder / "tmp"), "/tmp"]
    for path in launch.readable:
        words += ["--ro-bind", path, path]
    shown = {path: path for path in ("/usr", *launch.readable)}
    if launch.framework:
        words += ["--ro-bind", launch.framework, FRAMEWORK]
        shown[launch.framework] = FRAMEWORK
    for path in launch.hidden:
        words += _hide(path, shown)
    words += ["--ro-bind", launch.code, CODE, "--ro-bind", str(folder / "job.json"), f"{JOB}/job.json"]
    for name, path in launch.data.items():
        words += ["--ro-bind", path, f"{JOB}/{name}"]
    words += ["--bind", str(folder / "out"), f"{JOB}/out"]
    words += ["--remount-ro", "/", "--chdir", "/tmp"]
    path = ":".join(f"{p}/bin" for p in (*launch.readable, "/usr/local", "/usr")) + ":/bin"
    for name, value in child_environment(launch, phases, "/tmp", path).items():
        words += ["--setenv", name, value]
    return words


def _system() -> list[str]:
    words = ["--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for pattern in ETC:
        for path in sorted(Path("/etc").glob(pattern)):
            words += ["--ro-bind-try", str(path), str(path)]
    return words


def _hide(path: str, shown: Mapping[str, str]) -> list[str]:
    """Mask a file or folder wherever it really lies inside something shown; `shown` is outside → inside."""
    real = Path(os.path.realpath(path))
    words = []
    for outside, within in shown.items():
        base = os.path.realpath(outside)
        if real.exists() and real.is_relative_to(base):
            place = str(Path(within, real.relative_to(base)))
            words += ["--tmpfs", place] if real.is_dir() else ["--ro-bind", "/dev/null", place]
    return words
