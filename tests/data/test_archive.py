from __future__ import annotations

import gzip
import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from assay.data import archive
from assay.data.archive import gunzip, unpack
from assay.errors import DataError


def make_zip(path: Path, members: dict[str, bytes], mode: int = 0) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as opened:
        for name, data in members.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            opened.writestr(info, data)
    return path


def make_tar(path: Path, members: dict[str, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as opened:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            opened.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz", "a.tar.gz", "a.tbz", "a.tar.bz2"])
def test_files_of_every_kind_of_archive_are_unpacked_in_order(tmp_path: Path, name: str) -> None:
    members = {"data/b.csv": b"two", "data/a.csv": b"one", ".hidden": b"x", "__MACOSX/a.csv": b"y"}
    mode = {"r": "w", "z": "w:bz2", "2": "w:bz2"}.get(name[-1], "w:gz")
    path = make_zip(tmp_path / name, members) if name == "a.zip" else make_tar(tmp_path / name, members, mode)
    files = unpack(path, tmp_path / "out")
    assert [(file.name, file.read_bytes()) for file in files] == [("a.csv", b"one"), ("b.csv", b"two")]


@pytest.mark.parametrize("name", ["../a.csv", "/etc/a.csv", "x/../../a.csv", "..\\a.csv", "C:\\a.csv"])
def test_path_outward_is_refused(tmp_path: Path, name: str) -> None:
    for path in (make_zip(tmp_path / "a.zip", {name: b"x"}), make_tar(tmp_path / "a.tgz", {name: b"x"})):
        with pytest.raises(DataError, match=rf"{path.name} is not unpacked.*points outside"):
            unpack(path, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_link_or_device_in_a_tar_is_refused(tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as opened:
        info = tarfile.TarInfo("a.csv")
        info.type, info.linkname = kind, "b.csv"
        opened.addfile(info)
    with pytest.raises(DataError, match="link or a device"):
        unpack(tmp_path / "a.tar", tmp_path / "out")


def test_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"a.csv": b"/etc/passwd"}, stat.S_IFLNK | 0o777)
    with pytest.raises(DataError, match="link or a device"):
        unpack(path, tmp_path / "out")


def test_regular_modes_in_a_zip_are_accepted(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"a.csv": b"1"}, stat.S_IFREG | 0o644)
    assert len(unpack(path, tmp_path / "out")) == 1


def test_two_members_of_one_name_are_refused(tmp_path: Path) -> None:
    path = make_zip(tmp_path / "a.zip", {"x/a.csv": b"1", "y/a.csv": b"2"})
    with pytest.raises(DataError, match=r"two of its members are named 'a\.csv'"):
        unpack(path, tmp_path / "out")


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_MEMBERS", 3)
    path = make_zip(tmp_path / "a.zip", {f"{n}.csv": b"1" for n in range(4)})
    with pytest.raises(DataError, match="more than 3 members"):
        unpack(path, tmp_path / "out")


def test_bomb_is_stopped_by_its_ratio(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "RATIO_FROM_BYTES", 2**20)
    bomb = make_zip(tmp_path / "a.zip", {"a.csv": bytes(8 * 2**20)})
    with pytest.raises(DataError, match=r"200 times its size beyond 1 MiB.*Unpack it yourself"):
        unpack(bomb, tmp_path / "out")
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(bytes(8 * 2**20)))
    with pytest.raises(DataError, match=r"a\.csv\.gz is not unpacked"):
        gunzip(tmp_path / "a.csv.gz", tmp_path / "a.csv")
    assert (tmp_path / "a.csv").stat().st_size <= 3 * 2**20


def test_total_size_is_counted_over_all_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 1000)
    path = make_tar(tmp_path / "a.tar", {"a.csv": bytes(600), "b.csv": bytes(600)}, "w")
    with pytest.raises(DataError, match="is not unpacked"):
        unpack(path, tmp_path / "out")


@pytest.mark.parametrize("name", ["a.zip", "a.tar", "a.tgz", "a.tbz"])
def test_damaged_archive_is_a_data_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"this is no archive, whatever its name says" * 50)
    with pytest.raises(DataError, match=rf"{name} is damaged.*Pack it again"):
        unpack(tmp_path / name, tmp_path / "out")


def test_gz_file_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x,y\n"))
    assert gunzip(tmp_path / "a.csv.gz", tmp_path / "a.csv").read_bytes() == b"x,y\n"
