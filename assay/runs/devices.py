"""The cores and GPUs that a job has for itself: claimed by a lock file each, for all runs on this machine.

A claim lives as long as the process that made it. Supervisors make theirs themselves, so that devices stay claimed as
long as somebody uses them, whoever else is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.jobs.circumstances import Gpu, Machine

__all__ = ["DeviceClaim", "Devices", "claim_devices", "count_free", "wait_for_devices"]

# At first often, because a neighbour may hold a lock only for the instant in which it chooses its own.
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.005, 0.5


@dataclass(frozen=True)
class Devices:
    """Cores and GPUs of this machine."""

    cores: tuple[int, ...]
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True)
class DeviceClaim:
    """Devices that are ours until the descriptors are closed."""

    devices: Devices
    descriptors: tuple[int, ...]

    def close(self) -> None:
        """Give them back."""
        for descriptor in self.descriptors:
            os.close(descriptor)


@contextlib.contextmanager
def wait_for_devices(cores: int, gpus: int, machine: Machine, folder: Path) -> Iterator[Devices]:
    """Hold so many cores and GPUs for the length of a block, and wait until there are as many."""
    pause_s = FIRST_PAUSE_S
    while (claim := claim_devices(cores, gpus, machine, folder)) is None:
        time.sleep(pause_s * (1 + os.getpid() % 8 / 8))  # out of step with others who wait
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)
    try:
        yield claim.devices
    finally:
        claim.close()


def claim_devices(cores: int, gpus: int, machine: Machine, folder: Path) -> DeviceClaim | None:
    """Claim cores and GPUs by one lock each in a folder, or return None when not enough are free.

    Hyper-thread siblings go together where there is a choice.
    """
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True)
        folder.chmod(0o1777)
    with contextlib.ExitStack() as held:
        free_cores = {core: _try_lock(_core_lock(folder, core), held) for core in machine.cores}
        free_gpus = {gpu: _try_lock(_gpu_lock(folder, gpu), held) for gpu in machine.gpus} if gpus else {}
        chosen_cores = _together([core for core, lock in free_cores.items() if lock is not None], cores)
        chosen_gpus = [gpu for gpu, lock in free_gpus.items() if lock is not None][:gpus]
        if len(chosen_cores) < cores or len(chosen_gpus) < gpus:
            return None
        locks = [*(free_cores[core] for core in chosen_cores), *(free_gpus[gpu] for gpu in chosen_gpus)]
        # The chosen locks live on in copies of their descriptors; all others are closed with the block.
        kept = tuple(fcntl.fcntl(lock, fcntl.F_DUPFD_CLOEXEC, 0) for lock in locks if lock is not None)
    return DeviceClaim(Devices(tuple(chosen_cores), tuple(chosen_gpus)), kept)


def count_free(machine: Machine, folder: Path) -> tuple[int, int]:
    """Return how many cores and GPUs nobody has claimed now; the next moment it may be other numbers."""
    cores = sum(not _is_locked(_core_lock(folder, core)) for core in machine.cores)
    return cores, sum(not _is_locked(_gpu_lock(folder, gpu)) for gpu in machine.gpus)


def _core_lock(folder: Path, core: int) -> Path:
    return folder / f"{core}.lock"


def _gpu_lock(folder: Path, gpu: Gpu) -> Path:
    return folder / f"gpu-{gpu.number}.lock"


def _try_lock(path: Path, held: contextlib.ExitStack) -> int | None:
    """Take a lock that is closed with the block, or return None where somebody has it or it cannot be used."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        try:
            # Without O_CREAT, which is refused for another user's file in a shared folder.
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            descriptor = os.open(path, flags | os.O_CREAT, 0o666)
    except OSError:
        return None
    held.callback(os.close, descriptor)
    with contextlib.suppress(OSError):
        os.fchmod(descriptor, 0o666)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
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
