"""TMPDIR stays short where the store's path is long, and nothing of that is left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from assay.runs.sandbox import short
from assay.runs.sandbox.short import LONGEST, remove_short_path, short_path


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(short, "PLACE", tmp_path)
    return tmp_path / f"assay-{os.getuid()}"


@pytest.fixture
def long(tmp_path: Path) -> Path:
    folder = tmp_path / ("long" * 20) / "tmp"
    folder.mkdir(parents=True)
    return folder


def test_short_folder_is_taken_as_it_is(place: Path) -> None:
    assert short_path(Path("/tmp/x")) == Path("/tmp/x") and not place.exists()


def test_long_folder_gets_a_link_that_can_be_written_through(place: Path, long: Path) -> None:
    link = short_path(long)
    assert link.parent == place and len(str(Path("/tmp") / place.name / link.name)) <= LONGEST
    (link / "file").write_text("x")
    assert (long / "file").read_text() == "x"
    assert short_path(long) == link, "once more is the same"
    remove_short_path(link)
    assert not place.exists() and (long / "file").exists()


def test_links_of_the_dead_are_removed_and_those_of_the_living_stay(
    place: Path, long: Path, tmp_path: Path
) -> None:
    living = short_path(long)
    (place / "dead").symlink_to(tmp_path / "gone")
    other = tmp_path / ("other" * 20)
    other.mkdir()
    link = short_path(other)
    assert set(place.iterdir()) == {living, link}
    remove_short_path(link)
    assert living.exists()


def test_place_that_others_may_write_to_is_not_used(place: Path, long: Path) -> None:
    place.mkdir()
    place.chmod(0o777)
    assert short_path(long) == long
    place.rmdir()
    place.symlink_to(long)
    assert short_path(long) == long


def test_place_that_goes_away_between_two_steps_is_made_again(
    place: Path, long: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    link_to, tries = Path.symlink_to, []

    def vanishing(self: Path, target: Path) -> None:
        tries.append(self)
        if len(tries) == 1:
            place.rmdir()
        link_to(self, target)

    monkeypatch.setattr(Path, "symlink_to", vanishing)
    assert short_path(long).parent == place and len(tries) == 2


def test_removing_what_is_no_link_removes_nothing(long: Path) -> None:
    remove_short_path(long)
    assert long.is_dir()
