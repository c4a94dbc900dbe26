"""How a supervisor ends, for whoever started it."""

from __future__ import annotations

__all__ = ["CANNOT_WRITE", "INTERRUPTED", "NOT_OURS", "WROTE_FACTS"]

WROTE_FACTS = 0
INTERRUPTED = 3  # by a signal, or because its parent is gone; the child is dead and there are no facts
CANNOT_WRITE = 4  # the store is full, read-only or gone
NOT_OURS = (
    5  # another supervisor holds the attempt, it has ended, or there is a later one; nothing was touched
)
