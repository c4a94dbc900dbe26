"""`assay search` beside another version of Assay: the same winner and interval, and how long both take.

`python -m benchmarks.search_before OTHER/.venv/bin/assay` starts the same command with both, in turn, and compares what
they print and their time on the clock. The other one is the environment of a checkout of an earlier commit; the last
one in which a search had processes of its own is 23a2ee7.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import clean_environ

TABLES = ("iris", "breast_cancer", "diabetes")
COMPARED = ("winner", "metric", "is_trivial")
NUMBERS = ("cv_score", "estimate", "lower", "upper")
CLOSE = 1e-9


def run(program: str, name: str, configurations: int) -> tuple[float, dict]:
    """Return the seconds of one search on the clock, and what it found."""
    words = [program, "search", f"bundled/{name}", "--configurations", str(configurations), "--json"]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        done = subprocess.run(
            words, env=clean_environ(), cwd=folder, capture_output=True, text=True, check=True
        )
        return time.perf_counter() - began, json.loads(done.stdout)


def differences(one: dict, other: dict) -> list[str]:
    """Return in what two searches differ."""
    found = [name for name in COMPARED if one[name] != other[name]]
    return found + [
        f"{name}: {one['interval'][name]} and {other['interval'][name]}"
        for name in NUMBERS
        if not _is_close(one["interval"][name], other["interval"][name])
    ]


def _is_close(one: float | None, other: float | None) -> bool:
    return one == other or (
        one is not None and other is not None and abs(one - other) <= CLOSE * max(abs(one), abs(other))
    )


def main() -> int:
    """Print a line for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", help="the other `assay`")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--configurations", type=int, default=60)
    said = parser.parse_args()
    own = str(Path(sys.executable).with_name("assay"))
    is_bad = False
    print("| table | winner and interval | before (s) | now (s) | ratio |\n|---|---|---|---|---|")
    for name in TABLES:
        pairs = [
            [run(program, name, said.configurations) for program in (said.other, own)]
            for _ in range(said.times)
        ]
        different = sorted({text for (_, before), (_, now) in pairs for text in differences(before, now)})
        before, now = (statistics.median(pair[at][0] for pair in pairs) for at in (0, 1))
        print(
            f"| {name} | {', '.join(different) or 'the same'} | {before:.1f} | {now:.1f} | {now / before:.2f} |",
            flush=True,
        )
        is_bad = is_bad or bool(different)
    return int(is_bad)


if __name__ == "__main__":
    sys.exit(main())
