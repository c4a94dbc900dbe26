"""A log that keeps the beginning and the end of any amount of output."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

__all__ = ["HEAD_BYTES", "TAIL_BYTES", "CutLog"]

HEAD_BYTES = 512 * 1024
TAIL_BYTES = 512 * 1024
FIRST_BYTES = 2000


class CutLog:
    """Writes the head as it comes and the tail at the end; what lies between is counted and dropped."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = open(path, "wb", buffering=0)  # noqa: SIM115  closed in `close`
        self._start = b""
        self._tail = bytearray()
        self.seen = 0

    @property
    def first_line(self) -> str:
        """Return the beginning of the first line."""
        return self._start.partition(b"\n")[0].decode("utf-8", "replace").strip()

    @property
    def is_cut(self) -> bool:
        """Whether something was dropped."""
        return self.seen > HEAD_BYTES + TAIL_BYTES

    def add(self, data: bytes) -> None:
        """Take what the child wrote."""
        self._start += data[: FIRST_BYTES - len(self._start)]
        room = max(0, HEAD_BYTES - self.seen)
        self.seen += len(data)
        if room:
            self._file.write(data[:room])
        self._tail += data[room:]
        if len(self._tail) > 2 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def close(self) -> None:
        """Write the tail, with a line that says how much is missing."""
        if self.is_cut:
            dropped = self.seen - HEAD_BYTES - TAIL_BYTES
            self._file.write(f"\n… {dropped} bytes of output were cut here …\n".encode())
        self._file.write(self._tail[-TAIL_BYTES:])
        self._file.close()
