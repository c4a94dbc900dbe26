"""Analysis records as text, CSV and LaTeX tables."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from typing import Any

from assay.analysis.budgets import BudgetStep
from assay.analysis.cells import TaskCell
from assay.analysis.failures import CATEGORIES, Count, Failures
from assay.analysis.sensitivity import Sensitivity
from assay.analysis.times import FitTime, InferenceTime
from assay.results.scores import NOT_ITS_OWN
from assay.uncertainty.models import ModelBound

__all__ = [
    "Show",
    "Text",
    "batches_text",
    "bounds_text",
    "budgets_text",
    "cells_csv",
    "cells_latex",
    "cells_text",
    "counted",
    "failures_texts",
    "split_words",
    "training_text",
    "variants_text",
]

Text = tuple[list[str], list[list[Any]]]  # heads, those of numbers beginning with `>`, and lines
Show = Callable[[float | None], str]


def counted(n: int, what: str) -> str:
    """Return a number with its noun: `1 task`, `2 tasks`."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def bounds_text(bounds: Sequence[ModelBound], show: Callable[[float | None], str]) -> Text:
    """Return heads and lines: the best of each job's models, its corrected bound, and the framework's score."""
    heads = [
        "task", "fold", "framework", ">models", "best of its models", "metric", ">own folds", ">corrected", ">bound",
        ">framework in test", "inside",
    ]  # fmt: skip
    lines = []
    for one in bounds:
        found = one.interval
        bound = found.lower if found.higher_is_better else found.upper
        fold = f"{one.repeat}.{one.fold}" if one.repeat else str(one.fold)
        inside = ("yes" if one.is_inside else "no") if one.is_same else ""
        lines.append(
            [one.task, fold, one.framework, one.models, found.winner_name, found.metric, show(found.cv_score),
             show(found.estimate), show(bound), show(one.test_score), inside]
        )  # fmt: skip
    return heads, lines


def cells_text(cells: Sequence[TaskCell]) -> Text:
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


def training_text(times: Sequence[FitTime], show: Show) -> Text:
    """Return heads and lines: training times of each framework and constraint."""
    heads = [
        "framework", "constraint", ">jobs", ">least", ">median", ">most", ">over budget", ">over leeway", ">timeouts",
    ]  # fmt: skip
    lines = [
        [
            one.framework, one.constraint, one.jobs, show(one.least), show(one.median), show(one.most),
            one.over_budget, one.over_leeway, one.timeouts,
        ]
        for one in times
    ]  # fmt: skip
    return heads, lines


def failures_texts(found: Failures) -> list[Text]:
    """Return heads and lines of failures by framework, then by what else differs, by task, and an example of each."""
    heads = ["framework", ">jobs", ">failed", *(f">{name}" for name in CATEGORIES), "not its own"]
    lines = [
        [one.name, one.jobs, one.failed, *(one.by_category[name] for name in CATEGORIES), _not_own(one)]
        for one in found.by_framework
    ]
    width = len(heads) if any(line[-1] for line in lines) else len(heads) - 1
    out: list[Text] = [(heads[:width], [line[:width] for line in lines])]
    groups = {"size": found.by_size, "type": found.by_type, "constraint": found.by_constraint}
    for head, counts in groups.items():
        if len(counts) > 1:
            out.append(([head, ">jobs", ">failed"], [[one.name, one.jobs, one.failed] for one in counts]))
    tasks = [[one.name, one.jobs, one.failed] for one in found.by_task if one.failed]
    if tasks:
        out.append((["task", ">jobs", ">failed"], tasks))
    told = [
        [e["framework"], e["category"], e["jobs"], e["task"], str(e["message"])[:160]] for e in found.examples
    ]
    if told:
        out.append((["framework", "category", ">jobs", "for example", "message"], told))
    return out


def _not_own(one: Count) -> str:
    return ", ".join(f"{one.by_status[name]} {name}" for name in NOT_ITS_OWN if name in one.by_status)


def budgets_text(steps: Sequence[BudgetStep], show: Show) -> Text:
    """Return heads and lines: what each longer budget bought."""
    heads = [
        "framework", ">from", ">to", ">tasks", ">better", ">equal", ">worse", ">gain", ">rank", ">then", ">failed",
        ">then",
    ]  # fmt: skip
    lines = [
        [
            one.framework, show(one.from_s), show(one.to_s), one.tasks, one.better, one.equal, one.worse,
            _known(one.gain, "+.3f"), _known(one.rank_before, ".2f"), _known(one.rank_after, ".2f"),
            one.failed_before, one.failed_after,
        ]
        for one in steps
    ]  # fmt: skip
    return heads, lines


def _known(value: float | None, how: str) -> str:
    return "–" if value is None else format(value, how)


def variants_text(found: Sensitivity) -> Text:
    """Return heads and lines: average ranks under each choice that can be made, in brackets on how many tasks."""
    usable = [(f"{one.name} ({one.n_tasks})", one.ranks) for one in found.variants if one.ranks is not None]
    lines = [[name, *(f"{ranks[j]:.2f}" for _, ranks in usable)] for j, name in enumerate(found.frameworks)]
    return ["framework", *(f">{name}" for name, _ in usable)], lines


def batches_text(times: Sequence[InferenceTime], show: Callable[[float], str]) -> Text:
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
