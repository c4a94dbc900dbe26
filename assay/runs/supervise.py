"""Watch one child: phases, limits, kill the whole tree, write the facts. `python -m assay.runs.supervise FOLDER`.

Every executor starts this same command on an attempt's folder. It writes `outcome.json` last, with a rename;
an attempt without it did not happen. Ended by a signal, or with its parent gone, it kills the child and writes
nothing: the job is simply tried again. It takes the attempt's lock and claims its cores by itself, and keeps both until
the facts are written. Exit codes: `assay.runs.exit_codes`.

`assay.runs.stay` is the same for one attempt after another, which can then be forked from nurseries.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from assay.files import Walk, remove_tree, write_json
from assay.jobs.folder import AttemptFolder
from assay.jobs.outcome import Facts
from assay.runs.attempt import Attempt
from assay.runs.devices import Devices, wait_for_devices
from assay.runs.exit_codes import CANNOT_WRITE, INTERRUPTED, NOT_OURS, WROTE_FACTS
from assay.runs.launch import Launch, read_launch
from assay.runs.machine import this_machine
from assay.runs.roots import given_roots
from assay.runs.sandbox.base import CannotFork, Streams
from assay.runs.sandbox.choose import make_sandbox
from assay.runs.sandbox.host_user import take_back
from assay.runs.sandbox.spawn import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, prctl
from assay.runs.watch import Disturbance
from assay.store.locks import hold_attempt

if TYPE_CHECKING:  # most supervisors have none
    from assay.runs.sandbox.nurseries import Nurseries

__all__ = ["Interrupted", "main", "prepare_process", "supervise", "supervise_held"]

CANNOT_WRITE_FOR = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.ENOENT)


class Interrupted(BaseException):
    """A signal asked the supervisor to end."""


def supervise(folder: AttemptFolder, nurseries: Nurseries | None = None) -> Facts:
    """Run the attempt described in its folder and return what happened; forked from a nursery, where there are any."""
    launch = read_launch(folder, given_roots(os.environ))
    if problem := _lack(launch):
        return Facts(launch.tier, "", setup_problem=problem, circumstances=launch.circumstances)
    with _devices(launch) as devices:
        return _supervise(folder, replace(launch, cores=devices.cores, gpus=devices.gpus), nurseries)


def _lack(launch: Launch) -> str:
    """Return what this machine can never give the attempt, so that nobody waits for it for ever."""
    machine = this_machine()
    needed = {"cores": 0 if launch.cores_shared else launch.n_cores, "GPUs": launch.n_gpus}
    there = {"cores": len(machine.cores), "GPUs": len(machine.gpus)}
    lacking = [
        f"{count} {what} (it has {there[what]})" for what, count in needed.items() if count > there[what]
    ]
    return f"{machine.host} cannot give it {' and '.join(lacking)}." if lacking and not launch.cores else ""


@contextlib.contextmanager
def _devices(launch: Launch) -> Iterator[Devices]:
    """Hold the devices of an attempt: those it was given, else as many of this machine's as it may use."""
    machine = this_machine()
    if launch.cores:
        yield Devices(launch.cores, launch.gpus)
        return
    n_cores = 0 if launch.cores_shared else launch.n_cores
    with wait_for_devices(n_cores, launch.n_gpus, machine, Path(launch.roots["locks"])) as claimed:
        yield Devices(claimed.cores or machine.cores[: launch.n_cores], claimed.gpus)


def _supervise(folder: AttemptFolder, launch: Launch, nurseries: Nurseries | None) -> Facts:
    disturbance, started = Disturbance(), datetime.now(UTC)
    cold_reason = launch.cold_reason or ("" if nurseries else "its supervisor runs one job only")
    attempt = Attempt(folder, launch, make_sandbox(launch, folder.path, None if cold_reason else nurseries))
    output, output_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    phases, phases_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(output_end, True)
    os.set_blocking(phases_end, True)
    try:
        streams = Streams(output_end, phases_end)
        pid, problem = _start(attempt, streams)
        cold_reason = cold_reason or problem
        facts = _follow(attempt, pid, output, phases) if pid else _not_started(attempt, problem)
    finally:
        for descriptor in (output, output_end, phases, phases_end):
            os.close(descriptor)
        try:
            attempt.sandbox.kill()
            attempt.sandbox.close()
        finally:
            take_back(folder.out)
            remove_tree(folder.tmp)
            _remove_partials(folder.out)
    circumstances = replace(
        disturbance.add_to(launch.circumstances),
        machine=this_machine(),
        cores=launch.cores,
        gpus=tuple(gpu.uuid for gpu in launch.gpus),
        cores_shared=launch.cores_shared,
        start="cold" if cold_reason else "warm",
        cold_reason=cold_reason,
    )
    ended = datetime.now(UTC)
    return replace(
        facts, started_at=started.isoformat(), ended_at=ended.isoformat(), circumstances=circumstances
    )


def _remove_partials(out: Path) -> None:
    """Remove files that a child was writing when it was killed: the contract renames a file when it is whole."""
    for entry in Walk(out):
        if entry.name.endswith(".partial") and stat.S_ISREG(entry.state.st_mode):
            with contextlib.suppress(OSError):
                os.unlink(entry.name, dir_fd=entry.folder)


def _start(attempt: Attempt, streams: Streams) -> tuple[int, str]:
    """Start the child, cold where it cannot be forked. Return its number, or 0, and what did not work."""
    try:
        try:
            return attempt.sandbox.start(streams), ""
        except CannotFork as problem:
            attempt.sandbox.kill()
            attempt.sandbox.close()
            attempt.sandbox = make_sandbox(attempt.launch, attempt.folder.path)
            return attempt.sandbox.start(streams), str(problem).rstrip(".")
    except (OSError, subprocess.SubprocessError) as error:  # the latter: what failed between fork and exec
        return 0, getattr(error, "strerror", None) or str(error)


def _not_started(attempt: Attempt, why: str) -> Facts:
    return Facts(
        enforcement=attempt.launch.tier,
        blindness=attempt.sandbox.blindness,
        setup_problem=f"{attempt.launch.argv[0]} could not be started: {why}",
    )


def _follow(attempt: Attempt, pid: int, output: int, phases: int) -> Facts:
    """Follow the child to its end, and see that nobody is left."""
    attempt.watch(pid, output, phases)
    left_behind = 0
    if attempt.stopped_for:
        attempt.sandbox.kill()
    ended = attempt.sandbox.wait()
    if not attempt.stopped_for:
        left_behind = attempt.sandbox.kill()
    attempt.sandbox.collect()
    return attempt.finish(ended, output, phases, left_behind)


def supervise_held(folder: AttemptFolder, nurseries: Nurseries | None = None) -> tuple[int, str]:
    """Supervise an attempt under its lock and write its facts; return the exit code and what is to be said of it."""
    lock = hold_attempt(folder)
    if lock is None:
        return NOT_OURS, f"{folder.path} is held, has ended, or has a successor"
    try:
        write_json(folder.outcome, supervise(folder, nurseries).to_json())
    except Interrupted:
        return INTERRUPTED, ""
    except OSError as error:
        if error.errno not in CANNOT_WRITE_FOR:
            raise
        return CANNOT_WRITE, str(error)
    finally:
        os.close(lock)
    return WROTE_FACTS, ""


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise Interrupted


def prepare_process() -> bool:
    """Make this process end with its parent, adopt orphans and be unreadable; return whether the parent is there."""
    parent = os.getppid()
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(OSError):
        prctl(PR_SET_DUMPABLE, 0)
    return os.getppid() == parent


def main(arguments: list[str] | None = None) -> int:
    """Supervise the attempt folder named on the command line."""
    words = sys.argv[1:] if arguments is None else arguments
    folder = AttemptFolder(Path(words[0]).absolute())
    try:
        if not prepare_process():
            return INTERRUPTED
        code, message = supervise_held(folder)
    except Interrupted:
        return INTERRUPTED
    if message:
        print(f"supervise: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
