"""Fill an attempt's folder: what the child may know (`job.json`) and what the supervisor must (`attempt.json`)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.data.task import Task
from assay.errors import InternalError
from assay.files import write_json
from assay.frameworks.fold_files import file_name
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.circumstances import Circumstances
from assay.jobs.constraint import LIMITED
from assay.jobs.folder import AttemptFolder
from assay.jobs.job import Job
from assay.metrics import get_metric
from assay.runs.folds import FoldFiles
from assay.runs.launch import Launch
from assay.runs.place import Share
from assay.runs.ready import Ready
from assay.runs.sandbox.landlock import guards_network
from assay.vocabulary import Tier

__all__ = ["BATCH_SIZES", "PreparedAttempt", "Resources", "describe_job", "make_launch", "write_attempt"]

BATCH_SIZES = (1, 10, 100, 1_000, 10_000)


@dataclass(frozen=True)
class Resources:
    """What an attempt is given: its share of the place, the tier there, how many jobs run beside it.

    `timing_s` is how long its inference may be timed; `cold_reason` why the run lets no job fork from a nursery.
    """

    share: Share
    tier: Tier
    neighbours: int = 0
    timing_s: float = 2.0
    cold_reason: str = ""


def describe_job(job: Job, task: Task, spec: FrameworkSpec, resources: Resources) -> dict[str, Any]:
    """Return `job.json`: everything a framework may know; no name of the dataset, no id, no fold, no path."""
    metric = get_metric(job.metrics[0])
    folds = next(f for f in task.folds if (f.repeat, f.fold) == (job.repeat, job.fold))
    return {
        "schema": 1,
        "type": task.type,
        "metric": Path(metric.name).name.partition(":")[2] or metric.name,
        "metric_higher_is_better": metric.higher_is_better,
        "columns": [
            {"name": c.name, "kind": c.kind, "categories": list(c.categories), "integer": c.integer}
            for c in task.features
        ],
        "target": task.target,
        "classes": list(task.classes),
        "n_train": folds.n_train,
        "n_test": folds.n_test,
        "format": spec.format,
        "budget_s": job.constraint.time_s,
        "cores": resources.share.cores,
        "memory_mb": resources.share.memory_mb,
        "seed": job.seed,
        "params": dict(job.params),
        "batch_sizes": list(BATCH_SIZES) if resources.timing_s else [],
        "timing_s": resources.timing_s,
    }


@dataclass(frozen=True)
class PreparedAttempt:
    """All that an attempt is made of: who does it, on what, and with what."""

    job: Job
    task: Task
    framework: Ready
    files: FoldFiles
    resources: Resources


def make_launch(prepared: PreparedAttempt, number: int, roots: Mapping[str, str]) -> Launch:
    """Return what the supervisor of attempt `number` is to do; `roots` are this machine's (`assay.runs.roots`)."""
    job, framework, resources = prepared.job, prepared.framework, prepared.resources
    spec, environment = framework.spec, framework.environment
    if environment is None:
        raise InternalError(f"{spec.name} has no environment: {framework.problem}")
    argv = spec.command or (
        str(environment.python),
        "-s",
        "{code}/border/child.py",
        "{job}",
        "{code}/adapter.py",
    )
    limits = {phase: job.constraint.limit_s(phase) for phase in LIMITED}
    if spec.command:  # a program may announce no phases: all its work then counts as its start
        limits["start"] += limits["load"] + limits["fit"] + limits["predict"]
    # Landlock cannot tell loopback from the rest: who talks to itself gets all of TCP, and the row says so.
    network = spec.network or (spec.loopback and resources.tier == "landlock")
    unguarded = resources.tier == "plain" or (resources.tier == "landlock" and not guards_network())
    return Launch(
        key=job.key,
        attempt=number,
        argv=tuple(argv),
        code=str(framework.code),
        tier=resources.tier,
        n_cores=resources.share.cores,
        n_gpus=resources.share.gpus,
        memory_mb=resources.share.memory_mb,
        disk_mb=job.constraint.disk_mb,
        files=job.constraint.max_files,
        limits_s=limits,
        data={file_name(part, spec.format): str(getattr(prepared.files, part)) for part in ("train", "test")},
        framework=str(spec.folder.resolve()) if spec.command else "",
        readable=tuple(str(path) for path in environment.readable),
        hidden=_hidden(prepared.task, roots),
        environ=environment.environ,
        network=network,
        cores_shared=resources.share.is_shared,
        cold_reason=_cold_reason(prepared),
        circumstances=_circumstances(prepared, network or unguarded),
    ).relative_to(roots)


def _cold_reason(prepared: PreparedAttempt) -> str:
    """Return why a job cannot be forked from a nursery, as far as that is known beforehand."""
    resources, spec = prepared.resources, prepared.framework.spec
    if resources.cold_reason:
        return resources.cold_reason
    if resources.tier != "strict":
        return f"the {resources.tier} tier has no nurseries"
    if os.geteuid() != 0:
        return "Assay does not run as root, so that a job and its nursery would be one user"
    if spec.command:
        return "it is a program of its own, not a Python adapter"
    if resources.share.gpus:
        return "it uses a GPU, whose driver cannot be forked"
    return spec.cold


def _circumstances(prepared: PreparedAttempt, network: bool) -> Circumstances:
    """Return what is known of an attempt's circumstances before it starts; the supervisor adds what it sees."""
    framework = prepared.framework
    return Circumstances(
        framework_digest=framework.digest,
        lock_digest=framework.environment.digest if framework.environment else "",
        fold_digest=prepared.files.digest,
        role=framework.spec.role,
        meta_learning=framework.spec.meta_learning,
        network=network,
        neighbours=prepared.resources.neighbours,
    )


def _hidden(task: Task, roots: Mapping[str, str]) -> tuple[str, ...]:
    """Return what must not be seen even if it lies inside an interpreter's or environment's folder."""
    request = task.request
    cached = [str(Path(roots["cache"], name)) for name in ("tables", "resolved", "splits", "openml", "live")]
    sources = [path for path in (request.path, *request.train, *request.test) if path]
    return (roots["store"], roots["state"], *cached, *sources)


def write_attempt(folder: AttemptFolder, description: Mapping[str, Any], launch: Launch) -> None:
    """Write the two files; the child's folders are its supervisor's to make."""
    write_json(folder.job, description, durable=False)
    write_json(folder.attempt, launch.to_json(), durable=False)
