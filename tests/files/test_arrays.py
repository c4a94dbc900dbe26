"""Arrays of others: declared sizes, kinds and characters are checked before anything is made of them."""

from __future__ import annotations

import io
import resource
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay.files import ArrayLimits, read_npy, read_npz


def header(shape: Any, kind: str, fortran: bool = False) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": kind, "fortran_order": fortran, "shape": shape})
    return out.getvalue()


def member(path: Path, data: bytes, compression: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("a.npy", data)
    return path


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_are_read_as_numpy_reads_them(tmp_path: Path, save: Any) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "f": rng.normal(size=(300, 7)), "fortran": np.asfortranarray(rng.normal(size=(4, 5, 2))),
        "i": np.arange(5, dtype=">i2"), "u": np.array(["grün", "😀", ""]), "s": np.array([b"a", b"bc"]),
        "b": np.array([True, False]), "zero": np.zeros((0, 3)), "scalar": np.array(3.5), "big": rng.normal(size=10**6),
        "wide": np.array(["x"], dtype=">U3"), "empty text": np.array(["", ""]),
    }  # fmt: skip
    save(tmp_path / "a.npz", **arrays)
    found = read_npz(tmp_path / "a.npz").get()
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype and found[name].shape == array.shape
        np.testing.assert_array_equal(found[name], array)
    assert set(read_npz(tmp_path / "a.npz", ("f", "i", "none")).get()) == {"f", "i"}
    np.save(tmp_path / "a.npy", arrays["fortran"])
    np.testing.assert_array_equal(read_npy(tmp_path / "a.npy").get(), arrays["fortran"])


@pytest.mark.parametrize("code", [0xD800, 0xDFFF, 0x110000, 0x7FFFFFFF, 0xFFFFFFFF])
@pytest.mark.parametrize("order", ["<", ">"])
def test_text_of_what_is_no_character_is_a_problem(tmp_path: Path, code: int, order: str) -> None:
    """Such an array ended the coordinator: `str` of an item raises, or makes a text that no file can hold."""
    path = member(tmp_path / "a.npz", header((1,), f"{order}U1") + struct.pack(f"{order}I", code))
    assert f"{code:#x}, which is not a character" in read_npz(path).problem


@pytest.mark.parametrize(
    ("data", "word"),
    [
        (header((10**15,), "<f8"), "declares an array of 8000000000000000 bytes"),
        (header((10**18,), "<U0"), "declares an array"),
        (header((0, 10**18), "<f8"), "declares an array"),
        (header((3,), "<f8") + b"\0" * 23, "more or fewer bytes"),
        (header((3,), "<f8") + b"\0" * 25, "more or fewer bytes"),
        (header((1, 1, 1, 1, 1), "<f8") + b"\0" * 8, "has the shape"),
        (header((-1,), "<f8"), "has the shape"),
        (header((2,), "|O") + b"\x80\x04N.", "holds object"),
        (b"", "cannot be read"),
        (b"\x93NUMPY\x03\x00", "version 3.0"),
        (b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535, "cannot be read"),
        (b"\x93NUMPY\x01\x00\x06\x00{'a':}", "cannot be read"),
    ],
)
def test_a_wrong_member_is_a_problem(tmp_path: Path, data: bytes, word: str) -> None:
    assert word in read_npz(member(tmp_path / "a.npz", data)).problem
    (tmp_path / "a.npy").write_bytes(data)
    assert word in read_npy(tmp_path / "a.npy").problem


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compression_that_numpy_does_not_write_is_a_problem(tmp_path: Path, compression: int) -> None:
    """LZMA may ask for gigabytes of memory before it gives the first byte."""
    path = member(tmp_path / "a.npz", header((1,), "<f8") + b"\0" * 8, compression)
    assert "compression" in read_npz(path).problem


def test_arrays_together_may_not_take_more_than_allowed(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", **{f"a{i}": np.zeros(1000) for i in range(10)})
    assert read_npz(tmp_path / "a.npz", limits=ArrayLimits(memory_bytes=80_000)).value is not None
    assert "declares" in read_npz(tmp_path / "a.npz", limits=ArrayLimits(memory_bytes=79_999)).problem


def test_a_list_of_millions_of_members_is_a_problem(tmp_path: Path) -> None:
    """`zipfile` makes an object of each: ten times the size of the file."""
    entry = b"PK\x01\x02" + b"\0" * 24 + struct.pack("<H", 1) + b"\0" * 16 + b"a"
    count = 200_000
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count & 0xFFFF, count & 0xFFFF, len(entry) * count, 0, 0)
    (tmp_path / "a.npz").write_bytes(entry * count + end)
    assert "list of members" in read_npz(tmp_path / "a.npz").problem


def test_a_bomb_takes_no_memory(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as out,
    ):
        out.write(header((250_000_000,), "<f8"))
        for _ in range(200):
            out.write(b"\0" * 10**7)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    limits = ArrayLimits(memory_bytes=10**8)
    assert "declares an array of 2000000000 bytes" in read_npz(tmp_path / "a.npz", limits=limits).problem
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


def test_a_problem_is_told_in_the_same_words_by_every_process(tmp_path: Path) -> None:
    """Judging an attempt again compares the messages; an object's address would differ."""
    header = b"{'descr': f(), 'fortran_order': False, 'shape': (1,)}".ljust(117) + b"\n"
    data = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    (tmp_path / "a.npy").write_bytes(data)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("values.npy", data)
    for found in (read_npy(tmp_path / "a.npy"), read_npz(tmp_path / "a.npz")):
        assert found.value is None and "cannot be read as np" in found.sentence and "0x" not in found.sentence
