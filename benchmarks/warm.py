"""What a job costs beyond its fit, forked from a nursery and cold. `python -m benchmarks.warm` (five minutes).

Thirty decision trees on iris, in alternating blocks of both starts: from the claim to the row, on the clock and in CPU
seconds of coordinator, supervisor, nursery and job, beyond the phases fit, predict and timing. Then 1,000
configurations of a small model beside the same fits in a plain loop, and the memory of coordinator and supervisor.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil

from assay import Local, Store, api
from assay.frameworks.find import find_framework
from assay.runs.run import Event, RunOptions
from benchmarks.measure import Figure, clean_environ, run_measured, table

SUITE = """\
name: warm
tasks:
  - {ref: bundled/iris, split: {kind: repeated, folds: 5, repeats: 6}}
"""
SPENT = ("fit", "predict", "timing", "export")
FEW = 100  # configurations after which memory is compared, and which are taken off the time of all
NAMES = {"auto": "forked from a nursery", "cold": "cold"}
BUDGETS: dict[str, tuple[float | None, float | None]] = {"auto": (0.2, 0.1), "cold": (None, None)}
# The same data and the same model in one process; the parameters are those of the configurations.
BARE = """\
import sys, time
import numpy as np
from sklearn.tree import DecisionTreeClassifier
train, test = (np.load(path, allow_pickle=False) for path in sys.argv[1:3])
x, new = (np.column_stack([part[f"c{i}"] for i in range(4)]) for part in (train, test))
y = train["y"]
began = time.process_time()
for number in range(int(sys.argv[3])):
    DecisionTreeClassifier(min_samples_leaf=1 + number, random_state=0).fit(x, y).predict_proba(new)
print((time.process_time() - began) / int(sys.argv[3]))
"""


@dataclass
class Watch:
    """Sees each job begin and end, and adds up what the processes of the run have used meanwhile."""

    seconds: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    began: float = 0.0
    used: float = 0.0

    def tell(self, event: Event) -> None:
        if event.kind == "start":
            self.used, self.began = used(), time.monotonic()
        elif event.kind == "done":
            took, row = time.monotonic() - self.began, event.row
            assert row is not None and row.status == "ok", row
            spent = sum(row.phases.get(phase, 0.0) for phase in SPENT)
            self.seconds.append(took - spent)
            self.cpu.append(used() - self.used + row.cpu_s - spent)


def used() -> float:
    """Return the CPU seconds of this process, its supervisors and their nurseries; jobs have groups of their own."""
    seconds = 0.0
    for process in (psutil.Process(), *psutil.Process().children(recursive=True)):
        try:
            seconds += sum(process.cpu_times()[:2])
        except psutil.Error:
            continue
    return seconds


def measure_start() -> list[Figure]:
    """Run thirty jobs of each start, in alternation."""
    watches = {start: Watch() for start in BUDGETS}
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        suite = Path(folder, "suite.yaml")
        suite.write_text(SUITE)
        whole = api.plan(str(suite), "decision_tree", "30s1c")
        for repeat in range(6):
            plan = replace(whole, jobs=tuple(job for job in whole.jobs if job.repeat == repeat))
            for start, watch in watches.items():
                options = RunOptions(start=start)  # type: ignore[arg-type]
                api.run(plan, Store(Path(folder, start)), Local(1, "strict"), options, tell=watch.tell)
    figures = []
    for start, watch in watches.items():
        clock, cpu = BUDGETS[start]
        note = f"median of {len(watch.seconds)} jobs"
        figures += [
            Figure(
                f"a job beyond its fit, {NAMES[start]}", statistics.median(watch.seconds), "s", clock, note
            ),
            Figure(f"CPU of that, {NAMES[start]}", statistics.median(watch.cpu), "s", cpu, note),
        ]
    return figures


def run_configurations(count: int, folder: Path) -> None:
    """Run configurations of a decision tree, and print what the run left and how its memory grew."""
    tree = find_framework("decision_tree")
    specs = [tree.with_params({"min_samples_leaf": 1 + number}) for number in range(count)]
    plan = api.plan("bundled", specs, "30s1c", tasks=["iris"], folds=[0])
    store, memory = Store(folder / "store"), []

    def tell(event: Event) -> None:
        if event.kind == "done" and len(memory) + 1 in (FEW, count):
            processes = [psutil.Process(), *psutil.Process().children()]
            memory.append(sum(process.memory_info().rss for process in processes))
        elif event.kind == "done":
            memory.append(0)

    api.run(plan, store, Local(1, "strict"), RunOptions(timing_s=0), tell=tell)
    rows = store.rows()
    kept = [path for path in (folder / "store" / "jobs").rglob("*") if path.is_file()]
    kept = [path for path in kept if path.name not in ("predictions.npz", "oof.npz")]
    size = sum(path.stat().st_size for path in kept)
    found = {
        "ok": sum(row.status == "ok" for row in rows),
        "warm": sum(row.start == "warm" for row in rows),
        "growth": memory[-1] / memory[FEW - 1] if count > FEW else 1.0,
        "files": len(kept) / count,
        "bytes": size / count,
    }
    (folder / "found.json").write_text(json.dumps(found))


def measure_configurations(count: int) -> list[Figure]:
    """Run many configurations, few of them, and the same fits in a loop."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as name:
        cpu, found = {}, {}
        for number in (FEW, count):
            folder = Path(name, str(number))
            folder.mkdir()
            command = [sys.executable, "-m", "benchmarks.warm", "--run", str(number), str(folder)]
            cpu[number] = run_measured(command, clean_environ(), Path.cwd()).cpu_s
            found = json.loads((folder / "found.json").read_text())
        (train,) = Path(name, str(count), "store", "folds").glob("*/train.npz")
        script = Path(name, "bare.py")
        script.write_text(BARE)
        command = [sys.executable, str(script), str(train), str(train.with_name("test.npz")), str(count)]
        bare = (
            run_measured(command, clean_environ()).cpu_s
            - run_measured([*command[:-1], "1"], clean_environ()).cpu_s
        )
    assert found["ok"] == found["warm"] == count, found
    note = f"{count} configurations"
    return [
        Figure("CPU of a configuration beyond a plain loop", (cpu[count] - bare) / count, "s", 0.08, note),
        Figure(
            "the same without what a run costs once",
            (cpu[count] - cpu[FEW] - bare) / (count - FEW),
            "s",
            None,
            note,
        ),
        Figure("the plain loop", bare / count, "s"),
        Figure("memory after the last configuration, by that after 100", found["growth"], "", 1.05, note),
        Figure("files of a job beyond predictions", found["files"], "", 6),
        Figure("bytes of a job beyond predictions", found["bytes"], "", 20_000),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--configurations", type=int, default=1000)
    parser.add_argument("--run", nargs=2, metavar=("COUNT", "FOLDER"), help="what a measured process does")
    options = parser.parse_args()
    if options.run:
        run_configurations(int(options.run[0]), Path(options.run[1]))
        return 0
    print(table([*measure_start(), *measure_configurations(options.configurations)]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
