"""What is concluded from the results of a check, on results made by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from assay.frameworks.predictions import Predictions
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.row import Row
from assay.testing.claims import Trial, judge

TRUTH = np.array([0, 1, 2, 1] * 15)
CLASSES = ("a", "b", "c")
ORDER = "its classes are in the right order"
LABELS = "its labels go with its probabilities"


def spec(**said: Any) -> FrameworkSpec:
    return FrameworkSpec("mine", "1", Path("mine"), Path("mine"), **{"description": "For tests.", **said})


ROW = Path(__file__).parents[2] / "benchmarks" / "row.json"


def answer(codes: np.ndarray, labels: np.ndarray | None = None) -> Predictions:
    return Predictions(codes if labels is None else labels, np.eye(len(CLASSES))[codes] * 0.8 + 0.2 / 3)


def trial(codes: np.ndarray = TRUTH, **said: Any) -> Trial:
    """One task, done well unless something else is said."""
    row = {
        "key": "ab", "task": "codes", "score": 0.1, "scores": {}, "higher_is_better": {"logloss": False},
        "fit_s": 1.0, "budget_s": 30.0, "constant_predictions": False, "models_count": 1,
    }  # fmt: skip
    columns = {name: said.pop(name) for name in list(said) if name in Row.__dataclass_fields__}
    given = {"classes": CLASSES, "truth": TRUTH, "answer": answer(codes), "constant": 1.0, **said}
    return Trial(Row.from_json({**json.loads(ROW.read_text()), **row, **columns}), **given)


def problems(one: Trial, who: FrameworkSpec | None = None) -> dict[str, str]:
    return {claim.claim: claim.problem for claim in judge(who or spec(), [one]) if claim.problem}


def test_good_results_keep_every_claim() -> None:
    claims = list(judge(spec(), [trial()]))
    assert not any(claim.problem for claim in claims)
    assert {claim.kind for claim in claims} == {"must", "should"}


def test_who_does_not_see_the_categories_is_found() -> None:
    blind = np.array([0, 0, 2, 2] * 15)
    assert "it learns from categories" not in problems(trial(blind)), "other tasks have other features"
    found = problems(trial(blind, task="names"))["it learns from categories"]
    assert found.startswith("on names, where categories alone tell the class, it is right in 50% of the rows")
    assert not problems(trial(task="names"))


def test_two_classes_that_changed_places_are_found() -> None:
    found = problems(trial(np.array([1, 0, 2])[TRUTH]))
    assert set(found) == {ORDER}
    assert "on codes" in found[ORDER] and "25%" in found[ORDER] and "100%" in found[ORDER]
    assert "its columns are 'b', 'a', 'c'" in found[ORDER]


def test_the_order_named_is_the_one_to_name() -> None:
    turned = problems(trial(np.array([1, 2, 0])[TRUTH]))[ORDER]
    # Its column 1 holds what is class 0, its column 2 class 1, its column 0 class 2.
    assert "its columns are 'c', 'a', 'b'" in turned


def test_a_bad_learner_is_not_accused_of_a_wrong_order() -> None:
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert problems(trial(rng.integers(0, 3, len(TRUTH)))) == {}


def test_a_few_rows_do_not_tell_the_order() -> None:
    few = trial(truth=TRUTH[:4], answer=answer(2 - TRUTH[:4]))
    assert ORDER not in {claim.claim for claim in judge(spec(), [few])}, (
        "what cannot be judged is not claimed"
    )


def test_labels_that_are_not_the_probable_ones_are_found() -> None:
    assert set(problems(trial(answer=answer(TRUTH, np.zeros_like(TRUTH))))) == {LABELS}


def test_the_same_answer_everywhere_is_found() -> None:
    found = problems(trial(constant_predictions=True))
    assert "on codes every test row" in found["its predictions depend on the features"]
    both = list(judge(spec(), [trial(constant_predictions=True), trial()]))
    assert not any(claim.problem for claim in both), "on one task of several it is weak, not broken"


def test_a_constant_predictor_need_not_learn() -> None:
    constant = trial(np.ones_like(TRUTH), constant_predictions=True, constant=None, models_count=0)
    assert problems(constant, spec(role="constant")) == {}


def test_properties_that_only_should_hold_break_nothing() -> None:
    weak = trial(score=1.0, models_count=None, fit_s=41.26, left_behind=2)
    claims = {claim.claim: claim for claim in judge(spec(description=""), [weak]) if claim.problem}
    assert not any(claim.is_broken for claim in claims.values())
    assert {name: claim.problem.partition(":")[0] for name, claim in claims.items()} == {
        "its description says what it does": "`description` in its framework.toml is empty",
        "it does better than the constant predictor": "not on codes (logloss 1, the constant's 1), although the "
        "features tell the target",
        "it counts its models": "not on codes",
        "it keeps its budget": "told 30 s, it took 41.3 s on codes",
        "it leaves no process behind": "2 on codes; they were killed",
    }


def test_better_follows_the_direction_of_the_metric() -> None:
    up = {"metric": "auc", "higher_is_better": {"auc": True}}
    assert problems(trial(score=0.9, constant=0.5, **up)) == {}
    assert set(problems(trial(score=0.4, constant=0.5, **up))) == {
        "it does better than the constant predictor"
    }


def test_only_who_promises_the_same_predictions_must_give_them() -> None:
    other = answer(np.where(TRUTH == 2, 1, TRUTH))
    claim = "the same seed gives the same predictions"
    assert problems(trial(again=other)) == {}
    assert set(problems(trial(again=other), spec(stops_by="count"))) == {claim}
    assert set(problems(trial(again=None), spec(stops_by="count"))) == {claim}, "it failed the second time"
    assert problems(trial(again=answer(TRUTH)), spec(stops_by="count")) == {}


def test_what_cannot_start_is_one_problem_not_many() -> None:
    idle = [trial(status="setup", message="It is not installed.", answer=None, truth=None)] * 5
    found = [(claim.claim, claim.problem) for claim in judge(spec(), idle) if claim.problem]
    assert found == [("it starts here", "It is not installed.")]
