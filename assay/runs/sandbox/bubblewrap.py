"""Start bubblewrap: its words and its system-call filter through memory, nothing of ours in its environment."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Sequence

from assay.runs.launch import Launch
from assay.runs.sandbox.base import Streams
from assay.runs.sandbox.host_user import INSIDE
from assay.runs.sandbox.spawn import spawn

__all__ = ["AS_ANOTHER", "AS_CALLER", "SETPRIV", "become", "run_bubblewrap"]

AS_CALLER = ("--unshare-user", "--uid", str(INSIDE), "--gid", str(INSIDE))
# Of root's privileges, what it takes to become somebody else for good.
AS_ANOTHER = tuple(word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}"))
SETPRIV = "/usr/bin/setpriv"


def become(user: int) -> list[str]:
    """Return the words before a command that make it another user's, for good."""
    return [SETPRIV, f"--reuid={user}", f"--regid={user}", "--clear-groups", "--bounding-set=-all",
            "--inh-caps=-all", "--no-new-privs", "--pdeathsig=KILL", "--"]  # fmt: skip


def run_bubblewrap(
    words: Sequence[str],
    command: Sequence[str],
    streams: Streams,
    launch: Launch,
    program: bytes,
    passed: Sequence[int] = (),
    before_exec: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a command in a sandbox that these words describe, behind the system-call filter `program`."""
    with contextlib.ExitStack() as held:
        numbers = list(passed)
        if program:
            numbers.append(_in_memory(held, "seccomp", program))
            words = [*words, "--seccomp", str(numbers[-1])]
        arguments = _in_memory(held, "arguments", b"".join(word.encode() + b"\0" for word in words))
        bwrap = shutil.which("bwrap") or "/usr/bin/bwrap"
        # bubblewrap's own environment would be readable at /proc/1/environ: it gets none.
        argv = [bwrap, "--args", str(arguments), "--", *command]
        return spawn(argv, {}, streams, launch, "/", (arguments, *numbers), before_exec)


def _in_memory(held: contextlib.ExitStack, name: str, content: bytes) -> int:
    """Return a descriptor from which this content can be read."""
    descriptor = os.memfd_create(f"assay-{name}")
    held.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
