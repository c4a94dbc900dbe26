"""A record becomes a section: its sentences, tables for a page, figures it has something for, and notes."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import pytest

from assay.analysis.failures import Failures
from assay.analysis.record import AnalysisRecord, TextTable
from assay.drawing import Drawing
from assay.report.page import PagePart
from assay.report.sections import Section, make_section


@dataclass(frozen=True)
class Counts(AnalysisRecord):
    """A record that says everything a section has a place for."""

    counts: dict[str, int]
    notes: tuple[str, ...] = ()

    def rows(self) -> list[dict[str, Any]]:
        return [{"framework": name, "jobs": count} for name, count in self.counts.items()]

    def summary(self) -> str:
        return f"There are {sum(self.counts.values())} jobs."

    def caveat(self) -> str:
        return "Jobs of others are not counted."

    def drawings(self) -> tuple[Drawing, ...]:
        def paint(figure: Any) -> None:
            figure.add_subplot().barh(list(self.counts), list(self.counts.values()))

        return (
            Drawing(4, 2, paint),
            Drawing(4, 2, paint, flag="other-figure", on_page=False),
            Drawing(4, 2, paint, empty="Nothing failed"),
        )


COUNTS = Counts({"a": 3, "b & c": 4}, ("One framework was left out.",))


def test_a_section_has_the_sentences_tables_and_notes_of_its_record() -> None:
    section = make_section(COUNTS)
    assert section.summary == "There are 7 jobs." and section.caveat == "Jobs of others are not counted."
    assert section.tables == (TextTable(["framework", ">jobs"], [["a", 3], ["b & c", 4]]),)
    assert section.notes == ("One framework was left out.",)


def test_only_figures_for_the_page_with_something_to_show_are_drawn() -> None:
    pytest.importorskip("matplotlib")
    (figure,) = make_section(COUNTS).figures
    assert figure.startswith("<svg") and "b &amp; c" in figure


def test_without_matplotlib_a_section_has_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    section = make_section(COUNTS)
    assert section.figures == () and len(section.tables) == 1


def test_the_json_of_a_part_keeps_its_keys_and_has_no_figures() -> None:
    part = PagePart(
        "counts", "Counts", Section("Seen.", "Trusted.", ("<svg/>",), (TextTable([">n"], [[1.5]]),), ("n",))
    )
    assert part.to_json() == {
        "name": "counts", "title": "Counts", "empty": "",
        "section": {
            "sees": "Seen.", "trusts": "Trusted.", "figures": [], "tables": [{"heads": [">n"], "lines": [[1.5]]}],
            "notes": ["n"],
        },
    }  # fmt: skip
    assert PagePart("x", "X", empty="No rows.").to_json()["section"] is None


def test_a_record_without_failures_has_no_figure_on_the_page() -> None:
    record = Failures(
        jobs=4, failed=0, by_framework=(), by_task=(), by_type=(), by_constraint=(), by_size=(), examples=()
    )
    section = make_section(record)
    assert section.figures == () and section.summary == "None of 4 jobs failed."
