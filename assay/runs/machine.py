"""What this machine is, what it can give to a job, and what it can enforce."""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

from assay.errors import ConfigError
from assay.jobs.circumstances import Machine
from assay.jobs.constraint import Constraint
from assay.runs.gpus import find_gpus
from assay.runs.sandbox.bubblewrap import AS_CALLER, SETPRIV
from assay.runs.sandbox.cgroup import ROOT, find_cgroup
from assay.runs.sandbox.description import NAMESPACES
from assay.runs.sandbox.host_user import choose_host_user
from assay.runs.sandbox.landlock import abi
from assay.vocabulary import Tier

__all__ = [
    "check_possible",
    "choose_tier",
    "memory_share_mb",
    "strict_problem",
    "this_machine",
]


@functools.cache
def this_machine() -> Machine:
    """Look at this machine: cores we may use, memory within any limit set around us."""
    kernel = os.uname()
    return Machine(
        cores=tuple(sorted(os.sched_getaffinity(0))),
        memory_mb=_memory_mb(),
        host=kernel.nodename,
        system=f"{kernel.sysname} {kernel.release}",
        processor=_processor(),
        python=sys.version.split()[0],
        gpus=find_gpus(),
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
    return os.uname().machine


def memory_share_mb(constraint: Constraint, machine: Machine) -> int:
    """Return the memory of a job: as named, or its cores' share of the machine less a reserve.

    The reserve for the system and Assay itself is 2 GiB, or a tenth of a machine smaller than 20 GiB.
    """
    if constraint.memory_mb is not None:
        return constraint.memory_mb
    reserve = min(2048, machine.memory_mb // 10)
    return int((machine.memory_mb - reserve) * min(1.0, constraint.cores / len(machine.cores)))


def check_possible(constraint: Constraint, machine: Machine, oversubscribe: bool = False) -> None:
    """Refuse a constraint this machine cannot give; with `oversubscribe`, only where it lacks GPUs.

    Half the cores make a job slower. Without its GPU, a job would do something else than what was asked for.
    """
    if constraint.gpus > len(machine.gpus):
        has = f"has {len(machine.gpus)}" if machine.gpus else "has none"
        raise ConfigError(
            f"Constraint '{constraint.name}' asks for {constraint.gpus} GPU(s), this machine {has}. Choose a "
            "constraint with fewer, or run it on a machine that has them. `assay doctor` shows those that are found."
        )
    if oversubscribe:
        return
    remedy = "Choose a smaller constraint, or use `oversubscribe=True` to run it with what is here (rows will say so)."
    if constraint.cores > len(machine.cores):
        raise ConfigError(
            f"Constraint '{constraint.name}' asks for {constraint.cores} cores, this machine has "
            f"{len(machine.cores)}. {remedy}",
            ["oversubscribe"],
        )
    if constraint.memory_mb is not None and constraint.memory_mb > machine.memory_mb:
        raise ConfigError(
            f"Constraint '{constraint.name}' asks for {constraint.memory_mb} MB of memory, this machine has "
            f"{machine.memory_mb} MB. {remedy}",
            ["oversubscribe"],
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
    if os.geteuid() == 0 and choose_host_user() is None:
        return "root has no other user here to run jobs as (see /proc/self/uid_map)"
    if os.geteuid() == 0 and not os.access(SETPRIV, os.X_OK):
        return f"there is no {SETPRIV}, with which root runs jobs as another user"
    words = [
        "bwrap",
        *NAMESPACES,
        *AS_CALLER,
        "--disable-userns",
        "--unshare-net",
        "--ro-bind",
        "/",
        "/",
        "true",
    ]
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
