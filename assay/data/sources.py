"""The sources that tables are read from, by the prefix of their references: the one list of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from assay.data.source import Source
from assay.plugins import lookup

__all__ = ["find_source"]


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


def _memory() -> Source:
    from assay.data.memory import MemorySource

    return MemorySource()


_BUILT_IN: Mapping[str, Callable[[], Source]] = {
    "bundled": _bundled,
    "file": _file,
    "memory": _memory,
    "openml": _openml,
    "test.openml": _openml_test,
}
