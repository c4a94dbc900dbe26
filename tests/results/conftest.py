"""Attempts made by hand: a real task, its real truth, and facts and predictions as a test wants them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay import api
from assay.data.task import TaskRequest
from assay.files import write_json
from assay.frameworks.find import find_framework
from assay.jobs.constraint import parse_constraint
from assay.jobs.folder import AttemptFolder
from assay.jobs.job import Job, JobGroup
from assay.jobs.outcome import Facts
from assay.runs.folds import Folds, read_truth
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.suite import Suite

TARGETS = {"binary": "flag", "multiclass": "kind", "regression": "size"}


class Bench:
    """A store with tasks of every type, and attempts that nobody ran."""

    def __init__(self, root: Path, settings: Settings, table: Path) -> None:
        self.store = Store(root)
        self.folds = Folds(self.store.folder, settings)
        split = {"kind": "holdout", "test_size": 0.4}
        requests = tuple(
            TaskRequest("file", name=kind, path=str(table), target=target, split=split)
            for kind, target in TARGETS.items()
        )
        self.tasks = {task.name: task for task in api.load_tasks(Suite("hand", requests), settings)}

    def job(self, kind: str = "binary", framework: str = "decision_tree", **changed: Any) -> Job:
        spec = find_framework(framework)
        made = JobGroup(spec, self.tasks[kind], parse_constraint("10s1c"), 0).job(self.tasks[kind].folds[0])
        return replace(made, **changed)

    def truth(self, kind: str = "binary") -> np.ndarray:
        files = self.folds.files(self.tasks[kind], 0, 0, "npz")
        return read_truth(self.store.folder, files.digest).get().y

    def answer(self, kind: str = "binary", wrong: int = 0) -> dict[str, np.ndarray]:
        """Return good predictions, `wrong` of them wrong."""
        truth = self.truth(kind)
        if kind == "regression":
            return {
                "row": np.arange(len(truth)),
                "prediction": truth + np.linspace(0.0, 0.1 * wrong, len(truth)),
            }
        k = len(self.tasks[kind].classes)
        codes = truth.copy()
        codes[:wrong] = (codes[:wrong] + 1) % k
        rng = np.random.default_rng(0)
        soft = rng.uniform(0.1, 0.2, (len(truth), k)) + np.eye(k)[codes]
        return {
            "row": np.arange(len(truth)),
            "prediction": codes,
            "probabilities": soft / soft.sum(axis=1, keepdims=True),
        }

    def attempt(self, job: Job, answer: dict[str, Any] | None = None, **facts: Any) -> AttemptFolder:
        """Write what a supervisor leaves behind."""
        self.store.add([job])
        claim = self.store.claim(job, again=True)
        assert claim is not None
        claim.folder.out.mkdir()
        if answer is not None:
            np.savez(claim.folder.out / "predictions.npz", **answer)
        fold = self.folds.files(self.tasks[job.task], job.repeat, job.fold, "npz")
        circumstances = {
            "role": "baseline",
            "fold_digest": fold.digest,
            "framework_digest": "f1",
            "start": "cold",
        }
        said: dict[str, Any] = {
            "enforcement": "strict",
            "blindness": "enforced",
            "phase": "end",
            "phases": {"start": 0.2, "load": 0.1, "fit": 2.5, "predict": 0.5, "timing": 0.2, "end": 0.1},
            "wall_s": 3.6,
            "exit_code": 0,
            "memory_limit_mb": 1024,
            "started_at": "2026-01-02T03:04:05.678+00:00",
            "report": {"models_count": 3},
            **facts,
        }
        said["circumstances"] = {**circumstances, **facts.get("circumstances", {})}
        write_json(claim.folder.outcome, Facts.from_json(said).to_json())
        claim.folder.log.write_text("first line\nlast line\n")
        os.close(claim.lock)
        return claim.folder


@pytest.fixture
def make_bench(tmp_path: Path, shared_settings: Settings) -> Iterator[Callable[[str], Bench]]:
    """Return a function that makes a bench under a name; all benches have the same tasks and the same secret."""
    table = tmp_path / "table.csv"
    lines = [
        f"{i % 13},{(i * 7) % 11 / 3},{'yes' if (i * 5) % 7 > 3 else 'no'},{'abc'[i % 5 % 3]},{i % 17 / 4}"
        for i in range(60)
    ]
    table.write_text("x,z,flag,kind,size\n" + "\n".join(lines) + "\n")
    made: list[Bench] = []

    def make(name: str) -> Bench:
        made.append(Bench(tmp_path / name, shared_settings, table))
        return made[-1]

    yield make
    for bench in made:
        bench.store.close()


@pytest.fixture
def bench(make_bench: Callable[[str], Bench]) -> Bench:
    return make_bench("bench")
