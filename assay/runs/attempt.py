"""One attempt as its supervisor follows it: phases, limits, what it used, and the facts at its end."""

from __future__ import annotations

import os
import selectors
import time
from pathlib import Path
from typing import Any

from assay.files import Measure, read_json
from assay.jobs.folder import AttemptFolder
from assay.jobs.outcome import Facts
from assay.runs.launch import Launch
from assay.runs.log import CutLog
from assay.runs.sandbox.base import Ended, Sandbox
from assay.runs.watch import MemoryTrace, PhaseClock

__all__ = ["Attempt"]

REPORT_BYTES = 4 * 2**20
REPORT_DEPTH = 20
SAMPLE_S = {True: 0.25, False: 0.05}  # hard memory is only reported; watched memory must be watched closely
LEAST_PAUSE_S = 0.02
DISK_SLICE_S, DISK_PAUSE_S = 0.01, 0.04  # a fifth of a core while a large tree is measured
LAST_MEASURE_S = 60.0


class Attempt:
    """One supervised child, from start to facts."""

    def __init__(self, folder: AttemptFolder, launch: Launch, sandbox: Sandbox) -> None:
        self.folder = folder
        self.launch = launch
        self.sandbox = sandbox
        self.clock = PhaseClock(launch.limits_s)
        self.memory = MemoryTrace()
        self.log = CutLog(folder.log)
        self.stopped_for = ""
        self.disk_peak = 0.0
        self.files_peak = 0
        self.processes_peak = 0
        self.cpu_s = 0.0
        self._next_sample = self._last_sample = 0.0
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
        if data and self.clock.hear(data):  # as a phase ends it may have its peak
            self._next_sample = min(self._next_sample, self._last_sample + LEAST_PAUSE_S)

    def _look(self) -> None:
        """Check every limit that is due."""
        now = time.monotonic()
        if self.clock.left_s <= 0:
            self.stopped_for = "time"
        if now >= self._next_sample:
            self._last_sample = now
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
        measure = self._measure or Measure(*self.sandbox.writable)
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

    def finish(self, ended: Ended, output: int, phases: int, left_behind: int) -> Facts:
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
        if report:  # the facts hold it from now on, and a job should be few files
            (self.folder.out / "report.json").unlink(missing_ok=True)
        return Facts(
            enforcement=self.launch.tier,
            blindness=self.sandbox.blindness,
            phase=self.clock.phase,
            phases=dict(self.clock.seconds),
            wall_s=sum(self.clock.seconds.values()),
            exit_code=ended.code,
            signal=ended.signal,
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
            setup_problem=self._setup_problem(ended),
        )

    def _setup_problem(self, ended: Ended) -> str:
        """Tell a sandbox that did not come up from a framework that failed."""
        if self.launch.tier != "strict" or self.clock.phase != "start" or self.stopped_for:
            return ""
        if ended.code == 0 or ended.signal is not None:
            return ""
        if self.clock.has_started:  # the child ran, so that whatever it printed is its own
            return ""
        first = self.log.first_line
        is_ours = first.startswith(("bwrap: ", "setpriv: "))
        return f"The sandbox could not start: {first}" if is_ours else ""


def _read(descriptor: int) -> bytes | None:
    """Return what is there, b"" at the end, None when there is nothing now."""
    try:
        return os.read(descriptor, 1 << 18)
    except BlockingIOError:
        return None


def _read_report(path: Path) -> tuple[dict[str, Any], str]:
    """Return the child's report, or nothing and what is wrong with it; of too deep a report, what is not too deep."""
    report = read_json(path, path.parent, REPORT_BYTES, REPORT_DEPTH, cut=True)
    if report.value is not None:
        return report.value, ""
    return {}, "" if report.is_missing else f"report.json {report.problem}"
