"""Watch one child: phases, limits, kill the whole tree, write the facts. `python -m assay.runs.supervise FOLDER`.

Every executor starts this same command on an attempt's folder. It writes `outcome.json` last, with a rename;
an attempt without it did not happen. Ended by a signal, or with its parent gone, it kills the child and writes
nothing: the job is simply tried again. It takes the attempt's lock and claims its cores by itself, and keeps both as
long as it lives. Exit codes: `assay.runs.exit_codes`.
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

from assay.files import Walk, remove_tree, write_json
from assay.jobs.folder import AttemptFolder
from assay.jobs.outcome import Facts
from assay.runs.attempt import Attempt
from assay.runs.devices import Devices, wait_for_devices
from assay.runs.exit_codes import CANNOT_WRITE, INTERRUPTED, NOT_OURS, WROTE_FACTS
from assay.runs.launch import Launch, read_launch
from assay.runs.machine import this_machine
from assay.runs.roots import given_roots
from assay.runs.sandbox.base import Streams
from assay.runs.sandbox.host_user import take_back
from assay.runs.sandbox.spawn import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, prctl
from assay.runs.watch import Disturbance
from assay.store.locks import hold_attempt

__all__ = ["main", "supervise"]

CANNOT_WRITE_FOR = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.ENOENT)


class Interrupted(BaseException):
    """A signal asked the supervisor to end."""


def supervise(folder: AttemptFolder) -> Facts:
    """Run the attempt described in its folder and return what happened."""
    launch = read_launch(folder, given_roots(os.environ))
    if problem := _lack(launch):
        return Facts(launch.tier, "", setup_problem=problem, circumstances=launch.circumstances)
    with _devices(launch) as devices:
        return _supervise(folder, replace(launch, cores=devices.cores, gpus=devices.gpus))


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


def _supervise(folder: AttemptFolder, launch: Launch) -> Facts:
    for path in (folder.out, folder.tmp):
        path.mkdir(exist_ok=True)
    disturbance, started = Disturbance(), datetime.now(UTC)
    attempt = Attempt(folder, launch)
    output, output_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    phases, phases_end = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
    os.set_blocking(output_end, True)
    os.set_blocking(phases_end, True)
    try:
        facts = _follow(attempt, Streams(output_end, phases_end), output, phases)
    finally:
        attempt.sandbox.kill()
        attempt.sandbox.close()
        take_back(folder.out)
        remove_tree(folder.tmp)
        _remove_partials(folder.out)
        for descriptor in (output, output_end, phases, phases_end):
            os.close(descriptor)
    circumstances = replace(
        disturbance.add_to(launch.circumstances),
        machine=this_machine(),
        cores=launch.cores,
        gpus=tuple(gpu.uuid for gpu in launch.gpus),
        cores_shared=launch.cores_shared,
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


def _follow(attempt: Attempt, streams: Streams, output: int, phases: int) -> Facts:
    """Start the child, follow it to its end, and see that nobody is left."""
    try:
        pid = attempt.sandbox.start(streams)
    except (OSError, subprocess.SubprocessError) as error:  # the latter: what failed between fork and exec
        why = getattr(error, "strerror", None) or str(error)
        return Facts(
            enforcement=attempt.launch.tier,
            blindness=attempt.sandbox.blindness,
            setup_problem=f"{attempt.launch.argv[0]} could not be started: {why}",
        )
    attempt.watch(pid, output, phases)
    left_behind = 0
    if attempt.stopped_for:
        attempt.sandbox.kill()
    _, status = os.waitpid(pid, 0)
    if not attempt.stopped_for:
        left_behind = attempt.sandbox.kill()
    attempt.sandbox.collect()
    return attempt.finish(status, output, phases, left_behind)


def _interrupt(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise Interrupted


def main(arguments: list[str] | None = None) -> int:
    """Supervise the attempt folder named on the command line."""
    words = sys.argv[1:] if arguments is None else arguments
    folder = AttemptFolder(Path(words[0]).absolute())
    parent = os.getppid()
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    with contextlib.suppress(OSError):
        prctl(PR_SET_DUMPABLE, 0)
    if os.getppid() != parent:
        return INTERRUPTED
    try:
        if hold_attempt(folder) is None:  # else held until this process ends
            print(f"supervise: {folder.path} is held, has ended, or has a successor", file=sys.stderr)
            return NOT_OURS
        facts = supervise(folder)
        write_json(folder.outcome, facts.to_json())
    except Interrupted:
        return INTERRUPTED
    except OSError as error:
        print(f"supervise: {error}", file=sys.stderr)
        if error.errno not in CANNOT_WRITE_FOR:
            raise
        return CANNOT_WRITE
    return WROTE_FACTS


if __name__ == "__main__":
    sys.exit(main())
