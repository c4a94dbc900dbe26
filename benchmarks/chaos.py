"""Kill the coordinator, a supervisor, a nursery or a child at a random moment, resume, and see that nothing is lost.

`python -m benchmarks.chaos --rounds 50` (or `make chaos`). A round is one store: a run is started, somebody is
killed with SIGKILL, the same command is given again until it ends by itself. Then: every planned job has exactly one
row, predictions that were there before the resume are byte for byte the same, nothing finished ran twice, and no
process or control group is left. `--on file.py:Class` plays with another executor, whose helpers are killed too; their
command lines must name the file and the folder in `$AWKWARD_SPOOL`.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil

from assay.jobs.row import Row
from assay.runs.sandbox.cgroup import ROOT
from assay.runs.sandbox.nursery import GROUP
from assay.runs.sandbox.strict import group_name
from assay.store.store import Store

TARGETS = ("coordinator", "supervisor", "child", "nursery")
HELPER = "helper"  # of an executor that is not this machine's
PATIENCE_S = 10.0  # helpers of a killed coordinator end when their last job has
ARGUMENTS = [
    "run",
    "constant,decision_tree",
    "bundled",
    "10s1c",
    "--task",
    "iris",
    "--task",
    "wine",
    "-f",
    "0",
    "-f",
    "1",
]
PLANNED = 8
ASSAY = [sys.executable, "-m", "assay.cli"]


@dataclass(frozen=True)
class Round:
    """What one round did and what was wrong after it."""

    target: str
    kills: int
    resumes: int
    finished_before: int
    problems: tuple[str, ...]


def play(seed: int, folder: Path, tier: str = "auto", on: str = "local") -> Round:
    """Play one round in an empty folder, with this executor."""
    chance = random.Random(seed)
    targets = TARGETS if on == "local" else (*TARGETS, HELPER)
    target = targets[seed % len(targets)]
    command = [*ASSAY, *ARGUMENTS, "--store", str(folder), "--tier", tier, "-p", "2", "--on", on]
    environ = {**os.environ, "AWKWARD_SPOOL": f"{folder}-spool"}
    kills = resumes = 0
    before: dict[str, str] = {}
    while True:
        with open(folder.with_suffix(".log"), "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, env=environ)
        if kills < 3:
            kills += kill_somebody(process, partial(find, process.pid, target, folder, on), chance)
        code = process.wait()
        if code == 0:
            break
        resumes += 1
        before.update(finished(folder))
        if resumes > 10:
            return Round(target, kills, resumes, len(before), (f"it did not end: exit code {code}",))
    problems = [*check(folder, before), *leftovers(folder)]
    return Round(target, kills, resumes, len(before), tuple(problems))


def kill_somebody(
    process: subprocess.Popen[bytes], find_victim: Callable[[], int | None], chance: random.Random
) -> int:
    """Wait for a random moment of the run and kill the victim; return how many were killed."""
    wait_until = time.monotonic() + chance.uniform(0.2, 4.0)
    while time.monotonic() < wait_until and process.poll() is None:
        time.sleep(0.01)
    deadline = time.monotonic() + 120.0  # the run may have to wait for cores
    while process.poll() is None and time.monotonic() < deadline:
        victim = find_victim()
        if victim is not None:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue
            return 1
        time.sleep(0.005)
    return 0


def find(coordinator: int, target: str, folder: Path, on: str) -> int | None:
    """Return a process of the wanted kind that works on the store, wherever it is in the tree of processes."""
    if target == "coordinator":
        return coordinator
    if target == HELPER:
        return next(iter(at_work(folder, Path(on.rpartition(":")[0]).name)), None)
    supervisors = at_work(folder, "assay.runs.s")  # `supervise` one attempt, or `stay`
    return next(iter(supervisors if target == "supervisor" else below(supervisors, target)), None)


def at_work(folder: Path, mark: str) -> list[int]:
    """Return the processes whose command line has a mark and a path of the store or its spool; not coordinators."""
    ours = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or ()
        is_here = any(
            word == str(folder) or word.startswith((f"{folder}/", f"{folder}-spool")) for word in words
        )
        if is_here and mark in " ".join(words) and "assay.cli" not in words:
            ours.append(process.pid)
    return ours


def below(supervisors: list[int], target: str) -> list[int]:
    """Return the processes of frameworks below these supervisors: jobs, or the nurseries that they are forked from."""
    found = []
    for supervisor in supervisors:
        with contextlib.suppress(psutil.Error, OSError):
            for member in psutil.Process(supervisor).children(recursive=True):
                words = " ".join(member.cmdline())
                if "child.py" in words and "bwrap" not in words.split()[0]:
                    is_nursery = "--nursery" in words and depth(member.pid) == depth(supervisor) + 1
                    found += [int(member.pid)] if is_nursery == (target == "nursery") else []
    return found


def depth(pid: int) -> int:
    """Return in how many namespaces of processes a process is."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines()
    return next(len(line.split()) - 1 for line in lines if line.startswith("NSpid:"))


def finished(folder: Path) -> dict[str, str]:
    """Return the digest of the predictions of every job that has a row."""
    if not (folder / "assay-store.json").exists():
        return {}
    store = Store(folder)
    rows = store.rows()
    store.close()
    return {row.key: digest(folder, row) for row in rows}


def digest(folder: Path, row: Row) -> str:
    path = folder / "jobs" / row.key[:2] / row.key / "attempts" / f"{row.attempt:03d}" / "out/predictions.npz"
    return f"{row.attempt}:{hashlib.sha256(path.read_bytes()).hexdigest()}"


def check(folder: Path, before: dict[str, str]) -> list[str]:
    """Return what is wrong with a store after its last resume."""
    problems = []
    store = Store(folder)
    rows, states = store.rows(), store.states()
    store.close()
    if len(rows) != PLANNED or len({row.key for row in rows}) != PLANNED or len(states) != PLANNED:
        problems.append(f"{len(rows)} rows and {len(states)} jobs for {PLANNED} planned")
    problems += [f"{row.key} is {row.status}: {row.message}" for row in rows if row.status != "ok"]
    after = {row.key: digest(folder, row) for row in rows if row.status == "ok"}
    problems += [f"{key} changed after it was finished" for key in before if after.get(key) != before[key]]
    for key in after:
        attempts = sorted((folder / "jobs" / key[:2] / key / "attempts").iterdir())
        complete = [
            json.loads((a / "outcome.json").read_text()) for a in attempts if (a / "outcome.json").exists()
        ]
        if sum(facts["exit_code"] == 0 for facts in complete) != 1:
            problems.append(f"{key} was finished {len(complete)} times")
    return problems


def leftovers(folder: Path) -> list[str]:
    """Return processes that still work on the store, and control groups of its jobs."""
    deadline = time.monotonic() + PATIENCE_S
    while (left := look_for_leftovers(folder)) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


def look_for_leftovers(folder: Path) -> list[str]:
    left = []
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if str(folder) in words and process.pid != os.getpid() and "benchmarks.chaos" not in words:
            left.append(f"left running: {words[:100]}")
    ours = {group_name(path) for path in folder.glob("jobs/*/*/attempts/*")}
    groups = {path for pattern in ("assay/*", "*/assay/*") for path in ROOT.glob(pattern) if path.is_dir()}
    gone = {path for path in groups if is_abandoned(path.name)}
    return left + [f"left behind: {path}" for path in groups if path.name in ours or path in gone]


def is_abandoned(name: str) -> bool:
    """Whether this is the group of a nursery whose supervisor is gone."""
    kind, _, rest = name.partition("-")
    return kind == GROUP and not Path("/proc", rest.partition("-")[0]).exists()


def main() -> int:
    """Play rounds and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tier", default="auto")
    parser.add_argument("--on", default="local", help="an executor: a name, or file.py:Class")
    words = parser.parse_args()
    totals: Counter[str] = Counter()
    failed = 0
    with tempfile.TemporaryDirectory(prefix="assay-chaos-") as scratch:
        for number in range(words.rounds):
            played = play(words.seed + number, Path(scratch, str(number)), words.tier, words.on)
            totals[played.target] += 1
            totals["kills"] += played.kills
            totals["resumes"] += played.resumes
            totals["finished before a resume"] += played.finished_before
            failed += bool(played.problems)
            print(
                f"round {number}: {played.target}, {played.kills} kill(s), {played.resumes} resume(s)", end=""
            )
            print("".join(f"\n  PROBLEM {problem}" for problem in played.problems), flush=True)
    print(
        f"{words.rounds} rounds, {failed} with problems; " + ", ".join(f"{n} {k}" for k, n in totals.items())
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
