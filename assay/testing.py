"""Conformance tests that anyone can run against a framework; also a pytest plugin.

In a package of your own, a test that takes `assay_claim` runs once for every claim of the framework that
`pytest --assay-framework path/to/my_framework` names.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pytest

__all__ = ["Claim", "check_framework"]


@dataclass(frozen=True)
class Claim:
    """One thing a framework promises by taking part, and what is wrong with it, if anything."""

    claim: str
    problem: str = ""


def check_framework(name: str, tier: str = "auto") -> Iterator[Claim]:
    """Run a framework for real on small tasks of every type and yield the claims it keeps or breaks."""
    from assay.frameworks.spec import find_framework

    spec = find_framework(name)
    yield Claim(f"its folder can be read: {spec.name} {spec.version}")
    yield Claim("its description says what it does", "" if spec.description else "`description` is empty")
    with tempfile.TemporaryDirectory(prefix="assay-check-") as scratch:
        yield from _run_claims(spec, Path(scratch), tier)


def _run_claims(spec: Any, scratch: Path, tier: str) -> Iterator[Claim]:
    from assay import api
    from assay.data.task import TaskRequest
    from assay.runs.executors.local import Local
    from assay.store.store import Store
    from assay.suites.suite import Suite

    path = scratch / "hard.csv"
    path.write_text(_hard_table(), encoding="utf-8")
    split = {"kind": "holdout", "test_size": 0.25}
    requests = (
        TaskRequest("bundled/breast_cancer", name="binary", split=split),
        TaskRequest("bundled/iris", name="multiclass", split=split),
        TaskRequest("bundled/diabetes", name="regression", split=split),
        TaskRequest(
            "file",
            name="missing values, categories, a boolean, a date",
            path=str(path),
            target="y",
            split=split,
        ),
    )
    stores = []
    for number in (1, 2) if spec.stops_by == "count" else (1,):
        store = Store(scratch / f"store{number}")
        jobs = api.plan(Suite("check", requests), [spec], "30s1c")
        api.run(jobs, store, Local(1), tier=tier)
        stores.append(store)
    rows = stores[0].rows()
    for row in rows:
        yield Claim(
            f"it predicts: {row['task']}",
            "" if row["status"] == "ok" else f"{row['status']}: {row['message']}",
        )
    done = [row for row in rows if row["status"] == "ok"]
    yield Claim(
        "it counts its models",
        _none_if(all(r["models_count"] is not None for r in done), "call train.report(models_count=…)"),
    )
    slow = [row["task"] for row in done if (row["fit_s"] or 0) > row["budget_s"]]
    yield Claim("it keeps its budget", f"over 30 s on {', '.join(slow)}" if slow else "")
    if spec.stops_by == "count":
        yield Claim("the same seed gives the same predictions", _difference(stores[0], stores[1]))


def _none_if(kept: bool, problem: str) -> str:
    return "" if kept else problem


def _difference(first: Any, second: Any) -> str:
    others = {row["key"]: row for row in second.rows()}
    for row in first.rows():
        if row["status"] != "ok":
            continue
        answers = [_answer(store, own) for store, own in ((first, row), (second, others[row["key"]]))]
        if answers[0] != answers[1]:
            return f'they differ on {row["task"]}; if it stops by time, say stops_by = "time"'
    return ""


def _answer(store: Any, row: Any) -> bytes:
    """Return what was predicted, as bytes that are equal only if every number is."""
    import numpy as np

    out = store.folder.job(row["key"]).attempt(row["attempt"]).out
    if (out / "predictions.csv").exists():
        return bytes((out / "predictions.csv").read_bytes())
    if not (out / "predictions.npz").exists():
        return b""
    with np.load(out / "predictions.npz", allow_pickle=False) as file:
        return bytes(file["probabilities" if "probabilities" in file else "prediction"].tobytes())


def _hard_table() -> str:
    """Return a CSV with what real tables have: gaps, labels that differ by case and space, a boolean, a date."""
    lines = ["number,category,flag,day,constant,y"]
    for i in range(120):
        number = "" if i % 7 == 0 else f"{(i * 37) % 101 / 10}"
        category = ("A", "a ", "", "ü,\u20ac")[i % 4]
        cell = f'"{category}"' if "," in category else category
        flag = "" if i % 11 == 0 else ("true", "false")[i % 2]
        day = f"2020-{i % 12 + 1:02d}-{i % 28 + 1:02d}"
        lines.append(f"{number},{cell},{flag},{day},1,{'yes' if (i * 37) % 101 > 50 else 'no'}")
    return "\n".join(lines) + "\n"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--assay-framework`."""
    parser.addoption(
        "--assay-framework", action="append", default=[], help="check this framework (name or folder)"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each claim of each framework its own test, for tests that take `assay_claim`."""
    if "assay_claim" in metafunc.fixturenames:
        names = metafunc.config.getoption("--assay-framework")
        claims = [claim for name in names for claim in check_framework(name)]
        metafunc.parametrize("assay_claim", claims, ids=[claim.claim for claim in claims])
