"""Can labels pass from one job to the next, or to a neighbour? `python -m benchmarks.channels` (ten minutes).

Accomplices: a sender that knows 1,000 labels tries to hand them to a receiver that does not, by each channel that was
once open, and the receiver predicts from what it got. An AUC of 0.5 means that nothing came through; 20 repetitions.
The sender and the receiver are two folds of one framework; the labels are random, so that nothing can be learned. One
after the other, they are forked from the same nursery; `--start cold` gives each a process of its own.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
# Channels by whether sender and receiver run one after the other, or at the same time.
CHANNELS = {
    "page_cache": False, "keyring": False, "shared_memory": False, "groups": True, "mapping": False,
    "late_mapping": False, "pipe": False, "socket": False, "memfd": False, "file_lock": False,
}  # fmt: skip
ROWS = 1000


def make_suite(folder: Path, seed: int) -> Path:
    """Write a table of random labels, in which a column numbers the rows, and split it in two."""
    random = np.random.default_rng(seed)
    lines = [f"{number},{random.integers(2)}" for number in range(2 * ROWS)]
    (folder / "random.csv").write_text("number,label\n" + "\n".join(lines) + "\n")
    suite = folder / "suite.yaml"
    suite.write_text(
        "name: channels\ntasks:\n  - path: random.csv\n    target: label\n    columns: {label: {kind: categorical}}\n"
        "    split: {folds: 2}\n"
    )
    return suite


@dataclass(frozen=True)
class Heard:
    """The AUC of the receiver's predictions, how the two started, and why not from a nursery."""

    auc: float
    starts: str
    reason: str


def measure(channel: str, seed: int, tier: str, start: str) -> Heard:
    """Let the two folds run, and see what came through."""
    from assay import Local, Store, api
    from assay.frameworks.find import find_framework
    from assay.runs.run import RunOptions
    from assay.settings import Settings

    with tempfile.TemporaryDirectory(prefix="assay-channels-") as name:
        folder = Path(name)
        suite = make_suite(folder, seed)
        settings = Settings.from_environment()
        spec = find_framework(f"{HERE / 'channel'}/").with_params({"_channel": channel})
        spec = replace(spec, environ={"CHANNEL": channel})
        store = Store(folder / "store")
        together = CHANNELS[channel]
        plan = api.plan(suite, [spec], "30s1c", metrics=["auc"], settings=settings)
        api.run(plan, store, Local(2 if together else 1, tier), RunOptions(start=start), settings=settings)
        rows = {row.fold: row for row in store.rows()}
        broken = [row.message for row in rows.values() if row.status != "ok"]
        if broken or len(rows) != 2:
            raise SystemExit(f"{channel}: {broken}")
        scores = [float(row.score or 0.5) for row in (rows.values() if together else [rows[1]])]
        return Heard(max(scores), ", ".join(rows[fold].start for fold in (0, 1)), rows[1].cold_reason)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=20)
    parser.add_argument("--tier", default="strict")
    parser.add_argument("--start", default="auto", choices=["auto", "cold"])
    parser.add_argument("channels", nargs="*", default=[])
    options = parser.parse_args()
    ctypes.CDLL(None).syscall(250, 1, None)  # the caller has a session keyring, as a login gives one (x86-64)
    is_open = False
    print(f"| channel | mean AUC of {options.repetitions} | lowest | highest | start | why cold |")
    print("|---|---|---|---|---|---|")
    for channel in options.channels or CHANNELS:
        heard = [measure(channel, seed, options.tier, options.start) for seed in range(options.repetitions)]
        scores = [one.auc for one in heard]
        mean = statistics.mean(scores)
        is_open |= abs(mean - 0.5) > 0.05
        figures = f"{mean:.3f} | {min(scores):.3f} | {max(scores):.3f}"
        print(f"| {channel} | {figures} | {heard[0].starts} | {heard[0].reason} |", flush=True)
    return int(is_open)


if __name__ == "__main__":
    sys.exit(main())
