"""The report in a real browser: it renders, asks nobody for anything, sorts, filters, saves, fits a phone, prints."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay.analysis.registry import all_analyses
from assay.api import Analysis, analyse, make_parts, make_report, write_report

EVIL = "<script>window.hacked = 1</script>"


def long_table(tasks: int = 20) -> pd.DataFrame:
    """Return scores with names that a page must not obey."""
    random = np.random.default_rng(0)
    rows = [
        (f"task & {t}", fold, name, level + random.normal(scale=0.05), 100.0 * t)
        for t in range(tasks)
        for fold in range(3)
        for name, level in (("constant", 0.5), ("random_forest", 0.7), (EVIL, 0.8), ("b", 0.75))
    ]
    return pd.DataFrame(rows, columns=["task", "fold", "framework", "score", "n_rows"])


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    long_table().to_csv(path, index=False)
    return analyse(path)


@pytest.fixture(scope="module")
def report(data: Analysis, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, data, title="A & B <i>")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not chromium:
        pytest.skip("there is no Chromium on this machine (Debian: apt-get install chromium)")
    with playwright.sync_playwright() as own:
        found = own.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield found
        found.close()


class Page:
    """An open page, what its console said, and whom it asked."""

    def __init__(self, browser: Any, path: Path, width: int = 1280, height: int = 900) -> None:
        self.page = browser.new_page(viewport={"width": width, "height": height})
        self.errors: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def column(self, section: str, at: int) -> list[str]:
        """Return the texts of a column of the first table of a section, of the rows that are shown."""
        cells = self.page.locator(f"#{section} .table >> nth=0").locator(
            f"tbody tr:visible td:nth-child({at})"
        )
        return [text.strip() for text in cells.all_inner_texts()]


@pytest.fixture
def opened(browser: Any, report: Path) -> Iterator[Page]:
    page = Page(browser, report)
    yield page
    page.page.close()


def test_it_renders_without_errors_and_asks_nobody(opened: Page, report: Path) -> None:
    assert opened.page.title() == "A & B <i>" and opened.page.locator("h1").inner_text() == "A & B <i>"
    assert (
        opened.page.locator("section").count()
        == sum(len(spec.report_sections) for spec in all_analyses()) + 1
    )
    assert opened.page.locator("figure svg").count() >= 6
    assert opened.errors == [] and opened.asked == [report.as_uri()]


def test_names_cannot_run_code(opened: Page) -> None:
    assert opened.page.evaluate("window.hacked") is None
    assert EVIL in opened.column("ranks", 1), "the name is shown as it is"


def test_a_click_sorts_by_number_and_another_turns_it(opened: Page) -> None:
    head = opened.page.locator("#ranks th button >> nth=1")
    head.click()
    up = [float(text) for text in opened.column("ranks", 2)]
    assert up == sorted(up)
    head.click()
    down = [float(text) for text in opened.column("ranks", 2)]
    assert down == sorted(up, reverse=True) and len(set(down)) == 4
    opened.page.locator("#ranks th button >> nth=0").click()
    assert opened.page.locator("#ranks th >> nth=0").get_attribute("aria-sort") == "ascending"


def test_the_filter_hides_rows(opened: Page) -> None:
    everything = opened.column("scores", 1)
    opened.page.locator("#scores input").fill("task & 1")
    left = opened.column("scores", 1)
    assert len(everything) == 20 and left == [name for name in everything if "task & 1" in name]


def test_a_figure_can_be_saved(opened: Page, tmp_path: Path) -> None:
    with opened.page.expect_download() as wait:
        opened.page.locator("#ranks button.save").click()
    wait.value.save_as(tmp_path / "ranks.svg")
    assert wait.value.suggested_filename == "ranks.svg"
    assert (tmp_path / "ranks.svg").read_text(encoding="utf-8").startswith("<svg")


def test_ids_are_not_shared(opened: Page) -> None:
    ids = opened.page.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_it_fits_a_phone(browser: Any, report: Path) -> None:
    phone = Page(browser, report, 390, 844)
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert phone.page.locator("h1").bounding_box()["width"] <= 390
    phone.page.close()


def test_it_prints_all_rows_and_no_buttons(opened: Page, tmp_path: Path) -> None:
    opened.page.emulate_media(media="print")
    assert opened.page.locator("button.save >> visible=true").count() == 0
    box = opened.page.locator("#scores .scroll").bounding_box()
    table = opened.page.locator("#scores table").bounding_box()
    assert box["height"] >= table["height"] - 1, "nothing is cut off"
    opened.page.pdf(path=tmp_path / "report.pdf", format="A4")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_a_part_that_cannot_be_made_says_why(data: Analysis) -> None:
    parts = {part.name: part for part in make_parts(data)}
    assert parts["budgets"].section is None and "there is one only" in parts["budgets"].empty
    assert parts["anytime"].empty and parts["ranks"].section is not None


def test_without_matplotlib_the_tables_stand_and_that_is_said(
    data: Analysis, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = make_report(replace(data))
    assert "They need matplotlib" in page or "they need matplotlib" in page
    assert "<svg" not in page and "average rank" in page


def test_the_same_data_make_the_same_page(data: Analysis) -> None:
    assert make_report(data) == make_report(replace(data))
