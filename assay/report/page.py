"""Sections and templates become one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.report.sections import Section

__all__ = ["PagePart", "render"]

TEMPLATES = Path(__file__).resolve().parent / "templates"


@dataclass(frozen=True)
class PagePart:
    """One part of the page under its title; where there is nothing to show, `empty` says why."""

    name: str
    title: str
    section: Section | None = None
    empty: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the part without its figures."""
        section = self.section.to_json() if self.section else None
        return {"name": self.name, "title": self.title, "section": section, "empty": self.empty}


def render(title: str, lead: str, parts: Sequence[PagePart], methods: Sequence[tuple[str, str]]) -> str:
    """Return the page of these parts; `methods` are the lines of its appendix, as (what, how)."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    style, script = (
        Markup((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("report.css", "report.js")
    )
    figures = {
        part.name: [Markup(_apart(text, f"{part.name}{at}-")) for at, text in enumerate(part.section.figures)]
        for part in parts
        if part.section
    }
    template = environment.get_template("report.html")
    text: str = template.render(
        title=title, lead=lead, parts=parts, figures=figures, methods=methods, style=style, script=script
    )
    return text


def _apart(svg: str, prefix: str) -> str:
    """Return a figure whose ids no other figure of the page has."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)
