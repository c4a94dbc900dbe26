"""Control groups, version 1 and 2: a hard limit on memory, processes and cores, and a kill that misses nobody.

Each driver works on a folder tree, so it can be tested on one that is not the kernel's. The version 1 driver
also uses the version 2 hierarchy of hybrid machines, which has no memory controller there but `cgroup.kill`.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

from assay.runs.sandbox.group_files import (
    cpu_list,
    kill_by_list,
    make_group,
    read_number,
    read_pids,
    read_table,
    remove_groups,
    write,
)

__all__ = ["ROOT", "Cgroup", "CgroupV1", "CgroupV2", "find_cgroup", "group_names", "sweep"]

ROOT = Path("/sys/fs/cgroup")
PARENT = "assay"
V1_NEEDED = ("memory", "pids", "cpuset", "cpuacct")
V1_SHOWN = "cpu"


class Cgroup(Protocol):
    """One group of processes with limits."""

    def create(self, memory_mb: int, processes: int, cores: Sequence[int]) -> None:
        """Make the group and set its limits; raises OSError where the machine does not allow it."""

    def join(self, pid: int) -> None:
        """Put a process into the group."""

    def pids(self) -> list[int]:
        """Return the processes in the group."""

    def memory_mb(self) -> float:
        """Return anonymous and shared memory in use, without page cache."""

    def peak_mb(self) -> float | None:
        """Return the kernel's peak, with page cache."""

    def oom_kills(self) -> int:
        """Return how many processes were killed for memory."""

    def process_limit_hits(self) -> int:
        """Return how often a fork was refused."""

    def cpu_s(self) -> float:
        """Return the CPU seconds used by the group."""

    def kill(self) -> int:
        """Kill all processes of the group; return how many there were."""

    def shown(self) -> dict[str, Path]:
        """Return what a child may see of control groups, which is its own only: folders by where it sees them."""

    def file_systems(self) -> dict[str, tuple[str, str]]:
        """Return how a process in its own namespace of groups mounts the same: file system and options by place."""

    def remove(self) -> None:
        """Remove the group, which must be empty; again and again is fine."""


def find_cgroup(name: str, root: Path = ROOT) -> Cgroup | None:
    """Return a driver for a new group called `name`, or None where no usable hierarchy is mounted."""
    if (root / "cgroup.controllers").exists():
        return CgroupV2(name, root)
    if all((root / controller).is_dir() for controller in V1_NEEDED):
        return CgroupV1(name, root)
    return None


def _own_path(root: Path, controller: str) -> Path:
    """Return our own group in a version 1 hierarchy, so that limits set around us go on to hold."""
    _, path = _own_groups().get(controller, ("", "")) if root == ROOT else ("", "")
    own = root / controller / path.lstrip("/")
    return own if path and own.is_dir() else root / controller


@cache  # nobody moves a coordinator or a supervisor while it runs
def _own_groups() -> dict[str, tuple[str, str]]:
    """Return by controller of version 1 which ones share its hierarchy, as the kernel writes them, and our own path."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    groups = [line.split(":", 2)[1:] for line in lines]
    return {name: (names, path) for names, path in groups for name in names.split(",")}


class CgroupV1:
    """Version 1: one folder per controller, and the version 2 hierarchy of a hybrid machine for the kill."""

    def __init__(self, name: str, root: Path = ROOT) -> None:
        # The JVM believes in its limits only where it finds the cpu controller too; it is often cpuacct's folder.
        alone = (root / V1_SHOWN).is_dir() and not (root / V1_SHOWN).samefile(root / "cpuacct")
        needed = (*V1_NEEDED, V1_SHOWN) if alone else V1_NEEDED
        self.folders = {c: _own_path(root, c) / PARENT / name for c in needed}
        self._also = {} if alone or not (root / V1_SHOWN).is_dir() else {V1_SHOWN: self.folders["cpuacct"]}
        unified = root / "unified"
        self.unified = unified / PARENT / name if (unified / "cgroup.procs").exists() else None

    def create(self, memory_mb: int, processes: int, cores: Sequence[int]) -> None:
        """Make the folders and write the limits."""
        for folder in self.folders.values():
            make_group(folder)
        if self.unified is not None:
            try:
                make_group(self.unified)
            except OSError:
                self.unified = None
        limit = memory_mb * 2**20
        write(self.folders["memory"] / "memory.limit_in_bytes", limit)
        swap = self.folders["memory"] / "memory.memsw.limit_in_bytes"
        if swap.exists():
            write(swap, limit)
        write(self.folders["pids"] / "pids.max", processes)
        own = self.folders["cpuset"]
        for folder in (own.parent, own):
            above = folder.parent
            if not (folder / "cpuset.mems").read_text(encoding="ascii").strip():
                write(folder / "cpuset.mems", (above / "cpuset.mems").read_text(encoding="ascii").strip())
            if not (folder / "cpuset.cpus").read_text(encoding="ascii").strip():
                write(folder / "cpuset.cpus", (above / "cpuset.cpus").read_text(encoding="ascii").strip())
        write(own / "cpuset.cpus", cpu_list(cores))

    def join(self, pid: int) -> None:
        """Put a process into every hierarchy."""
        for folder in (*self.folders.values(), self.unified):
            if folder is not None:
                write(folder / "cgroup.procs", pid)

    def pids(self) -> list[int]:
        """Return the processes in the group."""
        return read_pids(self.folders["pids"])

    def memory_mb(self) -> float:
        """Return anonymous and shared memory."""
        stat = read_table(self.folders["memory"] / "memory.stat")
        return (stat.get("total_rss", 0) + stat.get("total_shmem", stat.get("shmem", 0))) / 2**20

    def peak_mb(self) -> float | None:
        """Return the peak with page cache."""
        return read_number(self.folders["memory"] / "memory.max_usage_in_bytes") / 2**20

    def oom_kills(self) -> int:
        """Return the kernel's count."""
        return read_table(self.folders["memory"] / "memory.oom_control").get("oom_kill", 0)

    def process_limit_hits(self) -> int:
        """Return how often a fork was refused."""
        return read_table(self.folders["pids"] / "pids.events").get("max", 0)

    def cpu_s(self) -> float:
        """Return CPU seconds."""
        return read_number(self.folders["cpuacct"] / "cpuacct.usage") / 1e9

    def kill(self) -> int:
        """Stop forking, then kill everybody."""
        alive = self.pids()
        with contextlib.suppress(OSError):
            write(self.folders["pids"] / "pids.max", 0)
        if self.unified is not None:
            with contextlib.suppress(OSError):
                write(self.unified / "cgroup.kill", 1)
        kill_by_list(self.folders["pids"], alive)
        return len(alive)

    def shown(self) -> dict[str, Path]:
        """Return the folder of each controller, where runtimes look for it."""
        every = {**self.folders, **self._also}
        return {f"{ROOT}/{controller}": folder for controller, folder in every.items()}

    def file_systems(self) -> dict[str, tuple[str, str]]:
        """Return a mount of version 1 for each controller, with those that share its hierarchy."""
        names = (*self.folders, *self._also)
        return {f"{ROOT}/{name}": ("cgroup", _own_groups().get(name, (name, ""))[0]) for name in names}

    def remove(self) -> None:
        """Remove the folders."""
        remove_groups(folder for folder in (*self.folders.values(), self.unified) if folder is not None)


class CgroupV2:
    """Version 2: one folder. `$ASSAY_CGROUP` names a delegated group to work in; root uses the top."""

    def __init__(self, name: str, root: Path = ROOT) -> None:
        delegated = os.environ.get("ASSAY_CGROUP")
        self.base = Path(delegated) if delegated and root == ROOT else root
        self.folder = self.base / PARENT / name

    def create(self, memory_mb: int, processes: int, cores: Sequence[int]) -> None:
        """Make the folder, hand the controllers down and write the limits."""
        self.folder.parent.mkdir(exist_ok=True)
        for folder in (self.base, self.folder.parent):
            write(folder / "cgroup.subtree_control", "+memory +pids +cpuset +cpu")
        make_group(self.folder)
        write(self.folder / "memory.max", memory_mb * 2**20)
        swap = self.folder / "memory.swap.max"
        if swap.exists():
            write(swap, 0)
        write(self.folder / "pids.max", processes)
        write(self.folder / "cpuset.cpus", cpu_list(cores))

    def join(self, pid: int) -> None:
        """Put a process into the group."""
        write(self.folder / "cgroup.procs", pid)

    def pids(self) -> list[int]:
        """Return the processes in the group."""
        return read_pids(self.folder)

    def memory_mb(self) -> float:
        """Return anonymous and shared memory."""
        stat = read_table(self.folder / "memory.stat")
        return (stat.get("anon", 0) + stat.get("shmem", 0)) / 2**20

    def peak_mb(self) -> float | None:
        """Return the peak with page cache; kernels before 5.19 keep none."""
        path = self.folder / "memory.peak"
        return read_number(path) / 2**20 if path.exists() else None

    def oom_kills(self) -> int:
        """Return the kernel's count."""
        return read_table(self.folder / "memory.events").get("oom_kill", 0)

    def process_limit_hits(self) -> int:
        """Return how often a fork was refused."""
        return read_table(self.folder / "pids.events").get("max", 0)

    def cpu_s(self) -> float:
        """Return CPU seconds."""
        return read_table(self.folder / "cpu.stat").get("usage_usec", 0) / 1e6

    def kill(self) -> int:
        """Kill everybody at once."""
        alive = self.pids()
        with contextlib.suppress(OSError):  # kernels before 5.14 have no cgroup.kill
            write(self.folder / "cgroup.kill", 1)
        kill_by_list(self.folder, alive)
        return len(alive)

    def shown(self) -> dict[str, Path]:
        """Return the folder, which is the root of what the child sees."""
        return {str(ROOT): self.folder}

    def file_systems(self) -> dict[str, tuple[str, str]]:
        """Return the one hierarchy."""
        return {str(ROOT): ("cgroup2", "")}

    def remove(self) -> None:
        """Remove the folder."""
        remove_groups([self.folder])


def sweep(name: str, root: Path = ROOT) -> None:
    """Kill and remove the group of an attempt whose supervisor is gone; nothing happens if there is none."""
    group = find_cgroup(name, root)
    if group is not None:
        group.kill()
        group.remove()


def group_names(root: Path = ROOT) -> list[str]:
    """Return the names of all groups of ours that there are now."""
    group = find_cgroup("any", root)
    if group is None:
        return []
    (parent, *_) = {folder.parent for folder in group.shown().values()}
    return sorted(entry.name for entry in parent.iterdir() if entry.is_dir()) if parent.is_dir() else []
