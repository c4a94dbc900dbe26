"""What one job may use: `1h8c`, `10m4c16g`, `1h8c1gpu`, or a name from a file. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.errors import ConfigError
from assay.plugins import suggest

__all__ = [
    "KNOWN",
    "LIMITED",
    "Constraint",
    "parse_constraint",
    "parse_duration",
    "parse_size",
    "read_constraint",
]

GB = 1024  # in MiB; sizes are binary: 16g is 16 GiB
HOUR = 3600.0
LIMITED = ("start", "load", "fit", "predict", "timing", "export")  # the phases that have limits
MAX_FILES = 1_000_000
# Per field: what it is called, the largest value that is allowed, and how that is written.
_BOUNDS = {
    "time_s": ("time", 1000 * 86400, "1000d"),
    "cores": ("cores", 65_536, "65536"),
    "gpus": ("GPUs", 1024, "1024"),
    "memory_mb": ("memory", GB**3, "1024t"),
    "disk_mb": ("disk", GB**3, "1024t"),
    "max_folds": ("folds", 1_000_000, "1000000"),
    "max_files": ("files", 10**12, "1000000000000"),
}
_UNITS = {"d": 86400.0, "h": HOUR, "m": 60.0, "s": 1.0}
# ASCII: elsewhere `\d` is a digit of any script, and `s` also the long s.
_WRITTEN = re.compile(
    r"(?P<time>(?:\d+(?:\.\d+)?[dhms])+)(?P<cores>\d+)c(?:(?P<memory>\d+(?:\.\d+)?)g)?(?:(?P<gpus>\d+)gpu)?",
    re.IGNORECASE | re.ASCII,
)
_TIME = re.compile(r"(\d+(?:\.\d+)?)([dhms])", re.ASCII)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([mgt])i?b?", re.ASCII)


@dataclass(frozen=True)
class Constraint:
    """Time, cores, memory, disk and GPUs of one job, and the leeway beyond its time.

    `memory_mb` None means a share of the machine, decided and recorded at run time, never part of the
    key. `leeway_s` None means min(time, 1 h). `phase_limits_s` sets limits of phases other than fit.
    `max_folds` runs only the first folds of each task, as AMLB's `test` constraint does. `tasks` holds
    overrides by task name. `max_files` is how many files and folders may be there at a time.
    """

    name: str
    time_s: float
    cores: int
    memory_mb: int | None = None
    disk_mb: int = 20 * GB
    leeway_s: float | None = None
    max_folds: int | None = None
    phase_limits_s: Mapping[str, float] = field(default_factory=dict)
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    max_files: int = MAX_FILES
    gpus: int = 0

    def __post_init__(self) -> None:
        for what in _BOUNDS:
            value = getattr(self, what)
            if value is not None and (what, value) != ("gpus", 0):
                self._check(_BOUNDS[what][0], value, what)
        for phase, limit in self.phase_limits_s.items():
            self._check(f"a limit for phase {phase} of", limit, "time_s", unit=" s")
        if self.leeway_s:
            self._check("leeway", self.leeway_s, "time_s", "zero for none, or more", " s")

    def _check(
        self, what: str, value: float, like: str, least: str = "more than zero", unit: str = ""
    ) -> None:
        _, most, written = _BOUNDS[like]
        remedy = least if not value > 0 else f"at most {written}" if value > most else ""
        if remedy:
            raise ConfigError(f"Constraint '{self.name}' has {what} {_float(value):g}{unit}: give {remedy}.")

    @property
    def effective_leeway_s(self) -> float:
        """Return the leeway in seconds, with its default."""
        return min(self.time_s, HOUR) if self.leeway_s is None else self.leeway_s

    def limit_s(self, phase: str) -> float:
        """Return how long a phase may take before the job is stopped."""
        if phase == "fit":
            return self.time_s + self.effective_leeway_s
        default = max(300.0, self.time_s) if phase == "predict" else 300.0
        return float(self.phase_limits_s.get(phase, default))

    @property
    def worst_case_s(self) -> float:
        """Return the longest a job can take, all phases together."""
        return sum(self.limit_s(phase) for phase in LIMITED)

    def identity(self) -> dict[str, Any]:
        """Return what goes into a job's key: what the user asked for, never what the machine has."""
        # 60 and 60.0 are one constraint, but not one text: numbers are brought to one type for the key.
        entries: dict[str, Any] = {"time_s": float(self.time_s), "cores": int(self.cores)}
        entries["memory_mb"] = None if self.memory_mb is None else int(self.memory_mb)
        entries["disk_mb"], entries["leeway_s"] = int(self.disk_mb), float(self.effective_leeway_s)
        if self.max_files != MAX_FILES:  # the first version had no such limit, and its keys stay as they were
            entries["max_files"] = int(self.max_files)
        if self.gpus:  # keys of constraints without GPUs are older than this field
            entries["gpus"] = int(self.gpus)
        if self.phase_limits_s:
            entries["phase_limits_s"] = {
                phase: float(self.phase_limits_s[phase]) for phase in sorted(self.phase_limits_s)
            }
        return entries

    def for_task(self, task: str) -> Constraint:
        """Return the constraint with the overrides for this task applied."""
        if not self.tasks:
            return self
        entries = self.tasks.get(task)
        plain = replace(self, tasks={})
        return (
            replace(plain, **_fields(entries, f"constraint '{self.name}', task {task}")) if entries else plain
        )


KNOWN = {
    "1h4c": Constraint("1h4c", HOUR, 4),
    "1h8c": Constraint("1h8c", HOUR, 8),
    "4h8c": Constraint("4h8c", 4 * HOUR, 8),
    "8h8c": Constraint("8h8c", 8 * HOUR, 8),
    # AMLB's gp3 constraints ask for a 100 GB volume; its volume type is a matter of the machine.
    "1h8c_gp3": Constraint("1h8c_gp3", HOUR, 8, disk_mb=100 * GB),
    "4h8c_gp3": Constraint("4h8c_gp3", 4 * HOUR, 8, disk_mb=100 * GB),
    "test": Constraint("test", 600.0, 4, max_folds=2),
}


def parse_duration(text: str | int | float, where: str = "") -> float:
    """Return seconds: `90`, `"90s"`, `"1h30m"`."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        return _float(text)
    parts = _TIME.findall(str(text).lower())
    if not parts or "".join(n + u for n, u in parts) != str(text).lower().replace(" ", ""):
        raise ConfigError(f"'{text}' is not a time{_at(where)}. Write for example 30s, 10m, 1h or 1h30m.")
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def parse_size(text: str | int | float, where: str = "") -> int:
    """Return MiB: `"16g"`, `"512m"`, `"16GB"`; a bare number is MiB."""
    if isinstance(text, int) and not isinstance(text, bool):
        return text
    if isinstance(text, float) and math.isfinite(text):
        return int(text)
    match = _SIZE.fullmatch(str(text).strip().lower())
    if not match:
        raise ConfigError(f"'{text}' is not a size{_at(where)}. Write for example 512m, 16g or 1t.")
    return _int(float(match[1]) * {"m": 1, "g": GB, "t": GB * GB}[match[2]])


def parse_constraint(text: str) -> Constraint:
    """Understand a constraint as written: time, cores and perhaps memory in GiB and a number of GPUs."""
    match = _WRITTEN.fullmatch(text.strip())
    if not match:
        raise ConfigError(
            f"Constraint '{text}' is not understood. Write time, cores and perhaps memory and GPUs, for example "
            "30s1c, 1h8c, 10m4c16g or 1h8c1gpu; or a name from the suite or from a file (`constraints`).",
            ["constraints"],
        )
    memory = parse_size(match["memory"] + "g") if match["memory"] else None
    cores, gpus = _int(float(match["cores"])), _int(float(match["gpus"] or 0))
    if match["gpus"] and not gpus:
        raise ConfigError(f"Constraint '{text}' asks for 0 GPUs. Leave them out, or give at least 1.")
    return Constraint(text.strip(), parse_duration(match["time"]), cores, memory, gpus=gpus)


def read_constraint(
    text: str, named: Mapping[str, Mapping[str, Any]] | None = None, where: str = ""
) -> Constraint:
    """Return the constraint that `text` means: a name from a file, one of AMLB's, or as written."""
    if named and text in named:
        entries = _fields(named[text], f"{where or 'constraints'}, {text}")
        if "time_s" not in entries or "cores" not in entries:
            raise ConfigError(f"Constraint '{text}'{_at(where)} needs at least 'time' and 'cores'.")
        return Constraint(name=text, **entries)
    if text.lower() in KNOWN:
        return KNOWN[text.lower()]
    try:
        return parse_constraint(text)
    except ConfigError:
        if not re.match(r"[0-9]", text) and (named or suggest(text, KNOWN).startswith("Did")):
            raise ConfigError(
                f"Unknown constraint '{text}'{_at(where)}. {suggest(text, [*(named or ()), *KNOWN])}"
            ) from None
        raise


_PHASES = tuple(phase for phase in LIMITED if phase != "fit")
_READ: Mapping[str, tuple[str, Callable[[Any, str], Any]]] = {
    "time": ("time_s", parse_duration),
    "cores": ("cores", lambda value, where: _whole(value, "cores", where)),
    "gpus": ("gpus", lambda value, where: _whole(value, "gpus", where)),
    "memory": ("memory_mb", parse_size),
    "disk": ("disk_mb", parse_size),
    "files": ("max_files", lambda value, where: _whole(value, "files", where)),
    "leeway": ("leeway_s", parse_duration),
    "folds": ("max_folds", lambda value, where: _whole(value, "folds", where)),
}


def _fields(entries: Mapping[str, Any], where: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in _mapping(entries, where, "keys such as time and cores").items():
        if key in _READ:
            name, read = _READ[key]
            out[name] = read(value, f"{where}, {key}")
        elif key == "phases":
            out["phase_limits_s"] = _phases(value, f"{where}, phases")
        elif key == "tasks":
            out["tasks"] = _tasks(value, f"{where}, tasks")
        else:
            raise ConfigError(
                f"Unknown key '{key}' in {where}. {suggest(str(key), [*_READ, 'phases', 'tasks'])}"
            )
    return out


def _phases(entries: Any, where: str) -> dict[str, float]:
    for phase in _mapping(entries, where, "phases such as start and predict"):
        if phase == "fit":
            raise ConfigError(f"{where}: the limit of fit is time plus leeway. Set those instead.")
        if phase not in _PHASES:
            raise ConfigError(f"Unknown phase '{phase}' in {where}. {suggest(str(phase), _PHASES)}")
    return {phase: parse_duration(limit, f"{where}, {phase}") for phase, limit in entries.items()}


def _tasks(entries: Any, where: str) -> dict[str, Mapping[str, Any]]:
    """Check the overrides by task now, not when the first of these tasks is planned."""
    for task, overrides in _mapping(entries, where, "task names").items():
        if "tasks" in _fields(overrides, f"{where}, {task}"):
            raise ConfigError(f"{where}, {task}: 'tasks' stands inside a task. Move it up.")
    return dict(entries)


def _mapping(entries: Any, where: str, what: str) -> Mapping[Any, Any]:
    if not isinstance(entries, Mapping):
        raise ConfigError(f"{where}: expected {what}, got {entries!r}.")
    return entries


def _whole(value: Any, what: str, where: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ConfigError(f"{what} is {value!r}{_at(where)}: it must be a whole number.")
    return value


def _float(value: float) -> float:
    """Return a float, infinite for whole numbers beyond its range: bounds are checked afterwards."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _int(value: float) -> int:
    """Return a whole number; of an infinite one, one beyond every bound."""
    return int(value) if math.isfinite(value) else 10**100


def _at(where: str) -> str:
    return f" in {where}" if where else ""
