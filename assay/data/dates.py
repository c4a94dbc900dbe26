"""Dates as people write them: ISO, with day, month and year in any order, or with the month's English name.

ISO dates, those that begin with the year, and those with a month's name can be read in one way only. With points
(17.05.2024) the day comes first. With slashes or hyphens (01/02/2024) the order is found from values that only one
order allows; where there is none, it must be said.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.data.csv_options import DateOrder
from assay.data.parse import ISO_DATE, parse_dates
from assay.data.table import Array

__all__ = ["DateColumn", "is_date_like", "read_dates", "study_dates"]

_TIME = (
    r"(?:(?:[T ]|,\s?)\s*(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:\.[0-9]{1,9})?))?"
    r"\s?(?P<half>[AaPp]\.?[Mm]\.?)?\s?(?P<offset>Z|[+-][0-9]{2}:?[0-9]{2})?)?\Z"
)
_YEAR_FIRST = re.compile(r"(?P<y>[0-9]{4})(?P<mark>[/.-])(?P<m>[0-9]{1,2})(?P=mark)(?P<d>[0-9]{1,2})" + _TIME)
_THREE = re.compile(
    r"(?P<a>[0-9]{1,2})(?P<mark>[/.-])(?P<b>[0-9]{1,2})(?P=mark)(?P<c>[0-9]{4}|[0-9]{2})" + _TIME
)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_FULL = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = r"(?P<name>[A-Za-z]{3,9})\.?"
_DAY_NAME = re.compile(rf"(?P<d>[0-9]{{1,2}})[ -]{_MONTH}[ ,-]\s?(?P<y>[0-9]{{4}}|[0-9]{{2}})" + _TIME)
_NAME_DAY = re.compile(rf"{_MONTH} (?P<d>[0-9]{{1,2}}),? (?P<y>[0-9]{{4}}|[0-9]{{2}})" + _TIME)
_ORDERS: dict[DateOrder, str] = {"dmy": "abc", "mdy": "bac", "ymd": "cba"}  # which part is day, month, year
_PIVOT = 69  # as POSIX has it: 69 to 99 are of the last century, 00 to 68 of this one


@dataclass(frozen=True)
class DateColumn:
    """What the distinct labels of a column say, if all of them are dates.

    Attributes:
        orders: the orders of day, month and year in which every label is a date, the only one where it is certain.
        example: a label to show where the order is open.
    """

    orders: tuple[DateOrder, ...]
    example: str


def is_date_like(label: str) -> bool:
    """Return whether a label is a date in some order; whether there is such a day is not looked at."""
    return (
        any(pattern.match(label) for pattern in (ISO_DATE, _YEAR_FIRST, _THREE)) or _named(label) is not None
    )


def study_dates(labels: Sequence[str]) -> DateColumn | None:
    """Return what the labels of a column say, or None if they are not all dates that one order allows."""
    if not labels or not all(is_date_like(label) for label in labels):
        return None
    three = [match for match in map(_THREE.match, labels) if match]
    if not three:
        return DateColumn(("ymd",), labels[0]) if read_dates(labels, "ymd") is not None else None
    usual: tuple[DateOrder, ...] = ("dmy", "mdy")
    if all(match["mark"] == "." for match in three):
        candidates: tuple[DateOrder, ...] = ("dmy",)
    else:
        candidates = usual if any(len(match["c"]) == 4 for match in three) else (*usual, "ymd")
    orders = tuple(order for order in candidates if read_dates(labels, order) is not None)
    return DateColumn(orders, three[0].string) if orders else None


def read_dates(labels: Sequence[str], order: DateOrder) -> Array | None:
    """Return nanoseconds since 1970 UTC, or None if a label is not a date in this order."""
    texts = [_iso(label, order) for label in labels]
    return None if None in texts else parse_dates([text for text in texts if text is not None])


def _iso(label: str, order: DateOrder) -> str | None:
    if ISO_DATE.match(label):
        return label
    match = _YEAR_FIRST.match(label)
    if match:
        return _joined(match["y"], int(match["m"]), int(match["d"]), match)
    match = _THREE.match(label)
    if match:
        day, month, year = (match[part] for part in _ORDERS[order])
        if len(day) > 2 or not (len(year) == 4 or len(match["c"]) == 2):
            return None
        return _joined(year, int(month), int(day), match)
    named = _named(label)
    return None if named is None else _joined(named[0]["y"], named[1], int(named[0]["d"]), named[0])


def _named(label: str) -> tuple[re.Match[str], int] | None:
    match = _DAY_NAME.match(label) or _NAME_DAY.match(label)
    if match is None:
        return None
    name = match["name"].lower()
    for number, (short, full) in enumerate(zip(_MONTHS, _FULL, strict=True), start=1):
        if name in (short, full, "sept" if number == 9 else short):
            return match, number
    return None


def _joined(year: str, month: int, day: int, match: re.Match[str]) -> str | None:
    """Return an ISO date, or None for a 13th month; which days a month has, the reader of ISO dates knows."""
    if not 1 <= month <= 12:
        return None
    if len(year) == 2:
        year = f"{'19' if int(year) >= _PIVOT else '20'}{year}"
    text = f"{year}-{month:02d}-{day:02d}"
    if match["hour"] is None:
        return text
    hour, half = int(match["hour"]), (match["half"] or "").lower()[:1]
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half == "p" else 0)
    return f"{text}T{hour:02d}:{match['minute']}:{match['second'] or '00'}{match['offset'] or ''}"
