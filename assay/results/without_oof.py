"""Which frameworks left no out-of-fold predictions of their models, and why."""

from __future__ import annotations

from collections.abc import Iterable

from assay.errors import UserError
from assay.frameworks.find import find_framework
from assay.jobs.row import Row

__all__ = ["NO_OOF", "why_no_oof"]

# How a row's note begins where the framework itself said why there are none in this job.
NO_OOF = "No out-of-fold predictions: "


def why_no_oof(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return a sentence for each reason: who left none, in how many jobs that ended well, and why."""
    jobs: dict[str, dict[str, int]] = {}
    for row in rows:
        if row.status == "ok" and not row.has_oof:
            counts = jobs.setdefault(_reason(row), {})
            counts[row.framework] = counts.get(row.framework, 0) + 1
    return tuple(
        f"{NO_OOF}{', '.join(f'{name} ({count})' for name, count in sorted(counts.items()))}. {reason}"
        for reason, counts in jobs.items()
    )


def _reason(row: Row) -> str:
    own_reason = next((note for note in row.notes if note.startswith(NO_OOF)), "")
    if own_reason:
        return own_reason.removeprefix(NO_OOF)
    try:
        declared = find_framework(row.framework).no_oof
    except UserError:  # a folder or file of somebody's own, which may be gone
        declared = ""
    return declared or "The adapter wrote none (`write_oof`)."
