"""Read and write the files of control groups; make, empty and remove groups that others use at the same time."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = [
    "cpu_list",
    "kill_by_list",
    "make_group",
    "read_number",
    "read_pids",
    "read_table",
    "remove_groups",
    "write",
]

KILL_SECONDS = 5.0


def write(path: Path, value: object) -> None:
    """Write one value to a file of a group."""
    with open(path, "wb", buffering=0) as file:
        file.write(str(value).encode("ascii"))


def read_number(path: Path) -> int:
    """Return the first number in a file."""
    with open(path, "rb") as file:
        return int(file.read().split()[0])


def read_table(path: Path) -> dict[str, int]:
    """Read a file of "name number" lines."""
    try:
        with open(path, encoding="ascii") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return {}
    return {
        words[0]: int(words[1]) for words in map(str.split, lines) if len(words) == 2 and words[1].isdigit()
    }


def cpu_list(cores: Iterable[int]) -> str:
    """Return cores as the kernel writes them."""
    return ",".join(str(core) for core in sorted(cores))


def remove_groups(folders: Iterable[Path]) -> None:
    """Remove groups and then their parents; a busy group is tried again for a moment."""
    for folder in folders:
        for _ in range(50):
            try:
                folder.rmdir()
            except FileNotFoundError:
                break
            except OSError:
                time.sleep(0.02)
            else:
                break
        with contextlib.suppress(OSError):  # another attempt's group is still in it
            folder.parent.rmdir()


def make_group(folder: Path) -> None:
    """Make a group below our parent group, which a neighbour may remove at the same moment."""
    for _ in range(20):
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            return
        except FileNotFoundError:
            continue
    folder.mkdir()


def kill_by_list(folder: Path, alive: list[int]) -> None:
    """Kill what `cgroup.procs` lists until it lists nothing."""
    deadline, pause_s = time.monotonic() + KILL_SECONDS, 0.001
    while alive and time.monotonic() < deadline:
        for pid in alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.01)
        alive = read_pids(folder)


def read_pids(folder: Path) -> list[int]:
    """Return the processes of a group; none where there is no such group."""
    try:
        with open(f"{folder}/cgroup.procs", "rb") as file:
            return [int(line) for line in file.read().split()]
    except (FileNotFoundError, OSError):
        return []
