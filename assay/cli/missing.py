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

    A metric failed where its function raised or did not return a number, and where it returned NaN or infinity for
    every row. One that says itself that it is undefined did not.

    Args:
        scores: rows of the scores table.
    """
    from assay.metrics.own import FAILS
    from assay.metrics.scoring import NOT_FINITE

    tested: Counter[str] = Counter()
    reasons: Counter[tuple[str, str]] = Counter()
    for row in scores:
        if row["status"] == "ok":
            tested[row["metric"]] += 1
            if row["value"] is None or row["value"] != row["value"]:
                reasons[row["metric"], row["message"] or "no reason was kept."] += 1
    not_finite: Counter[str] = Counter()
    for (metric, message), count in reasons.items():
        not_finite[metric] += count * message.startswith(NOT_FINITE.format(metric))
        say(f"warning: {metric} has no value in {count} of {tested[metric]} rows: {message}", file=sys.stderr)
    fails = any(message.startswith(FAILS.format(metric)) for metric, message in reasons)
    return fails or any(count == tested[metric] for metric, count in not_finite.items())
