"""Fixtures for tests that really run jobs."""

from __future__ import annotations

import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from assay.settings import Settings

if TYPE_CHECKING:
    from assay.runs.executors.base import Executor


def pytest_configure(config: pytest.Config) -> None:
    """Give the tests locks and state of their own, so that other runs on the machine do not matter to them.

    Workers of one test run share them: they do run side by side on one machine.
    """
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.mkdtemp(prefix="assay-tests-")
        os.environ["ASSAY_LOCKS"], os.environ["ASSAY_STATE"] = f"{folder}/locks", f"{folder}/state"
        config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


@pytest.fixture(scope="session")
def shared_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A cache and a secret of their own for the whole session."""
    root = tmp_path_factory.mktemp("assay")
    return Settings(cache=root / "cache", state=root / "state")


@pytest.fixture(scope="session")
def lasting() -> Iterator[Executor]:
    """A supervisor that stays for the whole session, with its nurseries: small searches then start at once."""
    executor = _lasting()
    yield executor
    executor.end()


def _lasting() -> Any:
    from assay import Local

    class Lasting(Local):
        """Ends only what is at work when it is cancelled."""

        def cancel(self) -> None:
            if any(one.folder is not None for one in self._supervisors):
                super().cancel()

        def end(self) -> None:
            super().cancel()

    return Lasting(1)


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the repository; tests that need it are skipped without it."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not (folder / "reference").is_dir():
        pytest.skip(f"the reference data are not there: {folder}")
    return folder


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


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of small wheels that is the only package index: tiny-thing 1.0, 1.9 and 2.0, and other-thing.

    tiny-thing 2.0 needs other-thing and huge-thing, which is nowhere.
    """
    folder = tmp_path / "wheels"
    folder.mkdir()
    needs = "Requires-Dist: other-thing\nRequires-Dist: huge-thing\n"
    _write_wheel(folder, "tiny_thing", "1.0")
    _write_wheel(folder, "tiny_thing", "1.9")
    _write_wheel(folder, "tiny_thing", "2.0", needs)
    _write_wheel(folder, "other_thing", "0.1")
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_NO_INDEX", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    return folder


def _write_wheel(folder: Path, name: str, version: str, needs: str = "") -> None:
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": "VALUE = 42\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(folder / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for path, text in (*files.items(), (f"{info}/RECORD", record)):
            wheel.writestr(path, text)
