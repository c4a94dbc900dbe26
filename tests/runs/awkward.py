"""An executor that is as awkward as a batch system: everything goes through files, late, and workers get lost.

Attempts are written to a spool folder. A helper in a process tree of its own looks there now and then, starts the
supervisors, and writes down how they ended. It reaches the store, the caches and the interpreter by other paths than
the coordinator does. It outlives its coordinator until its supervisors have ended, and starts what was asked for even
then. `AWKWARD_LOSE=N` has one helper of a run kill itself when it has started its Nth supervisor.

As a script this file is the helper: `awkward.py SPOOL`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from functools import cached_property
from pathlib import Path

from assay.jobs.folder import AttemptFolder
from assay.runs.executors.base import ExecutorOptions, Finished
from assay.runs.exit_codes import NOT_OURS
from assay.runs.machine import choose_tier, this_machine
from assay.runs.place import Place, Share, clean_up
from assay.runs.roots import VARIABLE
from assay.store.locks import is_supervised

LOOK_S = 0.1  # how often the helper looks
DELAY_S = 0.3  # how long it leaves a request lying
POLL_S = 0.25  # how often the coordinator looks
GRACE_S = 10.0
HERE = Path(__file__).resolve()
# Two stay where they are: the locks, which other runs on this machine must see, and the installation of Python, which
# the environment in `interpreter` refers to by its path.
MOVED = ("store", "cache", "environments", "state", "frameworks", "interpreter")


def lock(path: Path) -> int | None:
    """Return a descriptor that holds the lock, or None where somebody else does."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return descriptor
    except BlockingIOError:
        os.close(descriptor)
        return None


def is_free(path: Path) -> bool:
    descriptor = lock(path)
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is not None


def write(path: Path, value: object) -> None:
    """Write JSON, whole or not at all."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps(value))
    partial.rename(path)


class Awkward:
    """The coordinator's side."""

    def __init__(self, options: ExecutorOptions) -> None:
        self.workers = options.workers or 2
        self._tier = options.tier
        base = os.environ.get("AWKWARD_SPOOL") or tempfile.gettempdir()
        self._spool = Path(base, f"awkward-{uuid.uuid4().hex[:8]}")
        self._running: dict[int, tuple[AttemptFolder, Share]] = {}
        self._number = 0
        self._lost: set[int] = set()  # what a helper had taken that is no more
        self._alive: int | None = None  # our own lock, by which the helper knows that we are there

    @cached_property
    def place(self) -> Place:
        moved = {name: str(self._spool / "mnt" / name) for name in MOVED}
        return Place(this_machine(), choose_tier(self._tier), moved)

    def has_room(self, share: Share) -> bool:
        taken = sum(other.cores for _, other in self._running.values())
        fits = share.is_shared or taken + share.cores <= len(self.place.machine.cores)
        return len(self._running) < self.workers and fits

    def submit(self, folder: AttemptFolder, share: Share) -> None:
        self._prepare(folder)
        self._number += 1
        if is_free(self._spool / "helper.lock"):
            self._lost.update(number for number in self._running if not self._request(number).exists())
        self._running[self._number] = (folder, share)
        write(self._request(self._number), self.place.folder(folder))
        if is_free(self._spool / "helper.lock"):
            # It may be killed before it is there: `poll` then sees that nobody holds the lock.
            subprocess.run([sys.executable, str(HERE), str(self._spool)], env=self._environ())

    def _request(self, number: int) -> Path:
        return self._spool / "requests" / f"{number}.json"

    def _prepare(self, folder: AttemptFolder) -> None:
        """Make the spool and the other ways to our folders."""
        if self._alive is not None:
            return
        for name in ("requests", "answers", "mnt"):
            (self._spool / name).mkdir(parents=True)
        self._alive = lock(self._spool / "coordinator.lock")
        roots = {**json.loads(folder.attempt.read_text())["roots"], "store": str(folder.root.parent)}
        for name in MOVED:
            (self._spool / "mnt" / name).symlink_to(roots[name])

    def _environ(self) -> dict[str, str]:
        """Return the helper's environment, in which our own folders are nowhere."""
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        return {**kept, "ASSAY_CACHE": "/nowhere", "ASSAY_STATE": "/nowhere", **self.place.environ()}

    def poll(self, timeout_s: float) -> list[Finished]:
        deadline = time.monotonic() + timeout_s
        while True:
            ended = self._answers() if self._running else []
            if ended or not self._running or time.monotonic() >= deadline:
                return ended
            time.sleep(POLL_S)

    def _answers(self) -> list[Finished]:
        is_lost = is_free(self._spool / "helper.lock")  # before the answers: it may write one and end
        ended = []
        for number in list(self._running):
            path = self._spool / "answers" / f"{number}.json"
            if path.exists():
                code, message = json.loads(path.read_text())
                ended.append(Finished(self._running.pop(number)[0], code, message))
            elif (is_lost or number in self._lost) and not is_supervised(self._running[number][0]):
                self._request(number).unlink(missing_ok=True)
                ended.append(Finished(self._running.pop(number)[0], -9, "the helper was lost"))
        return ended

    def cancel(self) -> None:
        if self._alive is None:
            return
        (self._spool / "cancel").touch()
        while not is_free(self._spool / "helper.lock") or any(
            is_supervised(folder) for folder, _ in self._running.values()
        ):
            time.sleep(LOOK_S)
        self._running.clear()
        os.close(self._alive)
        self._alive = None
        shutil.rmtree(self._spool, ignore_errors=True)


class Helper:
    """The other side: starts supervisors for requests and writes answers."""

    def __init__(self, spool: Path) -> None:
        self.spool = spool
        self.running: dict[str, tuple[subprocess.Popen[bytes], AttemptFolder]] = {}
        self.started = 0

    def work(self) -> None:
        """Go on until told to stop, or until our coordinator is gone and nothing is left to do."""
        while not (self.spool / "cancel").exists():
            is_alone = is_free(self.spool / "coordinator.lock")
            requests = sorted((self.spool / "requests").glob("*.json"))
            for path in requests:
                if time.time() - path.stat().st_mtime > DELAY_S:
                    self.start(path)
            self.collect()
            if is_alone and not self.running and not requests:
                shutil.rmtree(self.spool, ignore_errors=True)
                return
            time.sleep(LOOK_S)
        self.stop()

    def start(self, request: Path) -> None:
        folder = AttemptFolder(Path(json.loads(request.read_text())))
        command = [sys.executable, "-I", "-m", "assay.runs.supervise", str(folder.path)]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self.running[request.stem] = (process, folder)
        request.unlink()
        self.started += 1
        if str(self.started) == os.environ.get("AWKWARD_LOSE") and not (self.spool / "lost").exists():
            (self.spool / "lost").touch()
            time.sleep(1.0)
            os.kill(os.getpid(), signal.SIGKILL)

    def collect(self) -> None:
        for name, (process, folder) in list(self.running.items()):
            if process.poll() is None:
                continue
            del self.running[name]
            _, errors = process.communicate()
            if not folder.is_complete and process.returncode != NOT_OURS:
                clean_up(folder)
            lines = errors.decode("utf-8", "replace").strip().splitlines()
            write(self.spool / "answers" / f"{name}.json", [process.returncode, lines[-1] if lines else ""])

    def stop(self) -> None:
        for process, _ in self.running.values():
            process.terminate()
        deadline = time.monotonic() + GRACE_S
        while self.running:
            self.collect()
            if time.monotonic() > deadline:
                for process, _ in self.running.values():
                    process.kill()
            time.sleep(LOOK_S)


def main(spool: Path) -> None:
    """Become a process of nobody's, in a session of its own, that holds the helper's lock."""
    if lock(spool / "helper.lock") is None:
        return
    if os.fork():
        os._exit(0)
    os.setsid()
    for descriptor in (0, 1, 2):
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
    assert VARIABLE in os.environ
    Helper(spool).work()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
