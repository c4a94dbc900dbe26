"""The files that `assay framework new` and `lock` write: small, commented, and working as they are."""

from __future__ import annotations

import os
import re
from pathlib import Path

from assay.errors import ConfigError
from assay.frameworks.spec import FrameworkSpec
from assay.frameworks.toml import NAME

__all__ = ["write_lock", "write_template"]

TOML = """\
name = "{name}"
description = "One sentence on what it does."
version = "1"
environment = "assay"   # Assay's own interpreter; "own" builds one from locks/VERSION.txt
stops_by = "count"      # or "time": only the former promises the same predictions twice

[params]                # handed to fit; change with --set {name}.KEY=VALUE
max_depth = 3
"""

ADAPTER = '''\
"""{name}: two functions are all it takes."""

from assay_contract import Prediction
from assay_encode import Encoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor


def fit(train, budget, params):
    """Learn from train.X (a DataFrame) or an Encoder's matrix, and train.y; stay within budget.seconds."""
    encoder = Encoder().fit(train)
    kind = DecisionTreeClassifier if train.is_classification else DecisionTreeRegressor
    model = kind(random_state=train.seed, **params).fit(encoder.transform(train), train.y)
    train.report(models_count=1)
    return encoder, model


def predict(model, test):
    """Say what the model thinks of the test rows; `classes` tells the order of its probability columns."""
    encoder, tree = model
    X = encoder.transform(test)
    if hasattr(tree, "classes_"):
        return Prediction(probabilities=tree.predict_proba(X), classes=tree.classes_)
    return Prediction(values=tree.predict(X))
'''


def write_template(name: str, folder: Path) -> Path:
    """Write a framework's folder; refuses one that exists."""
    if re.fullmatch(NAME, name) is None:
        raise ConfigError(
            f"'{name}' is no name for a framework: use letters a to z, digits and _, beginning with a letter."
        )
    if os.path.exists(folder):
        raise ConfigError(f"{folder} exists already. Choose another name, or another `folder`.", ["folder"])
    folder.mkdir(parents=True)
    (folder / "framework.toml").write_text(TOML.format(name=name), encoding="utf-8")
    (folder / "adapter.py").write_text(ADAPTER.format(name=name), encoding="utf-8")
    return folder


def write_lock(spec: FrameworkSpec, version: str, text: str, to: Path | None) -> tuple[Path, str]:
    """Write a lock into the framework's folder, or into one that extends it; return its path and what was there."""
    folder = to or spec.home
    toml = folder / "framework.toml"
    try:
        (folder / "locks").mkdir(parents=True, exist_ok=True)
        if to is not None and not toml.exists():
            base = spec.name if spec.is_builtin else os.path.relpath(spec.home, folder)
            toml.write_text(
                f'name = "{spec.name}"\nextends = "{base}"\nversion = "{version}"\n', encoding="utf-8"
            )
        path = folder / "locks" / f"{version}.txt"
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{folder} cannot be written: {error.strerror}. Name a folder of yours with `to`.",
            ["to"],
        ) from None
    return path, before
