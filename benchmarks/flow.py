"""Follow four commands through the code: which modules they touch, and how often one calls another.

`python -m benchmarks.flow` runs `assay run`, `analyse tree`, `interval` and `search` on small data, each in its own
process, with a profile function that sees every call. It counts functions, not what runs when a module is imported, and
prints the modules in the order in which they are first entered. Supervisors and children are other processes and are
not counted.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = f"{ROOT / 'assay'}{os.sep}"


def module_of(frame: FrameType) -> str:
    """Return the module of a frame below `assay`, or an empty text for code of others."""
    file = frame.f_code.co_filename
    if not file.startswith(PACKAGE):
        return ""
    return file.removeprefix(PACKAGE).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def follow(words: list[str]) -> dict[str, Any]:
    """Run a command in this process; return the modules in order and the calls between two of them."""
    seen: dict[str, None] = {}
    calls: Counter[tuple[str, str]] = Counter()

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if (
            event != "call" or not frame.f_code.co_flags & inspect.CO_OPTIMIZED
        ):  # a module or the body of a class
            return
        callee = module_of(frame)
        if not callee:
            return
        seen.setdefault(callee)
        above = frame.f_back
        while above is not None and not (caller := module_of(above)):
            above = above.f_back  # a library may lie between: sorted(key=…), a validator
        if above is not None and caller != callee:
            calls[caller, callee] += 1

    from assay.cli import app

    sys.setprofile(profile)
    try:
        app(words, standalone_mode=False)
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
    return {"modules": list(seen), "calls": sum(calls.values()), "pairs": len(calls)}


def make_inputs(folder: Path) -> None:
    """Write a table, a file of predictions and a file of scores."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    lines = [
        f"{a:.3f},{b:.3f},{c}"
        for a, b, c in zip(rng.normal(size=120) + y, rng.normal(size=120), y, strict=True)
    ]
    (folder / "table.csv").write_text("a,b,y\n" + "\n".join(f"{line}" for line in lines) + "\n")
    values = np.clip(y[:, None] * 0.4 + rng.random((120, 5)) * 0.6, 0, 1)
    np.savez(folder / "predictions.npz", y=y, folds=np.arange(120) % 5, predictions=values)
    rows = [
        f"task{task},{fold},f{framework},{rng.random() + 0.1 * framework:.4f}"
        for task in range(30)
        for fold in range(3)
        for framework in range(4)
    ]
    (folder / "scores.csv").write_text("task,fold,framework,score\n" + "\n".join(rows) + "\n")
    sizes = "\n".join(f"task{task},{task}" for task in range(30))
    (folder / "properties.csv").write_text(f"task,size\n{sizes}\n")


def commands(folder: Path) -> dict[str, list[str]]:
    search = ["search", str(folder / "table.csv"), "--target", "y", "--configurations", "3", "--folds", "3"]
    tree = [
        "analyse",
        "tree",
        "--scores",
        str(folder / "scores.csv"),
        "--covariates",
        str(folder / "properties.csv"),
    ]
    store = str(folder / "store")
    return {
        "run": ["run", "constant", "bundled", "10s1c", "-t", "iris", "-f", "0", "--store", store],
        "analyse tree": tree,
        "interval": ["interval", str(folder / "predictions.npz")],
        "search": [*search, "--folder", str(folder / "search")],
    }


def main() -> int:
    """Print a line per command, and with `--list` its modules in the order in which they are entered."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="also print the modules of each command")
    parser.add_argument("--follow", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.follow:
        found = follow(options.follow)
        print("\n" + json.dumps(found))
        return 0
    with tempfile.TemporaryDirectory(prefix="assay-flow-") as scratch:
        folder = Path(scratch)
        make_inputs(folder)
        environ = {**os.environ, "ASSAY_CACHE": str(folder / "cache"), "ASSAY_STATE": str(folder / "state")}
        for name, words in commands(folder).items():
            command = [sys.executable, "-m", "benchmarks.flow", "--follow", *words]
            done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{name} failed: {done.stderr[-500:]}")
            found = json.loads(done.stdout.splitlines()[-1])
            modules, pairs, calls = len(found["modules"]), found["pairs"], found["calls"]
            print(f"{name}: {modules} modules, {pairs} pairs of them, {calls} calls from one to another")
            if options.list:
                print("  " + " → ".join(found["modules"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
