"""Under which conditions were the rows made? The line below every leaderboard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeAlias

from assay.typing import Frame

__all__ = ["trust"]

# Rows of the scores table: a frame, or a list of mappings.
Rows: TypeAlias = "Frame | list[Mapping[str, object]] | tuple[Mapping[str, object], ...]"
COLUMNS = ("enforcement", "blindness", "contended", "start", "origin")


def trust(table: Rows) -> str:
    """Return the line for rows of the scores table: a DataFrame, or a list of mappings."""
    if not len(table):
        return "no rows"
    counts = {name: _counts(table, name) for name in COLUMNS}
    foreign = sorted(str(origin) for origin in counts["origin"] if origin != "assay")
    if foreign and not any(counts["enforcement"]):
        return f"not known: these are results of others ({', '.join(foreign)})"
    contended = sum(count for value, count in counts["contended"].items() if value is True or value == 1)
    return (
        f"tier {_listed(counts['enforcement'])} · blindness {_listed(counts['blindness'])} · "
        f"contended {contended} of {len(table)} · start {_listed(counts['start'])}"
    )


def _counts(table: Rows, name: str) -> Counter[object]:
    """Return how often each value of a column occurs; of a frame without going through its rows one by one."""
    if isinstance(table, (list, tuple)):
        return Counter(row.get(name, "assay") for row in table)
    return Counter(table[name].value_counts(dropna=False).to_dict())


def _listed(counts: Counter[object]) -> str:
    named = Counter[str]()
    for value, count in counts.items():
        if value:
            named[str(value)] += count
    if len(named) < 2:
        return next(iter(named), "–")
    return ", ".join(f"{name} ({count})" for name, count in sorted(named.items()))
