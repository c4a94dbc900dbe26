"""Texts for users are plain English: a short list of idioms stays out of README, docs and help pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
# What readers stumbled over, with what to write instead.
BANNED = {
    r"\bone can believe\b": "you can trust",
    r"\bknows too much good\b": "looks better than it is",
    r"\bat most so many\b": "maximum number of",
    r"\bat least so many\b": "at least N",
    r"(?<!there )\bis no (store|table|folder|number|file)\b": "is not a …",
    r"\b(comes?|came) along\b": "bundled",
    r"\bhow sure one can be\b": "with confidence intervals",
    r"\bspeaks? of framework\b": "names the framework",
    r"\bmend(s|ed)? the\b": "fix the",
    r"\bhow probably better\b": "probability of being better",
    r"\bequal at the head\b": "tied for first",
    r"\blonger than told\b": "exceeded the time budget",
    r"\bnot to be had\b": "not available",
}
PAGES = [
    ROOT / name
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/index.md", "docs/tutorial.md")
]
PAGES += sorted((ROOT / "docs" / "howto").glob("*.md")) + sorted((ROOT / "docs" / "reference").glob("*.md"))


def idioms(text: str) -> list[str]:
    """Return what to write instead of each idiom in a text."""
    words = " ".join(text.split())
    return [f"{pattern}: {instead}" for pattern, instead in BANNED.items() if re.search(pattern, words, re.I)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_no_banned_idiom(page: Path) -> None:
    assert idioms(page.read_text(encoding="utf-8")) == []


def test_messages_and_help_have_no_banned_idiom() -> None:
    problems = {
        str(path.relative_to(ROOT)): idioms(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "assay").rglob("*.py"))
    }
    assert {path: found for path, found in problems.items() if found} == {}


def test_an_idiom_is_found_across_a_line_break() -> None:
    assert idioms("Results one\ncan believe.") and not idioms("Results you can trust.")
