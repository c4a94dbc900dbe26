"""Trees of any depth are measured, copied and removed."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from assay.files import Measure, Walk, copy_tree, has_link, remove_tree

DEPTH = 3000  # three times Python's stack, and longer than a path may be


def make_deep(root: Path, depth: int, data: bytes = b"") -> None:
    root.mkdir()
    current = os.open(root, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=current)
        below = os.open("d", os.O_RDONLY, dir_fd=current)
        os.close(current)
        current = below
    with open(os.open("data", os.O_WRONLY | os.O_CREAT, dir_fd=current), "wb") as file:
        file.write(data)
    os.close(current)


def measured(*roots: Path) -> Measure:
    measure = Measure(*roots)
    assert measure.advance(60.0)
    return measure


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_deep_tree_is_measured_copied_and_removed(tmp_path: Path) -> None:
    before = descriptors()
    make_deep(tmp_path / "deep", DEPTH, os.urandom(2**20))
    measure = measured(tmp_path / "deep")
    assert measure.files == DEPTH + 1 and measure.megabytes >= 1.0
    assert copy_tree(tmp_path / "deep", tmp_path / "copy", 2**21, 10_000) == ""
    assert measured(tmp_path / "copy").files == DEPTH + 1
    for name in ("deep", "copy"):
        assert remove_tree(tmp_path / name) == ""
    assert list(tmp_path.iterdir()) == [] and descriptors() == before


def test_blocks_are_counted_once_and_no_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "out" / "deep").mkdir(parents=True)
    (tmp_path / "out" / "deep" / "data").write_bytes(os.urandom(2**20))
    (tmp_path / "elsewhere").write_bytes(os.urandom(2**22))
    (tmp_path / "out" / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "out" / "loop").symlink_to(tmp_path / "out")
    (tmp_path / "out" / "again").hardlink_to(tmp_path / "out" / "deep" / "data")
    os.mkfifo(tmp_path / "out" / "pipe")
    with open(tmp_path / "out" / "sparse", "wb") as file:
        file.truncate(2**30)
    measure = measured(tmp_path / "out")
    assert 1.0 <= measure.megabytes < 1.2 and measure.files == 7
    assert measured(tmp_path / "nowhere").megabytes == 0.0
    assert measured(tmp_path / "out", tmp_path / "nowhere").blocks == measure.blocks


def test_a_large_tree_is_measured_in_slices(tmp_path: Path) -> None:
    for number in range(20_000):
        os.close(os.open(tmp_path / str(number), os.O_CREAT | os.O_WRONLY))
    measure, slices, longest = Measure(tmp_path), 1, 0.0
    while True:
        began = time.monotonic()
        is_whole = measure.advance(0.005)
        longest = max(longest, time.monotonic() - began)
        if is_whole:
            break
        slices += 1
    assert measure.files == 20_000 and slices > 3 and longest < 0.2


def test_what_vanishes_meanwhile_counts_nothing(tmp_path: Path) -> None:
    stop = threading.Event()

    def churn() -> None:
        while not stop.is_set():
            (tmp_path / "a" / "b").mkdir(parents=True, exist_ok=True)
            (tmp_path / "a" / "b" / "file").write_text("x")
            (tmp_path / "a" / "b" / "file").unlink()
            (tmp_path / "a" / "b").rmdir()

    thread = threading.Thread(target=churn)
    thread.start()
    sizes = [measured(tmp_path).megabytes for _ in range(300)]
    stop.set()
    thread.join()
    assert all(0.0 <= size < 0.1 for size in sizes)


def test_a_folder_that_is_moved_while_the_walk_is_deep_in_it_does_not_lead_it_out(tmp_path: Path) -> None:
    make_deep(tmp_path / "top", 200)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret").write_text("x")
    before, names = descriptors(), []
    for found in Walk(tmp_path / "top"):
        names.append(found.name)
        if found.depth == 150:
            inner = tmp_path.joinpath("top", *["d"] * 100)
            inner.rename(tmp_path / "other" / "moved")
    assert "secret" not in names and descriptors() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_folders_without_permissions_are_opened_by_their_owner(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "file").write_bytes(b"x" * 5000)
    (tmp_path / "a").chmod(0)
    assert measured(tmp_path).files == 3
    (tmp_path / "a").chmod(0)
    assert remove_tree(tmp_path / "a") == ""


def test_links_pipes_and_files_are_removed_and_their_targets_stay(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("x")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "kept")
    os.mkfifo(tmp_path / "tree" / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    os.mkfifo(tmp_path / "pipe")
    for name in ("tree", "link", "pipe", "missing"):
        assert remove_tree(tmp_path / name) == ""
    assert [path.name for path in tmp_path.rglob("*")] == ["kept", "file"]


def test_what_cannot_be_removed_is_said(tmp_path: Path) -> None:
    assert "cannot be removed" in remove_tree(Path("/proc/self/task"))


def test_a_copy_has_regular_files_only_and_ends_at_its_limits(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "a").mkdir(parents=True)
    (source / "a" / "file").write_bytes(b"x" * 1000)
    (source / "secret").symlink_to("/etc/passwd")
    os.mkfifo(source / "pipe")
    assert copy_tree(source, tmp_path / "one", 1000, 10) == ""
    assert sorted(str(path.relative_to(tmp_path / "one")) for path in (tmp_path / "one").rglob("*")) == [
        "a",
        "a/file",
    ]
    assert "more than 999 bytes" in copy_tree(source, tmp_path / "two", 999, 10)
    assert "more than 2 files" in copy_tree(source, tmp_path / "three", 1000, 2)
    (tmp_path / "link").symlink_to(source)
    assert "through a link" in copy_tree(tmp_path / "link", tmp_path / "four", 1000, 10, tmp_path)
    assert has_link(tmp_path / "link" / "a", tmp_path) and not has_link(source / "a", tmp_path)


def test_a_name_with_a_null_byte_is_nothing_to_walk(tmp_path: Path) -> None:
    assert list(Walk(tmp_path / "a\0b")) == []
