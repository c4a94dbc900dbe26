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
import selectors
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from assay.files import Measure, Walk, read_json, remove_tree, write_json
from assay.jobs.folder import AttemptFolder
from assay.jobs.outcome import Facts
from assay.runs.devices import Devices, wait_for_devices
from assay.runs.exit_codes import CANNOT_WRITE, INTERRUPTED, NOT_OURS, WROTE_FACTS
from assay.runs.launch import Launch, read_launch
from assay.runs.log import CutLog
from assay.runs.machine import this_machine
from assay.runs.roots import given_roots
from assay.runs.sandbox.base import Sandbox, Streams
from assay.runs.sandbox.choose import make_sandbox
from assay.runs.sandbox.spawn import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, PR_SET_PDEATHSIG, prctl
from assay.runs.watch import MemoryTrace, PhaseClock, Surroundings
from assay.store.locks import hold_attempt

__all__ = ["main", "supervise"]

REPORT_BYTES = 4 * 2**20
REPORT_DEPTH = 20
SAMPLE_S = {True: 0.25, False: 0.05}  # hard memory is only reported; watched memory must be watched closely
DISK_SLICE_S, DISK_PAUSE_S = 0.01, 0.04  # a fifth of a core while a large tree is measured
LAST_MEASURE_S = 60.0
CANNOT_WRITE_FOR = (errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.ENOENT)


class Interrupted(BaseException):
    """A signal asked the supervisor to end."""


class Attempt:
    """One supervised child, from start to facts."""

    def __init__(self, folder: AttemptFolder, launch: Launch) -> None:
        self.folder = folder
        self.launch = launch
        self.sandbox: Sandbox = make_sandbox(launch, folder.path)
        self.clock = PhaseClock(launch.limits_s)
        self.memory = MemoryTrace()
        self.log = CutLog(folder.log)
        self.stopped_for = ""
        self.disk_peak = 0.0
        self.files_peak = 0
        self.processes_peak = 0
        self.cpu_s = 0.0
        self._next_sample = 0.0
        self._next_disk = 0.0
        self._measure: Measure | None = None
        self._measured_s = 0.0

    def watch(self, pid: int, output: int, phases: int) -> None:
        """Follow the child until it ends or passes a limit."""
        with selectors.DefaultSelector() as selector:
            pidfd = os.pidfd_open(pid)
            selector.register(pidfd, selectors.EVENT_READ, "exit")
            selector.register(output, selectors.EVENT_READ, "output")
            selector.register(phases, selectors.EVENT_READ, "phases")
            try:
                while not self.stopped_for:
                    ready = {key.data for key, _ in selector.select(self._pause())}
                    if "output" in ready and not self._read_log(output):
                        selector.unregister(output)
                    if "phases" in ready:
                        self._read_phases(phases)
                    if "exit" in ready:
                        return
                    self._look()
            finally:
                os.close(pidfd)

    def _pause(self) -> float:
        now = time.monotonic()
        return max(0.0, min(self.clock.left_s, self._next_sample - now, self._next_disk - now, 1.0))

    def _read_log(self, output: int) -> bool:
        data = _read(output)
        if data:
            self.log.add(data)
        return data != b""

    def _read_phases(self, phases: int) -> None:
        data = _read(phases)
        if data and self.clock.hear(data):
            self._next_sample = 0.0

    def _look(self) -> None:
        """Check every limit that is due."""
        now = time.monotonic()
        if self.clock.left_s <= 0:
            self.stopped_for = "time"
        if now >= self._next_sample:
            self._sample()
            # Often at first, so that short jobs are seen too; later the interval grows where that is safe.
            calm = 1.0 if self.sandbox.hard_memory and self.clock.elapsed_s > 30 else 0.0
            self._next_sample = time.monotonic() + max(SAMPLE_S[self.sandbox.hard_memory], calm)
        if now >= self._next_disk:
            self._next_disk = time.monotonic() + self._measure_disk(DISK_SLICE_S)

    def _sample(self) -> None:
        sample = self.sandbox.sample()
        self.memory.add(self.clock.elapsed_s, sample.memory_mb)
        self.processes_peak = max(self.processes_peak, sample.processes)
        self.cpu_s = max(self.cpu_s, sample.cpu_s)
        if not self.sandbox.hard_memory:
            if sample.memory_mb > self.launch.memory_mb:
                self.stopped_for = "memory"
            elif sample.processes > self.launch.processes:
                self.stopped_for = "processes"

    def _measure_disk(self, seconds: float) -> float:
        """Go on measuring what the child wrote for about `seconds`; return how long to wait before the next look.

        A tree of many files is measured in many slices, because a limit on time may be due between two of them.
        """
        began = time.monotonic()
        measure = self._measure or Measure(self.folder.out, self.folder.tmp)
        is_whole = measure.advance(seconds)
        self.disk_peak = max(self.disk_peak, measure.megabytes)
        self.files_peak = max(self.files_peak, measure.files)
        if measure.megabytes > self.launch.disk_mb:
            self.stopped_for = "disk"
        elif measure.files > self.launch.files:
            self.stopped_for = "files"
        self._measure = None if is_whole else measure
        self._measured_s += time.monotonic() - began
        if not is_whole:
            return DISK_PAUSE_S
        took, self._measured_s = self._measured_s, 0.0
        return max(0.5, 10 * took)

    def finish(self, exit_status: int, output: int, phases: int, left_behind: int) -> Facts:
        """Collect the facts after everybody is dead."""
        self._read_phases(phases)
        while data := _read(output):
            self.log.add(data)
        self.clock.stop()
        self.log.close()
        if not self.stopped_for:
            self._measure = None  # now that nobody writes any more, from the beginning
            self._measure_disk(LAST_MEASURE_S)
        report, problem = _read_report(self.folder.out / "report.json")
        code, signal_number = _meaning(exit_status, through_bubblewrap=self.launch.tier == "strict")
        return Facts(
            enforcement=self.launch.tier,
            blindness=self.sandbox.blindness,
            phase=self.clock.phase,
            phases=dict(self.clock.seconds),
            wall_s=sum(self.clock.seconds.values()),
            exit_code=code,
            signal=signal_number,
            stopped_for=self.stopped_for,
            oom_kills=self.sandbox.oom_kills(),
            memory_limit_mb=self.launch.memory_mb,
            memory_peak_mb=round(self.memory.peak_mb, 2),
            memory_cgroup_peak_mb=self.sandbox.peak_mb(),
            memory_samples=tuple(self.memory.points),
            cpu_s=max(self.cpu_s, self.sandbox.sample().cpu_s),
            disk_peak_mb=round(self.disk_peak, 2),
            files_peak=self.files_peak,
            files_limit=self.launch.files,
            processes_peak=self.processes_peak,
            process_limit_hits=self.sandbox.process_limit_hits(),
            left_behind=left_behind,
            log_bytes=self.log.seen,
            log_cut=self.log.is_cut,
            report=report,
            report_problem=problem,
            setup_problem=self._setup_problem(code, signal_number),
        )

    def _setup_problem(self, code: int | None, signal_number: int | None) -> str:
        """Tell a sandbox that did not come up from a framework that failed."""
        if self.launch.tier != "strict" or self.clock.phase != "start" or self.stopped_for:
            return ""
        if code == 0 or signal_number is not None:
            return ""
        first = self.log.first_line
        return f"The sandbox could not start: {first}" if first.startswith("bwrap: ") else ""


def _read(descriptor: int) -> bytes | None:
    """Return what is there, b"" at the end, None when there is nothing now."""
    try:
        return os.read(descriptor, 1 << 18)
    except BlockingIOError:
        return None


def _read_report(path: Path) -> tuple[dict[str, Any], str]:
    """Return the child's report, or nothing and what is wrong with it; of too deep a report, what is not too deep."""
    found = read_json(path, path.parent, REPORT_BYTES, REPORT_DEPTH, cut=True)
    if found.value is not None:
        return found.value, ""
    return {}, "" if found.is_missing else f"report.json {found.problem}"


def _meaning(status: int, through_bubblewrap: bool) -> tuple[int | None, int | None]:
    """Return (exit code, signal) of a wait status; bubblewrap passes a signal on as 128 + n."""
    if os.WIFSIGNALED(status):
        return None, os.WTERMSIG(status)
    code = os.waitstatus_to_exitcode(status)
    return (code, code - 128) if through_bubblewrap and 128 < code < 160 else (code, None)


def supervise(folder: AttemptFolder) -> Facts:
    """Run the attempt described in its folder and return what happened."""
    launch = read_launch(folder, given_roots(os.environ))
    with _devices(launch) as devices:
        return _supervise(folder, replace(launch, cores=devices.cores, gpus=devices.gpus))


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
    around, started = Surroundings(), datetime.now(UTC)
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
        remove_tree(folder.tmp)
        _remove_partials(folder.out)
        for descriptor in (output, output_end, phases, phases_end):
            os.close(descriptor)
    circumstances = {
        **launch.circumstances,
        **around.end(),
        "machine": this_machine().to_json(),
        "cores": launch.cores,
        "gpus": tuple(gpu.uuid for gpu in launch.gpus),
        "cores_shared": launch.cores_shared,
    }
    ended = datetime.now(UTC)
    return replace(
        facts, started_at=started.isoformat(), ended_at=ended.isoformat(), surroundings=circumstances
    )


def _remove_partials(out: Path) -> None:
    """Remove files that a child was writing when it was killed: the contract renames a file when it is whole."""
    for found in Walk(out):
        if found.name.endswith(".partial") and stat.S_ISREG(found.state.st_mode):
            with contextlib.suppress(OSError):
                os.unlink(found.name, dir_fd=found.folder)


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
