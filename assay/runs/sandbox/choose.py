"""Make the sandbox of the tier that a launch names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import InternalError
from assay.runs.launch import Launch
from assay.runs.sandbox.base import Sandbox

if TYPE_CHECKING:
    from assay.runs.sandbox.nurseries import Nurseries

__all__ = ["make_sandbox"]


def make_sandbox(launch: Launch, folder: Path, nurseries: Nurseries | None = None) -> Sandbox:
    """Return the sandbox of an attempt; only the tier's own module is imported, because every job starts here.

    With `nurseries` the job is forked from one of them.
    """
    if launch.tier == "strict" and nurseries is not None:
        from assay.runs.sandbox.warm import Warm

        return Warm(launch, folder, nurseries)
    if launch.tier == "strict":
        from assay.runs.sandbox.strict import Strict

        return Strict(launch, folder)
    if launch.tier in ("landlock", "plain"):
        from assay.runs.sandbox.plain import Plain

        return Plain(launch, folder, landlock=launch.tier == "landlock")
    raise InternalError(f"Unknown tier '{launch.tier}' in {folder / 'attempt.json'}.")
