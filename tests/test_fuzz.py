"""A short part of `make fuzz`, with a fixed seed."""

from __future__ import annotations

import pytest

from benchmarks.fuzz.__main__ import LIMIT_MB, callers, run
from benchmarks.fuzz.readers import READERS


@pytest.mark.parametrize("reader", READERS)
def test_damaged_files_end_in_one_line_or_a_row(reader: str) -> None:
    found = run(reader, seed=1, numbers=range(25))
    assert found["failures"] == [] and found["cases"] == 25
    assert 0 < found["peak_mb"] < LIMIT_MB


@pytest.mark.checkout
def test_whoever_reads_files_of_children_and_stores_uses_the_guarded_reader() -> None:
    modules = """frameworks/predictions jobs/folder results/explain results/judge results/matrices results/traces
                 results/upkeep runs/folds runs/shell runs/supervise store/store store/schema suites/yaml_file"""
    assert {f"assay/{name}.py" for name in modules.split()} <= set(callers())
