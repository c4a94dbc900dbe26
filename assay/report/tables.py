"""Analysis records as text, CSV and LaTeX tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from assay.analysis.cells import TaskCell
from assay.analysis.times import InferenceTime

__all__ = ["batches_text", "cells_csv", "cells_latex", "cells_text", "split_words"]


def cells_text(cells: Sequence[TaskCell]) -> tuple[list[str], list[list[str]]]:
    """Return heads and lines: tasks down, frameworks across, mean(std)fails in each cell as in the AMLB paper."""
    frameworks, tasks = _axes(cells)
    found = {(cell.task, cell.framework): cell for cell in cells}
    lines = [[task, *(_shown(found.get((task, name))) for name in frameworks)] for task in tasks]
    return ["task", *(f">{name}" for name in frameworks)], lines


def cells_csv(cells: Sequence[TaskCell]) -> str:
    """Return one line per cell, at full precision."""
    out = io.StringIO()
    names = list(TaskCell.__dataclass_fields__)
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for cell in cells:
        writer.writerow(["" if getattr(cell, name) is None else getattr(cell, name) for name in names])
    return out.getvalue()


def cells_latex(cells: Sequence[TaskCell]) -> str:
    """Return a tabular for LaTeX with booktabs."""
    frameworks, tasks = _axes(cells)
    found = {(cell.task, cell.framework): cell for cell in cells}
    lines = [r"\begin{tabular}{l" + "r" * len(frameworks) + "}", r"\toprule"]
    lines.append(" & ".join(["task", *map(_escaped, frameworks)]) + r" \\")
    lines.append(r"\midrule")
    for task in tasks:
        shown = [_shown(found.get((task, name)), latex=True) for name in frameworks]
        lines.append(" & ".join([_escaped(task), *shown]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def batches_text(
    times: Sequence[InferenceTime], show: Callable[[float], str]
) -> tuple[list[str], list[list[str]]]:
    """Return heads and lines: frameworks down, batch sizes across, the median seconds per row in each cell."""
    sizes = sorted({one.batch for one in times})
    found = {(one.framework, one.batch): one for one in times}
    lines = []
    for name in dict.fromkeys(one.framework for one in times):
        own = [found.get((name, size)) for size in sizes]
        lines.append([name, *(show(one.median) if one else "–" for one in own)])
    return ["framework", *(f">{size}" for size in sizes)], lines


def split_words(tree: Any, node: Any) -> str:
    """Return on which side of its parent's split a node lies, as words."""
    if node.parent is None:
        return ""
    parent = tree.nodes[node.parent - 1]
    is_left = parent.children[0] == node.id
    split = parent.split
    if split.threshold is not None:
        return f"{split.variable} {'≤' if is_left else '>'} {split.threshold:g}: "
    levels = split.left_levels if is_left else split.right_levels
    return f"{split.variable} in {{{', '.join(levels)}}}: "


def _axes(cells: Sequence[TaskCell]) -> tuple[list[str], list[str]]:
    return list(dict.fromkeys(c.framework for c in cells)), list(dict.fromkeys(c.task for c in cells))


def _shown(cell: TaskCell | None, latex: bool = False) -> str:
    """Return mean(std) and, raised or behind a sign, how many folds failed; a dash where they left one or none."""
    if cell is None:
        return ""
    fails = "" if not cell.fails else f"$^{{{cell.fails}}}$" if latex else f" ✗{cell.fails}"
    if cell.mean is None or (cell.n < 2 and cell.fails):
        return f"-{fails}"
    is_ratio = cell.metric not in ("rmse", "mse", "mae")
    mean = f"{cell.mean:.3f}" if is_ratio else _two_digits(cell.mean)
    std = "" if cell.std is None else f"({cell.std:.3f})" if is_ratio else f"({_two_digits(cell.std)})"
    return f"{mean}{std}{fails}"


def _two_digits(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"  # 12000 rather than 1.2e+04


def _escaped(text: str) -> str:
    words = {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    return "".join(words.get(sign, f"\\{sign}" if sign in "_&%#${}" else sign) for sign in text)
