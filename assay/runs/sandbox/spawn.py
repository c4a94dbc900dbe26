"""Start a child the same way in every tier: environment, descriptors, signals, parent-death."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from assay.runs.gpus import find_gpus, visible_gpus
from assay.runs.launch import Launch
from assay.runs.sandbox.base import Streams

__all__ = [
    "PR_SET_CHILD_SUBREAPER",
    "PR_SET_DUMPABLE",
    "PR_SET_NO_NEW_PRIVS",
    "PR_SET_PDEATHSIG",
    "child_environment",
    "drop_capabilities",
    "largest_file",
    "prctl",
    "spawn",
    "unreadable",
]

PR_SET_PDEATHSIG = 1
PR_GET_DUMPABLE = 3
PR_SET_DUMPABLE = 4
PR_CAPBSET_DROP = 24
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
_libc = ctypes.CDLL(None, use_errno=True)
KEYCTL = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine, -1)  # -1: no such call
JOIN_SESSION_KEYRING = 1
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
)


def prctl(option: int, value: int) -> None:
    """Set a property of this process; raises OSError."""
    if _libc.prctl(option, value, 0, 0, 0) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl({option}, {value}): {os.strerror(code)}")


def drop_capabilities() -> None:
    """Give up every capability at the next exec: a child of root must not be able to trace or to mount.

    Without this, root's children read any process's memory, whatever Landlock says. Does nothing for
    users who have none to drop.
    """
    with contextlib.suppress(OSError):  # ends at the first number the kernel does not know, or at once
        for capability in range(64):
            prctl(PR_CAPBSET_DROP, capability)


@contextlib.contextmanager
def unreadable() -> Iterator[None]:
    """Keep this process's memory from other processes of the same user for the length of a block."""
    before = _libc.prctl(PR_GET_DUMPABLE, 0, 0, 0, 0)
    prctl(PR_SET_DUMPABLE, 0)
    try:
        yield
    finally:
        if before == 1:
            prctl(PR_SET_DUMPABLE, 1)


def child_environment(launch: Launch, phases: int | None, home: str, path: str) -> dict[str, str]:
    """Return the whole environment of a child: nothing of the caller's is passed on. A nursery has no phases yet."""
    threads = {name: str(len(launch.cores) or launch.n_cores) for name in THREAD_VARIABLES}
    return {
        "PATH": path,
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
        "PYTHONHASHSEED": "0",
        **({} if phases is None else {"ASSAY_PHASES": f"/dev/fd/{phases}"}),
        **({"CUDA_VISIBLE_DEVICES": visible_gpus(launch.gpus)} if launch.gpus or find_gpus() else {}),
        **threads,
        **launch.environ,
    }


def largest_file(launch: Launch) -> int:
    """Return the size of the largest file: somewhat above the limit, so that the watch sees the limit passed."""
    return int(launch.disk_mb * 2**20 * 1.02) + 2**20


def spawn(
    argv: Sequence[str],
    environ: Mapping[str, str],
    streams: Streams,
    launch: Launch,
    cwd: Path | str,
    more_fds: Sequence[int] = (),
    before_exec: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own that dies with us.

    Must be called from the main thread: the parent-death signal is tied to the thread.
    """
    parent = os.getpid()
    most_bytes = largest_file(launch)

    def prepare() -> None:
        import resource

        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(125)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        _libc.syscall(
            KEYCTL, JOIN_SESSION_KEYRING, None
        )  # a new one: keys of the caller's could be read and left
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        if launch.cores:
            os.sched_setaffinity(0, launch.cores)
        if before_exec is not None:
            before_exec()

    return subprocess.Popen(
        list(argv),
        env=dict(environ),
        cwd=cwd,
        stdin=streams.input,
        stdout=streams.output,
        stderr=streams.output,
        pass_fds=(streams.phases, *more_fds),
        start_new_session=True,
        preexec_fn=prepare,
    )
