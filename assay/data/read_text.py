"""Open a text file in its own encoding, so that a NUL byte is an error with its place."""

from __future__ import annotations

import codecs
from collections.abc import Generator
from pathlib import Path

from assay.data.csv_options import csv_argument
from assay.errors import DataError

__all__ = ["find_encoding", "read_lines"]

# The longer marks come first: that of UTF-32 begins like that of UTF-16.
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_WESTERN = "cp1252"
_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 27


def find_encoding(
    path: Path, source: str, requested: str = "", can_be_requested: bool = True
) -> tuple[str, list[str]]:
    """Return the encoding of a file, and a note if it is not UTF-8.

    A byte order mark decides; else a file that is not valid UTF-8 is taken for Windows-1252, of which Latin-1 is a
    part. `requested` is taken as it is, if the whole file can be read so. Formats without such an option say that it
    cannot be requested.
    """
    with path.open("rb") as stream:
        start = stream.read(4)
    by_mark = next((encoding for mark, encoding in _MARKS.items() if start.startswith(mark)), "")
    encoding = requested or by_mark or "utf-8"
    if encoding == "utf-8" and by_mark == "utf-8-sig":
        encoding = by_mark
    bad = _first_bad_byte(path, encoding)
    if bad is None:
        return encoding, [] if encoding in ("utf-8", "utf-8-sig") else [f"encoding {encoding}"]
    name = encoding.removesuffix("-sig")
    if by_mark and not can_be_requested:
        raise DataError(f"{source} is not {name}: byte {bad} cannot be read. Save it as UTF-8.")
    if requested or by_mark:
        raise DataError(
            f"{source} is not {name}: byte {bad} cannot be read. Name its encoding: "
            f"{csv_argument('encoding', 'latin-1')} (in a suite file `csv: {{encoding: latin-1}}`), or save it as "
            "UTF-8.",
            ["csv"],
        )
    western = _WESTERN if _first_bad_byte(path, _WESTERN) is None else "latin-1"
    return western, [f"encoding {western}, because it is not UTF-8"]


def _first_bad_byte(path: Path, encoding: str) -> int | None:
    """Return the offset at which a file cannot be read in an encoding, or None."""
    # The mark of UTF-8 counts as three bytes here, so that offsets are those of the file.
    decoder = codecs.getincrementaldecoder(encoding.removesuffix("-sig"))()
    offset, is_bytewise = 0, not encoding.startswith(("utf-16", "utf-32"))
    with path.open("rb") as stream:
        while True:
            block = stream.read(_BLOCK)
            pending = len(decoder.getstate()[0])
            try:
                decoder.decode(block, final=not block)
            except UnicodeError as error:
                return offset - pending + getattr(error, "start", 0)
            if not block or (is_bytewise and b"\0" in block):
                return None  # what has a NUL byte is not text, and refused when its line is read
            offset += len(block)


def read_lines(path: Path, source: str, encoding: str = "utf-8-sig") -> Generator[str, None, None]:
    r"""Yield the lines of a file, ends kept as they are.

    Lines end with \n, \r or \r\n. `source` names the file in messages.
    """
    number = 0
    with path.open(encoding=encoding, newline="") as text:
        while True:
            number += 1
            try:
                line = text.readline(_LONGEST_LINE)
            except UnicodeError:  # a file without NUL bytes was looked at before
                raise DataError(
                    f"{source}, line {number}: bytes that are not {encoding}. The file is binary or damaged; "
                    "save it as plain UTF-8 text."
                ) from None
            if not line:
                return
            if len(line) == _LONGEST_LINE:
                raise DataError(
                    f"{source}, line {number}: longer than {_LONGEST_LINE} characters. Close an open quote, or break "
                    "the line."
                )
            if "\0" in line:
                raise DataError(
                    f"{source}, line {number}: a NUL byte. The file is binary or damaged; "
                    "save it as plain UTF-8 text."
                )
            yield line
