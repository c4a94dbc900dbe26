"""Look at processes from outside: whether a nursery shares anything with its jobs, and whether a job is locked in.

A nursery runs foreign code when it imports an adapter, so nothing that it or a fork of it says is believed. Before a
job sees any data, the supervisor reads what the kernel says of the nursery, which is stopped by then, and of the job's
processes. Each function returns what is wrong, or an empty text.
"""

from __future__ import annotations

import ctypes
import os
import re
import stat
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from assay.runs.sandbox.description import LIVE, WRITABLE
from assay.runs.sandbox.mappings import shared_mappings
from assay.runs.sandbox.processes import process_status

__all__ = [
    "FIRST",
    "Expected",
    "inspect_job",
    "inspect_nursery",
    "inspect_scratch",
]

NAMESPACES = ("user", "mnt", "pid", "ipc", "uts", "cgroup")
FIRST = "/bin/sleep"  # the first process of a job's namespace, as `assay.frameworks.border.nursery` starts it
SCRATCH = ("/tmp", "/dev/shm")  # new file systems in memory, which only the nursery sees
KCMP = {"x86_64": 312, "aarch64": 272}.get(os.uname().machine, -1)
KCMP_VM = 1
_libc = ctypes.CDLL(None, use_errno=True)
NO_CAPABILITIES = "0000000000000000"
MountLine: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Expected:
    """What a process of a job must look like.

    Attributes:
        descriptors: all that may be open.
        user: that it is on the host.
        folder: that it works in.
        program: that it is, for the first process of a namespace, which adds no system-call filter; else empty.
    """

    descriptors: Collection[str]
    user: int
    folder: Path
    program: str = ""


def inspect_nursery(pid: int, log: str, control: int, readable: Collection[str]) -> str:
    """Return what of a nursery, which must be stopped, would be shared with the jobs that are forked from it.

    Args:
        pid: its number for us.
        log: the file that its standard streams are.
        control: the number of the inode of its control socket.
        readable: folders of the allow-list: their files may be mapped as shared, for reading.
    """
    if process_status(pid)["State"][:1] != "T":
        return "the nursery does not stop"
    links = _descriptors(pid)
    others = {_kind(link) for link in links.values() if link not in (log, f"socket:[{control}]")}
    if others or sum(link.startswith("socket") for link in links.values()) != 1:
        return f"its import leaves a descriptor open: {', '.join(sorted(others)) or 'a second socket'}"
    return _shared_pages(pid, readable)


def inspect_scratch(pid: int, readable: Collection[str]) -> str:
    """Return where a nursery has files of its own, removed ones that are still open or mapped included.

    A job cannot see them. One that has mapped them before it entered its sandbox could write there for the next. Of
    what is `readable` there, the places that it is mounted on are no files of the nursery's.
    """
    for place in SCRATCH:
        scratch = os.statvfs(f"/proc/{pid}/root{place}")
        if scratch.f_files - scratch.f_ffree > len(_made_for(tuple(readable), place)):
            return f"its import leaves files in {place}, which a job would not find"
    return ""


@cache
def _made_for(readable: tuple[str, ...], place: str) -> set[Path]:
    """Return the folder itself, and those that had to be made in it so that something could be mounted there."""
    tops = [
        path
        for path in map(Path, readable)
        if not any(path != other and path.is_relative_to(other) for other in map(Path, readable))
    ]
    made = {folder for path in tops for folder in (path, *path.parents) if folder.is_relative_to(place)}
    return made | {Path(place)}


def inspect_job(pid: int, nursery: int, expected: Expected, readable: Collection[str], network: bool) -> str:
    """Return what keeps a process that was forked from a nursery, and is stopped, from being locked in."""
    status = process_status(pid)
    if status["State"][:1] != "T":
        return "it does not stop"
    if not _has_own_memory(pid, nursery):
        return "it shares the nursery's memory"
    if set(status["Uid"].split() + status["Gid"].split()) != {str(expected.user)} or status["Groups"]:
        return f"it is user {status['Uid']}"
    capabilities = {status[f"Cap{name}"] for name in ("Inh", "Prm", "Eff", "Bnd", "Amb")}
    if capabilities != {NO_CAPABILITIES} or status["NoNewPrivs"] != "1":
        return "it has kept privileges"
    before = process_status(nursery)
    if expected.program:
        if not os.path.samestat(os.stat(f"/proc/{pid}/exe"), os.stat(expected.program)):
            return f"its first process is not {expected.program}"
    elif int(status.get("Seccomp_filters", "0")) <= int(before.get("Seccomp_filters", "0")):
        return "it has not added its system-call filter"
    if status["Threads"] != "1":
        return "it has started threads"
    if len(status["NSpid"].split()) != len(before["NSpid"].split()) + 1:
        return "it sees the nursery's processes"
    for name in NAMESPACES if network else (*NAMESPACES, "net"):
        if os.readlink(f"/proc/{pid}/ns/{name}") == os.readlink(f"/proc/{nursery}/ns/{name}"):
            return f"it has the nursery's namespace '{name}'"
    others = {_kind(link) for link in _descriptors(pid).values() if link not in expected.descriptors}
    if others:
        return f"it has descriptors that it was not given: {', '.join(sorted(others))}"
    if not os.path.samestat(os.stat(f"/proc/{pid}/cwd"), expected.folder.stat()):
        return "it works in another folder than its own"
    mounts = _mounts(pid)
    return (
        _shared_pages(pid, readable) or _foreign_mounts(pid, nursery, mounts) or _writable_mounts(pid, mounts)
    )


def _has_own_memory(pid: int, nursery: int) -> bool:
    """Whether the kernel says that two processes have different address spaces; False also where it does not say."""
    if KCMP < 0:
        return False
    return int(_libc.syscall(KCMP, pid, nursery, KCMP_VM, 0, 0)) in (1, 2, 3)


def _descriptors(pid: int) -> dict[int, str]:
    folder = f"/proc/{pid}/fd"
    return {int(name): os.readlink(f"{folder}/{name}") for name in os.listdir(folder)}


def _kind(link: str) -> str:
    """Return what is open, without the number that the kernel gives a pipe or a socket."""
    return re.sub(r":\[\d+\]$", "", link)


def _shared_pages(pid: int, readable: Collection[str]) -> str:
    """Return the first shared mapping through which a process and its forks could talk."""
    for mapping in shared_mappings(pid):
        is_library = any(mapping.path.startswith(f"{folder}/") for folder in readable)
        if mapping.is_writable or not is_library or mapping.path.endswith(" (deleted)"):
            return f"its import leaves memory that forks share: {mapping.path or 'without a name'}"
    return ""


def _mounts(pid: int) -> list[MountLine]:
    """Return the device, the place and the options of every mount that a process has."""
    text = Path(f"/proc/{pid}/mountinfo").read_text(encoding="utf-8", errors="replace")
    return [(words[2], words[4], words[5]) for words in map(str.split, text.splitlines())]


def _foreign_mounts(pid: int, nursery: int, mounts: Sequence[MountLine]) -> str:
    """Return where a job still has what only the nursery may write to: it must lie below a mount of the job's own."""
    own, others = f"/proc/{pid}/root", f"/proc/{nursery}/root"
    for place in (*SCRATCH, "/dev/pts", "/proc"):
        theirs = os.stat(f"{others}{place}").st_dev
        if os.stat(f"{own}{place}").st_dev == theirs:
            return f"it has the nursery's {place}"
        number = f"{os.major(theirs)}:{os.minor(theirs)}"
        if any(device == number and target != place for device, target, _ in mounts):
            return f"it has moved the nursery's {place}"
    return ""


def _writable_mounts(pid: int, mounts: Sequence[MountLine]) -> str:
    """Return the first mount that a job could write to and that is not its own."""
    for _, target, options in mounts:
        if "ro" in options.split(",") or target in WRITABLE or target == LIVE:
            continue
        if not stat.S_ISCHR(os.stat(f"/proc/{pid}/root{target}").st_mode):
            return f"it may write to {target}"
    return ""
