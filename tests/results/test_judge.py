"""From facts, predictions and truth to the row of a job."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from sklearn import metrics as sk

from assay.errors import ConfigError
from assay.files import read_json, write_json
from assay.jobs.row import Row
from assay.results.judge import judge, judge_attempt, predictions_digest
from assay.results.rescore import rescore
from assay.results.scores import long_rows
from assay.vocabulary import STATUSES

from .conftest import Bench

NEEDED = {  # the end of DESIGN §8
    "key", "framework", "version", "task", "repeat", "fold", "constraint", "seed", "status", "message", "metric",
    "score", "scores", "fit_s", "predict_s", "peak_memory_mb", "oom_kills", "enforcement", "blindness",
}  # fmt: skip

# status → facts that lead to it; `answer` says what the predictions look like
CASES: dict[str, dict[str, Any]] = {
    "ok": {"answer": "good"},
    "timeout": {"stopped_for": "time", "phase": "fit", "signal": 9, "exit_code": None},
    "memory": {"oom_kills": 2, "phase": "fit", "signal": 9, "exit_code": 137, "memory_peak_mb": 1000.0},
    "crash": {"signal": 11, "phase": "fit", "exit_code": None},
    "disk": {"stopped_for": "disk", "phase": "fit", "disk_peak_mb": 30000.0, "exit_code": None},
    "error": {
        "exit_code": 1,
        "phase": "fit",
        "report": {"error": {"type": "ValueError", "message": "no luck"}},
    },
    "invalid_predictions": {"answer": "short"},
    "setup": {"setup_problem": "Python 2.3 is not here.", "phase": "start"},
    "data": {"data_problem": "The file is broken."},
    "lost": {"lost_reason": "The supervisor was lost."},
}


def case(bench: Bench, status: str, kind: str = "binary") -> dict[str, Any]:
    said = dict(CASES[status])
    answer = bench.answer(kind, wrong=3)
    if said.get("answer") == "short":
        answer = {name: values[:-1] for name, values in answer.items()}
    given = answer if said.pop("answer", None) else None
    job = bench.job(kind)
    return judge_attempt(bench.store.folder, job, bench.attempt(job, given, **said))


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_has_a_row_with_everything_promised(bench: Bench, status: str) -> None:
    row = case(bench, status)
    assert row.status == status
    assert set(row.to_json()) >= NEEDED
    assert (row.score is None) == (status != "ok")
    assert (row.message == "") == (status == "ok")
    assert set(row.scores) == {"auc", "logloss", "acc", "balacc"} == set(row.higher_is_better)
    assert Row.from_json(json.dumps(row.to_json(), allow_nan=False)) == row
    assert bench.store.folder.job(row.key).attempt(1).read_verdict().get() == row


def test_scores_are_those_of_scikit_learn_at_full_precision(bench: Bench) -> None:
    row = case(bench, "ok")
    answer, truth = bench.answer(wrong=3), bench.truth()
    p = answer["probabilities"]
    assert row.scores["auc"] == pytest.approx(sk.roc_auc_score(truth, p[:, 1]), rel=1e-15)
    assert row.scores["acc"] == np.mean(answer["prediction"] == truth) == 1 - 3 / len(truth)
    assert row.scores["logloss"] == pytest.approx(sk.log_loss(truth, p), rel=1e-12)
    assert row.metric == "auc" and row.score == row.scores["auc"]


def test_judging_again_gives_the_same_row_and_looking_writes_nothing(bench: Bench) -> None:
    row = case(bench, "ok")
    folder = bench.store.folder.job(row.key).attempt(1)
    folder.verdict.unlink()
    assert judge(bench.store.folder, bench.job(), folder).row == row
    assert not folder.verdict.exists()
    assert judge_attempt(bench.store.folder, bench.job(), folder) == row


METRIC = """\
from pathlib import Path
Path(__file__).with_name("it-ran").touch()


def share(truth, prediction):
    return float((truth == prediction).mean()) / 2


share.higher_is_better = True
share.needs = "labels"
share.types = ("binary",)
"""


def test_a_metric_that_a_store_names_does_not_run(bench: Bench, tmp_path: Any) -> None:
    path = tmp_path / "planted.py"
    path.write_text(METRIC)
    job = bench.job(metrics=("acc", f"{path}:share"))
    folder = bench.attempt(job, bench.answer(wrong=3))
    row = judge_attempt(bench.store.folder, job, folder)
    assert not (tmp_path / "it-ran").exists()
    assert row.status == "ok" and row.scores["acc"] is not None
    assert row.scores[f"{path}:share"] is None


def test_a_users_own_metric_runs_when_asked_and_its_score_stays(bench: Bench, tmp_path: Any) -> None:
    path = tmp_path / "own.py"
    path.write_text(METRIC)
    name = f"{path}:share"
    job = bench.job(metrics=(name, "acc"))
    folder = bench.attempt(job, bench.answer(wrong=3))
    row = judge_attempt(bench.store.folder, job, folder, own_metrics=True)
    assert (tmp_path / "it-ran").exists()
    assert row.score == row.scores["acc"] / 2
    path.unlink()
    assert judge_attempt(bench.store.folder, job, folder) == row


def test_the_reason_of_a_metric_that_fails_stays_in_its_row(bench: Bench, tmp_path: Any) -> None:
    path = tmp_path / "bad.py"
    path.write_text("def bad(truth, prediction): return 1 / 0\nbad.higher_is_better = True\n")
    name = f"{path}:bad"
    job = bench.job(metrics=("acc", name))
    folder = bench.attempt(job, bench.answer(wrong=3))
    row = judge_attempt(bench.store.folder, job, folder, own_metrics=True)
    assert row.status == "ok" and row.scores["acc"] is not None and row.scores[name] is None
    assert any("ZeroDivisionError: division by zero (bad.py:1)" in note for note in row.notes)
    assert judge_attempt(bench.store.folder, job, folder) == row, "also when the store is rebuilt"
    values = {record["metric"]: record["message"] for record in long_rows([row])}
    assert values["acc"] == "" and "bad.py:1" in values[name]


@pytest.mark.parametrize(
    "report",
    [
        {"models_count": 10**400},
        {"models_count": True},
        {"models_count": "many"},
        {"phases": {"fit": 10**400}},
        {"phases": ["fit"]},
        {"timing": {"1": {"median_s": 10**400}, "x": {"median_s": 1.0}, "²": {"median_s": 1.0}, "10": [1]}},
        {"timing": "slow"},
    ],
)
def test_nothing_a_report_says_keeps_a_job_from_its_row(bench: Bench, report: dict[str, Any]) -> None:
    job = bench.job()
    folder = bench.attempt(job, bench.answer())
    said = read_json(folder.outcome).get()
    write_json(folder.outcome, {**said, "report": report})
    row = judge_attempt(bench.store.folder, job, folder)
    assert row.status == "ok"
    assert (row.models_count, row.inference_s, row.fit_s) == (None, {}, 2.5)


def test_the_childs_clock_counts_only_where_it_agrees_with_ours(bench: Bench) -> None:
    for said, expected in ((2.46, 2.46), (2.0, 2.5), (-1, 2.5)):
        job = bench.job(key=f"{abs(hash(said)):024x}"[:24])
        folder = bench.attempt(job, bench.answer(), report={"phases": {"fit": said}})
        assert judge_attempt(bench.store.folder, job, folder).fit_s == expected


@pytest.mark.parametrize(
    ("circumstances", "contended"),
    [({}, False), ({"cores_shared": True}, True), ({"steal": 0.06}, True), ({"cpu_pressure": 0.6}, True),
     ({"steal": 0.04, "cpu_pressure": 0.4}, False)],
)  # fmt: skip
def test_a_row_says_whether_it_was_disturbed(
    bench: Bench, circumstances: dict[str, Any], contended: bool
) -> None:
    job = bench.job()
    folder = bench.attempt(job, bench.answer(), circumstances=circumstances)
    assert judge_attempt(bench.store.folder, job, folder).contended is contended


def test_constant_predictions_and_labels_without_probabilities_are_noted(bench: Bench) -> None:
    job = bench.job()
    n = len(bench.truth())
    folder = bench.attempt(job, {"row": np.arange(n), "prediction": np.zeros(n, dtype=int)})
    row = judge_attempt(bench.store.folder, job, folder)
    assert row.constant_predictions and any("labels only" in note for note in row.notes)


def test_a_digest_is_of_a_regular_file_only(bench: Bench, tmp_path: Any) -> None:
    folder = bench.attempt(bench.job(), bench.answer())
    assert len(predictions_digest(folder)) == 64
    (folder.out / "predictions.npz").rename(tmp_path / "elsewhere.npz")
    (folder.out / "predictions.npz").symlink_to(tmp_path / "elsewhere.npz")
    assert predictions_digest(folder) == ""


def test_a_truth_that_was_removed_is_said(bench: Bench) -> None:
    job = bench.job()
    folder = bench.attempt(job, bench.answer())
    path = next(bench.store.folder.truth.glob("*.npz"))
    path.unlink()
    judgement = judge(bench.store.folder, job, folder)
    assert judgement.damage == f"{path} does not exist"
    assert judgement.row.status == "lost" and judgement.damage in judgement.row.message


# --- other metrics ---------------------------------------------------------------------------------------


def test_other_metrics_are_computed_from_stored_predictions(bench: Bench) -> None:
    row = case(bench, "ok")
    answer, truth = bench.answer(wrong=3), bench.truth()
    (again,) = rescore(bench.store.folder, [row], ["mcc", "brier"])
    assert again.metric == "mcc" and again.score == again.scores["mcc"]
    assert again.scores["mcc"] == pytest.approx(sk.matthews_corrcoef(truth, answer["prediction"]), rel=1e-12)
    direct = sk.brier_score_loss(truth, answer["probabilities"][:, 1])
    assert again.scores["brier"] == pytest.approx(direct, rel=1e-12)
    assert again.higher_is_better == {"mcc": True, "brier": False}
    assert row.metric == "auc", "the row itself is not touched"


def test_rescoring_keeps_failures_and_leaves_out_tasks_of_another_type(bench: Bench) -> None:
    rows = [case(bench, "ok"), case(bench, "error", "multiclass"), case(bench, "ok", "regression")]
    found = rescore(bench.store.folder, rows, ["acc", "mse"])
    assert [(row.type, row.metric, row.status) for row in found] == [
        ("binary", "acc", "ok"), ("multiclass", "acc", "error"), ("regression", "mse", "ok"),
    ]  # fmt: skip
    assert found[1].scores == {"acc": None}
    with pytest.raises(ConfigError, match="None of the metrics"):
        rescore(bench.store.folder, rows[:1], ["rmse"])


def test_predictions_that_are_gone_are_noted(bench: Bench) -> None:
    row = case(bench, "ok")
    (bench.store.folder.job(row.key).attempt(1).out / "predictions.npz").unlink()
    (again,) = rescore(bench.store.folder, [row], ["acc"])
    assert again.score is None and "no longer" in again.notes[0]
