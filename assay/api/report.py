"""All analyses on one page, and the appendix that says how each was made, from the parameters that were used."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import UserError

if TYPE_CHECKING:
    from assay.analysis.record import AnalysisRecord
    from assay.analysis.registry import AnalysisSpec, SectionSpec
    from assay.api.analyse import Analysis
    from assay.report.page import PagePart

__all__ = ["make_parts", "make_report", "write_report"]

NO_FIGURES = "There are no figures: they need matplotlib (pip install 'assay-bench[figures]')."


@dataclass(frozen=True)
class _Outcome:
    """The part of the page that a section became, and the record that it shows, if there is one."""

    part: PagePart
    record: AnalysisRecord | None = None


def make_report(analysis: Analysis, title: str = "Benchmark report", further: Sequence[str] = ()) -> str:
    """Return the page: one HTML text that needs nothing else.

    `further` names files with analyses that are shown besides the built-in and the installed ones.
    """
    from assay.analysis.wording import count_of
    from assay.drawing import can_draw
    from assay.report.page import render

    rows = analysis.inputs.rows
    sizes = (("framework", rows["framework"].nunique()), ("task", rows["task"].nunique()), ("job", len(rows)))
    lead = (
        f"{', '.join(count_of(count, noun) for noun, count in sizes)}. From: {analysis.inputs.scores.origin}."
    )
    outcomes = list(_outcomes(analysis, further))
    methods = _methods(analysis, [outcome.record for outcome in outcomes if outcome.record is not None])
    text = lead if can_draw() else f"{lead} {NO_FIGURES}"
    return render(title, text, [outcome.part for outcome in outcomes], methods)


def write_report(
    path: str | Path, analysis: Analysis, title: str = "Benchmark report", further: Sequence[str] = ()
) -> None:
    """Write the page to a file."""
    Path(path).write_text(make_report(analysis, title, further), encoding="utf-8")


def make_parts(analysis: Analysis, further: Sequence[str] = ()) -> list[PagePart]:
    """Return all parts of the page; one that cannot be made says why instead."""
    return [outcome.part for outcome in _outcomes(analysis, further)]


def _outcomes(analysis: Analysis, further: Sequence[str]) -> Iterator[_Outcome]:
    from assay.analysis.registry import analysis_names, find_analysis
    from assay.report.page import PagePart

    *names, last = analysis_names()
    for name in (*names, *further, last):
        try:
            spec = find_analysis(name)
        except UserError as error:
            if name in further:
                raise
            yield _Outcome(PagePart(name, name, empty=str(error)))  # a package that is installed, but broken
            continue
        for section in spec.report_sections:
            yield _outcome(analysis, spec, section)


def _outcome(analysis: Analysis, spec: AnalysisSpec, section: SectionSpec) -> _Outcome:
    from assay.report.page import PagePart
    from assay.report.sections import make_section

    try:
        record = analysis.run(spec, **section.options)
        empty = record.nothing_to_show()
        if empty:
            return _Outcome(PagePart(section.anchor, section.title, empty=empty))
        return _Outcome(PagePart(section.anchor, section.title, make_section(record)), record)
    except UserError as error:
        return _Outcome(PagePart(section.anchor, section.title, empty=str(error)))


def _methods(analysis: Analysis, records: Iterable[AnalysisRecord]) -> list[tuple[str, str]]:
    """Return the lines of the appendix: general ones, then what each record says of itself, each line once."""
    from assay import __version__
    from assay.analysis.trust import trust

    inputs = analysis.inputs
    lines = dict.fromkeys(line for record in records for line in record.methods())
    made = f"assay {__version__}, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}"
    return [
        *_scoring(analysis),
        *lines,
        ("Conditions", "; ".join([trust(inputs.rows), *inputs.hardware])),
        ("Made with", made),
        ("Seed of draws", str(inputs.seed)),
    ]


def _scoring(analysis: Analysis) -> list[tuple[str, str]]:
    """Say by which metrics tasks were scored, and what failures counted as."""
    inputs = analysis.inputs
    try:
        folds = inputs.folds
        imputed = ", ".join(f"{name} {count}" for name, count in inputs.imputed().items() if count) or "none"
        by_type = sorted(set(zip(folds.types, folds.metrics, strict=True)))
        metrics = ", ".join(f"{kind or 'all tasks'}: {name}" for kind, name in by_type)
    except UserError as error:
        imputed, metrics = str(error), "–"
    return [("Metrics", metrics), ("Failures count as", f"{inputs.impute} (folds imputed: {imputed})")]
