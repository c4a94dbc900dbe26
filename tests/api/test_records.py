"""Every analysis returns one shape of record: JSON, a frame, LaTeX, tables, methods and figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assay import analyse
from assay.analysis.record import PAGE, TERMINAL
from assay.analysis.registry import BUILTIN, find_analysis
from assay.api import Analysis
from assay.errors import ConfigError

# What a plain table of scores has nothing for, and what is asked about a data set.
ELSEWHERE = {"anytime", "models", "batches", "advise"}
NAMES = sorted(set(BUILTIN) - ELSEWHERE)


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    random = np.random.default_rng(0)
    levels = {"constant": 0.5, "random_forest": 0.7, "boost": 0.8, "broken": 0.75}
    rows = [
        (f"t{t}", fold, name, np.nan if name == "broken" and t % 4 == 0 else level + random.normal(scale=0.02),
         100.0 * t, constraint)
        for t in range(12)
        for fold in range(2)
        for name, level in levels.items()
        for constraint in ("1h8c", "4h8c")
    ]  # fmt: skip
    path = tmp_path_factory.mktemp("scores") / "scores.csv"
    columns = ["task", "fold", "framework", "score", "n_rows", "constraint"]
    pd.DataFrame(rows, columns=columns).to_csv(path, index=False)
    return analyse(path)


@pytest.fixture(scope="module")
def records(analysis: Analysis) -> dict[str, Any]:
    options = {"pareto": {"against": "training"}}
    return {name: analysis.run(name, **options.get(name, {})) for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_record_is_json_a_frame_and_latex(records: dict[str, Any], name: str) -> None:
    record = records[name]
    text = json.dumps(record.to_json(), allow_nan=False)
    assert isinstance(record.notes, tuple) and len(text) > 2
    frame = record.to_frame()
    assert len(frame) == len(record.rows()) and (len(frame) or name == "pareto")
    assert record.to_latex().count(r"\toprule") == 1


@pytest.mark.parametrize("name", NAMES)
def test_tables_have_as_many_cells_as_heads_in_every_medium(records: dict[str, Any], name: str) -> None:
    for medium in (TERMINAL, PAGE):
        for table in records[name].tables(medium):
            assert all(len(line) == len(table.heads) for line in table.lines)
            assert not any("nan" in str(cell).lower() for line in table.lines for cell in line)


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_is_drawn_for_every_flag(records: dict[str, Any], name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    drawings = {drawing.flag: drawing for drawing in records[name].drawings()}
    assert set(drawings) == set(find_analysis(name).figures)
    for flag, drawing in drawings.items():
        if not drawing.empty:
            drawing.write(tmp_path / f"{flag}.svg")
            assert (tmp_path / f"{flag}.svg").stat().st_size > 1000
    if not drawings:
        with pytest.raises(ConfigError, match="There is no figure"):
            records[name].plot()


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("ranks", {"alpha": 0.1}, "level 0.1"),
        ("pairwise", {"draws": 50}, "50 draws of tasks"),
        ("bayes", {"rope": 0.03}, "±0.03 gaps"),
        (
            "tree",
            {"alpha": 0.2, "max_depth": 2, "min_size": 7},
            "level 0.2, at least 7 observations per leaf, at most 2",
        ),
        ("pareto", {"against": "training", "over": "median"}, "median over tasks"),
    ],
)
def test_methods_name_the_parameters_that_were_used(
    analysis: Analysis, name: str, options: dict[str, Any], expected: str
) -> None:
    assert any(expected in how for _, how in analysis.run(name, **options).methods())


def test_the_same_view_gives_the_same_numbers_whatever_was_computed_before(analysis: Analysis) -> None:
    first = analysis.pairwise(draws=50).to_json()
    analysis.bayes()
    assert analysis.pairwise(draws=50).to_json() == first
    assert analysis.using(seed=1).pairwise(draws=50).to_json() != first
