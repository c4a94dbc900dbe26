"""The guarded reader: every kind of file that is not what it should be becomes a problem with a reason."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import StoreError
from assay.files import (
    Read,
    check_plain,
    digest_file,
    is_regular,
    read_bytes,
    read_json,
    read_tail,
    read_text,
    read_toml,
)
from assay.files.arrays import read_npy, read_npz

READERS: dict[str, Callable[..., Read[Any]]] = {
    "bytes": read_bytes, "text": read_text, "json": read_json, "tail": read_tail, "digest": digest_file,
    "npz": read_npz, "npy": read_npy,
}  # fmt: skip


def link(path: Path) -> None:
    path.with_name("target").write_text("{}")
    path.symlink_to("target")


def link_to_zeros(path: Path) -> None:
    path.symlink_to("/dev/zero")


STRANGE = {
    "missing": (lambda path: None, "does not exist"),
    "link": (link, "cannot be opened"),
    "zeros": (link_to_zeros, "cannot be opened"),
    "dangling": (lambda path: path.symlink_to("nowhere"), "cannot be opened"),
    "loop": (lambda path: path.symlink_to(path.name), "cannot be opened"),
    "folder": (lambda path: path.mkdir(), "is not a regular file"),
    "pipe": (os.mkfifo, "is not a regular file"),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", STRANGE)
def test_what_is_not_a_regular_file_is_a_problem_for_every_reader(
    tmp_path: Path, reader: str, kind: str
) -> None:
    make, word = STRANGE[kind]
    make(tmp_path / "file")
    found = READERS[reader](tmp_path / "file")
    assert found.value is None and word in found.problem
    assert found.is_missing == (kind == "missing")
    assert found.sentence == f"{tmp_path / 'file'} {found.problem}"
    assert not is_regular(tmp_path / "file")
    with pytest.raises(StoreError, match="file"):
        found.get()


@pytest.mark.parametrize("reader", READERS)
def test_a_name_with_a_null_byte_is_a_problem(tmp_path: Path, reader: str) -> None:
    assert "cannot be opened" in READERS[reader](tmp_path / "a\0b").problem


@pytest.mark.parametrize("reader", READERS)
def test_below_a_root_no_folder_may_be_a_link(tmp_path: Path, reader: str) -> None:
    real = tmp_path / "elsewhere"
    real.mkdir()
    (real / "file").write_text("{}")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "artifacts").symlink_to(real)
    path = tmp_path / "out" / "artifacts" / "file"
    assert "cannot be opened" in READERS[reader](path, root=tmp_path).problem
    assert "cannot be opened" not in READERS[reader](path).problem, (
        "without a root only the file itself counts"
    )
    outward = tmp_path / "out" / ".." / "elsewhere" / "file"
    assert "leads out" in READERS[reader](outward, root=tmp_path / "out").problem


def test_no_descriptor_is_left_open(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("{}")
    (tmp_path / "folder").mkdir()
    before = len(os.listdir("/proc/self/fd"))
    for reader in READERS.values():
        for name in ("file", "folder", "none", "folder/none"):
            reader(tmp_path / name, root=tmp_path)
    assert len(os.listdir("/proc/self/fd")) == before


def test_more_bytes_than_allowed_are_a_problem_and_are_not_read(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        file.truncate(10**12)
    for reader in (read_bytes, read_text, read_json, digest_file):
        assert reader(tmp_path / "file", most=1000).problem == "has more than 1000 bytes"
    for arrays in (read_npz, read_npy):
        assert "has 1000000000000 bytes" in arrays(tmp_path / "file").problem
    assert len(read_tail(tmp_path / "file", most=500).get()) == 500


def test_size_is_what_is_read_and_not_what_is_said() -> None:
    """Files of /proc claim to be empty."""
    assert read_bytes(Path("/proc/self/stat")).get()
    assert read_bytes(Path("/proc/self/stat"), most=3).problem == "has more than 3 bytes"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "not JSON"), ("{", "not JSON"), ("[1]", "is not an object"), ("1", "is not an object"),
        ("[" * 200_000, "not JSON"), ('{"a":' * 102 + "1" + "}" * 102, "nested too deeply"),
        ('{"a": ' + "9" * 5000 + "}", "not JSON"),
    ],
)  # fmt: skip
def test_what_is_no_object_is_a_problem(tmp_path: Path, text: str, word: str) -> None:
    (tmp_path / "file").write_text(text)
    assert word in read_json(tmp_path / "file").problem


def test_json_that_cannot_be_written_again_is_made_plain(tmp_path: Path) -> None:
    (tmp_path / "file").write_text(
        '{"a": NaN, "b": [1e999, -1e999], "c": 9223372036854775808, "\\ud800": "x\\udfffy", "d": 0.1}'
    )
    found = read_json(tmp_path / "file").get()
    assert found == {"a": None, "b": [None, None], "c": None, "?": "x?y", "d": 0.1}
    json.dumps(found, allow_nan=False).encode()


def test_nesting_is_cut_where_asked(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"a": ' + "[" * 50 + "1" + "]" * 50 + ', "b": 1}')
    assert read_json(tmp_path / "file", depth=60).get()["b"] == 1
    assert "nested too deeply" in read_json(tmp_path / "file", depth=40).problem
    assert read_json(tmp_path / "file", depth=40, cut=True).get()["b"] == 1


@pytest.mark.parametrize("value", [{"a": 2**63}, {"a": "\ud800"}, {"\udfff": 1}, {"a": [[[[1]]]]}])
def test_what_would_change_on_the_way_through_a_file_is_refused_before(value: Any) -> None:
    with pytest.raises(ValueError, match=r"half|nested"):
        check_plain(value, 3)


def test_then_turns_wrong_content_into_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text('{"a": 1}')
    found = read_json(tmp_path / "file")
    assert found.then(lambda value: value["a"]).get() == 1
    for make in (lambda value: value["b"], lambda value: int(value), lambda value: int("x")):
        assert "has unexpected content" in found.then(make).problem
    assert read_json(tmp_path / "none").then(lambda value: 1).is_missing


def test_text_is_utf_8_and_a_tail_is_anything(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"gr\xfcn")
    assert read_text(tmp_path / "file").problem == "is not UTF-8 (byte 2)"
    assert read_tail(tmp_path / "file").get() == "gr\ufffdn"


@pytest.mark.parametrize("text", ["a = " + "[" * 10_000, "a", 'a = "\\ud800"', "a = 1\na = 2"])
def test_bad_toml_is_a_problem(tmp_path: Path, text: str) -> None:
    (tmp_path / "file").write_text(text)
    assert read_toml(tmp_path / "file").value is None
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "file").write_text("a = 1")
    assert read_toml(tmp_path / "link").get() == {"a": 1}, "a user may name a link"
