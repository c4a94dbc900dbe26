"""`assay framework install` and `lock`, with a folder of small wheels as the package index."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .conftest import Assay

OWN = """
name = "mine"
version = "1.9"
environment = "own"
requires = ["tiny-thing=={version}"]
without = ["huge-thing"]
"""


@pytest.fixture
def mine(tmp_path: Path, wheels: Path) -> Path:
    folder = tmp_path / "mine"
    (folder / "locks").mkdir(parents=True)
    (folder / "framework.toml").write_text(OWN)
    (folder / "adapter.py").write_text("def fit(train, budget, params): ...\n")
    (folder / "locks" / "1.9.txt").write_text("tiny-thing==1.9\n")
    return folder


def test_install_builds_once_and_says_what_was_built(assay: Assay, mine: Path) -> None:
    said = assay("framework", "install", "./mine")
    assert said.code == 0 and "mine 1.9 is ready: 1 packages, " in said.out
    assert "mine 1.9: installing 1 packages" in said.err
    assert assay("framework", "install", "./mine").err == "", "it is there"
    assert "making an environment" in assay("framework", "install", "./mine", "--rebuild").err
    shown = {one["name"]: one["problem"] for one in json.loads(assay("doctor", "--json").out)["frameworks"]}
    assert shown["constant"] == "" and "is not installed" in shown["flaml"]


def test_dry_run_says_what_would_be_downloaded_and_builds_nothing(
    assay: Assay, mine: Path, tmp_path: Path
) -> None:
    said = assay("framework", "install", "./mine", "constant", "--dry-run")
    assert said.code == 0
    assert "mine 1.9: Python " in said.out and "1 packages, 0 MB at most to download" in said.out
    assert "constant 1: nothing to do (it has no environment of its own)" in said.out
    assert not list((tmp_path / ".cache").glob("environments/*"))
    assay("framework", "install", "./mine")
    assert "nothing to do (it is installed in" in assay("framework", "install", "./mine", "--dry-run").out


def test_one_that_cannot_be_installed_does_not_keep_the_others(
    assay: Assay, mine: Path, tmp_path: Path
) -> None:
    bad = tmp_path / "bad"
    (bad / "locks").mkdir(parents=True)
    (bad / "framework.toml").write_text('name = "bad"\nversion = "1"\nenvironment = "own"\n')
    (bad / "adapter.py").write_text("")
    (bad / "locks" / "1.txt").write_text("gone-thing==1\n")
    said = assay("framework", "install", "./bad", "./mine")
    assert said.code == 1 and "mine 1.9 is ready" in said.out
    assert "bad 1: The environment of bad 1 could not be built" in said.err and "gone-thing" in said.err
    assert "When that is fixed, run: assay framework install" in said.err
    (bad / "locks" / "1.txt").write_text("tiny-thing==1.0\n")
    assert assay("framework", "install", "./bad").code == 0


def test_wrong_interpreter_is_named(assay: Assay, mine: Path) -> None:
    (mine / "framework.toml").write_text(OWN + 'python = "3.2"\n')
    said = assay("framework", "install", "./mine")
    assert said.code == 1 and "Python 3.2 is not on this machine (there are " in said.err


def test_without_network_the_message_says_so_and_a_later_install_works(
    assay: Assay, mine: Path, monkeypatch: pytest.MonkeyPatch, wheels: Path
) -> None:
    monkeypatch.delenv("UV_NO_INDEX")
    monkeypatch.setenv("UV_FIND_LINKS", str(wheels.parent / "mine"))
    monkeypatch.setenv("UV_DEFAULT_INDEX", "http://127.0.0.1:9/simple")  # nobody listens there
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "2")
    said = assay("framework", "install", "./mine")
    assert said.code == 1 and "could not be built" in said.err and "127.0.0.1" in said.err
    offline = assay("framework", "install", "./mine", "--offline")
    assert offline.code == 1 and "tiny-thing" in offline.err
    monkeypatch.setenv("UV_FIND_LINKS", str(wheels))
    monkeypatch.delenv("UV_DEFAULT_INDEX")
    monkeypatch.setenv("UV_NO_INDEX", "1")
    assert assay("framework", "install", "./mine").code == 0


def test_lock_is_written_into_the_folder_and_tells_what_changed(assay: Assay, mine: Path) -> None:
    said = assay("framework", "lock", "./mine")
    assert said.code == 0 and "1 packages, 1 lines new. Use it: ./mine:1.9" in said.out.replace("\n", " ")
    newest = assay("framework", "lock", "./mine:latest")
    assert newest.code == 0 and (mine / "locks" / "2.0.txt").exists()
    assert (mine / "locks" / "2.0.txt").read_text().splitlines()[1:] == [
        "other-thing==0.1",
        "tiny-thing==2.0",
    ]
    assert '"version": "2.0"' in assay("framework", "show", "./mine:latest", "--json").out
    missing = assay("framework", "lock", "./mine:7.7")
    assert missing.code == 2 and "tiny-thing==7.7" in missing.err
    assert not (mine / "locks" / "7.7.txt").exists()


def test_lock_goes_to_a_folder_that_extends_the_framework(assay: Assay, mine: Path, tmp_path: Path) -> None:
    said = assay("framework", "lock", "./mine:latest", "--to", "newer")
    assert said.code == 0 and not (mine / "locks" / "2.0.txt").exists()
    shown = json.loads(assay("framework", "show", "./newer", "--json").out)
    assert (shown["name"], shown["version"]) == ("mine", "2.0")
    assert shown["adapter"].endswith("mine/adapter.py")
    assert assay("framework", "install", "./newer").code == 0


def test_what_has_no_environment_cannot_be_locked(assay: Assay) -> None:
    said = assay("framework", "lock", "constant")
    assert said.code == 2 and "nothing to lock" in said.err
