"""Say what happened to a job the way a colleague would: phases, memory, the verdict with its evidence, a remedy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import StoreError
from assay.files import read_tail
from assay.jobs.folder import AttemptFolder
from assay.jobs.job import Job
from assay.jobs.outcome import Facts
from assay.jobs.row import Row
from assay.results.judge import phase_limits
from assay.store.locks import is_held
from assay.store.store import Store

__all__ = ["Explanation", "explain"]

LOG_LINES = 15


@dataclass(frozen=True)
class Explanation:
    """All that `assay explain` shows of a job; `removed` has a sentence for each thing that is no longer there."""

    job: Job
    folder: AttemptFolder
    state: str
    row: Row | None
    facts: Facts | None
    attempts: int
    limits_s: Mapping[str, float]
    log: tuple[str, ...]
    remedy: str
    removed: tuple[str, ...] = ()


def explain(store: Store, key: str) -> Explanation:
    """Gather what is known of a job, whatever its state."""
    whole = store.find(key)
    state = store.state(whole)
    folder = store.folder.job(whole)
    attempts = folder.attempts()
    attempt = folder.attempt(max(1, state.attempt))
    row = store.row(whole)
    held = is_held(attempt)
    if state.state == "running" and held:
        row = None  # it runs again: what is told is of this attempt
    elif row is not None:
        attempt = folder.attempt(row.attempt)
    facts = attempt.read_facts().value
    name = "pending" if state.state == "running" and not held else state.state
    described = folder.read_job()
    if described.is_missing:
        raise StoreError(
            f"Job {whole} is planned but was not tried yet. Run the same command again to start it."
        )
    job = described.get()
    where = "" if store.folder.root == Path("results").absolute() else f" --store {store.folder.root}"
    return Explanation(
        job=job,
        folder=attempt,
        state=name,
        row=row,
        facts=facts,
        attempts=attempts[-1].number if attempts else 0,
        limits_s=phase_limits(job, attempt),
        log=_last_lines(attempt),
        remedy=_remedy(row.status if row else name, job, facts, attempt, where),
        removed=tuple(_removed(attempt, attempts, facts)),
    )


def _removed(shown: AttemptFolder, attempts: Sequence[AttemptFolder], facts: Facts | None) -> Iterator[str]:
    """Yield what somebody removed of a job."""
    earlier = shown.number - 1 - sum(attempt.number < shown.number for attempt in attempts)
    if earlier:
        yield f"{earlier} earlier attempt(s) were removed, for example by `assay store prune --attempts`."
    if facts is not None and facts.log_bytes and not os.path.lexists(shown.log):
        size = f"{max(1, facts.log_bytes // 1024)} kB"
        yield f"Its log ({size}) was removed, for example by `assay store prune`."


def _last_lines(folder: AttemptFolder) -> tuple[str, ...]:
    text = read_tail(folder.log, folder.root).value or ""
    return tuple(text.splitlines()[-LOG_LINES:])


def _remedy(status: str, job: Job, facts: Facts | None, folder: AttemptFolder, where: str) -> str:
    limit = job.constraint
    phase = facts.phase if facts else ""
    memory = facts.memory_limit_mb if facts else 0
    again = "then run the same command with --retry-failed"
    if status == "timeout" and phase != "fit":
        return f"The {phase} phase has a limit of its own: raise it under `phases:` in a constraints file, {again}."
    remedies = {
        "ok": "Nothing to do.",
        "pending": "It has no result yet: run the same command again.",
        "running": f"It is running now; follow it with: tail -f {folder.log}",
        "timeout": f"It was told {limit.time_s:g} s and got {limit.effective_leeway_s:g} s of leeway. Give it a longer "
        f"constraint, or see in the log what it did at the end; a framework that ignores its budget needs a fix.",
        "memory": f"Give it more than {memory} MB (for example {_more(limit.time_s, limit.cores, memory)}), or set its "
        f"own memory parameters with --set {job.framework}.NAME=VALUE, {again}.",
        "crash": "A native library died. See the last log lines (a Python traceback is there if there was one), try "
        f"one core fewer, or reproduce it with `assay job shell {job.key[:10]}{where}`.",
        "disk": f"It may write {limit.disk_mb} MB in {limit.max_files} files. Raise `disk:` or `files:` in a "
        f"constraints file, or tell the framework to save less, {again}.",
        "error": f"The framework raised or gave up; the log has its traceback. Reproduce it with `assay job shell "
        f"{job.key[:10]}{where}`, or send its authors the bundle of `assay job pack {job.key[:10]}{where}`.",
        "invalid_predictions": "The adapter or the framework needs a fix: docs/contract.md says what is asked for. "
        f"The file is in {folder.out}.",
        "setup": f"Install what is missing (`assay framework check {job.framework}`, `assay doctor`), {again}.",
        "data": f"Fix the data or the task file, {again}.",
        "lost": "The machine, the supervisor or a file of the store failed, not the framework. Restore the file that "
        f"is named, if one is, or check `dmesg` for a system-wide lack of memory; {again}.",
    }
    return remedies.get(status, "")


def _more(time_s: float, cores: int, memory_mb: int) -> str:
    return f"{time_s:g}s{cores}c{max(1, 2 * memory_mb // 1024)}g"
