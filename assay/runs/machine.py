"""What this machine is and can enforce, and the cores that are claimed on it, machine-wide."""

from __future__ import annotations

import contextlib
import fcntl
import functools
import os
import platform
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError
from assay.jobs.circumstances import Machine
from assay.jobs.constraint import Constraint
from assay.runs.sandbox.cgroup import ROOT, find_cgroup
from assay.runs.sandbox.landlock import abi
from assay.runs.sandbox.strict import NAMESPACES
from assay.vocabulary import Tier

__all__ = [
    "CoreClaim",
    "check_possible",
    "choose_tier",
    "claim_cores",
    "memory_share_mb",
    "strict_problem",
    "this_machine",
]


@functools.cache
def this_machine() -> Machine:
    """Look at this machine: cores we may use, memory within any limit set around us."""
    return Machine(
        cores=tuple(sorted(os.sched_getaffinity(0))),
        memory_mb=_memory_mb(),
        host=platform.node(),
        system=f"{platform.system()} {platform.release()}",
        processor=_processor(),
        python=platform.python_version(),
    )


def _memory_mb() -> int:
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in (ROOT / "memory/memory.limit_in_bytes", ROOT / "memory.max"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(path.read_text(encoding="ascii")))
    return total // 2**20


def _processor() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.machine()


def memory_share_mb(constraint: Constraint, machine: Machine) -> int:
    """Return the memory of a job: as named, or its cores' share of the machine less a reserve.

    The reserve for the system and Assay itself is 2 GiB, or a tenth of a machine smaller than 20 GiB.
    """
    if constraint.memory_mb is not None:
        return constraint.memory_mb
    reserve = min(2048, machine.memory_mb // 10)
    return int((machine.memory_mb - reserve) * min(1.0, constraint.cores / len(machine.cores)))


def check_possible(constraint: Constraint, machine: Machine) -> None:
    """Refuse a constraint this machine cannot give."""
    remedy = (
        "Choose a smaller constraint, or say --oversubscribe to run it with what is here (rows will say so)."
    )
    if constraint.cores > len(machine.cores):
        raise ConfigError(
            f"Constraint '{constraint.name}' asks for {constraint.cores} cores, this machine has "
            f"{len(machine.cores)}. {remedy}"
        )
    if constraint.memory_mb is not None and constraint.memory_mb > machine.memory_mb:
        raise ConfigError(
            f"Constraint '{constraint.name}' asks for {constraint.memory_mb} MB of memory, this machine has "
            f"{machine.memory_mb} MB. {remedy}"
        )


# --- tiers ---------------------------------------------------------------------------------------------


@functools.cache
def strict_problem() -> str:
    """Return why the strict tier does not work here, found by trying it; empty when it does."""
    if shutil.which("bwrap") is None:
        return "bubblewrap (bwrap) is not installed"
    group = find_cgroup(f"probe-{os.getpid()}")
    if group is None:
        return "no control groups with memory, pids and cpuset are mounted"
    try:
        group.create(256, 64, [min(os.sched_getaffinity(0))])
    except OSError as error:
        return f"control groups cannot be used: {error.strerror or error}"
    finally:
        group.remove()
    words = ["bwrap", *NAMESPACES, "--unshare-net", "--ro-bind", "/", "/", "true"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=30)
    return "" if done.returncode == 0 else f"bubblewrap does not work here: {done.stderr.strip()}"


def choose_tier(requested: str = "auto") -> Tier:
    """Return the tier to use; a tier that was asked for and does not work is an error, never replaced."""
    if requested == "plain":
        return "plain"
    if requested in ("auto", "strict"):
        problem = strict_problem()
        if not problem:
            return "strict"
        if requested == "strict":
            raise ConfigError(f"The strict tier does not work here: {problem}. See `assay doctor`.")
    if abi() > 0:
        return "landlock"
    if requested == "landlock":
        raise ConfigError("This kernel has no Landlock (it came with Linux 5.13). See `assay doctor`.")
    return "plain"


# --- cores ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CoreClaim:
    """Cores that are ours until the descriptors are closed, by us and by whoever inherited them."""

    cores: tuple[int, ...]
    descriptors: tuple[int, ...]

    def close(self) -> None:
        """Give up our hold; a supervisor that inherited the descriptors keeps its own."""
        for descriptor in self.descriptors:
            os.close(descriptor)


def claim_cores(count: int, machine: Machine, folder: Path) -> CoreClaim | None:
    """Claim cores by one lock each in a folder, or return None when not enough are free.

    Hyper-thread siblings go together where there is a choice.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(0o1777)
    held: dict[int, int] = {}
    for core in machine.cores:
        descriptor = _try_lock(folder / f"{core}.lock")
        if descriptor is not None:
            held[core] = descriptor
    if len(held) < count:
        for descriptor in held.values():
            os.close(descriptor)
        return None
    chosen = _together(list(held), count)
    for core in set(held) - set(chosen):
        os.close(held[core])
    return CoreClaim(tuple(chosen), tuple(held[core] for core in chosen))


def _try_lock(path: Path) -> int | None:
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        try:
            # Without O_CREAT, which is refused for another user's file in a shared folder.
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            descriptor = os.open(path, flags | os.O_CREAT, 0o666)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _together(free: Sequence[int], count: int) -> list[int]:
    """Choose cores so that whole hyper-thread groups are used before parts of others."""
    groups: dict[str, list[int]] = {}
    for core in free:
        path = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        name = path.read_text(encoding="ascii").strip() if path.exists() else str(core)
        groups.setdefault(name, []).append(core)
    ordered = [core for group in sorted(groups.values(), key=lambda g: (-len(g), g)) for core in group]
    return sorted(ordered[:count])
