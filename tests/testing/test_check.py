"""The check for real: every framework we ship passes, and one that breaks a claim is told which."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.frameworks.find import builtin_names, find_framework
from assay.frameworks.template import write_template
from assay.testing import Check, check_framework
from assay.testing.tasks import TASKS

from ..conftest import RAISES, write_framework

QUICK = ["constant", "decision_tree"]
# Those with an environment of their own are checked where they are installed; the docs have the results.
OURS = [name for name in builtin_names() if find_framework(name).environment == "assay"]
EVERY = [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in OURS]

# Learns with numpy alone, so that its jobs start at once: the nearest centre of a class, or a ridge regression.
LEARNS = """\
import numpy as np
from assay_contract import Prediction
from assay_encode import Encoder


def fit(train, budget, params):
    encoder = Encoder(scale=True).fit(train)
    X = encoder.transform(train)
    train.report(models_count=1)
    if not train.is_classification:
        mean = train.y.mean()
        return encoder, np.linalg.solve(X.T @ X + 30 * np.eye(X.shape[1]), X.T @ (train.y - mean)), mean, None
    codes = np.unique(train.y)
    centres = np.array([X[train.y == code].mean(axis=0) for code in codes])
    return encoder, centres, 0.0, [train.classes[code] for code in codes]


def predict(model, test):
    encoder, weights, mean, names = model
    X = encoder.transform(test)
    if names is None:
        return Prediction(values=X @ weights + mean)
    distance = ((X[:, None, :] - weights[None]) ** 2).sum(axis=2)
    p = np.exp(distance.min(axis=1, keepdims=True) - distance)
    p /= p.sum(axis=1, keepdims=True)
    return Prediction(probabilities=p, classes=names)
"""
ANSWER = "return Prediction(probabilities=p, classes=names)"


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / "state"))


@pytest.mark.parametrize("name", EVERY)
def test_every_built_in_framework_keeps_the_contract(name: str) -> None:
    spec, found = find_framework(name), check_framework(name)
    assert [claim for claim in found.claims if claim.problem] == []
    predicted = [claim.claim for claim in found.claims if claim.claim.startswith("it predicts: ")]
    assert predicted == [f"it predicts: {task.name}" for task in TASKS if task.type in spec.types]
    repeats = any("same seed" in claim.claim for claim in found.claims)
    assert repeats == (spec.stops_by == "count")


def broken(found: Check) -> dict[str, str]:
    return {claim.claim: claim.problem for claim in found.claims if claim.is_broken}


def check_adapter(folder: Path, adapter: str, types: str = '["binary", "multiclass"]') -> Check:
    """Check a framework with this adapter, by default on classes only."""
    write_framework(folder, adapter)
    with open(folder / "framework.toml", "a") as file:
        file.write(f"types = {types}\n")
    return check_framework(str(folder))


def test_a_framework_that_learns_passes_on_every_task(tmp_path: Path) -> None:
    found = check_adapter(tmp_path / "learns", LEARNS, '["binary", "multiclass", "regression"]')
    assert [claim for claim in found.claims if claim.problem] == []
    assert found.ok and found.to_json()["ok"] is True and found.store == ""
    assert [task.task for task in found.tasks] == [task.name for task in TASKS]
    assert all(task.score is not None and task.constant_score is not None for task in found.tasks)


def test_classes_in_a_wrong_order_are_named(tmp_path: Path) -> None:
    swapped = LEARNS.replace("classes=names", "classes=names[::-1]")
    found = check_adapter(tmp_path / "swapped", swapped)
    assert set(broken(found)) == {"its classes are in the right order"}
    gaps = next(task for task in found.tasks if task.task == "gaps")
    assert gaps.metric == "auc" and gaps.score is not None and gaps.score < 0.1


def test_categories_that_are_lost_on_the_way_are_named(tmp_path: Path) -> None:
    kinds = "[c['kind'] == 'categorical' for c in train.columns]"
    lost = f"    train.arrays = [a * 0 if lost else a for a, lost in zip(train.arrays, {kinds})]\n"
    found = check_adapter(tmp_path / "lost", LEARNS.replace("    encoder =", lost + "    encoder ="))
    assert set(broken(found)) == {"it learns from categories"}


def test_constant_predictions_are_named(tmp_path: Path) -> None:
    found = check_adapter(tmp_path / "same", LEARNS.replace(ANSWER, "p[:] = p[0]\n    " + ANSWER))
    assert set(broken(found)) == {"its predictions depend on the features"}


def test_labels_that_are_mended_on_the_way_are_named(tmp_path: Path) -> None:
    labels = "[names[code].strip().lower() for code in p.argmax(axis=1)]"
    mended = LEARNS.replace("classes=names)", f"classes=names, labels={labels})")
    assert set(broken(check_adapter(tmp_path / "mended", mended))) == {"its labels go with its probabilities"}
    stripped = LEARNS.replace("classes=names", "classes=[name.strip() for name in names]")
    found = broken(check_adapter(tmp_path / "stripped", stripped))
    assert set(found) == {"it predicts: names"}
    assert "invalid_predictions" in found["it predicts: names"] and "twice" in found["it predicts: names"]


def test_labels_that_became_numbers_are_named(tmp_path: Path) -> None:
    numbers = LEARNS.replace(
        ANSWER, "return Prediction(probabilities=p, classes=[n + '.0' if n.isdigit() else n for n in names])"
    )
    found = broken(check_adapter(tmp_path / "numbers", numbers))
    assert set(found) == {"it predicts: codes"} and "unknown class '2.0'" in found["it predicts: codes"]


def test_who_refuses_missing_values_is_told_on_which_task(tmp_path: Path) -> None:
    refuses = LEARNS.replace(
        "    X = encoder",
        "    if any(np.isnan(a).any() for a in train.arrays if a.dtype.kind == 'f'):\n"
        "        raise ValueError('Input X contains NaN.')\n    X = encoder",
        1,
    )
    found = check_adapter(tmp_path / "refuses", refuses)
    assert broken(found) == {"it predicts: gaps": "error: ValueError: Input X contains NaN."}
    gaps = next(task for task in found.tasks if task.task == "gaps")
    assert gaps.status == "error" and gaps.log[-1] == "ValueError: Input X contains NaN."
    wide = next(task for task in found.tasks if task.task == "wide")
    assert wide.status == "not applicable" and wide.score is None


def test_chance_without_the_seed_breaks_the_promise_of_count(tmp_path: Path) -> None:
    noisy = LEARNS.replace("    p /=", "    p += 0.01 * np.random.default_rng().random(p.shape)\n    p /=")
    folder = write_framework(tmp_path / "noisy", noisy, stops_by="count")
    found = broken(check_framework(str(folder)))
    assert set(found) == {"the same seed gives the same predictions"} and "stops_by" in next(
        iter(found.values())
    )


def test_a_framework_that_cannot_be_installed_is_told_so_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UV_NO_INDEX", "1")
    folder = write_framework(tmp_path / "mine", LEARNS, environment="own")
    (folder / "locks").mkdir()
    (folder / "locks" / "1.txt").write_text("no-such-package==1.0\n")
    found = check_framework(str(folder))
    assert not found.ok and {task.status for task in found.tasks} == {"setup"}
    assert set(broken(found)) == {"it starts here"}
    assert "no-such-package" in broken(found)["it starts here"]
    assert "assay framework install" in broken(found)["it starts here"]


def test_what_is_kept_can_be_explained_and_is_not_mixed(tmp_path: Path) -> None:
    from assay.results.explain import explain
    from assay.store.store import Store

    folder = write_framework(tmp_path / "mine", RAISES)
    found = check_framework(str(folder), keep=tmp_path / "kept", constraint="10s1c")
    told = explain(Store(found.store, create=False), found.tasks[0].key)
    assert told.row.status == "error" and told.row.constraint == "10s1c"
    assert (tmp_path / "kept" / "tasks" / "gaps_test.csv").is_file()
    with pytest.raises(ConfigError, match="kept is there already"):
        check_framework(str(folder), keep=tmp_path / "kept")


def test_a_check_leaves_nothing_behind_but_tables_by_their_digest(tmp_path: Path) -> None:
    folder = write_framework(tmp_path / "mine", RAISES)
    before = None
    for _ in range(2):
        check_framework(str(folder))
        after = sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file())
        assert before in (None, after)
        before = after


CONTRACT = "def test_contract(assay_claim):\n    assert not assay_claim.problem\n"


def run_pytest(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text('pytest_plugins = ["assay.testing.pytest_plugin"]\n')
    (folder / "test_mine.py").write_text(CONTRACT)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-v",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(folder),
        *words,
    ]
    return subprocess.run([*command, "test_mine.py"], cwd=folder, capture_output=True, text=True, timeout=300)


def test_the_pytest_option_makes_a_test_of_every_claim(tmp_path: Path) -> None:
    """In somebody's own package, with a framework made by `assay framework new`."""
    write_template("mine", tmp_path / "mine")
    toml = tmp_path / "mine" / "framework.toml"
    toml.write_text(toml.read_text().replace('"count"', '"time"'))  # then it is run once, not twice
    done = run_pytest(tmp_path, "--assay-framework", "mine")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "test_contract[it predicts: codes] PASSED" in done.stdout
    assert "15 passed" in done.stdout


def test_in_pytest_only_a_broken_must_fails(tmp_path: Path) -> None:
    silent = LEARNS.replace("train.report(models_count=1)", "pass").replace(
        "classes=names", "classes=names[::-1]"
    )
    write_framework(tmp_path / "silent", silent)
    done = run_pytest(tmp_path, "--assay-framework", "./silent")
    assert done.returncode == 1
    assert "test_contract[it counts its models] XFAIL" in done.stdout
    assert "test_contract[its classes are in the right order] FAILED" in done.stdout
    assert "1 failed" in done.stdout


def test_without_the_option_such_a_test_is_skipped(tmp_path: Path) -> None:
    done = run_pytest(tmp_path)
    assert done.returncode == 0 and "1 skipped" in done.stdout, done.stdout


def test_some_of_the_tasks_can_be_checked_alone(tmp_path: Path) -> None:
    found = check_framework("constant", tasks=["names"], keep=tmp_path / "kept")
    assert [task.task for task in found.tasks] == ["names"]
    with pytest.raises(
        ConfigError, match="Unknown task 'nams' of the check: choose from single, gaps, names"
    ):
        check_framework("constant", tasks=["nams"])
