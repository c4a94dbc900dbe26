"""The log keeps the beginning and the end of any amount of output."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.runs import log
from assay.runs.log import HEAD_BYTES, TAIL_BYTES, CutLog


def write(path: Path, *parts: bytes) -> CutLog:
    made = CutLog(path)
    for part in parts:
        made.add(part)
    made.close()
    return made


@pytest.mark.parametrize("extra", [-1, 0])
def test_what_fits_is_kept_whole(tmp_path: Path, extra: int) -> None:
    data = bytes(i % 251 for i in range(HEAD_BYTES + TAIL_BYTES + extra))
    made = write(tmp_path / "log", data)
    assert (tmp_path / "log").read_bytes() == data
    assert made.seen == len(data) and not made.is_cut


def test_one_byte_too_many_is_cut_from_the_middle(tmp_path: Path) -> None:
    data = b"a" * HEAD_BYTES + b"X" + b"b" * TAIL_BYTES
    made = write(tmp_path / "log", data)
    said = "\n… 1 bytes of output were cut here …\n".encode()
    assert (tmp_path / "log").read_bytes() == b"a" * HEAD_BYTES + said + b"b" * TAIL_BYTES
    assert made.is_cut


def test_no_output_is_an_empty_file(tmp_path: Path) -> None:
    write(tmp_path / "log")
    assert (tmp_path / "log").read_bytes() == b""


def test_the_head_is_on_disk_at_once(tmp_path: Path) -> None:
    """Whoever follows a running job sees what it says."""
    made = CutLog(tmp_path / "log")
    made.add(b"hello")
    assert (tmp_path / "log").read_bytes() == b"hello"
    made.close()


def test_memory_stays_bounded_by_twice_the_tail(tmp_path: Path) -> None:
    made = CutLog(tmp_path / "log")
    for _ in range(50):
        made.add(b"x" * 2**18)
        assert len(made._tail) <= 2 * TAIL_BYTES + 2**18
    made.close()
    assert (tmp_path / "log").stat().st_size < HEAD_BYTES + TAIL_BYTES + 100


@given(st.lists(st.binary(max_size=40), max_size=30))
def test_head_and_tail_are_kept_however_the_output_arrives(parts: list[bytes]) -> None:
    head, tail, data = 16, 8, b"".join(parts)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(log, "HEAD_BYTES", head)
        patch.setattr(log, "TAIL_BYTES", tail)
        made = write(Path(folder, "log"), *parts)
        found, is_cut = Path(folder, "log").read_bytes(), made.is_cut
    assert made.seen == len(data) and is_cut == (len(data) > head + tail)
    if is_cut:
        assert found.startswith(data[:head]) and found.endswith(data[-tail:])
        assert f" {len(data) - head - tail} bytes".encode() in found
    else:
        assert found == data
