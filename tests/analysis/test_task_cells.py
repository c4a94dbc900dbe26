"""Cells as text, CSV and LaTeX, with the paper's digits."""

from __future__ import annotations

import csv
import io

from assay.analysis.cells import TaskCell, TaskCells
from assay.analysis.record import TERMINAL

CELLS = (
    TaskCell("x_1", "31", "a & b", "1h8c", "auc", 0.87654, 0.0123, 10, 0),
    TaskCell("x_1", "31", "c", "1h8c", "auc", None, None, 0, 10),
    TaskCell("y", "", "a & b", "1h8c", "rmse", 12345.0, 678.0, 9, 1),
)


def test_text_has_mean_deviation_and_failures() -> None:
    (table,) = TaskCells(CELLS).tables(TERMINAL)
    assert table.heads == ["task", ">a & b", ">c"]
    assert table.lines == [["x_1", "0.877(0.012)", "- ✗10"], ["y", "12000(680) ✗1", ""]]


def test_csv_has_full_precision() -> None:
    rows = list(csv.DictReader(io.StringIO(TaskCells(CELLS).to_frame().to_csv(index=False))))
    assert float(rows[0]["mean"]) == 0.87654 and rows[1]["mean"] == "" and rows[2]["fails"] == "1"


def test_latex_is_escaped() -> None:
    text = TaskCells(CELLS).to_latex()
    assert r"x\_1 & 0.877(0.012) & -$^{10}$ \\" in text and r"a \& b" in text
    assert text.count(r"\\") == 3 and text.startswith(r"\begin{tabular}{lrr}")
