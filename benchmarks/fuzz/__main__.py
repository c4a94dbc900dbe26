"""Run the cases of each reader in a process of its own, and print what was seen."""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from benchmarks.fuzz.mutate import damage
from benchmarks.fuzz.readers import READERS

ROOT = Path(__file__).parents[2]
LIMIT_S = 10
LIMIT_MB = 2048
SILENCE_S = 60.0
SCRATCH = "/dev/shm" if os.path.isdir("/dev/shm") else None  # each row waits for the disk otherwise


class Hang(BaseException):
    """A case took too long."""


def _alarm(number: int, frame: FrameType | None) -> None:
    raise Hang


def play(reader: str, seed: int, number: int, root: Path) -> str:
    """Play one case on a copy of the good files; return what went wrong, or an empty text."""
    rng = random.Random(f"{seed}|{reader}|{number}")
    good, work = root / "good", root / "work"
    # The same place for each case: stores hold absolute paths.
    subprocess.run(["rm", "-rf", str(work)], check=True)
    shutil.copytree(good, work, symlinks=True)
    damaged = work / rng.choice((root / "files.txt").read_text().split("\n"))
    damage(damaged, rng, only_regular=reader == "tables")  # the readers of tables have no guard yet
    signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
    try:
        READERS[reader].read(work, damaged)
        return ""
    except Hang:
        return f"{damaged.name}: more than {LIMIT_S} s"
    except BaseException as error:  # whatever it is, it is what is looked for
        where = traceback.extract_tb(error.__traceback__)[-1]
        return f"{damaged.name}: {type(error).__name__}: {str(error)[:200]} ({where.filename}:{where.lineno})"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def work(reader: str, seed: int, numbers: range, root: Path, trace: bool) -> None:
    """Play cases and print a line of JSON for each; the last line has the memory and the lines that ran."""
    signal.signal(signal.SIGALRM, _alarm)
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT_MB * 2**20, LIMIT_MB * 2**20))
    (root / "work").mkdir()
    files = READERS[reader].make(root / "work")
    (root / "files.txt").write_text("\n".join(str(path.relative_to(root / "work")) for path in files))
    (root / "work").rename(root / "good")
    ran: set[tuple[str, int]] = set()
    if trace:
        sys.settrace(_tracer(ran))
    for number in numbers:
        began = time.monotonic()
        problem = play(reader, seed, number, root)
        print(json.dumps([number, time.monotonic() - began, problem]), flush=True)
    sys.settrace(None)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([-1, peak, sorted(ran)]), flush=True)


def _tracer(ran: set[tuple[str, int]]) -> Any:
    ours = str(ROOT / "assay" / "files")

    def line(frame: FrameType, event: str, argument: Any) -> Any:
        ran.add((Path(frame.f_code.co_filename).name, frame.f_lineno))
        return line

    def call(frame: FrameType, event: str, argument: Any) -> Any:
        return line(frame, event, argument) if frame.f_code.co_filename.startswith(ours) else None

    return call


def run(reader: str, seed: int, numbers: range, trace: bool = False) -> dict[str, Any]:
    """Play cases in a process of their own; one that is silent for too long is killed, and its case is a failure."""
    with tempfile.TemporaryDirectory(prefix="assay-fuzz-", dir=SCRATCH) as folder:
        command = [
            sys.executable,
            "-m",
            "benchmarks.fuzz",
            "--worker",
            folder,
            "--reader",
            reader,
            "--seed",
            str(seed),
        ]
        command += [
            "--case",
            str(numbers.start),
            "--cases",
            str(len(numbers)),
            *(["--trace"] if trace else []),
        ]
        found: dict[str, Any] = {"cases": 0, "slowest_s": 0.0, "peak_mb": 0.0, "failures": [], "lines": []}
        errors = Path(folder) / "errors.txt"
        with (
            open(errors, "wb") as log,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, cwd=ROOT, text=True) as process,
        ):
            for line in _lines(process):
                number, value, more = json.loads(line)
                if number < 0:
                    found["peak_mb"], found["lines"] = value, more
                    continue
                found["cases"] += 1
                found["slowest_s"] = max(found["slowest_s"], value)
                if more:
                    found["failures"].append(f"case {number}: {more}")
        if found["cases"] < len(numbers):
            said = errors.read_text(errors="replace").strip().splitlines()[-1:]
            number = numbers.start + found["cases"]
            found["failures"].append(
                f"case {number}: the process ended ({process.returncode}): {''.join(said)[:200]}"
            )
    return found


def _lines(process: subprocess.Popen[str]) -> Iterator[str]:
    assert process.stdout is not None
    pidfd = os.pidfd_open(process.pid)

    def give_up(number: int, frame: FrameType | None) -> None:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)

    before = signal.signal(signal.SIGALRM, give_up)
    try:
        while True:
            signal.setitimer(signal.ITIMER_REAL, SILENCE_S)
            line = process.stdout.readline()
            if not line:
                return
            yield line
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        os.close(pidfd)


def coverage(ran: set[tuple[str, int]]) -> dict[str, tuple[int, int, list[int]]]:
    """Return per file of the guarded reader how many of its lines ran, how many there are, and which did not."""
    out = {}
    for path in sorted((ROOT / "assay" / "files").glob("*.py")):
        lines = _function_lines(compile(path.read_text(), str(path), "exec"))
        missed = sorted(line for line in lines if (path.name, line) not in ran)
        if lines:
            out[path.name] = (len(lines) - len(missed), len(lines), missed)
    return out


def _function_lines(code: CodeType) -> set[int]:
    """Return the lines inside functions: those of modules and classes run when they are imported."""
    lines = set()
    for inner in (const for const in code.co_consts if isinstance(const, CodeType)):
        lines |= _function_lines(inner)
        if inner.co_flags & 0x2:  # a function's locals are fast; a class body's are not
            lines |= {line for _, _, line in inner.co_lines() if line and line != inner.co_firstlineno}
    return lines


def callers() -> dict[str, list[str]]:
    """Return which module uses what of the guarded reader."""
    out: dict[str, list[str]] = {}
    for path in sorted((ROOT / "assay").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "assay.files":
                names = [alias.name for alias in node.names]
                out.setdefault(str(path.relative_to(ROOT)), []).extend(names)
    return out


def main() -> int:
    """Play all readers, print a table, the coverage and the callers; the exit code is 1 if something failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one, which is printed")
    parser.add_argument("--cases", type=int, default=2000, help="per reader")
    parser.add_argument("--case", type=int, default=0, help="the first case")
    parser.add_argument("--reader", choices=READERS, help="only this one")
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--trace", action="store_true", help=argparse.SUPPRESS)
    said = parser.parse_args()
    numbers = range(said.case, said.case + said.cases)
    if said.worker:
        work(said.reader, said.seed, numbers, said.worker, said.trace)
        return 0
    seed = random.SystemRandom().randrange(10**6) if said.seed is None else said.seed
    print(
        f"seed {seed}; one case again: python -m benchmarks.fuzz --seed {seed} --reader R --case N --cases 1",
        flush=True,
    )
    failed, ran = 0, set()
    for reader in [said.reader] if said.reader else READERS:
        began = time.monotonic()
        found = run(reader, seed, numbers)
        failed += len(found["failures"]) + (found["peak_mb"] > LIMIT_MB)
        print(
            f"{reader:10} {found['cases']:6} cases  {len(found['failures']):4} failures  "
            f"slowest {found['slowest_s']:.1f} s  peak {found['peak_mb']:.0f} MB  "
            f"in {time.monotonic() - began:.0f} s",
            flush=True,
        )
        for failure in found["failures"][:20]:
            print(f"    {failure}", flush=True)
        traced = run(reader, seed, range(said.case, said.case + max(1, said.cases // 8)), trace=True)
        ran |= {(name, line) for name, line in traced["lines"]}
    for name, (count, total, missed) in coverage(ran).items():
        print(f"assay/files/{name}: {count} of {total} lines in functions ran; not: {missed}")
    for module, names in callers().items():
        print(f"{module}: {', '.join(names)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
