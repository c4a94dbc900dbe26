"""`python -m benchmarks [overhead planning install analysis intervals]`: the figures the docs promise, as a table."""

from __future__ import annotations

import sys
from importlib import import_module

from benchmarks.measure import table

PARTS = ("overhead", "planning", "install", "analysis", "intervals")

if __name__ == "__main__":
    wanted = sys.argv[1:] or PARTS
    figures = [figure for part in wanted for figure in import_module(f"benchmarks.{part}").measure()]
    print(table(figures))
    sys.exit(any(figure.verdict == "OVER" for figure in figures))
