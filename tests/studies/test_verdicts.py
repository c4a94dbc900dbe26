"""What each method says of one search becomes a row, also where it cannot say anything."""

from __future__ import annotations

import numpy as np
import pytest

from assay.errors import ConfigError
from assay.results.prediction_matrix import check_predictions
from assay.studies.verdicts import check_methods, judge
from assay.uncertainty.bbc import Search, prepare
from assay.uncertainty.methods import METHODS, find_interval
from assay.uncertainty.result import Options


def search(metric: str = "auc", folds: int = 5) -> Search:
    random = np.random.default_rng(0)
    y = np.arange(60) % 2 if metric == "auc" else random.normal(size=60)
    values = y[:, None] + random.normal(size=(60, 4))
    return prepare(check_predictions(y, values, np.arange(60) // 2 % folds, names="abcd"), metric)


def truth_of(winner: int) -> float:
    return 0.1 * winner


def test_all_methods_are_asked_where_none_is_named() -> None:
    assert check_methods([]) == tuple(METHODS)
    assert check_methods(["tt", "bbc/reference"]) == ("tt", "bbc/reference")


@pytest.mark.parametrize("name", ["magic", "magic/reference", "bbc/other", "", "BBC"])
def test_unknown_methods_are_named(name: str) -> None:
    with pytest.raises(ConfigError, match=f"Unknown method '{name}'. There are: bbc, bbc_f"):
        check_methods(["bbc", name])


def test_a_row_has_the_bound_the_truth_of_its_winner_and_what_it_is_about() -> None:
    own = search()
    (row,) = judge(own, ["bbc"], 7, truth_of, {"setting": "s", "number": 3})
    found = find_interval(own, "bbc", Options(), seed=7)
    assert (row["setting"], row["number"], row["method"], row["higher"]) == ("s", 3, "bbc", True)
    assert (row["n"], row["c"], row["folds"]) == (60, 4, 5)
    assert (row["bound"], row["estimate"]) == (found.lower, found.estimate)
    assert row["truth"] == truth_of(found.winner) and row["winner"] == "abcd"[found.winner]
    assert row["seconds"] >= 0 and row["problem"] == ""


def test_the_bound_of_a_loss_is_its_upper_end() -> None:
    own = search("rmse")
    (row,) = judge(own, ["bbc"], 1, truth_of, {})
    found = find_interval(own, "bbc", Options(), seed=1)
    assert row["bound"] == found.upper > row["estimate"] and not row["higher"]


def test_methods_that_cannot_answer_say_why_and_the_others_answer() -> None:
    refused, told, answered = judge(search("rmse"), ["delong", "tt", "naive_folds"], 0, truth_of, {})
    assert "area under the ROC curve" in refused["problem"] and "bound" not in refused
    assert told["bound"] is None and told["estimate"] is not None and "no interval" in told["problem"]
    assert answered["bound"] is not None


def test_few_folds_are_judged_as_the_paper_does() -> None:
    (row,) = judge(search(folds=3), ["bbc_f"], 0, truth_of, {})
    assert row["bound"] is not None and row["folds"] == 3


def test_the_reference_reads_its_quantiles_one_rank_higher() -> None:
    plain, published = judge(search(), ["bbc", "bbc/reference"], 0, truth_of, {})
    assert published["method"] == "bbc/reference" and published["estimate"] == plain["estimate"]
    assert published["bound"] >= plain["bound"]
    distribution = np.sort(find_interval(search(), "bbc", Options(), seed=0).distribution)
    assert (plain["bound"], published["bound"]) == (distribution[49], distribution[50])


def test_what_a_method_says_does_not_depend_on_who_was_asked_before() -> None:
    alone = judge(search(), ["naive_samples"], 5, truth_of, {})[0]
    after = judge(search(), ["bbc", "mabt", "naive_samples"], 5, truth_of, {})[2]
    assert {**alone, "seconds": 0} == {**after, "seconds": 0}
