"""Executors by name: built-in, from a package, from a file; and one that a user adds by one file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.runs.executors.base import ExecutorOptions
from assay.runs.executors.local import Local
from assay.runs.executors.registry import make_executor

# One file, as docs/howto/add-an-executor.md shows it: jobs run here, at a low priority.
PLUGIN = """
import os

from assay.runs.executors.local import Local


class Nice(Local):
    def __init__(self, options):
        super().__init__(options.workers, options.tier)

    def submit(self, folder, share):
        os.nice(1)
        super().submit(folder, share)
        with open(os.environ["SUBMITTED"], "a") as file:
            print(folder.key, share.cores, file=file)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package as pip leaves it, with an entry point of the group assay.executors."""
    info = tmp_path / "nice_executor-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nice-executor\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[assay.executors]\nnice = nice_executor:Nice\n")
    (tmp_path / "nice_executor.py").write_text(PLUGIN)
    return tmp_path


def test_local_is_what_runs_by_default() -> None:
    executor = make_executor()
    assert isinstance(executor, Local) and executor.workers == len(os.sched_getaffinity(0))
    assert make_executor("local", ExecutorOptions(workers=3)).workers == 3


def test_an_executor_of_an_installed_package_is_found(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(package))
    executor = make_executor("nice", ExecutorOptions(workers=2, tier="plain"))
    assert type(executor).__name__ == "Nice" and executor.workers == 2 and executor.place.tier == "plain"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lokal", "Unknown executor 'lokal'. Did you mean 'local'?"),
        ("nowhere.py:Nice", "there is no file nowhere.py"),
        ("nice_executor.py:Nine", "has no 'Nine'. Did you mean 'Nice'?"),
        ("broken.py:Nice", "fails with ZeroDivisionError"),
        ("broken.txt:Nice", "Unknown executor 'broken.txt:Nice'"),
        ("empty.py:Empty", "has no method has_room"),
    ],
)
def test_an_executor_that_cannot_be_used_is_named(
    package: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    monkeypatch.chdir(package)
    (package / "broken.py").write_text("1 / 0\n")
    (package / "empty.py").write_text("class Empty:\n    def __init__(self, options):\n        pass\n")
    with pytest.raises(ConfigError) as caught:
        make_executor(name)
    assert message in str(caught.value)


@pytest.mark.parametrize("on", ["nice", "nice_executor.py:Nice"])
def test_a_plug_in_of_one_file_runs_jobs_from_the_command_line(
    package: Path, tmp_path: Path, on: str
) -> None:
    environ = {
        **os.environ,
        "ASSAY_CACHE": str(tmp_path / "cache"),
        "ASSAY_STATE": str(tmp_path / "state"),
        "PYTHONPATH": str(package),
        "SUBMITTED": str(tmp_path / "submitted"),
    }
    command = [
        sys.executable,
        "-m",
        "assay.cli",
        "run",
        "constant",
        "bundled",
        "10s1c",
        "-t",
        "iris",
        "-f",
        "0",
    ]
    done = subprocess.run(
        [*command, "--on", on, "--json"],
        env=environ,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert row["status"] == "ok"
    assert (tmp_path / "submitted").read_text() == f"{row['key']} 1\n"
