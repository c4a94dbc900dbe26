"""Walk, measure, copy and remove folders of any depth: no long paths, no recursion, few open folders.

A child can nest folders deeper than a path, the stack or the table of open files allows. So every step opens one name
relative to the folder it is in and follows no link.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["Found", "Measure", "Walk", "copy_tree", "has_link", "remove_tree"]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
HELD = 64  # levels whose folders stay open; below them the way up is `..`
NOT_HELD = -1
BATCH = 64
CHUNK = 2**20
PATIENCE_S = 600.0


class Found(NamedTuple):
    """One entry of a tree: its name, its state, the open folder it is in (while it is looked at), its depth."""

    name: str
    state: os.stat_result
    folder: int
    depth: int


class Walk:
    """A walk through a tree; a folder comes before what is in it, and what vanishes meanwhile is left out.

    `enter` is called with the name of each folder below the top; `leave` with the same name when the walk is done with
    it, and with the descriptor of the folder it is in.
    """

    def __init__(
        self,
        root: Path,
        enter: Callable[[str], None] = lambda name: None,
        leave: Callable[[str, int], None] = lambda name, folder: None,
    ) -> None:
        self._root = root
        self._enter, self._leave = enter, leave
        self._above: list[_Level] = []

    def __iter__(self) -> Iterator[Found]:
        try:
            current = _open_folder(str(self._root), None)
        except (OSError, ValueError):  # ValueError: a null byte in a name that stands in a file
            return
        try:
            here, waiting = _identity(current), list[str]()
            yield from _entries(current, waiting, 0)
            while waiting or self._above:
                if not waiting:
                    current, here, waiting = self._up(current)
                    continue
                name = waiting.pop()
                try:
                    below = _open_folder(name, current)
                except OSError:
                    continue
                is_held = len(self._above) < HELD
                self._above.append(_Level(current if is_held else NOT_HELD, here, waiting, name))
                if not is_held:
                    os.close(current)
                current, here, waiting = below, _identity(below), []
                self._enter(name)
                yield from _entries(current, waiting, len(self._above))
        finally:
            for descriptor in {current, *(level.folder for level in self._above)} - {NOT_HELD}:
                os.close(descriptor)

    def _up(self, current: int) -> tuple[int, tuple[int, int], list[str]]:
        """Return the folder above; where the current one was moved, the nearest one above that is held."""
        while True:
            level = self._above.pop()
            higher = level.folder if level.folder != NOT_HELD else _open_above(current, level.identity)
            self._leave(level.entered, higher)
            if higher != NOT_HELD:
                os.close(current)
                return higher, level.identity, level.waiting


class _Level(NamedTuple):
    """A folder above the current one: its descriptor or NOT_HELD, what is left to visit in it, and where we went."""

    folder: int
    identity: tuple[int, int]
    waiting: list[str]
    entered: str


def _open_above(current: int, identity: tuple[int, int]) -> int:
    """Open `..`, or return NOT_HELD where that is not the folder it was: somebody moved the current one."""
    try:
        higher = os.open("..", _FOLDER, dir_fd=current)
    except OSError:
        return NOT_HELD
    if _identity(higher) == identity:
        return higher
    os.close(higher)
    return NOT_HELD


def _entries(folder: int, waiting: list[str], depth: int) -> Iterator[Found]:
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    state = entry.stat(follow_symlinks=False)
                except OSError:
                    continue
                if stat.S_ISDIR(state.st_mode):
                    waiting.append(entry.name)
                yield Found(entry.name, state, folder, depth)
    except OSError:
        return


def _open_folder(name: str, above: int | None) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except PermissionError:  # the owner may take the permissions from a folder, and give them back
        handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
        try:
            os.chmod(f"/proc/self/fd/{handle}", 0o700)  # of this very folder: a name could become a link
        finally:
            os.close(handle)
        return os.open(name, _FOLDER, dir_fd=above)


def _identity(folder: int) -> tuple[int, int]:
    state = os.fstat(folder)
    return state.st_dev, state.st_ino


class Measure:
    """The disk space and the number of files below some folders, counted in slices of time.

    Links are not followed, a file with several names counts once, and what vanishes meanwhile counts nothing.
    """

    def __init__(self, *roots: Path) -> None:
        self.blocks = 0
        self.files = 0
        self._steps = self._count(roots)

    @property
    def megabytes(self) -> float:
        """Return the space counted so far."""
        return self.blocks * 512 / 2**20

    def advance(self, seconds: float) -> bool:
        """Count for about this long; return whether everything is counted."""
        deadline = time.monotonic() + seconds
        return all(time.monotonic() < deadline for _ in self._steps)

    def _count(self, roots: tuple[Path, ...]) -> Iterator[None]:
        linked: set[tuple[int, int]] = set()
        for root in roots:
            for found in Walk(root):
                state = found.state
                self.files += 1
                if self.files % BATCH == 0:
                    yield
                if state.st_nlink > 1 and not stat.S_ISDIR(state.st_mode):
                    name = (state.st_dev, state.st_ino)
                    if name in linked:
                        continue
                    linked.add(name)
                self.blocks += state.st_blocks


def remove_tree(path: Path) -> str:
    """Remove a folder and all that is in it; return what could not be removed, or an empty text."""
    if path.is_symlink() or not path.is_dir():
        return _attempt(path, path.unlink)
    problem = ""
    deadline = time.monotonic() + PATIENCE_S
    # Again while it helps: a folder that changes while it is listed may hide entries from one listing.
    while path.exists() and time.monotonic() < deadline:
        remover = _Remover()
        for found in Walk(path, leave=remover.remove_folder):
            remover.remove_file(found)
        problem = _attempt(path, lambda: os.rmdir(path)) and (remover.problem or f"{path} cannot be removed")
        if not remover.changes:
            break
    return problem


def _attempt(name: Path | str, remove: Callable[[], None]) -> str:
    try:
        remove()
    except FileNotFoundError:
        return ""
    except OSError as error:
        return f"{name} cannot be removed: {error.strerror}"
    return ""


class _Remover:
    """Removes what a walk finds, and keeps count and the last problem."""

    def __init__(self) -> None:
        self.changes = 0
        self.problem = ""

    def remove_file(self, found: Found) -> None:
        if not stat.S_ISDIR(found.state.st_mode):
            self._note(_attempt(found.name, lambda: os.unlink(found.name, dir_fd=found.folder)))

    def remove_folder(self, name: str, folder: int) -> None:
        self._note(_attempt(name, lambda: os.rmdir(name, dir_fd=folder)))

    def _note(self, problem: str) -> None:
        self.problem = problem or self.problem
        self.changes += not problem


def copy_tree(source: Path, target: Path, most_bytes: int, most_files: int, root: Path | None = None) -> str:
    """Copy the regular files and folders of a tree to a new folder; return why it was given up, or an empty text.

    Links, pipes and devices are left out: a copy of them is of no use, and may be harmful. With `root`, a folder above
    the source, no part below it may be a link either.
    """
    if root is not None and has_link(source, root):
        return f"{source} is reached through a link"
    os.mkdir(target)
    copy = _Copy(target, most_bytes)
    files = 0
    try:
        for found in Walk(source, copy.enter, copy.leave):
            files += 1
            if files > most_files:
                return f"{source} has more than {most_files} files"
            if stat.S_ISREG(found.state.st_mode):
                copy.take(found)
            if copy.left < 0:
                return f"{source} has more than {most_bytes} bytes"
    except OSError as error:
        return f"{source} cannot be copied: {error.strerror}"
    finally:
        os.close(copy.folder)
    return ""


def has_link(path: Path, root: Path) -> bool:
    """Whether a part of the path below `root` is a link."""
    parts = path.relative_to(root).parts
    return any(os.path.islink(root.joinpath(*parts[: end + 1])) for end in range(len(parts)))


class _Copy:
    """The folder that is copied to, which follows the walk through the folder that is copied from."""

    def __init__(self, target: Path, most_bytes: int) -> None:
        self.folder = os.open(target, _FOLDER)
        self.left = most_bytes

    def enter(self, name: str) -> None:
        os.mkdir(name, dir_fd=self.folder)
        self._move(name)

    def leave(self, name: str, folder: int) -> None:
        self._move("..")

    def _move(self, name: str) -> None:
        folder = os.open(name, _FOLDER, dir_fd=self.folder)
        os.close(self.folder)
        self.folder = folder

    def take(self, found: Found) -> None:
        """Copy one file, and no more of it than may still be copied."""
        if found.state.st_size > self.left:  # a sparse file is copied in full
            self.left = -1
            return
        with open(os.open(found.name, _FILE, dir_fd=found.folder), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with open(os.open(found.name, flags, 0o600, dir_fd=self.folder), "wb") as out:
                while self.left >= 0 and (data := file.read(min(CHUNK, self.left + 1))):
                    self.left -= len(data)
                    out.write(data)
