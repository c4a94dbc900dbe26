"""Where the cache keeps tables and splits, by their digests."""

from __future__ import annotations

from pathlib import Path

from assay.settings import Settings

__all__ = ["splits_path", "table_path"]


def table_path(digest: str, settings: Settings) -> Path:
    """Return the file of a table."""
    return settings.cache / "tables" / f"{digest}.npz"


def splits_path(digest: str, settings: Settings) -> Path:
    """Return the file of the splits of a task."""
    return settings.cache / "splits" / f"{digest}.npz"
