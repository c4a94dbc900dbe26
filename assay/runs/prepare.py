"""Fill an attempt's folder: what the child may know (`job.json`) and what the supervisor must (`attempt.json`)."""

from __future__ import annotations

import compileall
import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from assay.data.task import Task
from assay.errors import InternalError, NotInstalled
from assay.files import remove_tree, write_json, write_replace
from assay.frameworks.envs import Environment, environment_of
from assay.frameworks.fold_files import file_name
from assay.frameworks.install import build_environment
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.circumstances import Circumstances, Machine
from assay.jobs.constraint import LIMITED
from assay.jobs.folder import AttemptFolder, StoreFolder
from assay.jobs.job import Job
from assay.metrics import get_metric
from assay.runs.folds import FoldFiles
from assay.runs.launch import Launch
from assay.runs.sandbox.landlock import guards_network
from assay.settings import Settings
from assay.vocabulary import Tier

__all__ = [
    "BATCH_SIZES",
    "Place",
    "Ready",
    "Resources",
    "describe_job",
    "keep_code",
    "keep_lock",
    "make_launch",
    "make_ready",
    "write_attempt",
]

BATCH_SIZES = (1, 10, 100, 1_000, 10_000)
HERE = Path(__file__).resolve().parent.parent / "frameworks"


@dataclass(frozen=True)
class Resources:
    """What an attempt is given on this machine."""

    cores: tuple[int, ...]
    memory_mb: int
    tier: Tier
    cores_shared: bool = False
    neighbours: int = 0


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
        "cores": len(resources.cores),
        "memory_mb": resources.memory_mb,
        "seed": job.seed,
        "params": dict(job.params),
        "batch_sizes": list(BATCH_SIZES),
    }


@dataclass(frozen=True)
class Ready:
    """A framework as one run uses it: looked at once, so that an edit half way changes nothing.

    `problem` says why it cannot run here; its jobs then end as `setup` rows.
    """

    spec: FrameworkSpec
    digest: str
    code: Path
    environment: Environment | None
    problem: str = ""


def make_ready(
    spec: FrameworkSpec,
    store: StoreFolder,
    settings: Settings,
    install: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> Ready:
    """Copy the framework's scripts into the store and find its environment, which is built first with `install`."""
    code = keep_code(spec, store)
    try:
        environment = build_environment(spec, settings, tell) if install else environment_of(spec, settings)
        keep_lock(environment, store)
        return Ready(spec, spec.digest(), code, environment)
    except NotInstalled as error:
        return Ready(spec, spec.digest(), code, None, str(error))


def keep_lock(environment: Environment, store: StoreFolder) -> None:
    """Keep the list of packages in the store, by its digest, which every row names."""
    path = store.root / "locks" / f"{environment.digest}.txt"
    if environment.lock and not path.exists():
        path.parent.mkdir(exist_ok=True)
        write_replace(path, lambda file: file.write(environment.lock.encode()))


def keep_code(spec: FrameworkSpec, store: StoreFolder) -> Path:
    """Return a folder of the store with exactly the scripts the child runs, kept by their digest as evidence."""
    files = {name: HERE / name for name in ("child.py", "contract.py", "tables.py", "encode.py")}
    files.update({file.name: file for file in spec.files})
    if spec.adapter is not None:
        files["adapter.py"] = spec.adapter
    texts = {name: path.read_bytes() for name, path in files.items()}
    digest = hashlib.sha256(
        b"".join(name.encode() + b"\0" + text + b"\0" for name, text in sorted(texts.items()))
    )
    folder = store.root / "code" / f"{spec.name}-{digest.hexdigest()[:16]}"
    if folder.exists():
        return folder
    partial = folder.with_name(f".{folder.name}.{os.getpid()}")
    partial.mkdir(parents=True)
    for name, text in texts.items():
        (partial / name).write_bytes(text)
    # For children on our own interpreter; others do not take notice. The name is the one inside the sandbox.
    compileall.compile_dir(partial, ddir="/assay", quiet=2)
    try:
        os.rename(partial, folder)
    except OSError:  # somebody else was faster
        remove_tree(partial)
    return folder


@dataclass(frozen=True)
class Place:
    """Where a run happens: its store, its settings, its machine."""

    store: StoreFolder
    settings: Settings
    machine: Machine


def make_launch(
    job: Job, number: int, framework: Ready, task: Task, files: FoldFiles, resources: Resources, place: Place
) -> Launch:
    """Return what the supervisor of attempt `number` is to do."""
    spec, environment = framework.spec, framework.environment
    if environment is None:
        raise InternalError(f"{spec.name} has no environment: {framework.problem}")
    argv = spec.command or (str(environment.python), "-s", "{code}/child.py", "{job}", "{code}/adapter.py")
    limits = {phase: job.constraint.limit_s(phase) for phase in LIMITED}
    if spec.command:  # a program may announce no phases: all its work then counts as its start
        limits["start"] += limits["load"] + limits["fit"] + limits["predict"]
    # Landlock cannot tell loopback from the rest: who talks to itself gets all of TCP, and the row says so.
    network = spec.network or (spec.loopback and resources.tier == "landlock")
    unguarded = resources.tier == "plain" or (resources.tier == "landlock" and not guards_network())
    circumstances = Circumstances(
        framework_digest=framework.digest,
        lock_digest=environment.digest,
        fold_digest=files.digest,
        role=spec.role,
        meta_learning=spec.meta_learning,
        start="cold",
        network=network or unguarded,
        machine=place.machine,
        neighbours=resources.neighbours,
    )
    return Launch(
        key=job.key,
        attempt=number,
        argv=tuple(argv),
        code=str(framework.code),
        tier=resources.tier,
        cores=resources.cores,
        memory_mb=resources.memory_mb,
        disk_mb=job.constraint.disk_mb,
        files=job.constraint.max_files,
        limits_s=limits,
        data={file_name(part, spec.format): str(getattr(files, part)) for part in ("train", "test")},
        framework=str(spec.folder.resolve()) if spec.command else "",
        readable=tuple(str(path) for path in environment.readable),
        hidden=_hidden(place, task),
        environ=environment.environ,
        network=network,
        cores_shared=resources.cores_shared,
        circumstances=circumstances,
    )


def _hidden(place: Place, task: Task) -> tuple[str, ...]:
    """Return what must not be seen even if it lies inside an interpreter's or environment's folder."""
    settings, request = place.settings, task.request
    paths = [str(place.store.root), str(settings.cache / "tables"), str(settings.cache / "resolved")]
    paths += [str(settings.cache / "splits"), str(settings.cache / "openml"), str(settings.state)]
    return (*paths, *(path for path in (request.path, *request.train, *request.test) if path))


def write_attempt(folder: AttemptFolder, job_said: Mapping[str, Any], launch: Launch) -> None:
    """Write the two files and the child's folders."""
    folder.out.mkdir()
    folder.tmp.mkdir()
    write_json(folder.job, job_said, durable=False)
    write_json(folder.attempt, launch.to_json(), durable=False)
