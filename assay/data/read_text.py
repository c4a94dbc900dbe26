"""Open a text file so that a wrong encoding or a NUL byte is an error with its place."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from assay.errors import DataError

__all__ = ["read_lines"]

_FOREIGN_MARKS = {
    codecs.BOM_UTF32_LE: "UTF-32LE",
    codecs.BOM_UTF32_BE: "UTF-32BE",
    codecs.BOM_UTF16_LE: "UTF-16LE",
    codecs.BOM_UTF16_BE: "UTF-16BE",
}


def read_lines(path: Path, source: str) -> Iterator[str]:
    r"""Yield the lines of a UTF-8 file (with or without a byte order mark), ends kept as they are.

    Lines end with \n, \r or \r\n. `source` names the file in messages.
    """
    with path.open("rb") as stream:
        start = stream.read(4)
    for mark, encoding in _FOREIGN_MARKS.items():
        if start.startswith(mark):
            raise DataError(_encoding_message(source, 0, 1, encoding))
    number = 0
    with path.open(encoding="utf-8-sig", newline="") as text:
        try:
            for number, line in enumerate(text, start=1):
                if "\0" in line:
                    raise DataError(
                        f"{source}, line {number}: a NUL byte. The file is binary or damaged; "
                        "save it as plain UTF-8 text."
                    )
                yield line
        except UnicodeDecodeError as error:
            offset, line_number = _first_bad_byte(path)
            raise DataError(_encoding_message(source, offset, line_number, "latin-1")) from error


def _encoding_message(source: str, offset: int, line: int, guess: str) -> str:
    return (
        f"{source} is not UTF-8: byte {offset} (line {line}) cannot be read. Save it as UTF-8, "
        f"for example with `iconv -f {guess} -t UTF-8`."
    )


def _first_bad_byte(path: Path) -> tuple[int, int]:
    """Return the offset and the line of the first byte that is not UTF-8."""
    offset, line = 0, 1
    with path.open("rb") as stream:
        for raw in stream:
            try:
                raw.decode("utf-8")
            except UnicodeDecodeError as error:
                return offset + error.start, line
            offset += len(raw)
            line += 1
    return offset, line
