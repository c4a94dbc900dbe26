"""Read numpy files with distrust: declared sizes are checked before memory is taken, and nothing is unpickled."""

from __future__ import annotations

import io
import math
import os
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, BinaryIO, TypeAlias, TypeVar

from assay.files.read import Read, open_regular

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ArrayLimits", "read_npy", "read_npz"]

CHUNK = 2**18
KINDS = "biufcSUMm"  # numbers, text and times; no objects, no records
# zipfile reads the list of members at once and makes an object of each: this bounds both.
MOST_AT_ONCE = 4 * 2**20
MAX_HEADER = 10_000
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
MAX_DIMENSIONS = 4

T = TypeVar("T")
Readable: TypeAlias = "_Sips | IO[bytes]"


@dataclass(frozen=True)
class ArrayLimits:
    """How much the arrays of one file may take: bytes on disk, and bytes of all arrays in memory together."""

    file_bytes: int = 2**30
    memory_bytes: int = 2**30


class _Refused(ValueError):
    """The file is refused; the message continues a sentence that begins with its name."""


def read_npz(
    path: Path,
    names: Collection[str] | None = None,
    limits: ArrayLimits | None = None,
    root: Path | None = None,
) -> Read[dict[str, np.ndarray]]:
    """Return the arrays of an npz file by name: those of `names` that it has, or all of them."""
    return _guarded(
        path, root, "npz", limits or ArrayLimits(), lambda file, most: _members(file, names, most)
    )


def read_npy(path: Path, limits: ArrayLimits | None = None, root: Path | None = None) -> Read[np.ndarray]:
    """Return the array of an npy file."""
    return _guarded(path, root, "npy", limits or ArrayLimits(), _array)


def _guarded(
    path: Path, root: Path | None, form: str, limits: ArrayLimits, read: Callable[[_Sips, int], T]
) -> Read[T]:
    opened = open_regular(path, root)
    if opened.value is None:
        return opened.failure()
    with open(opened.value, "rb") as file:
        size = os.fstat(opened.value).st_size
        if size > limits.file_bytes:
            return Read(path, None, f"has {size} bytes, more than {limits.file_bytes}")
        try:
            return Read(path, read(_Sips(file), limits.memory_bytes))
        except _Refused as refused:
            return Read(path, None, str(refused))
        # A damaged archive makes zipfile, zlib and numpy raise anything: encryption is a RuntimeError, a compression
        # method NotImplementedError, a header SyntaxError, MemoryError or RecursionError.
        except Exception as error:
            # Judging a file again must give the same row: addresses of objects differ from process to process.
            text = ADDRESS.sub("", str(error).partition("\n")[0])
            reason = text[:200] or type(error).__name__
            return Read(path, None, f"cannot be read as {form}: {reason}")


class _Sips(io.RawIOBase):
    """A file from which nothing takes more than a few megabytes at once."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int | None = -1, /) -> bytes:
        if size is None or size < 0 or size > MOST_AT_ONCE:
            size = MOST_AT_ONCE + 1
        data = self._file.read(size)
        if len(data) > MOST_AT_ONCE:
            raise _Refused("has a list of members that is too long")
        return data

    def seek(self, offset: int, whence: int = 0, /) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True


def _members(file: _Sips, names: Collection[str] | None, most: int) -> dict[str, np.ndarray]:
    import zipfile  # late, as the others below: the command line imports this module for its help page

    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            name = info.filename.removesuffix(".npy")
            if name == info.filename or (names is not None and name not in names):
                continue
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise _Refused(f"has the array '{name[:60]}' in a compression that numpy does not write")
            with archive.open(info) as member:
                try:
                    arrays[name] = _array(member, most)
                except _Refused as refused:
                    raise _Refused(f"{refused} (in the array '{name[:60]}')") from None
            most -= arrays[name].nbytes
    return arrays


def _array(file: Readable, most: int) -> np.ndarray:
    import numpy as np

    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise _Refused(f"has a header of the version {version[0]}.{version[1]}, which cannot be read")
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(file, max_header_size=MAX_HEADER)
    if dtype.hasobject or dtype.kind not in KINDS or dtype.subdtype is not None:
        raise _Refused(f"holds {str(dtype)[:60]}, not numbers or text")
    if len(shape) > MAX_DIMENSIONS or any(type(size) is not int or size < 0 for size in shape):
        raise _Refused(f"has the shape {str(shape)[:60]}")
    # Empty items and empty axes take no memory here, but their lengths would take it later.
    declared = math.prod(max(size, 1) for size in shape) * max(dtype.itemsize, 1)
    if declared > most:
        raise _Refused(f"declares an array of {declared} bytes, more than the {most} it may have")
    data = _exactly(file, math.prod(shape) * dtype.itemsize)
    flat = (
        np.frombuffer(data, dtype=dtype, count=math.prod(shape)) if data else np.zeros(shape, dtype).ravel()
    )
    if dtype.kind == "U" and data:
        _check_characters(np.frombuffer(data, dtype=np.dtype(np.uint32).newbyteorder(dtype.byteorder)))
    return flat.reshape(shape[::-1]).T if is_fortran else flat.reshape(shape)


def _exactly(file: Readable, size: int) -> bytearray:
    data = bytearray()
    while len(data) < size and (chunk := file.read(min(CHUNK, size - len(data)))):
        data += chunk
    if len(data) != size or file.read(1):  # reading to the end also has the checksum compared
        raise _Refused("holds more or fewer bytes than its header declares")
    return data


def _check_characters(codes: np.ndarray) -> None:
    """Refuse numbers that are not characters: Python cannot make a text of some, and not encode others."""
    import numpy as np

    wrong = np.flatnonzero((codes > 0x10FFFF) | ((codes >= 0xD800) & (codes <= 0xDFFF)))
    if len(wrong):
        raise _Refused(f"holds text with {int(codes[wrong[0]]):#x}, which is not a character")
