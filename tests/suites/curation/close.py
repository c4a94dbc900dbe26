"""Whether a value is that of the reference, within the tolerance that the reference states."""

from __future__ import annotations

ROUNDING = 6e-10  # the reference has ten digits


def is_close(found: float | None, expected: str, tolerance: str) -> bool:
    """Compare a value with the text of a cell; an empty cell stands for no value."""
    if expected == "" or found is None:
        return expected == "" and found is None
    value = float(expected)
    if tolerance == "exact":
        return found == value
    limit = max(1e-9, 1e-6 * abs(value)) if "1e-6" in tolerance else 1e-9 * abs(value)
    return abs(found - value) <= limit + ROUNDING * abs(value)
