"""What a job may see in the strict tier: one description for both ways in.

Bubblewrap makes the whole sandbox of a cold job, and the sandbox of a nursery, which is the same without anything of a
job. A job that is forked from a nursery lays its own mounts over that (`assay.frameworks.border.enter`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from assay.runs.gpus import device_nodes
from assay.runs.launch import Launch
from assay.runs.sandbox.spawn import child_environment

__all__ = [
    "ETC",
    "LIVE",
    "MOUNT_PROC",
    "NAMESPACES",
    "WRITABLE",
    "Mount",
    "bubblewrap_arguments",
    "inside",
    "nursery_arguments",
    "readable_words",
    "steps_of_job",
]

ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "passwd", "group", "hosts",
       "host.conf", "alternatives", "fonts", "R", "java-*", "*-release", "debian_version")  # fmt: skip
JOB, CODE, FRAMEWORK = "/job", "/assay", "/framework"
LIVE = "/live"  # where a nursery sees the folder in which jobs are laid out; no job sees it
NAMESPACES = ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL")
# What of /proc is not about the child's own processes, and may be written by its owner or tells of the machine.
PROC_READ_ONLY = ("sys",)
PROC_MASKED = ("acpi", "asound", "fs", "kallsyms", "kcore", "key-users", "keys", "kmsg", "latency_stats", "sched_debug",
               "scsi", "sysrq-trigger", "timer_list", "timer_stats")  # fmt: skip
MOUNT_PROC = ("/bin/sh", "-c", 'mount -t proc -o nosuid,nodev,noexec proc /proc && exec "$@"', "sh")
# Where a job finds a mount that it may write to: its own, devices that keep nothing, and its own processes.
WRITABLE = ("/job/out", "/tmp", "/dev/shm", "/dev/pts", "/proc")


@dataclass(frozen=True)
class Mount:
    """One thing that is mounted for a job.

    Attributes:
        kind: `bind` a file or folder, `new` for a new file system, `keep` what lay there before something above it was
            mounted over.
        source: what is bound.
        file_system, options: of a new one.
    """

    kind: Literal["bind", "new", "keep"]
    target: str
    source: str = ""
    file_system: str = ""
    options: str = ""
    read_only: bool = False

    def words(self) -> list[str]:
        """Return the words by which bubblewrap does the same."""
        if self.kind == "bind":
            return ["--ro-bind" if self.read_only else "--bind", self.source, self.target]
        if self.file_system == "proc":
            return ["--proc", self.target]
        mode = ["--perms", "1777"] if "mode=1777" in self.options else []
        last = ["--remount-ro", self.target] if self.read_only else []
        return [*mode, "--tmpfs", self.target, *last]


def _words(mounts: Iterable[Mount]) -> list[str]:
    return [word for mount in mounts for word in mount.words()]


@cache
def _proc() -> tuple[Mount, ...]:
    """Show the job's processes, and close what of /proc is the machine's: root's child would own every file there."""
    mounts = [Mount("new", "/proc", file_system="proc")]
    mounts += [Mount("bind", f"/proc/{name}", f"/proc/{name}", read_only=True) for name in PROC_READ_ONLY]
    for path in (Path("/proc", name) for name in PROC_MASKED):
        if path.is_dir():
            mounts.append(Mount("new", str(path), file_system="tmpfs", read_only=True))
        elif path.exists():
            mounts.append(Mount("bind", str(path), "/dev/null", read_only=True))
    return tuple(mounts)


SHARED_MEMORY = Mount("new", "/dev/shm", file_system="tmpfs", options="mode=1777")


def inside(launch: Launch) -> list[str]:
    """Return the command with the folders as the child sees them."""
    return launch.words(job=JOB, code=CODE, framework=FRAMEWORK)


def bubblewrap_arguments(
    launch: Launch, folder: Path, phases: int, groups: Mapping[str, Path] | None = None
) -> list[str]:
    """Return the allow-list and the namespaces of a job, as words for `bwrap --args`.

    `groups` are the control groups that the child sees, by where it sees them: its own, and no other job's.
    """
    words = [*_namespaces(launch), *_system(launch), *_words(_proc()), *_devices(launch)]
    for place, group in (groups or {}).items():
        words += ["--ro-bind", str(group), place]
    # /tmp before what is readable: an interpreter or environment may lie below it.
    words += [
        "--bind",
        str(folder / "tmp"),
        "/tmp",
        *readable_words(launch.readable, launch.framework, launch.hidden),
    ]
    words += ["--dir", JOB, "--ro-bind", launch.code, CODE]
    words += ["--ro-bind", str(folder / "job.json"), f"{JOB}/job.json"]
    for name, path in launch.data.items():
        words += ["--ro-bind", path, f"{JOB}/{name}"]
    words += ["--bind", str(folder / "out"), f"{JOB}/out", "--remount-ro", "/", "--chdir", "/tmp"]
    return [*words, *_environment(launch, phases)]


def nursery_arguments(launch: Launch, slot: Path, places: Iterable[str]) -> list[str]:
    """Return the same for a nursery, which has no data: places to mount on where a job has folders of its own.

    Nothing may be mounted over parts of its /proc, because the kernel would let no job mount one of its own then; the
    nursery is nobody there. Bubblewrap does that for root, so root's nurseries mount /proc themselves (`MOUNT_PROC`).
    `slot` is the folder in which jobs will be laid out; `places` are those of the control groups.
    """
    proc = ["--dir", "/proc"] if os.geteuid() == 0 else ["--proc", "/proc"]
    words = [
        "--as-pid-1",
        *_namespaces(launch),
        *_system(launch),
        *proc,
        *_devices(launch),
        "--remount-ro",
        "/dev",
    ]
    for place in places:
        words += [*_folders_to(place), "--dir", place]
    words += [
        "--perms",
        "1777",
        "--tmpfs",
        "/tmp",
        *readable_words(launch.readable, launch.framework, launch.hidden),
    ]
    words += ["--dir", JOB, "--ro-bind", launch.code, CODE, "--bind", str(slot), LIVE]
    return [*words, "--remount-ro", "/", "--chdir", "/", *_environment(launch, None)]


def steps_of_job(launch: Launch, groups: Mapping[str, tuple[str, str]]) -> list[dict[str, Any]]:
    """Return what a job mounts over its nursery's sandbox; `groups` are file system and options by place."""
    own = [
        Mount("new", place, file_system=kind, options=options, read_only=True)
        for place, (kind, options) in groups.items()
    ]
    below = [path for path in launch.readable if Path(path).is_relative_to("/tmp")]
    mounts = [
        *_proc(),
        Mount("new", "/dev/pts", file_system="devpts", options="newinstance,ptmxmode=0666,mode=620"),
        SHARED_MEMORY,
        *own,
        Mount("bind", "/tmp", f"{LIVE}/tmp"),
        *(Mount("keep", path) for path in below),
        Mount("bind", JOB, f"{LIVE}/in", read_only=True),
        Mount("bind", f"{JOB}/out", f"{LIVE}/out"),
        Mount("new", LIVE, file_system="tmpfs", options="size=4k", read_only=True),
    ]
    return [vars(mount) for mount in mounts]


def _namespaces(launch: Launch) -> list[str]:
    words = [*NAMESPACES, "--hostname", "assay", "--die-with-parent", "--new-session", "--clearenv"]
    return words if launch.network else [*words, "--unshare-net"]


def _devices(launch: Launch) -> list[str]:
    """Return devices, shared memory, and the folders of /sys that runtimes look at."""
    words = ["--dev", "/dev", *SHARED_MEMORY.words()]
    for node in device_nodes(launch.gpus):  # after --dev, which shows none of them
        words += ["--dev-bind", str(node), str(node)]
    words += [*_folders_to("/sys/devices/system"), *_folders_to("/sys/fs/cgroup/any")]
    return [*words, "--ro-bind-try", "/sys/devices/system", "/sys/devices/system"]


@cache  # a supervisor that stays asks for the same ones with every job
def readable_words(readable: tuple[str, ...], framework: str, hidden: tuple[str, ...]) -> tuple[str, ...]:
    """Return interpreter, environment and framework, without what lies in them and is not to be seen."""
    words: list[str] = []
    for path in readable:
        words += [*_folders_to(path), "--ro-bind", path, path]
    shown = {path: path for path in ("/usr", *readable)}
    if framework:
        words += ["--ro-bind", framework, FRAMEWORK]
        shown[framework] = FRAMEWORK
    return (*words, *(word for path in hidden for word in _hide(path, shown)))


def _environment(launch: Launch, phases: int | None) -> list[str]:
    path = ":".join(f"{p}/bin" for p in (*launch.readable, "/usr/local", "/usr")) + ":/bin"
    variables = child_environment(launch, phases, "/tmp", path)
    return [word for name, value in variables.items() for word in ("--setenv", name, value)]


def _folders_to(path: str) -> list[str]:
    """Make the folders above a path, so that everybody may pass: those that bubblewrap makes by itself are its own."""
    return [word for folder in reversed(Path(path).parents[:-1]) for word in ("--dir", str(folder))]


def _system(launch: Launch) -> list[str]:
    """Return the system's folders, and of /etc what programs need to start."""
    words = ["--dir", "/etc", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    patterns = (*ETC, "resolv.conf", "ssl") if launch.network else ETC
    for pattern in patterns:
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
