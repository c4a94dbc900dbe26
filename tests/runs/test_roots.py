"""Paths relative to named folders: the same file, wherever these folders lie."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.jobs.folder import StoreFolder
from assay.runs.machine import this_machine
from assay.runs.place import Place
from assay.runs.roots import given_roots, roots_here, to_absolute, to_relative
from assay.settings import Settings

ROOTS = {
    "store": "/home/me/results",
    "cache": "/home/me/cache",
    "environments": "/home/me/cache/environments",
}


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("/home/me/results/folds/ab/train.npz", "{store}/folds/ab/train.npz"),
        ("/home/me/results", "{store}"),
        ("/home/me/cache/environments/flaml-1", "{environments}/flaml-1"),
        ("/home/me/cache/tables", "{cache}/tables"),
        ("/home/me/results-of-others", "/home/me/results-of-others"),
        ("/usr/bin/sh", "/usr/bin/sh"),
        ("sh", "sh"),
        ("", ""),
        ("{framework}/run.sh", "{framework}/run.sh"),
    ],
)
def test_a_path_is_written_relative_to_its_innermost_root_and_found_again(path: str, relative: str) -> None:
    assert to_relative(path, ROOTS) == relative
    assert to_absolute(relative, ROOTS) == path


def test_a_root_that_is_not_known_stays() -> None:
    assert to_absolute("{elsewhere}/x", ROOTS) == "{elsewhere}/x"
    assert to_absolute("{store", ROOTS) == "{store"


def test_every_folder_of_this_machine_has_a_name(tmp_path: Path) -> None:
    settings = Settings(cache=tmp_path / "cache", state=tmp_path / "state", locks=tmp_path / "locks")
    roots = roots_here(tmp_path / "store", settings)
    assert roots["environments"] == str(tmp_path / "cache" / "environments")
    assert Path(roots["frameworks"], "constant", "framework.toml").is_file()
    assert to_relative(sys.executable, roots).startswith(("{interpreter}/", "{base_interpreter}/"))


def test_what_a_place_says_reaches_its_supervisors() -> None:
    place = Place(this_machine(), "plain", {"store": "/mnt/results"})
    assert given_roots(place.environ()) == {"store": "/mnt/results"}
    attempt = StoreFolder(Path("/home/me/results")).job("abcd").attempt(7)
    assert place.folder(attempt) == "/mnt/results/jobs/ab/abcd/attempts/007"
    assert Place(this_machine(), "plain").folder(attempt) == str(attempt.path)


@pytest.mark.parametrize("text", ["store=/mnt", "[]", "3"])
def test_roots_that_cannot_be_read_are_named(text: str) -> None:
    with pytest.raises(ConfigError, match="ASSAY_ROOTS"):
        given_roots({"ASSAY_ROOTS": text})


def test_without_a_word_nothing_lies_elsewhere() -> None:
    assert given_roots({}) == {}
