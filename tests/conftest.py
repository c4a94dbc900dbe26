"""Fixtures for tests that really run jobs."""

from __future__ import annotations

import shutil
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


RAISES = """\
def fit(train, budget, params):
    print("about to give up")
    raise ValueError("this one never learns")


def predict(model, test):
    raise AssertionError
"""


def write_framework(folder: Path, adapter: str, **said: str) -> Path:
    """Write a framework's folder; `said` are further words of its toml."""
    words = {"name": folder.name, "description": "For tests.", "version": "1", "environment": "assay", **said}
    folder.mkdir(parents=True)
    (folder / "framework.toml").write_text("".join(f'{key} = "{value}"\n' for key, value in words.items()))
    (folder / "adapter.py").write_text(adapter)
    return folder


@pytest.fixture(scope="session")
def raises(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A framework that raises in fit."""
    return write_framework(tmp_path_factory.mktemp("frameworks") / "raises", RAISES)


@pytest.fixture(scope="session")
def finished(shared_settings: Settings, raises: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished store: two baselines on two tasks and two folds, and two jobs that failed. Copy it to change it."""
    from assay import Local, Store, api

    suite = api.load_suite("bundled")
    tasks = [t for t in api.load_tasks(suite, shared_settings) if t.name in ("iris", "diabetes")]
    iris = [t for t in tasks if t.name == "iris"]
    folder = tmp_path_factory.mktemp("finished") / "store"
    store = Store(folder)
    for names, own in (("constant,decision_tree", tasks), (str(raises), iris)):
        jobs = api.plan(suite, names, "30s1c", tasks=own, folds=[0, 1], settings=shared_settings)
        api.run(jobs, store, Local(1), settings=shared_settings)
    store.close()
    return folder


@pytest.fixture
def copied(finished: Path, tmp_path: Path) -> Path:
    """The finished store as a copy of one's own."""
    return Path(shutil.copytree(finished, tmp_path / "results"))
