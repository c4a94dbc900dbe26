"""The AMLB paper's nine frameworks and its baselines on three data sets: `python -m benchmarks.nine` or `make nine`.

Needs the data sets in ../shared and about two hours on two cores. The same command again runs what is missing;
`--page FILE` writes what was found as the tables of docs/background/nine.md. What the machine looked like before the
first run is kept beside the store, so that what the frameworks left behind can be told at the end.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from assay import Local, Store, Suite, analyse, plan, run
from assay.data.task import TaskRequest
from assay.jobs.row import Row
from assay.runs.run import RunOptions
from benchmarks.leftovers import look, remembered

SHARED = Path(__file__).resolve().parents[2] / "shared"
# Binary with categories and missing values; multiclass; regression with categories and missing values.
TASKS = ("adult", "steel-plates-fault", "Moneyball")
NINE = ("autogluon", "autosklearn", "autosklearn2", "flaml", "gama", "h2o", "lightautoml", "mljar", "tpot")
BASELINES = ("constant", "random_forest", "tuned_random_forest")
Rows = Sequence[Row]


def make_suite(shared: Path) -> Suite:
    """Return the three tasks with ten folds each."""
    import yaml

    tasks = []
    for name in TASKS:
        path = shared / "data" / "datasets" / f"{name}.parquet"
        about = yaml.safe_load(path.with_suffix(".yaml").read_text(encoding="utf-8"))
        split = {"kind": "cv", "folds": 10}
        tasks.append(
            TaskRequest(
                "file",
                name,
                str(path.resolve()),
                target=about["target"],
                type=about["task_type"],
                split=split,
            )
        )
    return Suite("nine", tuple(tasks))


def table(heads: Sequence[str], lines: Sequence[Sequence[Any]]) -> str:
    """Return a Markdown table."""
    rows = [heads, ["---"] * len(heads), *([str(cell) for cell in line] for line in lines)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def scores_table(store: Store) -> str:
    """Return ranks and mean scores."""
    board = analyse(store).leaderboard()
    lines = []
    for standing in board.standings:
        cells = [board.cells.get((task, standing.framework)) for task in TASKS]
        shown = [
            "–" if c is None or c.mean is None else f"{c.mean:.4g}{'*' if c.imputed else ''}" for c in cells
        ]
        rank = "–" if standing.rank is None else f"{standing.rank:.2f}"
        lines.append([standing.framework, rank, f"{standing.ok}/{standing.ok + standing.failed}", *shown])
    heads = [
        f"{task} ({board.metrics[task]}{'↑' if board.higher_is_better[task] else '↓'})" for task in TASKS
    ]
    notes = "".join(f"\n{warning}\n" for warning in board.notes)
    return table(["framework", "rank", "ok", *heads], lines) + f"\nTrust: {board.trust}.\n{notes}"


def time_table(rows: Rows) -> str:
    """Return fit seconds against the budget, start, prediction time and memory."""
    own: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        own[row.framework].append(row)
    lines = []
    for name, mine in sorted(own.items()):
        fits = [row.fit_s for row in mine if row.fit_s is not None]
        starts = [row.phases.get("start", 0.0) for row in mine]
        models = [row.models_count for row in mine if row.models_count is not None]
        memory = max(row.peak_memory_mb for row in mine)
        over = sum((row.fit_s or 0.0) > row.budget_s for row in mine)
        if not fits:
            lines.append([name, *["–"] * 7])
            continue
        lines.append(
            [name, f"{median(starts):.0f}", f"{min(fits):.0f}", f"{median(fits):.0f}", f"{max(fits):.0f}",
             f"{over} of {len(fits)}", f"{median(models):.0f}" if models else "–", f"{memory:.0f}"]
        )  # fmt: skip
    heads = [
        "framework",
        "start s",
        "fit s, least",
        "median",
        "most",
        "over budget",
        "models (median)",
        "peak MB",
    ]
    return table(heads, lines)


def failures_table(rows: Rows) -> str:
    """Return what failed, by framework and kind, with the first message."""
    failed = [row for row in rows if row.status != "ok"]
    counts = Counter((row.framework, row.status) for row in failed)
    lines = []
    for (name, status), count in sorted(counts.items()):
        row = next(r for r in failed if (r.framework, r.status) == (name, status))
        lines.append([name, status, count, row.task, row.message.split("\n")[0][:150].replace("|", "/")])
    if not lines:
        return f"None of the {len(rows)} jobs failed.\n"
    return table(["framework", "status", "jobs", "for example", "message"], lines)


def page(store: Store) -> str:
    """Return all tables."""
    rows = store.rows()
    parts = [
        "## Scores\n",
        scores_table(store),
        "## Time\n",
        time_table(rows),
        "## Failures\n",
        failures_table(rows),
    ]
    return "\n".join(parts)


def main() -> int:
    """Run what is missing and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, default=Path("nine-results"))
    parser.add_argument("--frameworks", default=",".join((*NINE, *BASELINES)))
    parser.add_argument("--constraint", default="2m1c")
    parser.add_argument("-p", type=int, default=2)
    parser.add_argument("--page", type=Path)
    parser.add_argument("--rerun-stale", action="store_true")
    chosen = parser.parse_args()
    if not (SHARED / "data" / "datasets").is_dir():
        print(f"The data sets are not there: {SHARED / 'data' / 'datasets'}", file=sys.stderr)
        return 2
    before = remembered(chosen.store.with_suffix(".before.json"))
    store = Store(chosen.store)
    jobs = plan(make_suite(SHARED), chosen.frameworks, chosen.constraint, folds=[0, 1])

    def tell(event: Any) -> None:
        if event.kind == "done":
            row = event.row
            print(
                row.framework,
                row.task,
                row.fold,
                row.status,
                row.score,
                row.fit_s,
                flush=True,
            )

    run(jobs, store, Local(chosen.p), RunOptions(rerun_stale=chosen.rerun_stale), tell=tell)
    time.sleep(2)  # the kernel is still taking down the namespaces of the last job
    left = look().since(before)
    text = page(store)
    print(text)
    print("Left behind:", *(left or ["nothing"]), sep="\n  ")
    if chosen.page:
        chosen.page.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
