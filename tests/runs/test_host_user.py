"""The user of the host under which root's children run."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from assay.runs.sandbox.host_user import (
    COUNT,
    FEW_COUNT,
    FEW_FIRST,
    FIRST,
    choose_host_user,
    make_readable,
    take_back,
)

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.mark.parametrize(
    ("lines", "low", "high"),
    [
        ("         0          0 4294967295\n", FIRST, FIRST + COUNT),
        ("0 100000 65536\n", FEW_FIRST, FEW_FIRST + FEW_COUNT),
        ("0 1000 1\n1 100000 65536\n", FEW_FIRST, FEW_FIRST + FEW_COUNT),
    ],
)
def test_a_user_is_one_that_can_be_mapped_and_a_new_one_each_time(
    tmp_path: Path, lines: str, low: int, high: int
) -> None:
    uid_map = tmp_path / "uid_map"
    uid_map.write_text(lines)
    users = {choose_host_user(uid_map) for _ in range(50)}
    assert len(users) > 10 and all(user is not None and low <= user < high for user in users)


@pytest.mark.parametrize("lines", ["0 0 1\n", "0 1000 1\n1000 2000 1\n", ""])
def test_a_machine_without_other_users_has_none(tmp_path: Path, lines: str) -> None:
    (tmp_path / "uid_map").write_text(lines)
    assert choose_host_user(tmp_path / "uid_map") is None


def test_files_become_readable_and_nothing_else(tmp_path: Path) -> None:
    folder, file = tmp_path / "code", tmp_path / "code" / "x.py"
    folder.mkdir(mode=0o700)
    file.touch(mode=0o600)
    make_readable((folder, file))
    assert stat.S_IMODE(folder.stat().st_mode) == 0o755 and stat.S_IMODE(file.stat().st_mode) == 0o644


@AS_ROOT
def test_what_a_child_left_is_ours_and_has_no_special_bits(tmp_path: Path) -> None:
    out, outside = tmp_path / "out", tmp_path / "outside"
    outside.touch(mode=0o600)
    (out / "deep" / "er").mkdir(parents=True)
    file = out / "deep" / "er" / "tool"
    file.touch()
    (out / "link").symlink_to(outside)
    os.chown(outside, 4321, 4321)
    for path in (out, out / "deep", out / "deep" / "er", file, out / "link"):
        os.chown(path, FIRST, FIRST, follow_symlinks=False)
    os.chmod(file, 0o6755)
    os.chmod(out / "deep", 0o3777)
    take_back(out)
    for path in (out, *out.rglob("*")):
        state = path.lstat()
        assert (state.st_uid, state.st_gid) == (0, os.getegid()) and not state.st_mode & 0o7000
    assert outside.stat().st_uid == 4321, "links are not followed"
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
