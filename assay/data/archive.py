"""Unpack zip, tar and gz files of strangers: no path outward, no links, no devices, no bombs.

Limits: `MAX_MEMBERS` members, `MAX_BYTES` unpacked in all, and beyond `RATIO_FROM_BYTES` not more than
`MAX_RATIO` times the size of the archive. Bytes are counted while they are written, not believed.
"""

from __future__ import annotations

import errno
import gzip
import os
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Literal, NoReturn, Protocol

from assay.errors import AssayError, DataError
from assay.files import visible

__all__ = ["MAX_BYTES", "MAX_MEMBERS", "MAX_RATIO", "RATIO_FROM_BYTES", "gunzip", "unpack"]

MAX_MEMBERS = 10_000
MAX_BYTES = 16 * 2**30
MAX_RATIO = 200
RATIO_FROM_BYTES = 256 * 2**20
_BLOCK = 2**20


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


class _Meter:
    """Counts what comes out of one archive, and stops at the limits."""

    def __init__(self, archive: Path) -> None:
        self.archive, self.packed, self.written, self.members = archive, archive.stat().st_size, 0, 0

    def copy(self, stream: _Readable, destination: Path) -> None:
        destination.parent.mkdir(parents=True, exist_ok=True)
        with destination.open("wb") as output:
            while block := stream.read(_BLOCK):
                self.written += len(block)
                too_dense = self.written > RATIO_FROM_BYTES and self.written > MAX_RATIO * self.packed
                if self.written > MAX_BYTES or too_dense:
                    _refuse(
                        self.archive,
                        f"it unpacks to more than {MAX_BYTES / 2**30:g} GiB, or to {MAX_RATIO} times its "
                        "size "
                        f"beyond {RATIO_FROM_BYTES / 2**20:g} MiB",
                    )
                output.write(block)

    def check(self, name: str) -> PurePosixPath:
        """Return a member's path if it stays inside."""
        self.members += 1
        if self.members > MAX_MEMBERS:
            _refuse(self.archive, f"it has more than {MAX_MEMBERS} members")
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in name.partition("/")[0] or "\0" in name:
            _refuse(self.archive, f"its member '{name}' points outside")
        return path


def unpack(archive: Path, folder: Path) -> list[Path]:
    """Unpack an archive into `folder` and return its files, in the order of their names.

    Folders inside are flattened away, and hidden files (such as those of macOS) skipped.
    """
    _check_regular(archive)
    folder.mkdir(parents=True, exist_ok=True)
    with _damage_is_data_error(archive):
        unpacked = _unpack_zip if archive.name.lower().endswith(".zip") else _unpack_tar
        return sorted(unpacked(archive, folder, _Meter(archive)))


def gunzip(path: Path, destination: Path) -> Path:
    """Unpack a gz file to `destination` and return that."""
    _check_regular(path)
    with _damage_is_data_error(path), gzip.open(path) as stream:
        _Meter(path).copy(stream, destination)
    return destination


def _check_regular(path: Path) -> None:
    """Refuse what reading would wait for, or never end: a pipe, a device, a folder."""
    if not os.path.isfile(path):
        raise DataError(f"{path.name} is not unpacked: there is no such file. Check the path.")


def _unpack_zip(archive: Path, folder: Path, meter: _Meter) -> Iterator[Path]:
    with zipfile.ZipFile(archive) as opened:
        for member in opened.infolist():
            path = meter.check(member.filename)
            kind = member.external_attr >> 28
            # The upper half holds Unix modes; 0 (unset), 4 (folder) and 8 (regular file) are harmless.
            if kind not in (0, 4, 8):
                _refuse(archive, f"its member '{member.filename}' is a link or a device")
            if member.flag_bits & 1:
                _refuse(archive, f"its member '{member.filename}' is encrypted")
            if not member.is_dir() and not _is_hidden(path):
                with opened.open(member) as stream:
                    yield _place(stream, folder, path, meter)


def _unpack_tar(archive: Path, folder: Path, meter: _Meter) -> Iterator[Path]:
    with tarfile.open(archive, mode=_tar_mode(archive)) as opened:
        for member in opened:
            path = meter.check(member.name)
            if member.isdir():
                continue
            stream = opened.extractfile(member) if member.isreg() else None
            if stream is None:
                _refuse(archive, f"its member '{member.name}' is a link or a device")
            elif not _is_hidden(path):
                with stream:
                    yield _place(stream, folder, path, meter)


def _tar_mode(archive: Path) -> Literal["r:gz", "r:bz2", "r:xz", "r:"]:
    """Return how a tar file is compressed, by its first bytes: trying all of them may take forever."""
    with open(archive, "rb") as file:
        first = file.read(6)
    if first[:2] == b"\x1f\x8b":
        return "r:gz"
    if first[:3] == b"BZh":
        return "r:bz2"
    return "r:xz" if first == b"\xfd7zXZ\0" else "r:"


def _place(stream: IO[bytes], folder: Path, path: PurePosixPath, meter: _Meter) -> Path:
    destination = folder / path.name
    if destination.exists():
        _refuse(meter.archive, f"two of its members are named '{path.name}'")
    meter.copy(stream, destination)
    return destination


def _is_hidden(path: PurePosixPath) -> bool:
    return any(part.startswith((".", "__MACOSX")) and part != "." for part in path.parts)


def _refuse(archive: Path, reason: str) -> NoReturn:
    shown = visible(" ".join(reason.split()))[:300]  # the names of members may be anything
    raise DataError(f"{archive.name} is not unpacked: {shown}. Unpack it yourself if you trust it.")


@contextmanager
def _damage_is_data_error(path: Path) -> Iterator[None]:
    try:
        yield
    except AssayError:
        raise
    # A damaged archive makes zipfile, tarfile and zlib raise anything: a name that is not text is a ValueError, a
    # header that ends too early a struct.error or an IndexError, encryption a RuntimeError.
    except Exception as error:
        # EINVAL: a member that claims to begin before the file does.
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise
        reason = str(error).splitlines()[0].rstrip(":. ") if str(error) else "it ends too early"
        raise DataError(f"{path.name} is damaged: {reason}. Pack it again, or fetch it again.") from error
