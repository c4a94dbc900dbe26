"""Numbers as people write them: decimal commas, thousands, currency and per-cent signs.

A label such as `1,5` or `1.5` can only be read in one way and tells which decimal mark a file uses. `1,234` and
`1.234` can be read in two ways: as a decimal fraction, or as a whole number with its thousands marked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.data.csv_options import Decimal
from assay.data.parse import parse_plain

__all__ = ["NumberColumn", "is_number_like", "read_number_labels", "study_numbers"]

_CURRENCY = r"[$€£¥₹₩₽₺₫₪₴฿]|(?:USD|EUR|GBP|CHF|JPY|CNY|INR|BRL|R\$|kr|zł)(?![a-z])"
_SPACES = " \u00a0\u2009\u202f"  # plain, no-break, thin and narrow no-break: all of them group thousands
_LIKE = re.compile(
    rf"\s*(?P<open>\()?\s*(?P<sign>[-+\u2212])?\s*(?P<before>{_CURRENCY})?\s*(?P<inner>[-+\u2212])?"
    rf"(?P<digits>[0-9][0-9.,'’{_SPACES}]*|[.,][0-9]+)(?P<exponent>[eE][-+]?[0-9]+)?"
    rf"\s*(?P<percent>%)?\s*(?P<after>{_CURRENCY})?\s*(?P<close>\))?\s*\Z"
)
_TWO_WAYS = re.compile(r"[1-9][0-9]{0,2}[.,][0-9]{3}\Z")
_GROUPED = {
    mark: re.compile(
        rf"[1-9](?:[0-9]{{0,2}}(?:(?:{group}[0-9]{{3}})+|(?:[{_SPACES}][0-9]{{3}})+|(?:['’][0-9]{{3}})+)"
        rf"|[0-9]?(?:{group}[0-9]{{2}})+{group}[0-9]{{3}})"  # 12,34,567 as in India
        rf"(?:{mark}[0-9]*)?\Z"
    )
    for mark, group in ((r"\.", ","), (",", r"\."))
}
_PLAIN = {
    r"\.": re.compile(r"(?:[0-9]+\.?[0-9]*|\.[0-9]+)\Z"),
    ",": re.compile(r"(?:[0-9]+,?[0-9]*|,[0-9]+)\Z"),
}
_MARKS: dict[Decimal, str] = {"point": r"\.", "comma": ","}
_POINT_CURRENCIES = frozenset({"$", "£"})  # written with a decimal point nearly everywhere
_SEPARATORS = re.compile(rf"['’{_SPACES}]")


@dataclass(frozen=True)
class NumberColumn:
    """What the distinct labels of a column say, if all of them are numbers.

    Attributes:
        decided: the decimal mark that some label shows beyond doubt; "mixed" if labels contradict each other.
        open: a label that can be read in two ways, if there is one.
        units: the currency and per-cent signs that occur.
        has_bare: whether a label has neither.
        has_separators: whether spaces or apostrophes mark thousands.
        long_plain: whether a whole number of four digits or more stands without a mark for its thousands.
        is_styled: whether a label needs more than Python's own `float` to be read with a decimal point.
    """

    decided: Decimal | str = ""
    open: str = ""
    units: tuple[str, ...] = ()
    has_bare: bool = True
    has_separators: bool = False
    long_plain: bool = False
    is_styled: bool = False

    @property
    def mixes_units(self) -> bool:
        """Whether values are in different currencies, or only some of them per cent."""
        return len(self.units) > 1 or (self.units == ("%",) and self.has_bare)


def is_number_like(label: str) -> bool:
    """Return whether a label is a number with either decimal mark."""
    match = _LIKE.match(label)
    return match is not None and _brackets_match(match) and bool(_ways(_body(match)))


def read_number_labels(labels: Sequence[str], decimal: Decimal) -> list[str | None]:
    """Return labels as Python's `float` reads them, None for each that is not a number with this decimal mark."""
    return [_plain_text(label, decimal) for label in labels]


def study_numbers(labels: Sequence[str]) -> NumberColumn | None:
    """Return what the labels of a column say, or None if one of them is not a number."""
    if parse_plain(labels) is not None:
        return _study_plain(labels)
    marks: set[Decimal] = set()
    units: set[str] = set()
    open_label, has_bare, has_separators, long_plain, is_styled = "", False, False, False, False
    for label in labels:
        match = _LIKE.match(label)
        if match is None or not _brackets_match(match):
            return None
        body = _body(match)
        ways = _ways(body)
        if not ways:
            return None
        signs = {sign for sign in (match["before"], match["after"], match["percent"]) if sign}
        units |= signs
        has_bare |= not signs
        has_separators |= _SEPARATORS.search(body) is not None
        is_styled |= bool(signs or match["open"]) or "," in body or "\u2212" in label
        if len(ways) == 1:
            marks |= ways
        elif _TWO_WAYS.match(body) and not match["exponent"]:
            if "," in body and signs & _POINT_CURRENCIES:
                marks.add("point")
            else:
                open_label = open_label or label
        elif body.isdigit() and len(body) > 3:
            long_plain = True
    decided = "mixed" if len(marks) > 1 else next(iter(marks), "")
    is_styled |= has_separators
    return NumberColumn(
        decided, open_label, tuple(sorted(units)), has_bare, has_separators, long_plain, is_styled
    )


def _study_plain(labels: Sequence[str]) -> NumberColumn:
    """Return the same for numbers without any sign but points, without a pattern match for each: most are such."""
    pointed = (label.strip(" +-") for label in labels if "." in label)
    if any(not _TWO_WAYS.match(label) for label in pointed):
        return NumberColumn("point")
    open_label = next((label for label in labels if "." in label), "")
    return NumberColumn(
        open=open_label, long_plain=any(len(label.strip(" +-")) > 3 for label in labels if "." not in label)
    )


def _brackets_match(match: re.Match[str]) -> bool:
    """Return whether brackets, which mean a negative amount, are a pair, and there is one sign and unit at most."""
    if (match["open"] is None) != (match["close"] is None):
        return False
    n_signs = sum(match[name] is not None for name in ("open", "sign", "inner"))
    return n_signs <= 1 and not (match["before"] and match["after"])


def _body(match: re.Match[str]) -> str:
    return match["digits"].rstrip(_SPACES)


def _ways(body: str) -> set[Decimal]:
    """Return the decimal marks with which digits and marks are a number; both where it makes no difference."""
    return {name for name, mark in _MARKS.items() if _PLAIN[mark].match(body) or _GROUPED[mark].match(body)}


def _plain_text(label: str, decimal: Decimal) -> str | None:
    match = _LIKE.match(label)
    if match is None or not _brackets_match(match) or decimal not in _ways(_body(match)):
        return None
    text = _SEPARATORS.sub("", _body(match))
    text = text.replace(",", "") if decimal == "point" else text.replace(".", "").replace(",", ".")
    negative = bool(match["open"]) or (match["sign"] or match["inner"]) in ("-", "\u2212")
    return ("-" if negative else "") + text + (match["exponent"] or "")
