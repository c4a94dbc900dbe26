"""The cores of this machine that a job has for itself: claimed by a lock file each, for all runs on the machine.

A claim lives as long as the process that made it. Supervisors make theirs themselves, so that cores stay claimed as
long as somebody uses them, whoever else is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.runs.machine import Machine

__all__ = ["CoreClaim", "claim_cores", "count_free_cores", "wait_for_cores"]

# At first often, because a neighbour may hold a lock only for the instant in which it chooses its own.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.005, 0.5


@dataclass(frozen=True)
class CoreClaim:
    """Cores that are ours until the descriptors are closed."""

    cores: tuple[int, ...]
    descriptors: tuple[int, ...]

    def close(self) -> None:
        """Give the cores back."""
        for descriptor in self.descriptors:
            os.close(descriptor)


@contextlib.contextmanager
def wait_for_cores(count: int, machine: Machine, folder: Path) -> Iterator[tuple[int, ...]]:
    """Hold so many cores for the length of a block, and wait until there are as many."""
    pause_s = FIRST_PAUSE_S
    while (claim := claim_cores(count, machine, folder)) is None:
        time.sleep(pause_s * random.uniform(0.5, 1.5))  # out of step with others who wait
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    try:
        yield claim.cores
    finally:
        claim.close()


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


def count_free_cores(machine: Machine, folder: Path) -> int:
    """Return how many cores nobody has claimed now; the next moment it may be another number."""
    return sum(not _is_locked(folder / f"{core}.lock") for core in machine.cores)


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


def _is_locked(path: Path) -> bool:
    """Whether somebody holds the lock, or it cannot be used: a link in its place counts as held."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def _together(free: Sequence[int], count: int) -> list[int]:
    """Choose cores so that whole hyper-thread groups are used before parts of others."""
    groups: dict[str, list[int]] = {}
    for core in free:
        path = Path(f"/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        name = path.read_text(encoding="ascii").strip() if path.exists() else str(core)
        groups.setdefault(name, []).append(core)
    ordered = [core for group in sorted(groups.values(), key=lambda g: (-len(g), g)) for core in group]
    return sorted(ordered[:count])
