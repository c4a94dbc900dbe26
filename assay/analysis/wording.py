"""Numbers, durations and lists as a reader expects them in a table or a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

__all__ = [
    "count_of", "decimals", "duration", "listed", "percent", "plain_seconds", "rating", "shortened", "significant",
    "value_range",
]  # fmt: skip

NONE = "–"
MOST_LISTED = 8  # names in a sentence: more are counted


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun: `1 task`, `2 tasks`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], most: int = MOST_LISTED) -> str:
    """Return names separated by commas; of many the first ones, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def shortened(text: str, most: int = 80) -> str:
    """Return the first line of a text, with a sign where something is left out."""
    first, _, rest = text.partition("\n")
    return first if len(first) <= most and not rest else f"{first[: most - 1]}…"


def decimals(value: float | None, digits: int = 2) -> str:
    """Return a number with a fixed number of decimals, or a dash."""
    return NONE if value is None or not isfinite(value) else f"{value:.{digits}f}"


def significant(value: float | None, digits: int = 4) -> str:
    """Return a number with so many significant digits; a dash where it is not defined, ∞ where it has no bound."""
    if value is None or value != value:
        return NONE
    return f"{value:.{digits}g}" if isfinite(value) else _infinite(value)


def rating(value: float | None) -> str:
    """Return an Elo rating: whole, and infinite for who won or lost everything."""
    if value is None or value != value:
        return NONE
    return f"{value:.0f}" if isfinite(value) else _infinite(value)


def percent(value: float | None, digits: int = 1) -> str:
    """Return a share as per cent."""
    return NONE if value is None or not isfinite(value) else f"{100 * value:.{digits}f} %"


def value_range(low: str, high: str) -> str:
    """Return `low to high`, or one dash where either is unknown."""
    return NONE if NONE in (low, high) else f"{low} to {high}"


def duration(value: float | None) -> str:
    """Return a duration in the unit that suits it, from a fraction of a millisecond to hours."""
    if value is None or value != value:
        return NONE
    if value < 1:
        return f"{value * 1000:.3g} ms"
    if value < 120:
        return f"{value:.1f} s"
    return f"{value / 60:.1f} min" if value < 7200 else f"{value / 3600:.1f} h"


def plain_seconds(value: float | None) -> str:
    """Return a duration in seconds, so that a column sorts by what it shows."""
    if value is None or not isfinite(value):
        return NONE
    return f"{value:,.0f} s".replace(",", "\u2009") if value >= 100 else f"{value:.3g} s"


def _infinite(value: float) -> str:
    return "∞" if value > 0 else "-∞"
