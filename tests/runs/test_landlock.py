"""Landlock in a forked child: what is not on the list is refused, by the kernel."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.runs.sandbox.landlock import abi, restrict

needs_landlock = pytest.mark.skipif(abi() < 1, reason="this kernel has no Landlock")


def in_child(act: Callable[[], str]) -> str:
    """Return what `act` returns in a forked child, or the name of what it raises."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            text = act()
        except BaseException as error:
            text = type(error).__name__
        os.write(writer, text.encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        text = file.read().decode()
    os.waitpid(pid, 0)
    return text


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name in ("readable", "writable", "hidden"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    return tmp_path


def restricted(files: Path, act: Callable[[], str], network: bool = False) -> str:
    def run() -> str:
        restrict([files / "readable", files / "not there"], [files / "writable"], network)
        return act()

    return in_child(run)


@needs_landlock
def test_a_file_outside_the_list_is_refused(files: Path) -> None:
    assert restricted(files, (files / "hidden" / "file").read_text) == "PermissionError"
    assert restricted(files, lambda: str(os.listdir(files / "hidden"))) == "PermissionError"
    assert restricted(files, lambda: str((files / "hidden" / "new").write_text("x"))) == "PermissionError"
    assert (files / "hidden" / "file").read_text() == "hidden", "the parent is not restricted"


@needs_landlock
def test_what_is_on_the_list_works_as_far_as_it_goes(files: Path) -> None:
    assert restricted(files, (files / "readable" / "file").read_text) == "readable"
    assert restricted(files, lambda: str((files / "readable" / "file").write_text("x"))) == "PermissionError"
    assert restricted(files, lambda: str((files / "writable" / "new").write_text("abc"))) == "3"
    assert (files / "writable" / "new").read_text() == "abc"


@needs_landlock
def test_a_link_or_a_rename_does_not_lead_out(files: Path) -> None:
    (files / "writable" / "link").symlink_to(files / "hidden" / "file")
    assert restricted(files, (files / "writable" / "link").read_text) == "PermissionError"

    def move() -> str:
        os.rename(files / "readable" / "file", files / "writable" / "moved")
        return "moved"

    assert restricted(files, move) in ("PermissionError", "OSError")


@needs_landlock
def test_a_child_of_the_child_is_bound_too(files: Path) -> None:
    def act() -> str:
        return in_child((files / "hidden" / "file").read_text)

    assert restricted(files, act) == "PermissionError"


@needs_landlock
@pytest.mark.skipif(abi() < 4, reason="TCP is refused from Landlock 4 on")
def test_tcp_is_refused_unless_the_network_is_allowed(files: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()

        def connect() -> str:
            with socket.socket() as client:
                client.connect(address)
            return "connected"

        def bind() -> str:
            with socket.socket() as client:
                client.bind(("127.0.0.1", 0))
            return "bound"

        assert restricted(files, connect) == "PermissionError"
        assert restricted(files, bind) == "PermissionError"
        assert restricted(files, connect, network=True) == "connected"
        assert restricted(files, bind, network=True) == "bound"


def test_a_kernel_without_landlock_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["assay.runs.sandbox.landlock"], "abi", lambda: 0)
    with pytest.raises(OSError, match="no Landlock"):
        restrict([], [])
