"""What happened to an attempt, as facts; and `classify`: facts → status. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from assay.files import make_record, to_plain
from assay.jobs.circumstances import Circumstances
from assay.vocabulary import Blindness, Status, Tier

__all__ = ["Facts", "PredictionCheck", "Verdict", "classify"]

MESSAGE_LENGTH = 4000
AFTER_PREDICTIONS = ("timing", "export", "end")
SIGNALS = {4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 11: "SIGSEGV", 15: "SIGTERM"}


@dataclass(frozen=True)
class PredictionCheck:
    """Whether an attempt's predictions can be scored: `problem` is empty when they can."""

    found: bool
    problem: str = ""
    constant: bool = False


@dataclass(frozen=True)
class Facts:
    """What the supervisor saw of one attempt; immutable, and no verdict in it.

    Seconds are of the supervisor's monotonic clock; `phases` the time spent in each; `phase` the last one
    reached. `stopped_for` is why the supervisor killed the tree ("time", "disk", "files"; "memory" and
    "processes" where these are only watched), or empty. `memory_peak_mb` is sampled anonymous and shared memory;
    `memory_cgroup_peak_mb` also counts page cache.
    """

    enforcement: Tier | Literal[""]
    blindness: Blindness | Literal[""]
    phase: str = "start"
    phases: Mapping[str, float] = field(default_factory=dict)
    wall_s: float = 0.0
    exit_code: int | None = None
    signal: int | None = None
    stopped_for: str = ""
    oom_kills: int = 0
    memory_limit_mb: int = 0
    memory_peak_mb: float = 0.0
    memory_cgroup_peak_mb: float | None = None
    memory_samples: tuple[tuple[float, float], ...] = ()
    cpu_s: float = 0.0
    disk_peak_mb: float = 0.0
    files_peak: int = 0
    files_limit: int = 0
    processes_peak: int = 0
    process_limit_hits: int = 0
    left_behind: int = 0
    log_bytes: int = 0
    log_cut: bool = False
    report: Mapping[str, Any] = field(default_factory=dict)
    report_problem: str = ""
    setup_problem: str = ""
    data_problem: str = ""
    lost_reason: str = ""
    started_at: str = ""
    ended_at: str = ""
    circumstances: Circumstances = field(default_factory=Circumstances)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values for `outcome.json`."""
        return {"schema": 2, **to_plain(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Facts:
        """Make facts from `outcome.json`; keys of later versions are ignored.

        Raises:
            ValueError: a field is of another type; the message names it.
        """
        if value.get("schema") == 1:  # it called the circumstances by another name
            value = {**value, "circumstances": value.get("surroundings", {})}
        return make_record(cls, value)


@dataclass(frozen=True)
class Verdict:
    """The status that follows from the facts, and a sentence a person understands."""

    status: Status
    message: str = ""


def classify(
    facts: Facts, check: PredictionCheck, limits_s: Mapping[str, float], role: str = "framework"
) -> Verdict:
    """Return the verdict on an attempt.

    Args:
        facts: what the supervisor saw.
        check: what the predictions look like.
        limits_s: the limit of each phase, for the message.
        role: the framework's; one of role `constant` may train no model.
    """
    if facts.data_problem:
        return Verdict("data", facts.data_problem)
    if facts.setup_problem:
        return Verdict("setup", facts.setup_problem)
    if facts.lost_reason:
        return Verdict("lost", facts.lost_reason)
    if facts.stopped_for == "disk":
        return Verdict("disk", f"It wrote {facts.disk_peak_mb:.0f} MB, more than its disk limit.")
    if facts.stopped_for == "files":
        return Verdict(
            "disk", f"It wrote {facts.files_peak:,} files, more than its limit of {facts.files_limit:,}."
        )
    if check.found and not check.problem and _is_safe(facts):
        return _trained(facts, role)
    if check.problem and facts.phase in AFTER_PREDICTIONS:  # what ended the timing did not spoil them
        return Verdict("invalid_predictions", check.problem)
    stopped = _stopped(facts, limits_s, check)
    if stopped is not None:
        return stopped
    error = _error(facts.report.get("error"))
    if facts.report.get("invalid_predictions") is True:
        return Verdict("invalid_predictions", error.get("message", "The predictions were refused."))
    if error:
        return _raised(facts, error)
    if facts.exit_code not in (0, None):
        return Verdict(
            "error", f"It ended with exit code {facts.exit_code} and without a report; the log may tell why."
        )
    if not check.found:
        return Verdict("error", "It ended as if all were well, but wrote no predictions.")
    return Verdict("invalid_predictions", check.problem)


def _is_safe(facts: Facts) -> bool:
    """Whether the predictions were complete before anything went wrong: they were written before `timing`."""
    if facts.phase in AFTER_PREDICTIONS:
        return True
    return facts.exit_code == 0 and not facts.stopped_for


def _trained(facts: Facts, role: str) -> Verdict:
    if role != "constant" and facts.report.get("models_count") == 0:
        return Verdict("error", "By its own account the framework trained no model.")
    return Verdict(
        "ok", f"{facts.oom_kills} of its processes were killed for memory." if facts.oom_kills else ""
    )


def _stopped(facts: Facts, limits_s: Mapping[str, float], check: PredictionCheck) -> Verdict | None:
    if facts.stopped_for == "memory" or (facts.oom_kills and (facts.exit_code != 0 or not check.found)):
        peak = f"; the highest seen was {facts.memory_peak_mb:.0f} MB" if facts.memory_peak_mb else ""
        return Verdict(
            "memory", f"It was killed for using more than its {facts.memory_limit_mb} MB of memory{peak}."
        )
    if facts.stopped_for == "time":
        limit = limits_s.get(facts.phase, 0.0)
        return Verdict("timeout", f"The {facts.phase} phase passed its limit of {limit:g} s and was stopped.")
    if facts.stopped_for == "processes":
        return Verdict(
            "error",
            f"It ran {facts.processes_peak} processes and threads at a time, more than it may; it was stopped.",
        )
    if facts.signal is not None:
        name = SIGNALS.get(facts.signal, f"signal {facts.signal}")
        return Verdict("crash", f"It died of {name} in the {facts.phase} phase.")
    return None


def _error(said: Any) -> dict[str, str]:
    """Return type and message of the report's error as text; the report is foreign, so it may hold anything."""
    if not said:
        return {}
    if not isinstance(said, Mapping):
        return {"type": "Error", "message": str(said)[:MESSAGE_LENGTH]}
    kind, message = str(said.get("type") or "Error"), str(said.get("message") or "")
    return {"type": kind[:100], "message": message[:MESSAGE_LENGTH]}


def _raised(facts: Facts, error: Mapping[str, str]) -> Verdict:
    message = f"{error['type']}: {error['message']}".strip().removesuffix(":")
    if error["type"].endswith("MemoryError"):  # numpy has its own, and so has Java
        return Verdict("memory", message)
    if facts.report.get("import_failed") is True and facts.phase == "start":
        return Verdict("setup", f"It cannot start here: {message}")
    if facts.process_limit_hits:
        message += f" (It was refused a new process {facts.process_limit_hits} times: it is at its limit of processes.)"
    return Verdict("error", message)
