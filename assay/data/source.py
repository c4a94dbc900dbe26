"""A place that tables are read from: what it must offer, and what it knows of a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from assay.data.task import TaskRequest
from assay.settings import Settings
from assay.vocabulary import TaskType

if TYPE_CHECKING:
    from assay.data.raw import RawTable
    from assay.data.splits import Splits

__all__ = ["Loaded", "Source"]


@dataclass(frozen=True, eq=False)
class Loaded:
    """What a source knows of a table. Everything but the table and its name may be unset.

    Attributes:
        columns: per column any of `kind`, `role`, `categories`; what the user declared goes before it.
        splits: the folds, where the source has its own.
        n_counted: how many of the first rows are the dataset, where rows are repeated from fold to fold.
        files: the files and folders whose change makes the table another; none if it never changes.
    """

    raw: RawTable
    name: str
    id: str = ""
    target: str = ""
    type: TaskType | None = None
    columns: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    splits: Splits | None = None
    n_counted: int | None = None
    licence: str = ""
    origin: str = ""
    files: tuple[Path, ...] = ()


class Source(Protocol):
    """A place that tables are read from. Both methods may be called at any time, in any process."""

    def list(self) -> tuple[str, ...]:
        """Return the references that can be listed without a network, such as `bundled/iris`."""
        ...

    def load(self, request: TaskRequest, settings: Settings) -> Loaded:
        """Read what `request.ref` (or its files) mean, or raise a UserError. The same data every time."""
        ...
