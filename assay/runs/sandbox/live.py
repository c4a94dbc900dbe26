"""The folder that a sandbox is made of while a job runs, under a name that says nothing.

The kernel tells every process where its mounts come from (`/proc/self/mountinfo`). Were these the folders of the store,
a job would learn the path of the store, its key and its fold. So what the child sees is linked, or copied, into a
folder with a random name, and what it wrote is moved to the attempt's folder when everybody is dead. Beside each folder
lies a file that its supervisor holds locked: a folder whose lock is free was left by a supervisor that was killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from assay.files import copy_tree, remove_tree
from assay.runs.launch import Launch

__all__ = ["FOLDER", "Live", "Slot", "fill", "open_live", "open_slot", "remove_abandoned"]

FOLDER = "live"  # in the cache, which holds the environments that a job sees anyway


@dataclass
class Live:
    """A live folder: `out` and `tmp`, which the child writes, and inputs, which it reads."""

    path: Path
    attempt: Path
    launch: Launch
    lock: int
    is_collected: bool = False

    @property
    def writable(self) -> tuple[Path, Path]:
        """Return where the child's output and its scratch lie now."""
        return (self.attempt if self.is_collected else self.path) / "out", self.path / "tmp"

    def collect(self) -> None:
        """Move the output to the attempt's folder; it may be called again."""
        if self.is_collected:
            return
        target = self.attempt / "out"
        remove_tree(target)
        try:
            os.rename(self.path / "out", target)
        except OSError:  # the store is on another file system; more than the limits was stopped for it
            copy_tree(self.path / "out", target, 2 * self.launch.disk_mb * 2**20, 2 * self.launch.files)
        self.is_collected = True

    def remove(self) -> None:
        """Remove the folder; it may be called again."""
        if self.lock >= 0:
            remove_tree(self.path)
            _lock_of(self.path).unlink(missing_ok=True)
            os.close(self.lock)
            self.lock = -1


def open_live(launch: Launch, attempt: Path) -> Live:
    """Make the live folder of an attempt; the launch of what is returned has its paths there."""
    path, lock = _new_folder(launch)
    for folder in (path / "out", path / "tmp", path / "code"):
        folder.mkdir()
    fill(path, launch, attempt)
    _link_tree(Path(launch.code), path / "code")
    data = {name: str(path / name) for name in launch.data}
    return Live(path, attempt, replace(launch, code=str(path / "code"), data=data), lock)


def fill(path: Path, launch: Launch, attempt: Path) -> None:
    """Lay a job's inputs into a folder."""
    _link(attempt / "job.json", path / "job.json")
    for name, source in launch.data.items():
        _link(Path(source), path / name)


@dataclass
class Slot:
    """The live folder of a nursery: its code, its log, and the place in which its jobs are laid out one by one."""

    path: Path
    lock: int

    @property
    def place(self) -> Path:
        """Return the folder that the nursery's sandbox shows; it is empty while the nursery runs."""
        return self.path / "slot"

    def open(self, launch: Launch, attempt: Path) -> Live:
        """Make the folders of a job, without its data."""
        self.clear()
        for name in ("in", "in/out", "out", "tmp"):
            (self.place / name).mkdir(exist_ok=True)
        return Live(self.place, attempt, launch, -1)

    def clear(self) -> None:
        """Remove what the last job left.

        Root keeps the folders that it alone can write, which is faster than to make them again.
        """
        is_ours = os.geteuid() == 0
        for entry in os.scandir(self.place):
            if entry.name != "in" or not is_ours:
                remove_tree(Path(entry.path))
        if is_ours and (self.place / "in").exists():
            for entry in os.scandir(self.place / "in"):
                if entry.name != "out":
                    os.unlink(entry.path)

    def remove(self) -> None:
        """Remove the whole folder."""
        remove_tree(self.path)
        _lock_of(self.path).unlink(missing_ok=True)
        os.close(self.lock)


def open_slot(launch: Launch) -> Slot:
    """Make the live folder of a nursery that runs the code of this launch."""
    path, lock = _new_folder(launch)
    for folder in (path / "code", path / "slot"):
        folder.mkdir()
    _link_tree(Path(launch.code), path / "code")
    return Slot(path, lock)


def _new_folder(launch: Launch) -> tuple[Path, int]:
    root = Path(launch.roots.get("cache") or tempfile.gettempdir()) / FOLDER
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    remove_abandoned(root)
    path, lock = _new_name(root)
    path.mkdir()
    return path, lock


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copyfile(source, target)


def _link_tree(source: Path, target: Path) -> None:
    """Link the scripts of a framework, which are ours: few files, and folders of one or two levels."""
    for entry in os.scandir(source):
        if entry.is_dir(follow_symlinks=False):
            (target / entry.name).mkdir()
            _link_tree(Path(entry.path), target / entry.name)
        else:
            _link(Path(entry.path), target / entry.name)


def _lock_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def _new_name(root: Path) -> tuple[Path, int]:
    """Return a name that nobody has, and the descriptor of its lock, which is held until it is closed."""
    while True:
        path = root / secrets.token_hex(8)
        lock = os.open(_lock_of(path), os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # somebody takes it for abandoned at this moment
            os.close(lock)
            continue
        except OSError:  # a file system without locks: nobody can take it for abandoned there either
            return path, lock
        if os.path.exists(_lock_of(path)):  # else somebody took it for abandoned before it was locked
            return path, lock
        os.close(lock)


def remove_abandoned(root: Path) -> None:
    """Remove the live folders of supervisors that are gone."""
    for file in root.glob("*.lock"):
        with contextlib.suppress(OSError):
            lock = os.open(file, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_tree(file.with_suffix(""))
                file.unlink(missing_ok=True)
            finally:
                os.close(lock)
