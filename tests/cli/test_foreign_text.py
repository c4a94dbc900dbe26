"""Text of others, and bytes that are no text: one line on the way in, nothing that a terminal obeys on the way out."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASSAY = [os.fsencode(sys.executable), b"-m", b"assay.cli"]
RUN = (b"run", b"constant", b"bundled", b"10s1c", b"--task", b"iris", b"-f", b"0")


SLOW = """\
import time

class Slow:
    def fit(self, x, y):
        time.sleep(3600)

    def predict(self, x): ...

    def get_params(self, deep=True):
        return {}
"""


def call(folder: Path, *words: bytes, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    environ = {**os.environ, "ASSAY_CACHE": str(folder / "cache"), "ASSAY_STATE": str(folder / "state")}
    return subprocess.run(
        [*ASSAY, *words], cwd=folder, env=environ, input=stdin, capture_output=True, timeout=120
    )


@pytest.mark.parametrize(
    "words",
    [
        (*RUN, b"--set", b"constant.x=\xff"),
        (*RUN, b"--set", b"constant.\xff=1"),
        (*RUN, b"--store", b"st\xff"),
        (b"run", b"const\xffant", b"bundled", b"10s1c"),
        (b"run", b"constant", b"a\xff.csv", b"10s1c", b"--target", b"y"),
        (b"run", b"constant", b"bundled", b"10s1c", b"--task", b"\xff*"),
        (b"results", b"--store", b"\xff"),
        (b"interval", b"\xff.npz"),
        (b"report", b"-o", b"\xff.html"),
        (b"explain", b"\xff"),
    ],
)
def test_an_argument_that_is_not_utf_8_is_one_line(tmp_path: Path, words: tuple[bytes, ...]) -> None:
    done = call(tmp_path, *words)
    assert done.returncode == 2, done.stderr
    assert b"Traceback" not in done.stderr and done.stderr.count(b"\n") == 1
    assert rb"\xff" in done.stderr and b"UTF-8" in done.stderr
    assert not (tmp_path / "results").exists()


def test_a_working_folder_that_is_not_utf_8_is_one_line(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    done = call(folder, *RUN)
    assert done.returncode == 2 and b"UTF-8" in done.stderr and b"Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("option", "word"),
    [
        ('constant.x="\\ud800"', "half of a character"),
        ("constant.x=" + "[" * 5000, "nested too deeply"),
        ("constant.x=" + "[" * 80 + "]" * 80, "nested too deeply"),
        ("constant.x=" + "9" * 30, "63 bits"),
    ],
)
def test_a_setting_that_no_file_can_hold_is_one_line(tmp_path: Path, option: str, word: str) -> None:
    done = call(tmp_path, *RUN, b"--set", option.encode())
    assert done.returncode == 2 and word in done.stderr.decode(), done.stderr
    assert b"Traceback" not in done.stderr and done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", 'tasks: [{name: "\\ud800", ref: bundled/iris}]'),
        ("a.yaml", "tasks: " + "[" * 3000),
        ("a.yaml", "tasks: [{name: a, ref: bundled/iris}]\nconstraint: 99999999999999999999h1c"),
    ],
)
def test_a_suite_that_no_file_can_hold_is_one_line(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = call(tmp_path, b"run", b"constant", name.encode())
    assert done.returncode == 2 and b"Traceback" not in done.stderr and done.stderr.count(b"\n") == 1


def test_a_deeply_nested_framework_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "framework.toml").write_text('name = "mine"\n[params]\nx = ' + "[" * 5000)
    done = call(tmp_path, b"run", b"./mine", b"bundled", b"10s1c")
    assert done.returncode == 2 and b"nested too deeply" in done.stderr


@pytest.mark.parametrize("seed", [b"99999999999999999999", b"-99999999999999999999"])
def test_a_seed_that_no_file_can_hold_is_one_line(tmp_path: Path, seed: bytes) -> None:
    done = call(tmp_path, *RUN, b"--seed", seed)
    assert done.returncode == 2 and b"too large" in done.stderr and b"Traceback" not in done.stderr


def test_a_store_that_is_removed_during_a_run_ends_it_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(SLOW)
    words = ["run", "slow.py:Slow", "bundled", "3s1c", "--task", "iris", "-f", "0", "--tier", "plain"]
    command = [sys.executable, "-m", "assay.cli", *words]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        deadline = time.monotonic() + 60
        while (
            not list(tmp_path.glob("results/jobs/*/*/attempts/001/log.txt")) and time.monotonic() < deadline
        ):
            time.sleep(0.1)
        shutil.rmtree(tmp_path / "results", ignore_errors=True)
        _, errors = process.communicate(timeout=90)
    assert process.returncode == 2, errors
    assert b"Traceback" not in errors and b"is gone" in errors.splitlines()[-1]


def test_commands_print_through_one_function() -> None:
    """Else control characters in a name reach the terminal."""
    for path in sorted((ROOT / "assay" / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and path.name != "output.py":
                assert node.func.id != "print", f"{path}:{node.lineno}: use `say`"
