"""How long the command line, planning, resuming and the store take: 100 000 jobs."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.measure import Figure, clean_environ, own_cpu_s, run_measured

FRAMEWORKS, TASKS, FOLDS = 5, 200, 100


def make_plan() -> tuple[object, int]:
    """Plan 100 000 jobs on made-up tasks."""
    from dataclasses import replace

    from assay.data.task import Column, Fold, Task, TaskRequest
    from assay.frameworks.find import find_framework
    from assay.jobs.constraint import parse_constraint
    from assay.jobs.plan import plan_jobs

    base = find_framework("constant")
    specs = [replace(base, name=f"framework{i}") for i in range(FRAMEWORKS)]
    folds = tuple(Fold(0, i, 90, 10) for i in range(FOLDS))
    columns = (
        *(Column(f"x{i}", "numeric") for i in range(20)),
        Column("y", "categorical", "target", ("a", "b")),
    )
    tasks = [
        Task(
            f"task{i}", f"file/{i}", "binary", "y", ("auc",), columns, ("a", "b"), folds, f"{i:064x}", f"{i:064x}",
            TaskRequest("file"),
        )
        for i in range(TASKS)
    ]  # fmt: skip
    jobs = plan_jobs(tasks, specs, parse_constraint("1h1c"))
    return jobs, len(jobs.jobs)


def plan_and_add(folder: Path) -> None:
    """What a first run does before it starts anything."""
    from assay.store.store import Store

    jobs, _ = make_plan()
    Store(folder).add(jobs.jobs)  # type: ignore[attr-defined]


def resume(folder: Path) -> None:
    """What a second run does to find out that nothing is missing."""
    from assay.store.store import Store

    jobs, count = make_plan()
    states = Store(folder).states()
    missing = [job for job in jobs.jobs if states[job.key].state != "done"]  # type: ignore[attr-defined]
    assert len(states) == count and not missing


def store_rows(folder: Path) -> None:
    """Store a row for every job, one transaction each; the rows are made beforehand."""
    from dataclasses import replace

    from assay.jobs.row import Row
    from assay.store.store import Store

    jobs, _ = make_plan()
    store = Store(folder)
    text = json.loads((Path(__file__).parent / "row.json").read_text())
    row = Row.from_json({**text, "key": "x"})
    rows = [
        replace(row, key=job.key, framework=job.framework, task=job.task, fold=job.fold)
        for job in jobs.jobs  # type: ignore[attr-defined]
    ]
    cpu = own_cpu_s()
    for own in rows:
        store.finish(own.key, 1, own)
    print(own_cpu_s() - cpu)


def read_rows(folder: Path) -> None:
    """Read all rows back, and make the scores table of them; imports are left out."""
    import pandas  # noqa: F401
    import pydantic  # noqa: F401

    from assay.results.scores import scores_table
    from assay.store.store import Store

    store = Store(folder)
    cpu = own_cpu_s()
    rows = store.rows()
    read = own_cpu_s() - cpu
    cpu = own_cpu_s()
    table = scores_table(rows)
    print(read, own_cpu_s() - cpu)
    assert 3 * len(rows) == len(table) == 3 * FRAMEWORKS * TASKS * FOLDS


def _again(step: Callable[[str], float], root: Path) -> float:
    """Plan into a new store."""
    shutil.rmtree(root / "store", ignore_errors=True)
    return step("plan_and_add")


def measure() -> list[Figure]:
    """Run each step in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
        root = Path(scratch)
        environ = clean_environ(ASSAY_CACHE=str(root / "cache"), ASSAY_STATE=str(root / "state"))

        def step(name: str) -> float:
            code = (
                f"import pathlib, benchmarks.planning as p; p.{name}(pathlib.Path({str(root / 'store')!r}))"
            )
            used = run_measured([sys.executable, "-c", code], environ)
            if used.code:
                raise SystemExit(f"{name} failed")
            return used.cpu_s

        def printed(name: str) -> list[float]:
            """Return the numbers that a step prints: CPU seconds of a part of it."""
            code = (
                f"import pathlib, benchmarks.planning as p; p.{name}(pathlib.Path({str(root / 'store')!r}))"
            )
            done = subprocess.run(
                [sys.executable, "-c", code], env=environ, check=True, stdout=subprocess.PIPE, text=True
            )
            return [float(word) for word in done.stdout.split()]

        bare = min(run_measured([sys.executable, "-c", "pass"], environ).cpu_s for _ in range(5))
        help_page = min(
            run_measured([sys.executable, "-m", "assay.cli", "--help"], environ).cpu_s for _ in range(5)
        )
        planned = min(_again(step, root) for _ in range(3))
        (stored,) = printed("store_rows")
        # The least of three, as for the help page: what else the machine does can only add to it.
        read, made = (min(column) for column in zip(*(printed("read_rows") for _ in range(3)), strict=True))
        resumed = step("resume")
    return [
        Figure("`assay --help` beyond a bare Python", help_page - bare, "s", 0.2),
        Figure("planning 100 000 jobs, index and start of Python included", planned, "s", 3.0),
        Figure("resuming 100 000 finished jobs", resumed, "s", 3.0),
        Figure("storing 100 000 rows, one transaction each", stored, "s"),
        Figure("reading 100 000 rows back", read, "s", 1.5),
        Figure("making the scores table of 300 000 rows", made, "s", 1.5),
    ]
