"""What an estimator of a user's file declares: its types of task and its search space, asked once, in a sandbox.

The file is the user's code, or somebody else's. It runs as it does in a job: under a supervisor, without network, and
under limits, never in this process.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assay.errors import NotInstalled
from assay.files import read_json, write_json
from assay.frameworks.envs import Environment, environment_of
from assay.frameworks.space import Space
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.constraint import LIMITED
from assay.jobs.folder import StoreFolder
from assay.runs.launch import Launch
from assay.runs.machine import choose_tier
from assay.runs.prepare import write_attempt
from assay.settings import Settings

__all__ = ["with_declared"]

_log = logging.getLogger(__name__)
LIMIT_S = 60.0
MEMORY_MB = 2000
DISK_MB = 100
MOST_BYTES = 100_000  # of an answer
KEYS = ("kind", "multi_class", "space")  # of an answer
TYPES = {"classifier": ("binary", "multiclass"), "regressor": ("regression",)}


def with_declared(spec: FrameworkSpec, settings: Settings) -> FrameworkSpec:
    """Return an estimator's spec with the types of task of its own tags, and its space; others as they are.

    An estimator without tags, or whose file fails, keeps all types: its jobs then tell.
    """
    if "_class" not in spec.params:
        return spec
    try:
        environment = environment_of(spec, settings)
    except NotInstalled:
        return spec
    known = json.dumps([KEYS, spec.digest(), dict(spec.params), environment.digest], sort_keys=True)
    kept = settings.cache / "estimators" / f"{hashlib.sha256(known.encode()).hexdigest()}.json"
    tags = read_json(kept).value
    if tags is None:
        tags = _ask(spec, environment)
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, tags, durable=False)
    return replace(spec, types=_types(tags, spec.types), space=_space(tags, spec))


def _types(tags: dict[str, Any], otherwise: tuple[str, ...]) -> tuple[str, ...]:
    kind = tags.get("kind")
    if not isinstance(kind, str):
        return otherwise
    types = TYPES.get(kind, ())  # a clusterer predicts, but not the target
    return tuple(name for name in types if name != "multiclass" or tags.get("multi_class", True))


def _space(tags: dict[str, Any], spec: FrameworkSpec) -> Space | None:
    from assay.frameworks.read_space import read_space

    tables = tags.get("space")
    return read_space(tables, f"of {spec.params['_file']}:{spec.params['_class']}") if tables else None


def _ask(spec: FrameworkSpec, environment: Environment) -> dict[str, Any]:
    """Return what the estimator says of itself; an empty dict where it says nothing."""
    with TemporaryDirectory(prefix="assay-tags-") as name:
        root = Path(name).resolve()
        code = root / "code"
        code.mkdir()
        for path in (spec.folder / "tags.py", *spec.files):
            shutil.copyfile(path, code / path.name)
        folder = StoreFolder(root).job(hashlib.sha256(spec.digest().encode()).hexdigest()).attempt(1)
        folder.path.mkdir(parents=True)
        write_attempt(folder, {"schema": 1, "params": dict(spec.params)}, _launch(code, environment))
        command = [sys.executable, "-I", "-m", "assay.runs.supervise", str(folder.path)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, start_new_session=True)
        answer = read_json(folder.out / "tags.json", folder.path, MOST_BYTES).value or {}
        tags: dict[str, Any] = {key: answer[key] for key in KEYS if key in answer}
        if not tags:
            _log.info(
                "%s says nothing of what it is: %s", spec.name, done.stderr.decode("utf-8", "replace")[-200:]
            )
        return tags


def _launch(code: Path, environment: Environment) -> Launch:
    return Launch(
        key="tags",
        attempt=1,
        argv=(str(environment.python), "-s", "{code}/tags.py", "{job}", "{code}"),
        code=str(code),
        tier=choose_tier(),
        cores=(min(os.sched_getaffinity(0)),),
        memory_mb=MEMORY_MB,
        disk_mb=DISK_MB,
        limits_s=dict.fromkeys(LIMITED, LIMIT_S),
        readable=tuple(str(path) for path in environment.readable),
        environ=environment.environ,
    )
