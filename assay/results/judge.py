"""From facts, predictions and truth to the one row of a job. The row can be made again from the files alone."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from assay.data.task import Task
from assay.errors import UserError
from assay.frameworks.predictions import Asked, BadPredictions, Predictions, read_predictions
from assay.jobs.constraint import LIMITED
from assay.jobs.folder import AttemptFolder, StoreFolder, read_json, write_json
from assay.jobs.job import Job
from assay.jobs.outcome import Facts, PredictionCheck, Verdict, classify
from assay.metrics import get_metric, score
from assay.metrics.own import is_own
from assay.runs.folds import read_task, read_truth

__all__ = [
    "CONTENDED",
    "Judged",
    "judge_attempt",
    "make_row",
    "phase_limits",
    "predictions_digest",
    "row_of",
    "score_predictions",
]

# A row is contended when its cores were shared, more than 5 % of the time was stolen by the hypervisor, or some
# process on the machine waited for a core for more than half of the time.
CONTENDED = {"steal": 0.05, "cpu_pressure": 0.5}


@dataclass(frozen=True)
class Judged:
    """The verdict on an attempt with its scores; `notes` say why a score is missing."""

    verdict: Verdict
    scores: Mapping[str, float | None]
    higher_is_better: Mapping[str, bool]
    constant: bool
    notes: tuple[str, ...]


def judge_attempt(
    store: StoreFolder, job: Job, folder: AttemptFolder, own_metrics: bool = False
) -> dict[str, Any]:
    """Classify an attempt, score it, keep the row in `verdict.json` and return it.

    A metric that is a function in somebody's file runs only with `own_metrics`, that is when the user named it in
    this run: what stands in a store must not run code. Otherwise its score stays as it was first computed.
    """
    row = row_of(store, job, folder, own_metrics)
    write_json(folder.verdict, row)
    return row


def row_of(store: StoreFolder, job: Job, folder: AttemptFolder, own_metrics: bool = False) -> dict[str, Any]:
    """Return the row of an attempt and write nothing."""
    facts = Facts.from_json(read_json(folder.outcome))
    before = read_json(folder.verdict) if folder.verdict.exists() else {}
    trusted = tuple(name for name in job.metrics if own_metrics or not is_own(name))
    judged = _judge(store, job, folder, facts, trusted)
    kept = {name: before.get("scores", {}).get(name) for name in job.metrics if name not in trusted}
    ways = {name: before.get("higher_is_better", {}).get(name, True) for name in kept}
    reasons = tuple(
        note for note in before.get("notes", ()) if note.startswith(tuple(f"{name}: " for name in kept))
    )
    judged = replace(
        judged,
        notes=(*judged.notes, *reasons),
        scores={name: judged.scores.get(name, kept.get(name)) for name in job.metrics},
        higher_is_better={**judged.higher_is_better, **ways},
    )
    return make_row(job, folder, facts, judged)


def _judge(
    store: StoreFolder, job: Job, folder: AttemptFolder, facts: Facts, metrics: tuple[str, ...]
) -> Judged:
    around = facts.surroundings
    predictions, check = None, PredictionCheck(found=False)
    notes: tuple[str, ...] = ()
    scores: dict[str, float | None] = dict.fromkeys(metrics)
    if around.get("fold_digest"):
        task = read_task(store, job.task_digest)
        truth, _ = read_truth(store, around["fold_digest"])
        predictions, check = _read(folder, task, len(truth))
    verdict = classify(facts, check, phase_limits(job, folder), around.get("role", "framework"))
    if verdict.status == "ok" and predictions is not None:
        scores, notes = score_predictions(predictions, truth, task, metrics)
    optimised = facts.report.get("optimised")
    if isinstance(optimised, str):
        notes = (*notes, f"It cannot optimise {metrics[0]}: it was asked for {optimised[:40]} instead.")
    unwritten = facts.report.get("export_problem")
    if isinstance(unwritten, str):
        notes = (*notes, f"Not all it knows could be written: {unwritten[:200]}")
    ways = {name: get_metric(name).higher_is_better for name in metrics}
    return Judged(verdict, scores, ways, check.constant, notes)


def phase_limits(job: Job, folder: AttemptFolder) -> dict[str, float]:
    """Return the limit of every phase as it was in force."""
    if folder.attempt.exists():
        limits: dict[str, float] = read_json(folder.attempt)["limits_s"]
        return limits
    return {phase: job.constraint.limit_s(phase) for phase in LIMITED}


def _read(folder: AttemptFolder, task: Task, n_rows: int) -> tuple[Predictions | None, PredictionCheck]:
    try:
        predictions = read_predictions(folder.out, Asked(task.type, task.classes, n_rows))
    except BadPredictions as error:
        return None, PredictionCheck(found=True, problem=f"{str(error)[0].upper()}{str(error)[1:]}.")
    if predictions is None:
        return None, PredictionCheck(found=False)
    return predictions, PredictionCheck(found=True, constant=predictions.is_constant)


def score_predictions(
    predictions: Predictions, truth: Any, task: Task, metrics: Sequence[str]
) -> tuple[dict[str, float | None], tuple[str, ...]]:
    """Return a value per metric, None with a note where it is not defined on this fold."""
    scores: dict[str, float | None] = {}
    notes = ["Probabilities are 0 and 1: the framework gave labels only."] if predictions.from_labels else []
    given = (
        {"values": predictions.values}
        if task.type == "regression"
        else {"labels": predictions.values, "probabilities": predictions.probabilities}
    )
    for name in metrics:
        try:
            scores[name] = score(get_metric(name), truth, **given, classes=len(task.classes) or None)
        except UserError as error:
            scores[name] = None
            notes.append(f"{name}: {error}")
    return scores, tuple(notes)


def make_row(job: Job, folder: AttemptFolder, facts: Facts, judged: Judged) -> dict[str, Any]:
    """Return the results row of a job: one flat record, all numbers at full precision."""
    around, report = facts.surroundings, facts.report
    first = job.metrics[0]
    return {
        "key": job.key,
        "attempt": folder.number,
        "framework": job.framework,
        "version": job.version,
        "params": dict(job.params),
        "role": around.get("role", "framework"),
        "meta_learning": around.get("meta_learning", ""),
        "task": job.task,
        "task_id": job.task_id,
        "task_digest": job.task_digest,
        "type": job.type,
        "repeat": job.repeat,
        "fold": job.fold,
        "constraint": job.constraint.name,
        "budget_s": job.constraint.time_s,
        "cores": job.constraint.cores,
        "seed": job.seed,
        "run_seed": job.run_seed,
        "status": judged.verdict.status,
        "message": judged.verdict.message,
        "notes": list(judged.notes),
        "metric": first,
        "score": judged.scores.get(first),
        "scores": dict(judged.scores),
        "higher_is_better": {name: judged.higher_is_better[name] for name in job.metrics},
        "fit_s": _phase(facts, "fit"),
        "predict_s": _phase(facts, "predict"),
        "wall_s": facts.wall_s,
        "phases": dict(facts.phases),
        "cpu_s": facts.cpu_s,
        "peak_memory_mb": facts.memory_peak_mb,
        "memory_limit_mb": facts.memory_limit_mb,
        "oom_kills": facts.oom_kills,
        "disk_peak_mb": facts.disk_peak_mb,
        "models_count": _count(report.get("models_count")),
        "has_oof": _is_file(folder.out / "oof.npz"),
        "has_trace": _is_file(folder.out / "artifacts" / "trace.json"),
        "inference_s": _timing(report),
        "constant_predictions": judged.constant,
        "enforcement": facts.enforcement,
        "blindness": facts.blindness,
        "network": bool(around.get("network", False)),
        "start": around.get("start", ""),
        "contended": _is_contended(around),
        "neighbours": around.get("neighbours", 0),
        "host": around.get("machine", {}).get("host", ""),
        "started_at": facts.started_at,
        "ended_at": facts.ended_at,
        "framework_digest": around.get("framework_digest", ""),
        "lock_digest": around.get("lock_digest", ""),
        "fold_digest": around.get("fold_digest", ""),
        "predictions_digest": predictions_digest(folder),
        "origin": "assay",
    }


def _phase(facts: Facts, phase: str) -> float | None:
    """Return the seconds of a phase by our clock, or by the child's where the two agree.

    The child's clock is finer (our pipe can deliver two phases in one breath) but is not to be trusted
    beyond that. A program that announced no phase has all its time counted as fit.
    """
    if phase == "fit" and set(facts.phases) == {"start"} and not facts.report.get("phases"):
        return facts.phases["start"]
    ours = facts.phases.get(phase)
    said = facts.report.get("phases")
    childs = _number(said.get(phase)) if isinstance(said, Mapping) else None
    if ours is not None and childs is not None and abs(childs - ours) < max(0.1, 0.01 * ours):
        return childs
    return ours


def _number(said: Any) -> float | None:
    """Return a number of the child's report; None for what is none, or too large to calculate with."""
    if isinstance(said, bool) or not isinstance(said, (int, float)) or not abs(said) < 2**53:
        return None
    return float(said)


def _count(said: Any) -> int | None:
    return said if isinstance(said, int) and _number(said) is not None else None


def _is_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _timing(report: Mapping[str, Any]) -> dict[str, float]:
    timing = report.get("timing")
    if not isinstance(timing, Mapping):
        return {}
    found = {
        size: _number(entry.get("median_s"))
        for size, entry in timing.items()
        if size.isdecimal() and size.isascii() and isinstance(entry, Mapping)
    }
    return {size: value for size, value in found.items() if value is not None}


def _is_contended(around: Mapping[str, Any]) -> bool:
    busy = any(float(around.get(name, 0.0)) > limit for name, limit in CONTENDED.items())
    return bool(around.get("cores_shared")) or busy


def predictions_digest(folder: AttemptFolder) -> str:
    """Return the digest of the predictions file as it lies there; empty when there is none."""
    for name in ("predictions.npz", "predictions.csv"):
        path = folder.out / name
        if path.is_file() and not path.is_symlink():
            with open(path, "rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
    return ""
