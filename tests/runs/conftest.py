"""Real runs on a small task, in a cache of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.runs.machine import strict_problem
from assay.runs.sandbox.landlock import abi
from assay.settings import Settings

HERE = Path(__file__).parent
# Every tier, and both ways into the strict one.
WAYS = (("strict", "auto"), ("strict", "cold"), ("landlock", "auto"), ("plain", "auto"))


def require_tier(tier: str) -> None:
    """Skip where a tier does not work; under ASSAY_REQUIRE_STRICT=1 that is a failure."""
    problem = strict_problem() if tier == "strict" else "" if tier == "plain" or abi() else "no Landlock here"
    if problem and os.environ.get("ASSAY_REQUIRE_STRICT") == "1":
        pytest.fail(f"ASSAY_REQUIRE_STRICT is set, but the {tier} tier does not work here: {problem}")
    if problem:
        pytest.skip(f"the {tier} tier does not work here: {problem}")


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    root = tmp_path_factory.mktemp("assay")
    return Settings(cache=root / "cache", state=root / "state")


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A binary table of 200 rows, sorted by class, so that the row number alone would tell it."""
    path = tmp_path_factory.mktemp("data") / "private_source.csv"
    lines = [
        f"{i % 13},{(i * 7) % 11 / 3},{'left' if i % 3 else 'right'},{'no' if i < 100 else 'yes'}"
        for i in range(200)
    ]
    path.write_text("a,b,side,target\n" + "\n".join(lines) + "\n")
    return path
