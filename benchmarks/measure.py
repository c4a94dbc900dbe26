"""CPU seconds of a whole process tree, namespaces included, and the figures as a table."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

CPUACCT = Path("/sys/fs/cgroup/cpuacct")


@dataclass(frozen=True)
class Figure:
    """One measured number beside its budget."""

    what: str
    value: float
    unit: str
    budget: float | None = None
    note: str = ""

    @property
    def verdict(self) -> str:
        """Whether the budget is kept."""
        return "" if self.budget is None else "ok" if self.value <= self.budget else "OVER"


@dataclass(frozen=True)
class Usage:
    """What a command used: CPU seconds of its tree, and the peak memory of the process itself."""

    cpu_s: float
    peak_mb: float
    code: int


def run_measured(command: Sequence[str], environ: Mapping[str, str], cwd: Path | None = None) -> Usage:
    """Run a command and measure its tree.

    Through a cpuacct group where there is one, because rusage sees nothing of a pid namespace; the groups of
    our jobs lie below the one we are in.
    """
    group = CPUACCT / f"assay-bench-{os.getpid()}"
    grouped = os.access(CPUACCT, os.W_OK)
    if grouped:
        group.mkdir(exist_ok=True)
    before = int((group / "cpuacct.usage").read_text()) if grouped else 0

    def join() -> None:
        (group / "cgroup.procs").write_text(str(os.getpid()))

    process = subprocess.Popen(
        list(command), env=dict(environ), cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        preexec_fn=join if grouped else None,
    )  # fmt: skip
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    cpu = used.ru_utime + used.ru_stime
    if grouped:
        cpu = (int((group / "cpuacct.usage").read_text()) - before) / 1e9
        group.rmdir()
    return Usage(cpu, used.ru_maxrss / 1024, process.returncode)


def clean_environ(**more: str) -> dict[str, str]:
    """Return our environment without what makes Python slow, and with what is given."""
    return {**{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}, **more}


def own_cpu_s() -> float:
    """Return the CPU seconds of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def table(figures: Sequence[Figure]) -> str:
    """Return the figures as Markdown."""
    lines = ["| what | measured | budget | |", "|---|---|---|---|"]
    for f in figures:
        budget = "" if f.budget is None else f"≤ {f.budget:g} {f.unit}"
        lines.append(
            f"| {f.what}{' (' + f.note + ')' if f.note else ''} | {f.value:.3g} {f.unit} | {budget} | {f.verdict} |"
        )
    return "\n".join(lines)
