"""The supervisor's side of a nursery: start it in a sandbox without data, and have it fork one job after another.

The nursery imports foreign code, so it is not trusted: it is confined like a job, it is stopped while a job that was
forked from it runs, and what the kernel says of it and of the job is looked at before the job sees any data
(`assay.runs.sandbox.inspect`). Whatever is not as it should be ends the nursery, and the job starts cold.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.runs.launch import Launch
from assay.runs.sandbox.base import CannotFork, Streams
from assay.runs.sandbox.bubblewrap import AS_ANOTHER, AS_CALLER, become, run_bubblewrap
from assay.runs.sandbox.cgroup import Cgroup, find_cgroup
from assay.runs.sandbox.description import MOUNT_PROC, inside, nursery_arguments
from assay.runs.sandbox.host_user import INSIDE, choose_host_user, make_readable
from assay.runs.sandbox.inspect import inspect_nursery, inspect_scratch
from assay.runs.sandbox.live import Slot, open_slot
from assay.runs.sandbox.processes import pending_signals, process_status, stop
from assay.runs.sandbox.seccomp import filter_program

__all__ = ["GROUP", "Hatched", "Nursery", "nursery_command"]

GROUP = "nursery"  # its control groups are called nursery-PID-NUMBER, after its supervisor
ANSWER_S = 30.0  # for a step that takes milliseconds
STATUS = struct.Struct("ii")  # a process of the nursery's namespace, and how it ended


@dataclass(frozen=True)
class Hatched:
    """A job that waits in its sandbox.

    Attributes:
        first: the first process of its namespace, which does nothing.
        job: the job's own process.
        known_as: the number of the job's process in the nursery's namespace.
        channel: the socket to let it go.
        link: the other end of that socket, as the kernel names it.
    """

    first: int
    job: int
    known_as: int
    channel: socket.socket
    link: str


def nursery_command(launch: Launch, control: int, status: int) -> list[str]:
    """Return the command of a nursery, made from that of a job: only our own child can be one."""
    program, *words = inside(launch)
    at = next((at for at, word in enumerate(words) if word.endswith("/child.py")), None)
    if at is None or len(words) != at + 3:
        raise CannotFork("it is not a Python adapter.")
    return [program, *words[: at + 1], "--nursery", str(control), str(status), words[at + 2]]


class Nursery:
    """One confined process that has imported an adapter. It is stopped, except while it starts and forks."""

    def __init__(self, launch: Launch, name: str) -> None:
        self.launch = launch
        self.jobs = 0
        self.pid = 0
        self.is_well = False
        self._name = name
        self._group: Cgroup | None = None
        self._slot: Slot | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._socket_inode = 0
        self._status = -1

    @property
    def can_fork(self) -> bool:
        """Whether the last job went as it should, and the nursery is still there."""
        with contextlib.suppress(OSError):
            return self.is_well and process_status(self.pid)["State"][:1] == "T"
        return False

    @property
    def slot(self) -> Slot:
        """Return the folder in which jobs are laid out."""
        assert self._slot is not None
        return self._slot

    @property
    def log(self) -> Path:
        """Return what it printed."""
        return self.slot.path / "log.txt"

    @property
    def readable(self) -> tuple[str, ...]:
        """Return the folders whose files it may have mapped."""
        return ("/usr", "/lib", "/lib64", *self.launch.readable)

    def start(self) -> None:
        """Start it and wait until it has imported its adapter; raises CannotFork."""
        self._group = find_cgroup(self._name)
        if self._group is None:
            raise CannotFork("there are no control groups.")
        self._group.create(self.launch.memory_mb, self.launch.processes, sorted(os.sched_getaffinity(0)))
        self._slot = open_slot(self.launch)
        self.log.touch()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        self._socket_inode = os.fstat(theirs.fileno()).st_ino
        self._status, status_end = os.pipe2(os.O_CLOEXEC)
        try:
            with theirs:
                self._spawn(theirs.fileno(), status_end)
        finally:
            os.close(status_end)
        answer = self._hear(ours, self.launch.limits_s.get("start", 300.0))
        said = _parse(answer)
        if "error" in said:
            raise CannotFork(str(said["error"])[:300])
        if said.get("lost_threads"):
            raise CannotFork("its import starts threads, which a fork would lose.")
        self.pid = self._find()
        stop(self.pid)
        self._inspect()
        self.is_well = True

    def _spawn(self, control: int, status: int) -> None:
        assert self._group is not None
        user = choose_host_user() if os.geteuid() == 0 else None
        make_readable(
            (self.slot.path, self.slot.place, *(self.slot.path / "code").rglob("*"), self.slot.path / "code")
        )
        # Without cores: a job that is forked from it later may have other ones.
        launch = replace(self.launch, code=str(self.slot.path / "code"), cores=())
        words = nursery_arguments(launch, self.slot.place, self._group.file_systems())
        command = nursery_command(launch, control, status)
        words += AS_CALLER if user is None else [*AS_ANOTHER, "--cap-add", "CAP_SYS_ADMIN"]
        command = command if user is None else [*MOUNT_PROC, *become(user), *command]
        group, program = self._group, filter_program(to_enter=True)
        with open(self.log, "rb") as reader, open(self.log, "ab") as writer:
            streams = Streams(writer.fileno(), control, reader.fileno())
            self._process = run_bubblewrap(
                words, command, streams, launch, program, (status,), lambda: group.join(os.getpid())
            )

    def _find(self) -> int:
        """Return the number of the process that holds the other end of the control socket, as the kernel has it."""
        assert self._group is not None and self._process is not None
        link = f"socket:[{self._socket_inode}]"
        for pid in self._group.pids():
            if pid == self._process.pid:
                continue
            with contextlib.suppress(OSError):
                folder = f"/proc/{pid}/fd"
                if any(os.readlink(f"{folder}/{name}") == link for name in os.listdir(folder)):
                    return pid
        raise CannotFork("the nursery cannot be found.")

    def fork(
        self, group: Cgroup, plan: dict[str, Any], descriptors: Sequence[int], user: int | None
    ) -> Hatched:
        """Fork a process into a control group and have it enter its sandbox; it waits there. The nursery is stopped.

        Args:
            group: of the job.
            plan: what the new process is to do (`assay.frameworks.border.nursery`).
            descriptors: where its output and its phases are written to; the nursery never sees them.
            user: of the host, which the process becomes; None where it stays the caller.
        """
        assert self._control is not None
        self.is_well = False  # until all went as it should
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        link = f"socket:[{os.fstat(theirs.fileno()).st_ino}]"
        try:
            with theirs:
                # What the last job left for the nursery while that was stopped.
                if problem := inspect_scratch(self.pid, self.launch.readable) or pending_signals(self.pid):
                    raise CannotFork(f"{problem}.")
                os.kill(self.pid, signal.SIGCONT)
                socket.send_fds(self._control, [b"fork"], [theirs.fileno()])
            pid = self._step(ours, "forked")
            group.join(pid)
            socket.send_fds(ours, [json.dumps({**plan, "map": user is None}).encode()], list(descriptors))
            self._step(ours, "unshared")
            if user is not None:
                for name in ("uid_map", "gid_map"):
                    Path(f"/proc/{pid}/{name}").write_text(f"{INSIDE} {user} 1\n", encoding="ascii")
            ours.send(b"mapped")
            job = self._step(ours, "ready")
            self._hear(self._control, ANSWER_S)  # the process between the nursery and the job has ended
            stop(self.pid)
            self._inspect()
            return Hatched(self._other(group, job), job, self._known_as(job), ours, link)
        except BaseException:
            ours.close()
            raise

    def _other(self, group: Cgroup, job: int) -> int:
        """Return the first process of a job's namespace; it and the job must be all that there is."""
        others = [pid for pid in group.pids() if pid != job]
        if len(others) != 1:
            raise CannotFork("it has started more processes than its own.")
        for pid in (job, *others):
            if process_status(pid)["PPid"] != process_status(self.pid)["PPid"]:
                raise CannotFork("it is still a child of the nursery.")
        return others[0]

    def _known_as(self, job: int) -> int:
        """Return the number of a process in the nursery's namespace, one level above its own."""
        return int(process_status(job)["NSpid"].split()[-2])

    def wait(self, known_as: int) -> int | None:
        """Return how an adopted process ended, as the first process of the namespace saw it; None if that is gone."""
        deadline = time.monotonic() + ANSWER_S
        while select.select([self._status], [], [], max(0.0, deadline - time.monotonic()))[0]:
            text = os.read(self._status, STATUS.size)
            if len(text) != STATUS.size:
                break
            pid, how = STATUS.unpack(text)
            if pid == known_as:
                return int(how)
        return None

    def _step(self, channel: socket.socket, expected: str) -> int:
        """Wait for a message of a new process and return the number that the kernel says it has."""
        if not _is_ready(channel, ANSWER_S):
            raise CannotFork(f"a new process did not answer within {ANSWER_S:g} s ({expected}).")
        data, ancillary, _, _ = channel.recvmsg(1 << 16, socket.CMSG_SPACE(12))
        text = data.decode("utf-8", "replace")
        if text != expected:
            raise CannotFork(f"a new process could not enter its sandbox: {text[:300] or 'it ended'}")
        (credentials,) = (content for _, kind, content in ancillary if kind == socket.SCM_CREDENTIALS)
        return int(struct.unpack("3i", credentials)[0])

    def _hear(self, channel: socket.socket, most_s: float) -> bytes:
        if not _is_ready(channel, most_s):
            raise CannotFork(f"its nursery did not answer within {most_s:g} s.")
        if not (data := channel.recv(1 << 16)):
            raise CannotFork("its nursery ended.")
        return data

    def _inspect(self) -> None:
        assert self._group is not None and self._process is not None
        expected = {self.pid, int(process_status(self.pid)["PPid"]), self._process.pid}
        if set(self._group.pids()) != expected:
            raise CannotFork("its import leaves another process, which would not be stopped.")
        problem = inspect_nursery(self.pid, str(self.log), self._socket_inode, self.readable)
        problem = problem or inspect_scratch(self.pid, self.launch.readable)
        if problem:
            raise CannotFork(f"{problem}.")

    def close(self) -> None:
        """End it and remove what it had. It may be called twice."""
        self.is_well = False
        if self._control is not None:
            self._control.close()
            self._control = None
        if self._group is not None:
            self._group.kill()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
        if self._group is not None:
            self._group.remove()
            self._group = None
        if self._slot is not None:
            self._slot.remove()
            self._slot = None
        if self._status >= 0:
            os.close(self._status)
            self._status = -1


def _is_ready(channel: socket.socket, most_s: float) -> bool:
    return bool(select.select([channel], [], [], most_s)[0])


def _parse(answer: bytes) -> dict[str, Any]:
    try:
        said = json.loads(answer)
    except (ValueError, RecursionError):
        raise CannotFork("its nursery answered nonsense.") from None
    return said if isinstance(said, dict) else {}
