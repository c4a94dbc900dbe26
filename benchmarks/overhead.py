"""What isolation costs: CPU seconds of 30 `constant` jobs on iris beyond the same fits in a bare Python."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from benchmarks.measure import Figure, clean_environ, run_measured

JOBS = 30
SUITE = """\
name: overhead
tasks:
  - {ref: bundled/iris, split: {kind: repeated, folds: 5, repeats: 6}}
"""
# The same imports as the child and the adapter need, the same data, the same arithmetic, the same answer.
BARE = """\
import csv, faulthandler, gc, importlib.util, json, os, platform, sys, time, traceback
from pathlib import Path
import numpy as np
train, test = np.load(sys.argv[1], allow_pickle=False), np.load(sys.argv[2], allow_pickle=False)
prior = np.bincount(train["y"], minlength=3) / len(train["y"])
probabilities = np.tile(prior, (int(test["n_rows"]), 1))
np.savez(sys.argv[3], prediction=probabilities.argmax(axis=1), probabilities=probabilities)
"""


def measure() -> list[Figure]:
    """Run both, side by side."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as scratch:
        root = Path(scratch)
        environ = clean_environ(ASSAY_CACHE=str(root / "cache"), ASSAY_STATE=str(root / "state"))
        (root / "suite.yaml").write_text(SUITE)
        (root / "bare.py").write_text(BARE)
        assay = [
            sys.executable,
            "-m",
            "assay.cli",
            "run",
            "constant",
            str(root / "suite.yaml"),
            "10s1c",
            "--json",
        ]
        run_measured(
            [*assay, "--store", str(root / "first"), "--fold", "0"], environ
        )  # reads and keeps the table
        ours = run_measured([*assay, "--store", str(root / "store")], environ)
        (train,) = list((root / "store" / "folds").glob("*/train.npz"))[:1]
        test = train.with_name("test.npz")
        bare = [sys.executable, "-I", str(root / "bare.py"), str(train), str(test), str(root / "answer.npz")]
        bare_cpu = sum(run_measured(bare, environ).cpu_s for _ in range(JOBS))
        resumed = run_measured([*assay, "--store", str(root / "store")], environ)
    if ours.code or resumed.code:
        raise SystemExit("a job of the overhead benchmark failed")
    per_job = (ours.cpu_s - bare_cpu) / JOBS
    return [
        Figure("CPU per isolated job beyond the bare fit", per_job, "s", 0.25, f"{JOBS} jobs"),
        Figure("CPU per isolated job in all", ours.cpu_s / JOBS, "s"),
        Figure("CPU of the bare fit", bare_cpu / JOBS, "s"),
        Figure("CPU of the command when nothing is left to do", resumed.cpu_s, "s"),
        Figure("peak memory of the coordinator", ours.peak_mb, "MB"),
    ]
