"""Records and templates become one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from assay.report.sections import Section, make_sections

if TYPE_CHECKING:
    from assay.analyse import Analysis

__all__ = ["make_report", "render"]

TEMPLATES = Path(__file__).resolve().parent / "templates"


def make_report(data: Analysis, title: str = "Benchmark report") -> str:
    """Return the whole page."""
    return render(title, _lead(data), make_sections(data), _methods(data))


def render(title: str, lead: str, sections: Sequence[Section], methods: Sequence[tuple[str, str]]) -> str:
    """Return the page of these sections."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    template = environment.get_template("report.html")
    style, script = (
        Markup((TEMPLATES / name).read_text(encoding="utf-8")) for name in ("report.css", "report.js")
    )
    return template.render(
        title=title, lead=lead, sections=sections, methods=methods, style=style, script=script
    )


def _lead(data: Analysis) -> str:
    table = data.table
    jobs, tasks, frameworks = len(table), table["task"].nunique(), table["framework"].nunique()
    return f"{frameworks} frameworks, {tasks} tasks, {jobs} jobs. From: {data.scores.origin}."


def _methods(data: Analysis) -> list[tuple[str, str]]:
    imputed = {name: count for name, count in data.imputed().items() if count}
    listed = ", ".join(f"{name} {count}" for name, count in imputed.items()) or "none"
    metrics = ", ".join(f"{kind or 'all'}: {name}" for kind, name in sorted({(t, m) for t, m in zip(
        data.everybody.types, data.everybody.metrics, strict=True)}))  # fmt: skip
    return [
        ("Failures count as", f"{data.impute} ({listed})"),
        ("Metrics", metrics),
        ("Ranks", "means over folds, ranked within tasks, equals sharing their ranks"),
        (
            "Tests",
            "Friedman corrected for ties, Iman–Davenport, Nemenyi with infinite degrees of freedom, level 0.05",
        ),
        (
            "Elo",
            "Bradley–Terry with ties (Davidson) on all pairs on all folds, tasks counting alike; 1000 draws of tasks",
        ),
        ("Tree", "model-based recursive partitioning, scores summed within tasks, Bonferroni, level 0.05"),
        (
            "Made with",
            f"assay {version('assay-bench')}, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}",
        ),
        ("Seed of draws", str(data.seed)),
    ]
