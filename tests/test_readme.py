"""What the README shows works when it is copied into an empty folder.

A block after `<!-- test: file NAME -->` is written to a file, one after `<!-- test: shell -->` or
`<!-- test: python -->` is run, and one after `<!-- test: output -->` is what the run before it prints.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
BLOCK = re.compile(r"^<!-- test: (\w+) ?(\S*) -->\n\n```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Ran:
    """One block that was run: what it printed, and what the README says it prints."""

    code: int
    output: str
    errors: str
    promised: str


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """Do what the README says, in its order, in an empty folder."""
    folder, state = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("assay")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {
        **os.environ,
        "PATH": path,
        "ASSAY_CACHE": str(state / "cache"),
        "ASSAY_STATE": str(state / "state"),
    }
    environ["ASSAY_OFFLINE"] = "1"
    found: dict[str, Ran] = {}
    last = ""
    for kind, name, text in BLOCK.findall(README.read_text(encoding="utf-8")):
        if kind == "file":
            (folder / name).write_text(text, encoding="utf-8")
        elif kind == "output":
            found[last] = Ran(found[last].code, found[last].output, found[last].errors, text)
        else:
            command = ["sh", "-e", "-c", text] if kind == "shell" else [sys.executable, "-c", text]
            done = subprocess.run(
                command, cwd=folder, env=environ, capture_output=True, text=True, timeout=300
            )
            found[kind], last = Ran(done.returncode, done.stdout, done.stderr, ""), kind
    return found


def words(line: str) -> list[str]:
    return re.split(r"  +", line.strip())


def test_the_command_prints_the_leaderboard_that_is_shown(ran: dict[str, Ran]) -> None:
    shell = ran["shell"]
    assert shell.code == 0, shell.errors
    shown, printed = shell.promised.splitlines(), shell.output.splitlines()
    assert words(printed[0]) == words(shown[0])
    assert {words(line)[0] for line in printed[1:3]} == {words(line)[0] for line in shown[1:3]}
    for line in printed[1:3]:
        _, _, _, done, _, *scores = words(line)
        assert done == "2/2"
        assert all(0 < float(score) < 0.5 for score in scores)
    assert re.match(r"trust: tier \w+ · blindness \w+ · contended \d of 4 · start (warm|cold)$", printed[3])
    assert printed[-1] == shown[-1]


def test_the_python_example_prints_the_scores_that_are_shown(ran: dict[str, Ran]) -> None:
    python = ran["python"]
    assert python.code == 0, python.errors
    shown, printed = python.promised.splitlines(), python.output.splitlines()
    assert printed[0].split() == shown[0].split()
    assert [line.split()[:6] for line in printed[1:]] == [line.split()[:6] for line in shown[1:]]
    constant, _ = (float(line.split()[-1]) for line in printed[1:])
    assert constant == pytest.approx(1.0986, abs=1e-4)  # ln 3: the prior of three equal classes


def test_examples_are_short() -> None:
    blocks = BLOCK.findall(README.read_text(encoding="utf-8"))
    assert [kind for kind, _, _ in blocks] == ["file", "shell", "output", "python", "output"]
    assert all(len(text.splitlines()) <= 10 for _, _, text in blocks)


def test_the_first_screen_names_what_a_newcomer_needs() -> None:
    text = README.read_text(encoding="utf-8")
    for needed in ("pip install assay-bench", "make demo", "make test", "docs/tutorial.md", "docs/index.md"):
        assert needed in text
