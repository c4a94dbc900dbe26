"""Where frameworks fail: by kind, by framework, by task and size, by budget."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from assay.analysis.record import AnalysisRecord, Medium, TextTable
from assay.analysis.registry import AnalysisSpec
from assay.analysis.wording import shortened
from assay.results.scores import NOT_ITS_OWN
from assay.typing import Frame, JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.analysis.options import NoOptions
    from assay.drawing import Drawing

__all__ = ["ANALYSIS", "CATEGORIES", "Count", "Failures", "category_of", "count_failures"]

CATEGORIES = ("memory", "time", "data", "implementation")
MOST_TASKS = 10  # in a terminal: a page has room for all
SIZES = (
    (1e3, "fewer than 1,000 rows"),
    (1e4, "1,000 to 10,000"),
    (1e5, "10,000 to 100,000"),
    (float("inf"), "100,000 and more"),
)
# Texts of errors that come from what the data are like: rare classes, validation parts without a class, columns.
DATA = re.compile(
    r"least populated class|number of classes|only one class|single class|unseen|unknown categor|categorical value|"
    r"contain different number|y_true|class(es)? .*(missing|not in)|n_splits|n_samples|stratif|"
    r"imbalanc|infinity|contains nan|could not convert string",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Count:
    """The number of jobs and failures under a name: of a framework, a task, a size."""

    name: str
    jobs: int
    failed: int
    by_status: dict[str, int]
    by_category: dict[str, int]


@dataclass(frozen=True)
class Failures(AnalysisRecord):
    """Counts by framework, task, type and constraint, worst first, by size, smallest first, and examples of messages.

    `by_size` is empty where the number of rows of no task is known.
    """

    jobs: int
    failed: int
    by_framework: tuple[Count, ...]
    by_task: tuple[Count, ...]
    by_type: tuple[Count, ...]
    by_constraint: tuple[Count, ...]
    by_size: tuple[Count, ...]
    examples: tuple[JsonObject, ...]
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per framework: its jobs, its failures, and how many of each category and status."""
        return [
            {
                "framework": count.name,
                "jobs": count.jobs,
                "failed": count.failed,
                **count.by_category,
                **{f"status_{status}": jobs for status, jobs in count.by_status.items()},
            }
            for count in self.by_framework
        ]

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return failures by framework, by what else differs, by task, and an example of each kind."""
        if not self.failed and medium.name == "terminal":
            return ()
        tables = [self._framework_table()]
        groups = {"size": self.by_size, "type": self.by_type, "constraint": self.by_constraint}
        tables += [_count_table(head, counts) for head, counts in groups.items() if len(counts) > 1]
        tasks = [count for count in self.by_task if count.failed]
        if tasks:
            most = MOST_TASKS if medium.name == "terminal" else len(tasks)
            tables.append(_count_table("task", tuple(tasks[:most])))
        if self.examples:
            tables.append(self._example_table(80 if medium.name == "terminal" else 160))
        return tuple(tables)

    def _framework_table(self) -> TextTable:
        heads = ["framework", ">jobs", ">failed", *(f">{name}" for name in CATEGORIES), "not its own"]
        lines = [
            [
                count.name,
                count.jobs,
                count.failed,
                *(count.by_category[name] for name in CATEGORIES),
                _not_own(count),
            ]
            for count in self.by_framework
        ]
        width = len(heads) if any(line[-1] for line in lines) else len(heads) - 1
        return TextTable(heads[:width], [line[:width] for line in lines])

    def _example_table(self, most: int) -> TextTable:
        lines = [
            [example["framework"], example["category"], example["jobs"], example["task"],
             shortened(str(example["message"]), most)]
            for example in self.examples
        ]  # fmt: skip
        return TextTable(["framework", "category", ">jobs", "for example", "message"], lines)

    def summary(self) -> str:
        """Count the failures."""
        if not self.failed:
            return f"None of {self.jobs} jobs failed."
        return f"{self.failed} of {self.jobs} jobs failed."

    def caveat(self) -> str:
        """Say how categories come about."""
        return "Categories follow from the texts of errors by rules; the line between data and implementation is rough."

    def remarks(self) -> tuple[str, ...]:
        """Count the failures."""
        return (self.summary(),)

    def drawings(self) -> tuple[Drawing, ...]:
        """Return shares of failed jobs."""
        from assay.drawing import Drawing, rows_size

        empty = "" if self.failed else f"None of {self.jobs} jobs failed"
        shown = sum(count.failed > 0 for count in self.by_framework)
        return (Drawing(*rows_size(shown), self._draw, empty=empty),)

    def _draw(self, figure: Figure) -> None:
        """Draw failed jobs of each framework by category, as shares of its jobs."""
        from assay.drawing import COLOURS, label_rows, legend_beside, stacked_bars

        axes = figure.add_subplot()
        shown = [count for count in self.by_framework if count.failed]
        shares = {
            kind: [100 * count.by_category[kind] / count.jobs for count in shown] for kind in CATEGORIES
        }
        shares["not its own"] = [
            100 * (count.failed - sum(count.by_category.values())) / count.jobs for count in shown
        ]
        stacked_bars(axes, [(kind, COLOURS[at], values) for at, (kind, values) in enumerate(shares.items())])
        label_rows(axes, [count.name for count in shown])
        axes.set_xlabel("failed jobs, per cent")
        legend_beside(axes)


def _count_table(head: str, counts: tuple[Count, ...]) -> TextTable:
    lines = [[count.name, count.jobs, count.failed] for count in counts]
    return TextTable([head, ">jobs", ">failed"], lines)


def _not_own(count: Count) -> str:
    return ", ".join(f"{count.by_status[name]} {name}" for name in NOT_ITS_OWN if name in count.by_status)


def category_of(status: str, message: str) -> str:
    """Return which of the AMLB paper's four categories a failure falls into; empty for what is none.

    Memory: killed for memory, crashed, filled its disk. Time: passed a limit. Data: an error whose text
    speaks of classes, rare values, missing values or infinity. Implementation: all the rest.
    """
    if status in ("memory", "crash", "disk"):
        return "memory"
    if status == "timeout":
        return "time"
    if status == "error":
        return "data" if DATA.search(message) else "implementation"
    return "implementation" if status == "invalid_predictions" else ""


def count_failures(table: Frame, sizes: Mapping[tuple[str, str], float] | None = None) -> Failures:
    """Count the jobs of a scores table of one metric per job; `sizes` are rows of tasks, by task and task_id."""
    kinds = (
        table[["status", "message"]].astype(str).drop_duplicates()
    )  # far fewer than rows: most have no message
    pairs = zip(kinds["status"], kinds["message"], strict=True)
    kinds["category"] = [category_of(status, message) for status, message in pairs]
    keys = table[["status", "message"]].astype(str)
    table = table.assign(category=keys.merge(kinds, how="left")["category"].to_numpy())
    failed = table[~table["status"].isin(["ok"])]
    examples = (
        failed[failed["category"] != ""]
        .groupby(["framework", "category"], sort=True)
        .agg(jobs=("task", "size"), task=("task", "first"), message=("message", "first"))
        .reset_index()
    )
    return Failures(
        jobs=len(table),
        failed=len(failed),
        by_framework=_counts(table, "framework"),
        by_task=_counts(table, "task"),
        by_type=_counts(table, "type"),
        by_constraint=_counts(table, "constraint"),
        by_size=_by_size(table, sizes or {}),
        examples=tuple({str(k): v for k, v in row.items()} for row in examples.to_dict("records")),
    )


def _by_size(table: Frame, sizes: Mapping[tuple[str, str], float]) -> tuple[Count, ...]:
    rows = [sizes.get(key, 0.0) for key in zip(table["task"], table["task_id"], strict=True)]
    named = table.assign(size=[next((name for most, name in SIZES if 0 < n < most), "") for n in rows])
    counts = {count.name: count for count in _counts(named[named["size"] != ""], "size")}
    return tuple(counts[name] for _, name in SIZES if name in counts)


def _counts(table: Frame, column: str) -> tuple[Count, ...]:
    jobs = table.groupby(column, sort=True).size()
    statuses, categories = (_by_group(table, column, kind) for kind in ("status", "category"))
    counts = []
    for name, total in jobs.items():
        by_status = {word: count for word, count in sorted(statuses[name].items()) if word != "ok"}
        by_category = {word: categories[name].get(word, 0) for word in CATEGORIES}
        counts.append(Count(str(name), int(total), sum(by_status.values()), by_status, by_category))
    return tuple(sorted(counts, key=lambda count: (-count.failed, count.name)))


def _by_group(table: Frame, column: str, kind: str) -> dict[Hashable, dict[str, int]]:
    """Return for each value of a column how many rows it has of each kind."""
    groups: dict[Hashable, dict[str, int]] = {}
    sizes = table.groupby([column, kind], sort=False).size()
    names, words = (sizes.index.get_level_values(level) for level in (0, 1))
    for name, word, count in zip(names, words, sizes, strict=True):
        groups.setdefault(name, {})[str(word)] = int(count)
    return groups


def compute(inputs: Inputs, options: NoOptions) -> Failures:
    """Count failures of the rows that are looked at."""
    return replace(count_failures(inputs.rows, inputs.task_sizes()), notes=inputs.notes)


ANALYSIS = AnalysisSpec(
    name="failures",
    title="Failures",
    help="Count failures by kind, framework, task, size and budget.",
    compute=compute,
    needs=("statuses",),
    examples=("failures --scores results.csv",),
    figures={"figure": "Draw shares of failed jobs: SVG, PDF or PNG."},
)
