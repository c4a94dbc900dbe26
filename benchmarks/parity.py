"""Compare our baselines with the AMLB paper's published results, on the same data sets.

`python -m benchmarks.parity --store DIR` (or `make parity`) needs the reference data in ../shared. The splits differ
from OpenML's (row order of the files is not verified), so means are compared: they agree when they differ by at
most 3 standard errors of the difference plus 0.005 of the score's scale (1 for AUC; what the constant predictor
scores for log loss and RMSE).
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from assay import Local, Store, Suite, find_framework, plan, run
from assay.data.task import TaskRequest
from assay.jobs.plan import Plan
from assay.jobs.row import Row

SHARED = Path(__file__).resolve().parents[2] / "shared"
TUNED = ("credit-g", "blood-transfusion-service-center", "segment", "steel-plates-fault", "boston", "quake")
# The published scores fit a table without these columns; see docs/background/baselines.md.
IGNORED = {"segment": ("region-centroid-col", "region-centroid-row", "region-pixel-count")}
PUBLISHED = {
    "constant": "constantpredictor",
    "constant_median": "constantpredictor",
    "random_forest": "RandomForest",
    "tuned_random_forest": "TunedRandomForest",
}
MOST_ROWS = 16_000


@dataclass(frozen=True)
class Line:
    """One framework on one task, ours and theirs."""

    task: str
    framework: str
    metric: str
    ours: float
    folds: int
    theirs: float
    allowed: float

    @property
    def agrees(self) -> bool:
        """Whether the difference is within what is allowed."""
        return abs(self.ours - self.theirs) <= self.allowed


def make_suite(shared: Path) -> Suite:
    """Return the AMLB tasks of at most 16 000 rows whose data are there."""
    import csv

    import yaml

    tasks = []
    with open(shared / "data/datasets/INDEX.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if "amlb:" not in row["tasks"] or int(row["n"]) >= MOST_ROWS:
                continue
            about = yaml.safe_load(
                (shared / "data/datasets" / f"{row['name']}.yaml").read_text(encoding="utf-8")
            )
            path = str((shared / "data/datasets" / f"{row['name']}.parquet").resolve())
            split = {"kind": "cv", "folds": 10}
            columns = {name: {"role": "ignore"} for name in IGNORED.get(row["name"], ())}
            tasks.append(
                TaskRequest(
                    "file",
                    row["name"],
                    path,
                    target=about["target"],
                    type=about["task_type"],
                    split=split,
                    columns=columns,
                )
            )
    return Suite("amlb-small", tuple(tasks))


def plans(suite: Suite, wanted: str) -> list[Plan]:
    """Return what is to be run: the constant over 10 folds, the forests over 3."""
    out = []
    if "constant" in wanted:
        out.append(plan(suite, "constant", "1m1c"))
        # The paper says mean; the published numbers are those of the median.
        median = replace(find_framework("constant"), name="constant_median", params={"statistic": "median"})
        numbers = Suite(suite.name, tuple(task for task in suite.tasks if task.type == "regression"))
        out.append(plan(numbers, [median], "1m1c"))
    if "random_forest" in wanted.split(","):
        out.append(plan(suite, "random_forest", "1m1c", folds=[0, 1, 2]))
    if "tuned_random_forest" in wanted:
        few = Suite(suite.name, tuple(task for task in suite.tasks if task.name in TUNED))
        out.append(plan(few, "tuned_random_forest", "1m1c", folds=[0, 1, 2]))
    return out


def compare(rows: list[Row], shared: Path) -> list[Line]:
    """Return a line per task and framework."""
    import pandas as pd

    published = pd.read_parquet(shared / "data/results/amlb_2021/amlb_2021_1h.parquet")
    ours = pd.DataFrame([row.to_json() for row in rows if row.status == "ok"])
    constant = ours[ours.framework == "constant"].groupby("task").score.mean()
    lines = []
    for (task, framework), own in ours.groupby(["task", "framework"], sort=True):
        metric = own.metric.iloc[0]
        theirs = published[(published.task == task) & (published.framework == PUBLISHED[framework])][
            metric
        ].dropna()
        error = math.sqrt(own.score.var(ddof=1) / len(own) + theirs.var(ddof=1) / len(theirs))
        scale = 1.0 if metric == "auc" else float(constant.get(task, own.score.mean()))
        allowed = 3 * error + 0.005 * scale
        lines.append(Line(task, framework, metric, own.score.mean(), len(own), float(theirs.mean()), allowed))
    return lines


def markdown(lines: list[Line]) -> str:
    """Return the table of the docs."""
    out = [
        "| task | framework | metric | ours (folds) | published | allowed difference | agrees |",
        "|---|---|---|---|---|---|---|",
    ]
    for line in lines:
        ours, theirs = f"{line.ours:.4g} ({line.folds})", f"{line.theirs:.4g}"
        verdict = "yes" if line.agrees else "**no**"
        out.append(
            f"| {line.task} | {line.framework} | {line.metric} | {ours} | {theirs} | {line.allowed:.3g} | {verdict} |"
        )
    return "\n".join(out)


def main() -> int:
    """Run what is missing and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--shared", type=Path, default=SHARED)
    parser.add_argument("--store", type=Path, default=Path("results/parity"))
    parser.add_argument("--frameworks", default="constant,random_forest,tuned_random_forest")
    parser.add_argument("-p", type=int, default=None)
    words = parser.parse_args()
    store = Store(words.store)
    for jobs in plans(make_suite(words.shared), words.frameworks):
        run(jobs, store, Local(words.p), tell=lambda event: event.kind == "done" and report(event.row))
    lines = compare(store.rows(), words.shared)
    print(markdown(lines))
    print(f"\n{sum(line.agrees for line in lines)} of {len(lines)} agree.")
    return 0


def report(row: Row) -> None:
    print(
        row.framework,
        row.task,
        row.fold,
        row.status,
        row.score,
        row.message,
        file=sys.stderr,
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
