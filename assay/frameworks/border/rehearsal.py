"""A rehearsal: a nursery does a small made-up job before it forks real ones.

The first job of a process is slow: modules are imported late, libraries look themselves up, the interpreter adapts its
code. A nursery does that once for all its jobs, which then also share the memory that it changes. The model is ours,
never the framework's, which may start threads or processes. Runs in foreign environments: standard library and numpy
only, Python 3.8's language.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable, Dict

import numpy as np

from . import answers, contract, encode

ROUNDS = 10  # the interpreter adapts a function after some calls of it
N_ROWS = 12
COLUMNS = [
    {"name": "number", "kind": "numeric", "integer": False},
    {"name": "level", "kind": "categorical", "categories": ["a", "b", "c"], "ordered": False},
]
JOB: Dict[str, Any] = {
    "schema": contract.SCHEMA,
    "type": "multiclass",
    "metric": "logloss",
    "metric_higher_is_better": False,
    "columns": COLUMNS,
    "target": "class",
    "classes": ["a", "b", "c"],
    "n_train": N_ROWS,
    "n_test": N_ROWS,
    "format": "npz",
    "budget_s": 60.0,
    "cores": 1,
    "memory_mb": 1024,
    "seed": 0,
    "params": {},
    "batch_sizes": [],
}


class Understudy:
    """Takes the place of an adapter: a decision tree where scikit-learn has been imported, else constant shares."""

    @staticmethod
    def fit(train: Any, budget: contract.Budget, params: Dict[str, Any]) -> Any:
        """Encode the rows, and fit; a DataFrame goes other ways than an array."""
        encoder = encode.Encoder().fit(train)
        X = encoder.transform(train)
        train.report(models_count=1)
        if "sklearn" not in sys.modules:
            return encoder, None
        from sklearn.tree import DecisionTreeClassifier

        tree = DecisionTreeClassifier(random_state=train.seed)
        if "pandas" in sys.modules:
            frame = train.X[[COLUMNS[0]["name"]]]
            tree.fit(frame, frame.iloc[:, 0] > 0.5).predict_proba(frame)
        return encoder, tree.fit(X, train.y)

    @staticmethod
    def predict(model: Any, test: Any) -> answers.Prediction:
        """Ask the tree."""
        encoder, tree = model
        X = encoder.transform(test)
        if tree is None:
            return answers.Prediction(probabilities=np.full((len(X), 3), 1 / 3))
        return answers.Prediction(probabilities=tree.predict_proba(X), classes=tree.classes_)


def rehearse(work: Callable[[Path, Any], object]) -> None:
    """Do the made-up job some times with `work(folder, adapter)`; nothing is left of it on disk."""
    folder = Path(tempfile.mkdtemp())
    try:
        columns: Dict[str, Any] = {
            "c0": np.linspace(0.0, 1.0, N_ROWS),
            "c1": np.arange(N_ROWS, dtype=np.int32) % 3,
        }
        np.savez(str(folder / "train.npz"), n_rows=N_ROWS, y=np.arange(N_ROWS) % 3, **columns)
        np.savez(str(folder / "test.npz"), n_rows=N_ROWS, **columns)
        (folder / "job.json").write_text(json.dumps(JOB), encoding="utf-8")
        for _ in range(ROUNDS):
            work(folder, Understudy)
    finally:
        shutil.rmtree(str(folder))
