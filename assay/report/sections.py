"""A record becomes a section of a report: what it shows, how far to trust it, figures, tables and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.analysis.record import PAGE, AnalysisRecord, TextTable, as_json
from assay.errors import NotInstalled

__all__ = ["Section", "make_section"]


@dataclass(frozen=True)
class Section:
    """What a section holds: a summary, a caveat, figures as SVG, tables and notes."""

    summary: str
    caveat: str = ""
    figures: tuple[str, ...] = ()
    tables: tuple[TextTable, ...] = ()
    notes: Sequence[str] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the section without its figures; the keys are those that `assay report --json` has always had."""
        tables = [{"heads": list(table.heads), "lines": as_json(list(table.lines))} for table in self.tables]
        texts = {"sees": self.summary, "trusts": self.caveat}
        return {**texts, "figures": [], "tables": tables, "notes": list(self.notes)}


def make_section(record: AnalysisRecord) -> Section:
    """Return the section of a record."""
    tables, notes = record.tables(PAGE), record.page_notes()
    return Section(record.summary(), record.caveat(), _figures(record), tables, notes)


def _figures(record: AnalysisRecord) -> tuple[str, ...]:
    shown = [drawing for drawing in record.drawings() if drawing.on_page and not drawing.empty]
    try:
        return tuple(drawing.to_svg() for drawing in shown)
    except NotInstalled:  # without matplotlib the tables still stand
        return ()
