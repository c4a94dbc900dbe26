"""Which kinds of study there are: built-in modules, entry points of installed packages (`assay.studies`), and files.

A study is a module with a record of options, a function and, at its bottom, `STUDY = StudySpec(...)`. Its command, with
a folder to continue in, its tables, `--json`, `--output` and its figure follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from assay.analysis.options import NoOptions
from assay.plugins import PluginKind, find_plugin, plugin_names

if TYPE_CHECKING:
    from assay.analysis.record import AnalysisRecord

__all__ = ["BUILTIN", "StudyRun", "StudySpec", "find_study", "study_names"]

BUILTIN: Mapping[str, str] = MappingProxyType({"intervals": "assay.studies.intervals"})


@dataclass(frozen=True)
class StudyRun:
    """Where and how a study is run.

    Attributes:
        folder: for finished work, which is not repeated.
        jobs: how many processes.
        progress: called with how many pieces are done, and of how many.
    """

    folder: Path
    jobs: int = 1
    progress: Callable[[int, int], None] = lambda done, total: None


@dataclass(frozen=True)
class StudySpec:
    """Everything that is known of a kind of study before it is run.

    Attributes:
        name: the command.
        help: one line for `--help` and the docs.
        run: takes the options and where to run, runs what is missing there, and returns the record of all of it.
        options: a frozen dataclass whose fields are annotated with `Option`, as those of an analysis are.
        folder: where finished work is kept by default.
        examples: commands, without the leading `assay study`.
        about: further lines of `--help`.
    """

    name: str
    help: str
    run: Callable[[Any, StudyRun], AnalysisRecord]
    options: type = NoOptions
    folder: str = ""
    examples: tuple[str, ...] = ()
    about: str = ""

    @property
    def default_folder(self) -> Path:
        """Where finished work is kept by default."""
        return Path(self.folder or f"{self.name}-study")


KIND = PluginKind("studies", "study", BUILTIN, "STUDY", StudySpec)


def study_names() -> list[str]:
    """Return the names of all kinds of study, built-in ones first; nothing is imported."""
    return plugin_names(KIND)


def find_study(name: str) -> StudySpec:
    """Return the study of that name: a built-in, an entry point of the group `assay.studies`, or `file.py`.

    Raises:
        ConfigError: there is none, or what the name leads to is not a study.
    """
    return find_plugin(KIND, name)
