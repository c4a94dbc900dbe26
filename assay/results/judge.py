"""From facts, predictions and truth to the one row of a job. The row can be made again from the files alone."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from assay.data.task import Task
from assay.errors import UserError
from assay.files import digest_file, is_number, is_regular, make_record, read_json, write_json
from assay.frameworks.predictions import Asked, BadPredictions, Predictions, read_predictions
from assay.jobs.constraint import LIMITED
from assay.jobs.folder import AttemptFolder, StoreFolder
from assay.jobs.job import Job
from assay.jobs.outcome import Facts, PredictionCheck, Verdict, classify
from assay.jobs.row import Row
from assay.metrics import get_metric, score
from assay.metrics.own import is_own
from assay.results.without_oof import NO_OOF
from assay.runs.folds import Question, read_question

if TYPE_CHECKING:
    from assay.files import Read
    from assay.typing import Array

__all__ = [
    "Judgement",
    "ScoredAttempt",
    "judge",
    "judge_attempt",
    "make_row",
    "phase_limits",
    "predictions_digest",
    "score_predictions",
]

_log = logging.getLogger(__name__)
Ask: TypeAlias = "Callable[[StoreFolder, str, str], Read[Question]]"
PREDICTION_FILES = ("predictions.npz", "predictions.csv")


@dataclass(frozen=True)
class ScoredAttempt:
    """The verdict on an attempt with its scores; `notes` say why a score is missing."""

    verdict: Verdict
    scores: Mapping[str, float | None]
    higher_is_better: Mapping[str, bool]
    constant: bool
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Judgement:
    """The row of an attempt, and what is wrong with the files it was made from: empty when nothing is."""

    row: Row
    damage: str = ""


def judge_attempt(
    store: StoreFolder,
    job: Job,
    folder: AttemptFolder,
    own_metrics: bool = False,
    ask: Ask = read_question,
) -> Row:
    """Classify an attempt, score it, keep the row in `verdict.json` and return it.

    A metric that is a function in somebody's file runs only with `own_metrics`, that is when the user named it in
    this run: what stands in a store must not run code. Otherwise its score stays as it was first computed. `ask` reads
    a task and the truth of a fold; a run, which asks for the same ones again and again, may remember them.
    """
    row = judge(store, job, folder, own_metrics, ask).row
    with contextlib.suppress(IsADirectoryError):  # the index has the row, and `verify` names the folder
        write_json(folder.verdict, row.to_json(), durable=False)  # it can be made again from the facts
    return row


def judge(
    store: StoreFolder,
    job: Job,
    folder: AttemptFolder,
    own_metrics: bool = False,
    ask: Ask = read_question,
) -> Judgement:
    """Return the row of an attempt and write nothing. Whatever the files hold, there is a row.

    Facts that cannot be read, and a truth that is gone or damaged, are not the framework's doing: the row is `lost`
    and says which file it is.
    """
    read = folder.read_facts()
    facts = read.value or Facts("", "", lost_reason=f"Its facts are gone: {read.sentence}.")
    try:
        row, damage = _row(store, job, folder, facts, own_metrics, ask)
        # Read back at once: a row that is written can be read again.
        return Judgement(Row.from_json(row.to_json()), read.sentence or damage)
    # The one place where any failure becomes a row: nothing that a child wrote may end the run of all other jobs.
    except Exception as error:
        _log.info("%s could not be judged.", job.key, exc_info=True)
        reason = f"It could not be judged: {type(error).__name__}: {str(error)[:300]}"
        return Judgement(_row_without_scores(job, folder, reason), reason)


def _row(
    store: StoreFolder, job: Job, folder: AttemptFolder, facts: Facts, own_metrics: bool, ask: Ask
) -> tuple[Row, str]:
    trusted = tuple(name for name in job.metrics if own_metrics or not is_own(name))
    judged, damage = _judge(store, job, folder, facts, trusted, ask)
    if len(trusted) < len(job.metrics):
        untrusted = [name for name in job.metrics if name not in trusted]
        judged = _with_earlier_scores(judged, folder.read_verdict().value, untrusted)
    scores = {name: judged.scores.get(name) for name in job.metrics}
    return make_row(job, folder, facts, replace(judged, scores=scores)), damage


def _with_earlier_scores(judged: ScoredAttempt, earlier: Row | None, metrics: Sequence[str]) -> ScoredAttempt:
    """Take the scores by these metrics, and the notes about them, from an earlier row of the same attempt."""
    scores = {name: earlier.scores.get(name) if earlier else None for name in metrics}
    directions = {name: earlier.higher_is_better.get(name, True) if earlier else True for name in metrics}
    beginnings = tuple(f"{name}: " for name in metrics)
    notes = [note for note in (earlier.notes if earlier else ()) if note.startswith(beginnings)]
    return replace(
        judged,
        notes=(*judged.notes, *notes),
        scores={**judged.scores, **scores},
        higher_is_better={**judged.higher_is_better, **directions},
    )


def _row_without_scores(job: Job, folder: AttemptFolder, reason: str) -> Row:
    facts = Facts("", "", lost_reason=reason)
    nothing = dict.fromkeys(job.metrics)
    judged = ScoredAttempt(Verdict("lost", reason), nothing, dict.fromkeys(job.metrics, True), False, ())
    return make_row(job, folder, facts, judged)


def _judge(
    store: StoreFolder, job: Job, folder: AttemptFolder, facts: Facts, metrics: tuple[str, ...], ask: Ask
) -> tuple[ScoredAttempt, str]:
    predictions, check = None, PredictionCheck(found=False)
    notes: tuple[str, ...] = ()
    scores: dict[str, float | None] = dict.fromkeys(metrics)
    damage = ""
    if fold := facts.circumstances.fold_digest:
        question = ask(store, job.task_digest, fold)
        damage = question.sentence
        if question.value is not None:
            predictions, check = _read(folder, question.value)
        elif _has_predictions(folder):
            facts = replace(facts, lost_reason=f"Its predictions cannot be scored: {damage}.")
    verdict = classify(facts, check, phase_limits(job, folder), facts.circumstances.role)
    if verdict.status == "ok" and predictions is not None and question.value is not None:
        scores, notes = score_predictions(predictions, question.value.y, question.value.task, metrics)
    optimised = facts.report.get("optimised")
    if isinstance(optimised, str):
        notes = (*notes, f"It cannot optimise {metrics[0]}: it was asked for {optimised[:40]} instead.")
    unwritten = facts.report.get("export_problem")
    if isinstance(unwritten, str):
        notes = (*notes, f"Not all it knows could be written: {unwritten[:200]}")
    reason = facts.report.get("no_oof")
    if isinstance(reason, str):
        notes = (*notes, f"{NO_OOF}{reason[:200]}")
    ways = {name: get_metric(name).higher_is_better for name in metrics}
    return ScoredAttempt(verdict, scores, ways, check.constant, notes), damage


@dataclass(frozen=True)
class _Limits:
    limits_s: Mapping[str, float]


def phase_limits(job: Job, folder: AttemptFolder) -> Mapping[str, float]:
    """Return the limit of every phase as it was in force; of an attempt without `attempt.json`, the constraint's."""
    launch = read_json(folder.attempt, folder.root).then(lambda value: make_record(_Limits, value))
    if launch.value is not None:
        return launch.value.limits_s
    return {phase: job.constraint.limit_s(phase) for phase in LIMITED}


def _read(folder: AttemptFolder, question: Question) -> tuple[Predictions | None, PredictionCheck]:
    task = question.task
    try:
        predictions = read_predictions(
            folder.out, Asked(task.type, task.classes, len(question.y)), folder.root
        )
    except BadPredictions as error:
        return None, PredictionCheck(found=True, problem=f"{str(error)[0].upper()}{str(error)[1:]}.")
    if predictions is None:
        return None, PredictionCheck(found=False)
    return predictions, PredictionCheck(found=True, constant=predictions.is_constant)


def _has_predictions(folder: AttemptFolder) -> bool:
    return any(is_regular(folder.out / name, folder.root) for name in PREDICTION_FILES)


def score_predictions(
    predictions: Predictions, truth: Array, task: Task, metrics: Sequence[str]
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


def make_row(job: Job, folder: AttemptFolder, facts: Facts, judged: ScoredAttempt) -> Row:
    """Return the results row of a job."""
    circumstances = facts.circumstances
    first = job.metrics[0]
    return Row(
        key=job.key,
        attempt=folder.number,
        framework=job.framework,
        version=job.version,
        params=dict(job.params),
        role=circumstances.role,
        meta_learning=circumstances.meta_learning,
        task=job.task,
        task_id=job.task_id,
        task_digest=job.task_digest,
        type=job.type,
        repeat=job.repeat,
        fold=job.fold,
        constraint=job.constraint.name,
        budget_s=job.constraint.time_s,
        cores=job.constraint.cores,
        seed=job.seed,
        run_seed=job.run_seed,
        status=judged.verdict.status,
        message=judged.verdict.message,
        notes=judged.notes,
        metric=first,
        score=judged.scores.get(first),
        scores=dict(judged.scores),
        higher_is_better={name: judged.higher_is_better[name] for name in job.metrics},
        fit_s=_phase(facts, "fit"),
        predict_s=_phase(facts, "predict"),
        wall_s=facts.wall_s,
        phases=dict(facts.phases),
        cpu_s=facts.cpu_s,
        peak_memory_mb=facts.memory_peak_mb,
        memory_limit_mb=facts.memory_limit_mb,
        oom_kills=facts.oom_kills,
        disk_peak_mb=facts.disk_peak_mb,
        models_count=_count(facts.report.get("models_count")),
        has_oof=is_regular(folder.out / "oof.npz", folder.root),
        has_trace=is_regular(folder.out / "artifacts" / "trace.json", folder.root),
        inference_s=_timing(facts.report),
        constant_predictions=judged.constant,
        enforcement=facts.enforcement,
        blindness=facts.blindness,
        network=circumstances.network,
        start=circumstances.start,
        cold_reason=circumstances.cold_reason,
        contended=circumstances.is_contended,
        neighbours=circumstances.neighbours,
        host=circumstances.machine.host if circumstances.machine else "",
        started_at=facts.started_at,
        ended_at=facts.ended_at,
        framework_digest=circumstances.framework_digest,
        lock_digest=circumstances.lock_digest,
        fold_digest=circumstances.fold_digest,
        predictions_digest=predictions_digest(folder),
        origin="assay",
    )


def _phase(facts: Facts, phase: str) -> float | None:
    """Return the seconds of a phase by our clock, or by the child's where the two agree.

    The child's clock is finer (our pipe can deliver two phases in one breath) but is not to be trusted
    beyond that. A program that announced no phase has all its time counted as fit.
    """
    if phase == "fit" and set(facts.phases) == {"start"} and not facts.report.get("phases"):
        return facts.phases["start"]
    ours = facts.phases.get(phase)
    reported = facts.report.get("phases")
    childs = _number(reported.get(phase)) if isinstance(reported, Mapping) else None
    if ours is not None and childs is not None and abs(childs - ours) < max(0.1, 0.01 * ours):
        return childs
    return ours


def _number(value: object) -> float | None:
    """Return a number of the child's report; None for what is none, or too large to calculate with."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 2**53:
        return None
    return float(value)


def _count(value: object) -> int | None:
    return value if type(value) is int and _number(value) is not None else None


def _timing(report: Mapping[str, object]) -> dict[str, float]:
    timing = report.get("timing")
    if not isinstance(timing, Mapping):
        return {}
    medians = {
        size: _number(entry.get("median_s"))
        for size, entry in timing.items()
        if is_number(size) and isinstance(entry, Mapping)
    }
    return {size: value for size, value in medians.items() if value is not None}


def predictions_digest(folder: AttemptFolder) -> str:
    """Return the digest of the predictions file as it lies there; empty when there is none."""
    for name in PREDICTION_FILES:
        digest = digest_file(folder.out / name, folder.root)
        if digest.value is not None:
            return digest.value
    return ""
