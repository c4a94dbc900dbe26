"""A store of 100,000 finished jobs: how long status, resume and explain take. `python -m benchmarks.many_jobs`.

One job is run for real. Its files are then written for every other job of the plan, under that job's key, so that the
store has as many folders and files as it would have after 100,000 jobs. Each command is started anew, and its median
over five starts is shown.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from assay import Local, Store, api
from assay.files import write_json
from assay.jobs.plan import Plan
from assay.jobs.row import Row
from assay.settings import Settings
from benchmarks.measure import Figure, clean_environ, table

SUITE = """\
name: many
tasks:
{tasks}
"""
TASK = "  - {{ref: bundled/{name}, split: {{kind: repeated, folds: {folds}, repeats: {repeats}}}}}"
TASKS = ("iris", "wine", "breast_cancer", "diabetes", "digits")
FRAMEWORKS = "constant,decision_tree,linear,random_forest,hist_gradient_boosting"
FOLDS, BUDGET_S, TIMES = 20, 3.0, 5


def make_suite(folder: Path, jobs: int) -> Path:
    """Write a suite whose plan has about so many jobs."""
    repeats = max(1, jobs // (len(TASKS) * len(FRAMEWORKS.split(",")) * FOLDS))
    path = folder / "many.yaml"
    tasks = "\n".join(TASK.format(name=name, folds=FOLDS, repeats=repeats) for name in TASKS)
    path.write_text(SUITE.format(tasks=tasks), encoding="utf-8")
    return path


def fill(store: Store, plan: Plan, settings: Settings) -> Row:
    """Run one job, and give all others its files and its row, under their own names."""
    job = plan.jobs[0]
    api.run(replace(plan, jobs=(job,)), store, Local(1), settings=settings)
    row = store.row(job.key)
    assert row is not None and row.status == "ok", row
    template = store.folder.job(job.key).attempt(row.attempt)
    store.add(plan.jobs)
    for other in plan.jobs[1:]:
        folder = store.folder.job(other.key)
        shutil.copytree(template.path, folder.attempt(1).path)
        write_json(folder.job, other.to_json(), durable=False)
        own = replace(
            row,
            key=other.key,
            framework=other.framework,
            task=other.task,
            repeat=other.repeat,
            fold=other.fold,
        )
        write_json(folder.attempt(1).verdict, own.to_json(), durable=False)
        store.finish(other.key, 1, own)
    return row


def seconds(words: list[str]) -> float:
    """Return the median of some starts of a command, on the clock."""
    took = []
    for _ in range(TIMES):
        began = time.perf_counter()
        done = subprocess.run(words, env=clean_environ(), capture_output=True, text=True, check=False)
        took.append(time.perf_counter() - began)
        assert done.returncode == 0, done.stderr[-2000:] + done.stdout[-500:]
    return statistics.median(took)


RESUME = """\
import sys
from assay import Local, Store, api
jobs = api.plan(sys.argv[1], sys.argv[2], "1m1c")
store = Store(sys.argv[3])
told = []
api.run(jobs, store, Local(1), tell=told.append)
assert not told, told[:1]
"""


def measure(jobs: int) -> list[Figure]:
    """Make the store, and time the commands on it."""
    settings = Settings.from_environment()
    with tempfile.TemporaryDirectory(prefix="assay-many-") as name:
        suite, root = make_suite(Path(name), jobs), Path(name, "store")
        plan = api.plan(suite, FRAMEWORKS, "1m1c", settings=settings)
        store = Store(root)
        row = fill(store, plan, settings)
        store.close()
        files = sum(1 for path in store.folder.job(row.key).path.rglob("*") if path.is_file())
        where = ["--store", str(root)]
        python, assay = [sys.executable], [sys.executable, "-m", "assay"]
        commands = {
            "assay status": [*assay, "status", *where],
            "resume: plan, and find that nothing is missing": [
                *python, "-c", RESUME, str(suite), FRAMEWORKS, str(root)
            ],
            "assay explain": [*assay, "explain", row.key, *where],
        }  # fmt: skip
        figures = [
            Figure(f"{name}, {len(plan.jobs):,} finished jobs", seconds(words), "s", BUDGET_S)
            for name, words in commands.items()
        ]
        kilobytes = (
            sum(
                path.stat().st_size
                for path in store.folder.job(row.key).path.rglob("*")
                if path.is_file() and path.name != "predictions.npz"
            )
            / 1000
        )
        return [
            *figures,
            Figure("files of a job, without its predictions", files - 1, "", 6),
            Figure("their size", kilobytes, "kB", 20),
        ]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=100_000)
    figures = measure(parser.parse_args().jobs)
    print(table(figures))
    return int(any(figure.verdict == "OVER" for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
