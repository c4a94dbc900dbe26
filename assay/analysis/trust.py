"""Under which conditions were the rows made? The line below every leaderboard."""

from __future__ import annotations

from collections import Counter
from typing import Any

__all__ = ["trust"]


def trust(table: Any) -> str:
    """Return the line for rows of the scores table: a DataFrame, or a list of mappings."""
    if not len(table):
        return "no rows"
    columns = ("enforcement", "blindness", "contended", "start", "origin")
    said = {
        name: [row.get(name, "assay") for row in table]
        if isinstance(table, (list, tuple))
        else table[name].tolist()
        for name in columns
    }
    foreign = sorted({origin for origin in said["origin"] if origin != "assay"})
    if foreign and not any(said["enforcement"]):
        return f"not known: these are results of others ({', '.join(foreign)})"
    contended = sum(value is True or value == 1 for value in said["contended"])
    return (
        f"tier {_counted(said['enforcement'])} · blindness {_counted(said['blindness'])} · "
        f"contended {contended} of {len(table)} · start {_counted(said['start'])}"
    )


def _counted(values: list[Any]) -> str:
    counts = Counter(str(value) for value in values if value)
    if len(counts) < 2:
        return next(iter(counts), "–")
    return ", ".join(f"{name} ({count})" for name, count in sorted(counts.items()))
