"""Read what a child or another store wrote: regular files, no links, bounded bytes; a failure is a value.

Hard links need no guard: a child can link only what it may read anyway, and the strict tier's mounts refuse links
across them.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from assay.errors import StoreError, UserError

__all__ = [
    "Read", "check_plain", "digest_file", "is_regular", "open_regular", "read_bytes", "read_json", "read_tail",
    "read_text", "read_toml",
]  # fmt: skip

T = TypeVar("T")
U = TypeVar("U")

MOST_BYTES = 64 * 2**20
MOST_DEPTH = 100
CHUNK = 2**20
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True)
class Read(Generic[T]):
    """What became of reading a file: its `value`, or the `problem` that stands in its place.

    A problem continues a sentence that begins with the file's name: "is not a regular file".
    """

    path: Path
    value: T | None = None
    problem: str = ""
    is_missing: bool = False

    @property
    def sentence(self) -> str:
        """Return the problem with the file's name, or an empty text."""
        return f"{self.path} {self.problem}" if self.problem else ""

    def get(self) -> T:
        """Return the value, or raise StoreError where the caller cannot go on without the file."""
        if self.value is None:
            raise StoreError(f"{self.sentence}. Restore the file, or see `assay store verify`.")
        return self.value

    def failure(self) -> Read[Any]:
        """Return the same problem for a reader that would have made something else of the file."""
        return Read(self.path, None, self.problem, self.is_missing)

    def then(self, make: Callable[[T], U]) -> Read[U]:
        """Return what `make` makes of the value; content of a wrong shape becomes a problem."""
        if self.value is None:
            return self.failure()
        try:
            return Read(self.path, make(self.value))
        except (ValueError, TypeError, KeyError, UserError) as error:
            return Read(self.path, None, f"has unexpected content: {_short(error)}")


def open_regular(path: Path, root: Path | None = None) -> Read[int]:
    """Open a regular file and return its descriptor, which the caller closes.

    With `root`, a folder above the file, no part below it may be a link either: for folders that a child or
    another store could fill.
    """
    try:
        descriptor = _open(path, root)
    except FileNotFoundError:
        return Read(path, None, "does not exist", is_missing=True)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        return Read(path, None, f"cannot be opened: {getattr(error, 'strerror', None) or error}")
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return Read(path, descriptor)
    os.close(descriptor)
    return Read(path, None, "is not a regular file")


def _open(path: Path, root: Path | None) -> int:
    if root is None:
        return os.open(path, _FILE)
    *folders, name = path.relative_to(root).parts
    if ".." in folders or name == "..":
        raise ValueError("its name leads out of its folder")
    current = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for folder in folders:
            below = os.open(folder, _FOLDER, dir_fd=current)
            os.close(current)
            current = below
        return os.open(name, _FILE, dir_fd=current)
    finally:
        os.close(current)


def is_regular(path: Path, root: Path | None = None) -> bool:
    """Whether there is a regular file that the readers here would open."""
    opened = open_regular(path, root)
    if opened.value is None:
        return False
    os.close(opened.value)
    return True


def read_bytes(path: Path, root: Path | None = None, most: int = MOST_BYTES) -> Read[bytes]:
    """Return a file's bytes; one that holds more than `most` is a problem, whatever its size is said to be."""
    opened = open_regular(path, root)
    if opened.value is None:
        return opened.failure()
    try:
        with open(opened.value, "rb") as file:
            data = file.read(most + 1)
    except (OSError, MemoryError) as error:
        return Read(path, None, f"cannot be read: {_short(error)}")
    if len(data) > most:
        return Read(path, None, f"has more than {most} bytes")
    return Read(path, data)


def read_text(path: Path, root: Path | None = None, most: int = MOST_BYTES) -> Read[str]:
    """Return a file's text, which must be UTF-8."""
    found = read_bytes(path, root, most)
    if found.value is None:
        return found.failure()
    try:
        return Read(path, found.value.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return Read(path, None, f"is not UTF-8 (byte {error.start})")


def read_tail(path: Path, root: Path | None = None, most: int = 20_000) -> Read[str]:
    """Return the last bytes of a log as text, whatever bytes they are."""
    opened = open_regular(path, root)
    if opened.value is None:
        return opened.failure()
    try:
        with open(opened.value, "rb") as file:
            file.seek(max(0, os.fstat(opened.value).st_size - most))
            return Read(path, file.read(most).decode("utf-8", "replace"))
    except OSError as error:
        return Read(path, None, f"cannot be read: {_short(error)}")


def digest_file(path: Path, root: Path | None = None, most: int = 2**30) -> Read[str]:
    """Return the SHA-256 of a file's bytes; one of more than `most`, which may be sparse, is a problem."""
    import hashlib

    opened = open_regular(path, root)
    if opened.value is None:
        return opened.failure()
    total = hashlib.sha256()
    try:
        with open(opened.value, "rb") as file:
            left = os.fstat(opened.value).st_size
            if left > most:
                return Read(path, None, f"has more than {most} bytes")
            while left > 0 and (data := file.read(min(left, CHUNK))):
                total.update(data)
                left -= len(data)
    except OSError as error:
        return Read(path, None, f"cannot be read: {_short(error)}")
    return Read(path, total.hexdigest())


def read_json(
    path: Path, root: Path | None = None, most: int = MOST_BYTES, depth: int = MOST_DEPTH, cut: bool = False
) -> Read[dict[str, Any]]:
    """Return a JSON object of values that can be written again.

    NaN, infinities and whole numbers beyond 63 bits become None, halves of characters become question marks. What
    is nested deeper than `depth` is a problem, or with `cut` becomes None.
    """
    data = read_bytes(path, root, most)
    if data.value is None:
        return data.failure()
    try:
        value = _plain(json.loads(data.value), depth, cut)
    except (ValueError, RecursionError, MemoryError) as error:
        return Read(path, None, f"is not JSON: {_short(error)}")
    if not isinstance(value, dict):
        return Read(path, None, "is not an object")
    return Read(path, value)


def follow(path: Path) -> Path:
    """Return the file that a user's path leads to, over links; a path that can lead nowhere as it is."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a null byte
        return path


def read_toml(path: Path) -> Read[dict[str, Any]]:
    """Return the tables of a TOML file that the user named; it may be a link."""
    import tomllib

    text = read_text(follow(path))
    if text.value is None:
        return Read(path, None, text.problem, text.is_missing)
    try:
        return Read(path, tomllib.loads(text.value))
    except tomllib.TOMLDecodeError as error:
        return Read(path, None, f"is not valid TOML: {_short(error)}")
    except RecursionError:
        return Read(path, None, "is nested too deeply")


def check_plain(value: object, depth: int = MOST_DEPTH // 2) -> None:
    """Raise ValueError for what would not be the same after it was written as JSON and read again."""
    if _plain(value, depth, False) != value:
        raise ValueError("it holds a number beyond 63 bits or half of a character")


def _plain(value: Any, left: int, cut: bool) -> Any:
    kind = type(value)
    if kind is str:
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if kind is dict or kind is list:
        if left < 0:
            if cut:
                return None
            raise ValueError("it is nested too deeply")
        if kind is list:
            return [_plain(item, left - 1, cut) for item in value]
        return {_plain(key, left, cut): _plain(item, left - 1, cut) for key, item in value.items()}
    if (kind is int or kind is float) and not abs(value) < 2**63:
        return None
    return value


def _short(error: BaseException) -> str:
    """Return the first line of a foreign message, or the kind of error where it has none."""
    text = getattr(error, "strerror", None) or str(error)
    return str(text).partition("\n")[0][:300] or type(error).__name__
