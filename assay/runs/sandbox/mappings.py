"""The shared mappings of a process: memory through which it and its forks could talk.

From Linux 6.11 on the kernel finds them itself; before that, the whole list of mappings is read, which takes two
milliseconds for a process with scikit-learn.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["SharedMapping", "shared_mappings"]

# struct procmap_query of linux/fs.h: size, what is asked, from which address; start, end, flags, page size, offset,
# inode, device (two), room for the name and for the build id, and where these go.
QUERY = struct.Struct("=QQQQQQQQQIIIIQQ")
ASK = (3 << 30) | (QUERY.size << 16) | (ord("f") << 8) | 17  # PROCMAP_QUERY
WRITABLE, SHARED, FROM_HERE_ON = 0x02, 0x08, 0x10
NAME_BYTES = 4096


@dataclass(frozen=True)
class SharedMapping:
    """A shared mapping: whether it can be written to, and the file it is of, if that has a name."""

    is_writable: bool
    path: str


def shared_mappings(pid: int) -> list[SharedMapping]:
    """Return the shared mappings of a process; raises OSError for a process that is gone."""
    descriptor = os.open(f"/proc/{pid}/maps", os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            return list(_asked(descriptor))
        except OSError as error:
            if error.errno not in (errno.ENOTTY, errno.EINVAL):
                raise
        with open(descriptor, "rb", closefd=False) as file:
            return list(_listed(file.read()))
    finally:
        os.close(descriptor)


def _asked(descriptor: int) -> Iterator[SharedMapping]:
    name, address = ctypes.create_string_buffer(NAME_BYTES), 0
    while True:
        place = ctypes.addressof(name)
        asked = [QUERY.size, SHARED | FROM_HERE_ON, address, *[0] * 8, NAME_BYTES, 0, place, 0]
        answer = bytearray(QUERY.pack(*asked))
        try:
            fcntl.ioctl(descriptor, ASK, answer)
        except FileNotFoundError:  # there are no more
            return
        found = QUERY.unpack(answer)
        address, flags, has_name = found[4], found[5], found[11]
        yield SharedMapping(bool(flags & WRITABLE), os.fsdecode(name.value) if has_name else "")


def _listed(maps: bytes) -> Iterator[SharedMapping]:
    """Yield those of the lines whose pages are shared; a search is faster than a look at every line."""
    for end in (b"-s ", b"xs "):
        at = maps.find(end)
        while at >= 0:
            line = maps[maps.rfind(b"\n", 0, at) + 1 : maps.find(b"\n", at)].split(None, 5)
            if line[1].endswith(b"s"):
                yield SharedMapping(b"w" in line[1], os.fsdecode(line[5]) if len(line) > 5 else "")
            at = maps.find(end, at + 1)
