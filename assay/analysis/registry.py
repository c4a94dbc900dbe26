"""Which analyses there are: built-in modules, entry points of installed packages (`assay.analyses`), and files.

An analysis is a module with a record, a function and, at its bottom, `ANALYSIS = AnalysisSpec(...)`. Its command, its
section of the report and its line in the docs follow from that. Modules are imported when they are needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from assay.analysis.options import NoOptions
from assay.plugins import PluginKind, find_plugin, plugin_names

if TYPE_CHECKING:
    from assay.analysis.inputs import Inputs
    from assay.analysis.record import AnalysisRecord

__all__ = ["BUILTIN", "AnalysisSpec", "SectionSpec", "all_analyses", "analysis_names", "find_analysis"]

# In the order of the report: who is best, for which tasks, at what cost, how robust, and all scores at the end.
BUILTIN: Mapping[str, str] = MappingProxyType(
    {
        "leaderboard": "assay.analysis.leaderboard",
        "ranks": "assay.analysis.ranks",
        "scaled": "assay.analysis.scaled",
        "pairwise": "assay.analysis.pairwise",
        "bayes": "assay.analysis.bayes",
        "tree": "assay.analysis.trees",
        "advise": "assay.analysis.advice",
        "pareto": "assay.analysis.pareto",
        "time": "assay.analysis.times",
        "batches": "assay.analysis.batches",
        "failures": "assay.analysis.failures",
        "budgets": "assay.analysis.budgets",
        "anytime": "assay.analysis.anytime",
        "models": "assay.analysis.model_bounds",
        "sensitivity": "assay.analysis.sensitivity",
        "table": "assay.analysis.cells",
    }
)
LAST = "table"  # the long table of all scores comes after everything else, plug-ins included


@dataclass(frozen=True)
class SectionSpec:
    """A section of the report: its anchor and title, and the options with which the analysis is run for it."""

    anchor: str
    title: str
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class AnalysisSpec:
    """Everything that is known of an analysis before it is run.

    Attributes:
        name: the command, and the method of `assay.analyse(…)`.
        title: the heading of its section in a report.
        help: one line for `--help` and the docs.
        compute: takes the inputs and the options, and returns the record.
        options: a frozen dataclass whose fields are annotated with `Option`.
        needs: what the scores must have for it, in words.
        examples: commands, without the leading `assay analyse`.
        about: further lines of `--help`.
        sections: of the report; by default one with the name and title of the analysis, none if empty.
        figures: by flag the help of the figures that a record draws.
    """

    name: str
    title: str
    help: str
    compute: Callable[[Inputs, Any], AnalysisRecord]
    options: type[object] = NoOptions
    needs: tuple[str, ...] = ("scores",)
    examples: tuple[str, ...] = ()
    about: str = ""
    sections: tuple[SectionSpec, ...] | None = None
    figures: Mapping[str, str] = field(default_factory=dict)

    @property
    def report_sections(self) -> tuple[SectionSpec, ...]:
        """The sections of a report that show this analysis."""
        return (SectionSpec(self.name, self.title),) if self.sections is None else self.sections


KIND = PluginKind("analyses", "analysis", BUILTIN, "ANALYSIS", AnalysisSpec)


def analysis_names() -> list[str]:
    """Return the names of all analyses, built-in ones first, in the order of the report; nothing is imported."""
    names = plugin_names(KIND)
    return [*(name for name in names if name != LAST), *(name for name in names if name == LAST)]


def all_analyses() -> Iterator[AnalysisSpec]:
    """Yield all analyses."""
    return map(find_analysis, analysis_names())


def find_analysis(name: str) -> AnalysisSpec:
    """Return the analysis of that name: a built-in, an entry point of the group `assay.analyses`, or `file.py`.

    Raises:
        ConfigError: there is none, or what the name leads to is not an analysis.
    """
    return find_plugin(KIND, name)
