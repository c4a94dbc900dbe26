"""The record that analyses start from: a scores table and what is known about its tasks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Scores"]


@dataclass(frozen=True)
class Scores:
    """A scores table, what is known about its tasks, and what had to be decided when it was read.

    `properties` has one row per task, with the columns `task` and `task_id` first; `inference`, where it is known,
    one row per job and batch size: framework, task, batch, seconds.
    """

    table: pd.DataFrame
    properties: pd.DataFrame
    origin: str
    inference: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()
