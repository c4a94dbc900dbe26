"""Where tables come from: the Source protocol, and which source a reference such as `bundled/iris` means.

Built-in prefixes are `bundled`, `file`, `openml` and `test.openml`; others come from entry points of the
group `assay.sources`, whose name is the prefix.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from assay.data.task import TaskRequest
from assay.plugins import lookup
from assay.settings import Settings
from assay.vocabulary import TaskType

if TYPE_CHECKING:
    from assay.data.raw import RawTable
    from assay.data.splits import Splits

__all__ = ["Loaded", "Source", "find_source"]


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
    columns: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
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


def find_source(ref: str, where: str = "") -> Source:
    """Return the source of a reference by the part before its first slash."""
    factory = lookup("sources", ref.partition("/")[0], _BUILT_IN, where)
    return factory()


def _bundled() -> Source:
    from assay.data.bundled import BundledSource

    return BundledSource()


def _file() -> Source:
    from assay.data.files import FileSource

    return FileSource()


def _openml() -> Source:
    from assay.data.openml import OpenMLSource

    return OpenMLSource("openml")


def _openml_test() -> Source:
    from assay.data.openml import OpenMLSource

    return OpenMLSource("test.openml")


_BUILT_IN: Mapping[str, Callable[[], Source]] = {
    "bundled": _bundled,
    "file": _file,
    "openml": _openml,
    "test.openml": _openml_test,
}
