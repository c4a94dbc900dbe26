"""The live folder of a sandbox: neutral names, links where they can be, and nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from assay.runs.launch import Launch
from assay.runs.sandbox import live as module
from assay.runs.sandbox.live import FOLDER, Live, open_live, remove_abandoned


@pytest.fixture
def attempt(tmp_path: Path) -> Path:
    folder = tmp_path / "store" / "jobs" / "ab" / "abcdef" / "attempts" / "001"
    (folder / "out").mkdir(parents=True)
    (folder / "job.json").write_text("{}")
    code = tmp_path / "store" / "code" / "mine-1"
    (code / "border").mkdir(parents=True)
    (code / "adapter.py").write_text("x = 1\n")
    (code / "border" / "child.py").write_text("y = 2\n")
    (tmp_path / "store" / "folds" / "77").mkdir(parents=True)
    (tmp_path / "store" / "folds" / "77" / "train.npz").write_bytes(b"rows")
    return folder


@pytest.fixture
def opened(attempt: Path, tmp_path: Path) -> Live:
    return open_live(launch_of(tmp_path), attempt)


def launch_of(root: Path) -> Launch:
    return Launch(
        key="abcdef", attempt=1, argv=("true",), code=str(root / "store/code/mine-1"), tier="strict", memory_mb=100,
        disk_mb=10, limits_s={}, data={"train.npz": str(root / "store/folds/77/train.npz")},
        roots={"cache": str(root / "cache")},
    )  # fmt: skip


def test_names_say_nothing_and_contents_are_those_of_the_store(opened: Live, tmp_path: Path) -> None:
    assert opened.path.parent == tmp_path / "cache" / FOLDER and opened.path.parent.stat().st_mode & 0o77 == 0
    words = (opened.launch.code, *opened.launch.data.values(), *map(str, opened.writable))
    assert all(
        word.startswith(str(opened.path)) and "store" not in word and "abcdef" not in word for word in words
    )
    assert (opened.path / "code" / "border" / "child.py").read_text() == "y = 2\n"
    assert Path(opened.launch.data["train.npz"]).samefile(tmp_path / "store/folds/77/train.npz")
    opened.remove()


def test_output_goes_to_the_attempt_and_the_folder_goes(opened: Live, attempt: Path) -> None:
    (opened.path / "out" / "predictions.npz").write_bytes(b"1")
    (opened.path / "tmp" / "scratch").write_bytes(b"2")
    opened.collect()
    opened.collect()
    assert opened.writable == (attempt / "out", opened.path / "tmp")
    assert (attempt / "out" / "predictions.npz").read_bytes() == b"1"
    opened.remove()
    opened.remove()
    assert list(opened.path.parent.iterdir()) == [] and sorted(os.listdir(attempt)) == ["job.json", "out"]


def test_a_store_on_another_file_system_gets_copies(
    attempt: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*paths: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(module.os, "link", refuse)
    opened = open_live(launch_of(tmp_path), attempt)
    train = Path(opened.launch.data["train.npz"])
    assert train.read_bytes() == b"rows" and not train.samefile(tmp_path / "store/folds/77/train.npz")
    (opened.path / "out" / "deep").mkdir()
    (opened.path / "out" / "deep" / "x").write_bytes(b"1")
    monkeypatch.setattr(module.os, "rename", refuse)
    opened.collect()
    assert (attempt / "out" / "deep" / "x").read_bytes() == b"1"
    opened.remove()


def test_a_folder_in_use_stays_and_one_of_a_killed_process_goes(
    opened: Live, attempt: Path, tmp_path: Path
) -> None:
    code = (
        "import sys, time; from pathlib import Path; sys.path.insert(0, '.')\n"
        "from assay.runs.launch import Launch; from assay.runs.sandbox.live import open_live\n"
        f"root = Path({str(tmp_path)!r})\n"
        "launch = Launch(key='k', attempt=1, argv=('true',), code=str(root / 'store/code/mine-1'), tier='strict',\n"
        "                memory_mb=1, disk_mb=1, limits_s={}, roots={'cache': str(root / 'cache')})\n"
        f"print(open_live(launch, Path({str(attempt)!r})).path, flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    other = Path(process.stdout.readline().strip())
    remove_abandoned(opened.path.parent)
    assert other.is_dir() and opened.path.is_dir(), "both are in use"
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    deadline = time.monotonic() + 5
    while other.exists() and time.monotonic() < deadline:
        remove_abandoned(opened.path.parent)
    assert not other.exists() and opened.path.is_dir()
    opened.remove()
    assert list(opened.path.parent.iterdir()) == []
