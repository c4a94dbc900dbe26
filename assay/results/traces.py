"""What frameworks wrote about their search: when which validation score was reached."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from assay.jobs.folder import StoreFolder

__all__ = ["read_traces"]

MOST_BYTES = 20_000_000  # a framework wrote it: what is longer is not read


def read_traces(
    folder: StoreFolder, rows: Iterable[Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], Any]]:
    """Yield each row that has a trace, with the trace; one that cannot be read is passed over."""
    for row in rows:
        if not row.get("has_trace"):
            continue
        path = folder.job(row["key"]).attempt(row["attempt"]).out / "artifacts" / "trace.json"
        try:
            if path.is_symlink() or path.stat().st_size > MOST_BYTES:
                continue
            trace = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(trace, dict) and isinstance(trace.get("points"), list):
            yield row, trace
