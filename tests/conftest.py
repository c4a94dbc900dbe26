"""Fixtures for tests that really run jobs."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.settings import Settings


@pytest.fixture(scope="session")
def shared_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A cache and a secret of their own for the whole session."""
    root = tmp_path_factory.mktemp("assay")
    return Settings(cache=root / "cache", state=root / "state")


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parent.parent
