"""What frameworks wrote about their search: when which validation score was reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from assay.files import read_json
from assay.jobs.folder import StoreFolder
from assay.jobs.row import Row

if TYPE_CHECKING:
    from assay.typing import JsonObject

__all__ = ["read_traces"]

MOST_BYTES = 20_000_000  # a framework wrote it: what is longer is not read


def read_traces(folder: StoreFolder, rows: Iterable[Row]) -> Iterator[tuple[Row, JsonObject]]:
    """Yield each row that has a trace, with the trace; one that cannot be read is passed over."""
    for row in rows:
        if not row.has_trace:
            continue
        attempt = folder.job(row.key).attempt(row.attempt)
        trace = read_json(attempt.out / "artifacts" / "trace.json", attempt.root, MOST_BYTES).value
        if trace is not None and isinstance(trace.get("points"), list):
            yield row, trace
