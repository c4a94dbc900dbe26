from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import hypothesis
import pytest

from assay.data.task import TaskRequest
from assay.settings import Settings

# The first example of a test may import scikit-learn, which takes longer than hypothesis allows.
hypothesis.settings.register_profile("assay", deadline=None)
hypothesis.settings.load_profile("assay")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path / "cache", state=tmp_path / "state", offline=True, network_timeout_s=1.0)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write text or bytes to a file below the test's folder."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / "files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file


@pytest.fixture
def ask(write: Callable[..., Path]) -> Callable[..., TaskRequest]:
    """Write a file and return the request for it."""

    def request(content: str | bytes, name: str = "rows.csv", **said: Any) -> TaskRequest:
        return TaskRequest("file", path=str(write(name, content)), **said)

    return request


@pytest.fixture
def small_csv() -> str:
    """Sixty rows: a number with gaps, a category whose labels differ by case and blanks, and a class."""
    lines = ["size,colour,kind"]
    for row in range(60):
        size = "" if row % 10 == 3 else f"{row * 0.25}"
        lines.append(f"{size},{('Red', 'red ', 'blue')[row % 3]},{'yes' if row % 4 else 'no'}")
    return "\n".join(lines) + "\n"
