"""What a run left behind on the machine: processes, listening ports, and files where frameworks put theirs."""

from __future__ import annotations

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

# Ray's and joblib's sessions, Dask's scratch, H2O's folders, shared memory and kernels' caches would lie here.
KERNEL = 2  # the parent of all kernel threads
PLACES = (
    Path(tempfile.gettempdir()),
    Path("/var/tmp"),
    Path("/dev/shm"),
    Path.home(),
    Path.home() / ".cache",
)


@dataclass(frozen=True)
class Traces:
    """What is there at a moment, each as a line of text."""

    processes: frozenset[str]
    ports: frozenset[str]
    files: frozenset[str]

    def since(self, before: Traces) -> list[str]:
        """Return what was not there before, sorted."""
        found = []
        for kind in ("processes", "ports", "files"):
            found += [f"{kind}: {one}" for one in sorted(getattr(self, kind) - getattr(before, kind))]
        return found


def look() -> Traces:
    """Return the processes of this machine but for the kernel's and this one, listening ports, and usual places."""
    processes = set()
    for process in psutil.process_iter(["pid", "ppid", "cmdline", "name"]):
        if process.info["pid"] == os.getpid() or KERNEL in (process.info["pid"], process.info["ppid"]):
            continue
        words = process.info["cmdline"] or [f"[{process.info['name']}]"]
        processes.add(f"{process.info['pid']} {' '.join(words)[:150]}")
    sockets = [*psutil.net_connections("tcp"), *psutil.net_connections("udp")]
    ports = {f"{s.laddr.ip}:{s.laddr.port}" for s in sockets if s.status in ("LISTEN", "NONE")}
    files = {str(entry) for place in PLACES if place.is_dir() for entry in place.iterdir()}
    return Traces(frozenset(processes), frozenset(ports), frozenset(files))


def remembered(path: Path) -> Traces:
    """Return what was there when this was first asked with this file: a run may be killed and taken up again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text(json.dumps({key: sorted(value) for key, value in asdict(look()).items()}))
    return Traces(**{key: frozenset(value) for key, value in json.loads(path.read_text()).items()})
