"""The measuring of what a run left behind sees what is left behind."""

from __future__ import annotations

import socket
import subprocess
import tempfile
from pathlib import Path

from benchmarks.leftovers import look, remembered


def test_a_process_a_port_and_a_folder_are_seen(tmp_path: Path) -> None:
    before = remembered(tmp_path / "before.json")
    with tempfile.TemporaryDirectory(prefix="ray-like-") as folder, socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        with subprocess.Popen(["sleep", "3456"]) as process:
            found = look().since(remembered(tmp_path / "before.json"))
            process.kill()
    assert f"processes: {process.pid} sleep 3456" in found
    assert f"files: {folder}" in found
    assert any(one.startswith("ports: 127.0.0.1:") for one in found)
    assert not [one for one in look().since(before) if "3456" in one or "ray-like" in one]
