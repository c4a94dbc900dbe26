"""Which metrics have no value for jobs that ended well, and why: said once per reason, on standard error."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from assay.cli.output import say

__all__ = ["tell_missing"]


def tell_missing(scores: Iterable[Mapping[str, Any]]) -> bool:
    """Say of each metric and reason in how many rows a value is missing; return whether a metric failed.

    A metric failed where its function raised or did not return a number, and where one that does not come with Assay
    has no value at all.

    Args:
        scores: rows of the scores table.
    """
    from assay.metrics import BUILTIN
    from assay.metrics.own import FAILS

    tested: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    for row in scores:
        if row["status"] == "ok":
            tested[row["metric"]] += 1
            if row["value"] is None or row["value"] != row["value"]:
                reasons[row["metric"], row["message"] or "no reason was kept."] += 1
    missing: Counter[str] = Counter()
    for (metric, message), count in reasons.items():
        missing[metric] += count
        say(f"warning: {metric} has no value in {count} of {tested[metric]} rows: {message}", file=sys.stderr)
    fails = any(message.startswith(FAILS.format(metric)) for metric, message in reasons)
    return fails or any(
        count == tested[metric] and metric not in BUILTIN for metric, count in missing.items()
    )
