"""What counts as a number, a boolean and a date, and how it is read; the same with every library."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import numpy as np

from assay.data.table import Array

__all__ = [
    "ISO_DATE",
    "NUMBER",
    "is_boolean_pair",
    "parse_dates",
    "parse_numbers",
    "parse_plain",
    "sort_labels",
    "which_numbers",
]

NUMBER = re.compile(r"\s*[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[iI]nf(?:inity)?)\s*\Z")
_WHOLE = re.compile(r"\s*[+-]?[0-9]+\s*\Z")
ISO_DATE = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?)"
    r"\s?(?P<offset>Z|[+-][0-9]{2}:?[0-9]{2})?)?\Z"
)
_PAIRS = (frozenset({"true", "false"}), frozenset({"t", "f"}), frozenset({"yes", "no"}))
_LARGEST_EXACT = 2**53
_FIRST_YEAR, _LAST_YEAR = 1678, 2261
_NS_PER_MINUTE = 60_000_000_000


def parse_numbers(labels: Sequence[str]) -> tuple[Array, str, int]:
    """Return the numbers, what is wrong with the first bad one (empty if all are good), and its position."""
    numbers = parse_plain(labels)
    if numbers is None:
        bad = next((position for position, label in enumerate(labels) if not NUMBER.match(label)), None)
        if bad is not None:
            return np.empty(0), "is not a number", bad
        numbers = np.array([float(label) for label in labels], dtype=np.float64)
    for position in map(int, np.flatnonzero(np.abs(numbers) >= _LARGEST_EXACT)):
        label = labels[position]
        if np.isinf(numbers[position]):
            return numbers, "is infinite", position
        if _WHOLE.match(label) and abs(int(label)) > _LARGEST_EXACT:
            return numbers, "is a whole number beyond 2^53, which cannot be kept exactly", position
    return numbers, "", -1


def which_numbers(labels: Sequence[str]) -> Array:
    """Return which labels are numbers, infinite ones included."""
    if parse_plain(labels) is not None:
        return np.ones(len(labels), dtype=bool)
    return np.fromiter((NUMBER.match(label) is not None for label in labels), dtype=bool, count=len(labels))


def parse_plain(labels: Sequence[str]) -> Array | None:
    """Return the numbers if all labels are plain ones, without a pattern match per label: most columns are."""
    joined = "".join(labels)
    # Python also reads 1_000, nan, infinity and the digits of other scripts.
    if not joined.isascii() or any(sign in joined for sign in "_nN"):
        return None
    try:
        return np.fromiter(map(float, labels), dtype=np.float64, count=len(labels))
    except ValueError:
        return None


def is_boolean_pair(labels: Collection[str], one_is_enough: bool = False) -> bool:
    """Return whether the labels are the two of one style, each in one spelling.

    With `one_is_enough`, as for a declared column, one of the two and the style 0/1 will do.
    """
    lowered = {label.lower() for label in labels}
    if len(lowered) != len(labels):
        return False
    if one_is_enough:
        return any(lowered <= pair for pair in (*_PAIRS, frozenset({"0", "1"})))
    return lowered in _PAIRS


def parse_dates(labels: Sequence[str]) -> Array | None:
    """Return nanoseconds since 1970 UTC, or None if a label is no ISO date or outside 1678–2261."""
    stamps: list[str] = []
    offsets = np.zeros(len(labels), dtype=np.int64)
    for position, label in enumerate(labels):
        match = ISO_DATE.match(label)
        if match is None or not _FIRST_YEAR <= int(label[:4]) <= _LAST_YEAR:
            return None
        stamps.append(match["day"] + ("T" + match["time"] if match["time"] else ""))
        offset = match["offset"]
        if offset and offset != "Z":
            minutes = int(offset[1:3]) * 60 + int(offset[-2:])
            offsets[position] = (minutes if offset[0] == "+" else -minutes) * _NS_PER_MINUTE
    try:
        parsed = np.array(stamps, dtype="datetime64[ns]").astype(np.int64)
    except ValueError:
        return None
    return np.asarray(parsed - offsets, dtype=np.int64)


def sort_labels(labels: Iterable[str]) -> list[str]:
    """Return labels sorted, as numbers if all of them are; equal numbers such as 1 and 1.0 by their text."""
    items = list(labels)
    if all(NUMBER.match(label) for label in items):
        return sorted(items, key=lambda label: (float(label), label))
    return sorted(items)
