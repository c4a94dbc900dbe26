"""Shared mappings, as the kernel finds them and as they are read from the whole list."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
from pathlib import Path

import pytest

from assay.runs.sandbox.mappings import SharedMapping, shared_mappings


def test_both_ways_find_the_same_mappings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"x" * mmap.PAGESIZE)
    with open(tmp_path / "file", "r+b") as file, mmap.mmap(-1, 10 * mmap.PAGESIZE) as nameless:
        read_only = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        asked = shared_mappings(os.getpid())

        def unknown(*_: object) -> None:
            raise OSError(errno.ENOTTY, "no such request")

        monkeypatch.setattr(fcntl, "ioctl", unknown)
        listed = shared_mappings(os.getpid())
        assert len(nameless) and len(read_only)
        read_only.close()
    assert sorted(asked, key=str) == sorted(listed, key=str)
    assert SharedMapping(False, str(tmp_path / "file")) in asked
    assert any(one.is_writable for one in asked)
