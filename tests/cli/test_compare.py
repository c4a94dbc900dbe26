"""`assay compare`: what is run, what it says, and which exit code says that B is worse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import assay as package
from assay.store.store import Store

from ..conftest import RAISES, write_framework
from .conftest import Assay

TASKS = ["bundled", "10s1c", "-t", "iris", "-t", "wine", "-f", "0", "-p", "1"]
TWO = [*TASKS, "-f", "1"]
# A nearest centroid, from which the constant predictor is mixed in by the share `blur`.
CENTROID = """\
import numpy as np
from assay_contract import Prediction
from assay_encode import Encoder

BLUR = {blur}


def fit(train, budget, params):
    encoder = Encoder(scale=True).fit(train)
    X = encoder.transform(train)
    train.report(models_count=1)
    return encoder, np.array([X[train.y == k].mean(axis=0) for k in range(len(train.classes))])


def predict(model, test):
    encoder, centres = model
    far = ((encoder.transform(test)[:, None, :] - centres[None]) ** 2).sum(axis=2)
    weight = np.exp(far.min(axis=1, keepdims=True) - far)
    sure = weight / weight.sum(axis=1, keepdims=True)
    return Prediction(probabilities=(1 - BLUR) * sure + BLUR / len(centres))
"""


def write(folder: Path, blur: float, version: str) -> Path:
    return write_framework(folder, CENTROID.format(blur=blur), name="mine", version=version)


def rows(folder: Path) -> list[dict]:
    return Store(folder / "results").rows()


def test_a_worse_version_is_exit_code_1_and_the_second_call_runs_nothing(
    assay: Assay, tmp_path: Path
) -> None:
    write(tmp_path / "old", 0.01, "1.0")
    write(tmp_path / "new", 0.5, "1.1")
    words = ["compare", "./old", "./new", *TWO, "--fail-if-worse", "0.01"]
    first = assay(*words, "--confidence", "0.8")
    assert first.code == 1, first.out + first.err
    assert "mine:1.1 on iris, fold 0" in first.err and "[12/12]" in first.err
    assert "of the gap below mine 1.0 (80 % interval −" in first.out
    assert "; 2 tasks, 4 pairs): clearly worse." in first.out
    assert "It is worse by more than 0.01 of the gap: exit code 1." in first.out
    assert {(r.framework, r.version) for r in rows(tmp_path)} == {
        ("mine", "1.0"),
        ("mine", "1.1"),
        ("constant", "1"),
    }
    before = rows(tmp_path)
    second = assay(*words, "--confidence", "0.8")
    assert (second.code, second.out) == (1, first.out)
    assert "12 of 12 jobs are done already." in second.err and rows(tmp_path) == before

    # The other way round it is better; without a margin nothing is judged; all of it as JSON.
    better = assay("compare", "./new", "./old", *TWO, "--fail-if-worse", "0.01", "--confidence", "0.8")
    assert better.code == 0 and "of the gap above mine 1.1" in better.out
    assert "clearly better" in better.out and "It is not worse by more than 0.01 of the gap." in better.out
    assert assay(*words[:-2]).code == 0
    said = json.loads(assay(*words, "--confidence", "0.8", "--json").out)
    assert said["verdict"] == "worse" and said["fail_if_worse"] == 0.01
    assert said["lower"] < said["estimate"] < said["upper"] < -0.01
    assert [(task["task"], task["folds"]) for task in said["tasks"]] == [("iris", 2), ("wine", 2)]
    assert said["sentence"] in first.out and said["left_out"] == []
    assert rows(tmp_path) == before

    # Two tasks say little at 95 %: not shown to be worse.
    wide = assay(*words, "--confidence", "0.999")
    assert wide.code == 0 and "neither shown nor ruled out" in wide.out

    # A changed adapter under the same version is said.
    write_again = (tmp_path / "new" / "adapter.py").read_text() + "# changed\n"
    (tmp_path / "new" / "adapter.py").write_text(write_again)
    stale = json.loads(assay(*words, "--json").out)
    assert any("4 row(s) were made with another adapter" in warning for warning in stale["warnings"])


def test_failures_count_as_the_constant_predictor(assay: Assay, tmp_path: Path) -> None:
    write(tmp_path / "old", 0.01, "1.0")
    write_framework(tmp_path / "new", RAISES, name="mine", version="1.1")
    said = assay("compare", "./old", "./new", *TASKS, "--fail-if-worse", "0.01")
    assert said.code == 1, said.err
    assert "mine 1.1 scores 1 of the gap below mine 1.0 (95 % interval −1 to −1" in said.out
    assert "warning: mine 1.1 failed in 2 of 2 pairs, which count as the constant predictor's." in said.out
    assert "Why jobs failed: assay results --failed" in said.out
    # The other way round, the constant predictor itself takes part: nothing more is run for it.
    own = assay("compare", "constant", "./old", *TASKS, "--fail-if-worse", "0")
    assert own.code == 0 and "4 of 4 jobs are done already." in own.err
    assert "mine 1.0 scores 1 of the gap above constant 1" in own.out


def test_an_environment_that_is_not_there_cannot_be_compared(assay: Assay, tmp_path: Path) -> None:
    write(tmp_path / "old", 0.01, "1.0")
    folder = write_framework(
        tmp_path / "new", CENTROID.format(blur=0), name="mine", version="1.1", environment="own"
    )
    (folder / "locks").mkdir()
    (folder / "locks" / "1.1.txt").write_text("no-such-package==1.0\n")
    said = assay("compare", "./old", "./new", *TASKS, "--fail-if-worse", "0.01", "--no-install")
    assert said.code == 2 and "Traceback" not in said.err
    assert "2 pair(s) are left out, because mine 1.1 ended as setup: iris, wine." in said.err
    assert "assay results --failed" in said.err


def test_one_task_speaks_of_that_task_only(assay: Assay) -> None:
    words = ["bundled", "10s1c", "-t", "iris", "-p", "1", "-f", "0"]
    said = assay("compare", "linear", "constant", *words, "-f", "1", "--fail-if-worse", "0.01")
    assert said.code == 1, said.err
    assert "warning: One task: the interval speaks of this data set only." in said.out
    single = assay("compare", "linear", "constant", *words)
    assert single.code == 0 and "(1 task, 1 pair): there is no interval." in single.out


ONE = ["bundled", "10s1c", "-t", "iris", "-f", "0"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["linear", "Linear", *ONE], "A 'linear' and B 'Linear' are both linear"),
        (["./one", "./two", *ONE], "Give one of them another 'version' in its framework.toml"),
        (["linear,constant", "linear", *ONE], "A is 'linear,constant', which names several"),
        (["linear", "liner", *ONE], "Unknown framework 'liner'. Did you mean 'linear'?"),
        (["linear", "constant", *ONE, "--fail-if-worse", "0.01"], "one fold of one task"),
        (["linear", "constant", *ONE, "--fail-if-worse", "-0.01"], "--fail-if-worse -0.01"),
        (["linear", "constant", *ONE, "--fail-if-worse", "inf"], "--fail-if-worse inf"),
        (["linear", "constant", *ONE, "--confidence", "95"], "--confidence 95"),
        (["linear", "constant", *ONE, "--set", "flaml.a=1"], "'flaml', which is not part of this run"),
        (["linear", "constant", *ONE, "--tier", "strong"], "--tier strong"),
        (["./binary", "constant", *ONE], "No task is of a type that both binary 1 and constant 1 do"),
    ],
)
def test_what_cannot_be_compared_is_refused_before_anything_runs(
    assay: Assay, tmp_path: Path, words: list[str], message: str
) -> None:
    write(tmp_path / "one", 0.1, "1")
    write(tmp_path / "two", 0.2, "1")
    folder = write_framework(tmp_path / "binary", RAISES)
    with open(folder / "framework.toml", "a") as file:
        file.write('types = ["binary"]\n')
    said = assay("compare", *words)
    assert said.code == 2 and message in said.err and said.err.count("\n") == 1
    assert not (tmp_path / "results").exists()


def test_python_compares_any_two_of_a_plan(tmp_path: Path, shared_settings: package.Settings) -> None:
    tree = package.find_framework("decision_tree")
    shallow, deeper = (tree.with_params({"max_depth": depth}) for depth in (1, 3))
    jobs = package.plan(
        "bundled", [shallow, deeper, "constant", "linear"], "10s1c", tasks=["diabetes", "iris"], folds=[0],
        settings=shared_settings,
    )  # fmt: skip
    store = package.Store(tmp_path / "results")
    package.run(jobs, store, package.Local(1), settings=shared_settings)
    found = package.compare(jobs, store, shallow, deeper, confidence=0.9)
    assert (found.n_pairs, found.confidence) == (2, 0.9)
    assert found.a.endswith("{'max_depth': 1}") and found.b.endswith("{'max_depth': 3}")
    assert package.compare(jobs, store, "linear", shallow).estimate < 0
    for b, message in ((shallow, "nothing to compare"), ("random_forest", "is not in the plan")):
        with pytest.raises(package.UserError, match=message):
            package.compare(jobs, store, shallow, b)
