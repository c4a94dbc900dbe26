"""Every record is drawn, to every format, and nothing collides for thirty frameworks."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from assay.analysis.pareto import find_front
from assay.analysis.ranks import Ranks, bar_levels, rank_frameworks
from assay.analysis.record import AnalysisRecord
from assay.analysis.scaled import Scaled
from assay.analysis.trees import Comparisons, Tree, TreeSettings, grow_tree
from assay.drawing.style import figure_of
from assay.errors import ConfigError, NotInstalled

pytest.importorskip("matplotlib")


def svg_of(record: AnalysisRecord) -> str:
    return record.drawings()[0].to_svg()


def ranks(m: int) -> Ranks:
    scores = np.random.default_rng(0).normal(size=(40, m)) + np.linspace(1.5, 0, m)
    return rank_frameworks(scores, [f"framework number {j}" for j in range(m)])


def tree() -> Tree:
    random = np.random.default_rng(1)
    size = np.repeat(np.arange(40.0), 5)
    scores = random.normal(size=(200, 3)) + np.where(size[:, None] < 20, [2.0, 0.0, 0.0], [0.0, 2.0, 0.0])
    tasks = np.repeat([f"t{i}" for i in range(40)], 5)
    return grow_tree(
        Comparisons(("a", "b <c>", "d & e"), scores, tasks, {"size": size}), TreeSettings(min_size=25)
    )


def scaled() -> Scaled:
    values = np.random.default_rng(2).normal(-1, 2, size=(30, 3))
    values[0] = np.nan
    names = tuple(f"t{i}" for i in range(30))
    return Scaled(("random_forest", "b", "c"), names, values, -1.0, 0.0, "random_forest", ("t0",))


def front() -> Any:
    return find_front(("a", "b", "c"), np.array([[0.1, 0.5, 0.4]]), np.array([[1.0, 2.0, 3.0]]))


@pytest.mark.parametrize("make", [lambda: ranks(12), lambda: ranks(2), tree, scaled, front])
def test_records_are_drawn_as_one_element_without_links(make: Any) -> None:
    text = svg_of(make())
    element = ElementTree.fromstring(text)
    assert element.tag.endswith("svg")
    for one in element.iter():
        for name, value in one.attrib.items():
            assert not (name.endswith("href") and not value.startswith("#")), "nothing is fetched"
    assert svg_of(make()) == text, "the same record, the same drawing"


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_figures_are_written_by_their_ending(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"figure.{ending}"
    ranks(5).plot(path)
    start = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}[ending]
    assert path.read_bytes().startswith(start)
    with pytest.raises(ConfigError, match=r"written as \.svg, \.pdf, \.png"):
        ranks(5).plot(tmp_path / "figure.bmp")


def test_names_are_text_in_the_drawing() -> None:
    text = svg_of(ranks(5))
    assert all(f"framework number {j}" in text for j in range(5))
    assert "b &lt;c&gt;" in svg_of(tree())


def test_bars_that_share_a_place_are_on_different_lines() -> None:
    groups = [(0, 3), (1, 5), (4, 8), (6, 9), (9, 11)]
    levels = bar_levels(groups)
    for i, one in enumerate(groups):
        for j, other in enumerate(groups[:i]):
            if one[0] <= other[1] and other[0] <= one[1]:
                assert levels[i] != levels[j], (one, other)
    assert max(levels) == 1


def test_labels_of_thirty_frameworks_do_not_overlap() -> None:
    (drawing,) = ranks(30).drawings()
    with figure_of(drawing.width, drawing.height) as figure:
        drawing.paint(figure)
        figure.draw_without_rendering()
        axes = figure.axes[0]
        boxes = [text.get_window_extent() for text in axes.texts if "framework number" in text.get_text()]
    assert len(boxes) == 30
    for i, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[:i])


def test_without_matplotlib_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(NotInstalled, match=r"assay-bench\[figures\]"), figure_of(1, 1):
        pass
