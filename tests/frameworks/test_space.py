"""Search spaces: what tables mean, which ones are refused, and that draws follow what is declared."""

from __future__ import annotations

from collections import Counter
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from assay.errors import ConfigError
from assay.frameworks.find import find_framework, list_frameworks
from assay.frameworks.read_space import read_space
from assay.frameworks.space import Bell, Choice, Range, Space
from assay.searches.samplers import all_of, draw, open_guide, propose
from assay.vocabulary import TASK_TYPES

N = 4000
KERNELS = {
    "kernel": {"choices": ["linear", "rbf", "poly"], "weights": [1, 2, 1], "default": "rbf"},
    "C": {"low": 0.01, "high": 100.0, "log": True, "default": 1.0},
    "gamma": {"low": 0.001, "high": 1.0, "log": True, "when": {"kernel": ["rbf", "poly"]}},
    "degree": {"low": 2, "high": 4, "when": {"kernel": "poly"}, "default": 3},
    "epsilon": {"low": 0.0, "high": 0.5, "types": ["regression"]},
}


def space(**tables: Any) -> Space:
    return read_space(tables, "in test.toml")


def draws(name: str, n: int = N, **tables: Any) -> list[Any]:
    source = draw(space(**tables), "binary", 0)
    return [next(source).get(name) for _ in range(n)]


def test_choices_are_drawn_by_weight() -> None:
    counts = Counter(draws("depth", depth={"choices": [2, 3], "weights": [2, 1], "none": 7}))
    assert set(counts) == {2, 3, None}
    assert stats.chisquare([counts[2], counts[3], counts[None]], [N * 0.2, N * 0.1, N * 0.7]).pvalue > 1e-3
    even = Counter(draws("flag", flag={"choices": [True, False, "auto", 0.5]}))
    assert stats.chisquare(list(even.values())).pvalue > 1e-3


def test_what_has_no_weight_is_never_drawn() -> None:
    choice = Choice(("a", "b"), (1.0, 0.0))
    assert {choice.at(share) for share in (0.0, 0.5, 1 - 1e-17, 1.0)} == {"a"}
    assert Choice(("a", "b"), (0.0, 1.0)).at(0.0) == "b"


def test_ranges_are_uniform_or_logarithmic() -> None:
    plain = draws("x", x={"low": -1.0, "high": 3.0})
    assert stats.kstest(plain, stats.uniform(-1, 4).cdf).pvalue > 1e-3
    logs = np.log(draws("x", x={"low": 1e-3, "high": 10.0, "log": True}))
    assert stats.kstest(logs, stats.uniform(log(1e-3), log(10) - log(1e-3)).cdf).pvalue > 1e-3


def test_whole_numbers_have_the_same_chance_at_the_ends() -> None:
    values = draws("x", x={"low": 2, "high": 6})
    assert all(type(value) is int for value in values)
    counts = Counter(values)
    assert sorted(counts) == [2, 3, 4, 5, 6]
    assert stats.chisquare(list(counts.values())).pvalue > 1e-3


def test_logarithms_of_whole_numbers_have_half_a_unit_around_each() -> None:
    """The rule of optuna, and of the tabular benchmark's spaces (its bounds 1.5 and 50.5 are our 2 and 50)."""
    counts = Counter(draws("x", x={"low": 2, "high": 50, "log": True}))
    width = log(50.5) - log(1.5)
    expected = [N * (log(value + 0.5) - log(value - 0.5)) / width for value in range(2, 51)]
    assert stats.chisquare([counts[value] for value in range(2, 51)], expected).pvalue > 1e-3


def test_steps_count_from_the_lower_end() -> None:
    assert sorted(set(draws("x", x={"low": 100, "high": 650, "step": 200}))) == [100, 300, 500]
    tenths = space(x={"low": 0.0, "high": 0.5, "step": 0.1}).parameters[0].alternatives[0].domain
    assert list(tenths.every() or ()) == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5])
    assert tenths.holds(0.3) and not tenths.holds(0.35)


def test_bell_curves_have_their_centre_and_spread_and_stay_within_bounds() -> None:
    rates = np.log(draws("x", x={"distribution": "lognormal", "median": 0.01, "factor": 10}))
    assert stats.kstest(rates, stats.norm(log(0.01), log(10)).cdf).pvalue > 1e-3
    leaves = draws("x", x={"distribution": "normal", "mean": 4, "sd": 3, "whole": True, "low": 2, "high": 9})
    assert all(type(value) is int for value in leaves) and {min(leaves), max(leaves)} == {2, 9}
    assert np.median(leaves) == 4
    for share in (0.0, 1.0):
        assert np.isfinite(Bell(0.0, 1.0).at(share))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "domain",
    [Range(1, 9, whole=True), Range(1e-3, 10, log=True), Range(2, 50, log=True, whole=True), Range(-1, 1)],
)
def test_the_ends_of_a_range_are_inside(domain: Range) -> None:
    assert domain.at(0.0) == pytest.approx(domain.low) and domain.at(1.0) == pytest.approx(domain.high)
    assert domain.holds(domain.at(0.0)) and domain.holds(domain.at(1.0))


def test_conditions_and_types_decide_which_parameters_are_set() -> None:
    svm = space(**KERNELS)
    source = draw(svm, "binary", 0)
    seen = {tuple(next(source)) for _ in range(200)}
    assert seen == {("kernel", "C"), ("kernel", "C", "gamma"), ("kernel", "C", "gamma", "degree")}
    assert "epsilon" in next(draw(svm, "regression", 0))


def test_a_condition_on_an_unset_parameter_does_not_hold() -> None:
    chain = space(
        a={"choices": ["x", "y"]},
        b={"choices": [1, 2], "when": {"a": "x"}},
        c={"choices": [True], "when": {"b": 1}},
    )
    assert [tuple(one) for one in all_of(chain, "binary") or ()] == [("a", "b", "c"), ("a", "b"), ("a",)]


def test_the_default_configuration_leaves_out_what_has_no_default() -> None:
    assert space(**KERNELS).default("binary") == {"kernel": "rbf", "C": 1.0}


def test_the_first_alternative_that_applies_counts() -> None:
    tables = {
        "kind": {"choices": ["a", "b"]},
        "size": [
            {"choices": [1], "when": {"kind": "a"}},
            {"choices": [2], "types": ["regression"]},
            {"choices": [3]},
        ],
    }
    both = space(**tables)
    assert all_of(both, "binary") == [{"kind": "a", "size": 1}, {"kind": "b", "size": 3}]
    assert all_of(both, "regression") == [{"kind": "a", "size": 1}, {"kind": "b", "size": 2}]


def test_all_configurations_are_those_of_finite_spaces() -> None:
    assert all_of(space(a={"low": 1, "high": 3}, b={"choices": [0.5, None]}), "binary") == [
        {"a": a, "b": b} for a in (1, 2, 3) for b in (0.5, None)
    ]
    assert all_of(space(**KERNELS), "binary") is None
    assert all_of(space(a={"low": 1, "high": 10**9}), "binary", most=10) is None


def test_1_and_true_are_different_values() -> None:
    both = space(a={"choices": [True, 1, 1.0]}, b={"choices": [2], "when": {"a": 1}})
    found = all_of(both, "binary") or []
    assert [("b" in one, type(one["a"])) for one in found] == [(False, bool), (True, int), (False, float)]


def test_a_space_is_written_as_it_is_read() -> None:
    whole = space(
        **KERNELS,
        rate={"distribution": "lognormal", "median": 0.1, "factor": 3, "high": 1.0},
        leaves={"distribution": "normal", "mean": 31, "sd": 5, "whole": True, "low": 2},
        steps={"low": 100, "high": 600, "step": 100},
        depth={"choices": [1, 2], "none": 3},
    )
    assert read_space(whole.to_json(), "in JSON") == whole
    lines = {line[0]: line[1:] for line in whole.describe()}
    assert lines["kernel"] == ["linear (0.25), rbf (0.5), poly (0.25)", "rbf", "", ""]
    assert lines["gamma"] == ["0.001 to 1, logarithmic", "", "", "kernel = rbf or poly"]
    assert lines["epsilon"][2] == "regression"
    assert lines["leaves"][0] == "whole numbers, normal: mean 31, sd 5, low 2"
    assert lines["steps"][0] == "whole numbers 100 to 600 in steps of 100"


REFUSED = {
    "neither choices nor a range": ({"log": True}, "Give 'choices', or 'low' and 'high'"),
    "half a range": ({"low": 1}, "Give 'choices', or 'low' and 'high'"),
    "bounds the wrong way round": ({"low": 3, "high": 1}, "the first must be the smaller"),
    "a logarithm of nothing": ({"low": 0, "high": 1, "log": True}, "begins above 0"),
    "a fraction among whole numbers": ({"low": 1.5, "high": 3, "whole": True}, "not a whole number"),
    "steps of a logarithmic range": ({"low": 1, "high": 9, "step": 2, "log": True}, "range not logarithmic"),
    "a step of nothing": ({"low": 1, "high": 9, "step": 0}, "must be above 0"),
    "an infinite bound": ({"low": 0.0, "high": float("inf")}, "not a finite number"),
    "a choice that is not a number": ({"choices": [float("nan")]}, "not a finite number"),
    "too few weights": ({"choices": [1, 2], "weights": [1]}, "2 choices and 1 weights"),
    "a negative weight": ({"choices": [1, 2], "weights": [1, -1]}, "none may be negative"),
    "no weight at all": ({"choices": [1, 2], "weights": [0, 0]}, "one must be above 0"),
    "a choice twice": ({"choices": ["sqrt", "sqrt"]}, "Give it a larger weight instead"),
    "choices and a range": ({"choices": [1], "low": 1, "high": 2}, "'high' .* means nothing for choices"),
    "a mean of a range": ({"low": 1, "high": 2, "mean": 1.5}, "'mean' .* means nothing for a uniform"),
    "a bell curve without a spread": ({"distribution": "normal", "mean": 1}, "needs 'mean' and 'sd'"),
    "a spread of nothing": ({"distribution": "normal", "mean": 1, "sd": 0}, "'sd' must be above 0"),
    "a factor of one": ({"distribution": "lognormal", "median": 1, "factor": 1}, "'factor' above 1"),
    "bounds of a bell curve": (
        {"distribution": "normal", "mean": 1, "sd": 1, "low": 2, "high": 1},
        "the first must be the smaller",
    ),
    "another distribution": ({"distribution": "beta"}, "Wrong value 'beta'"),
    "a misspelt key": ({"choises": [1]}, "Did you mean 'choices'"),
    "a default that is not there": ({"choices": [1, 2], "default": 3}, "default 3 .* is not among"),
    "a type that is not one": ({"choices": [1], "types": ["clustering"]}, "Wrong value 'clustering'"),
    "a condition on what is not there": (
        {"choices": [1], "when": {"b": 1}},
        "'b', which is not declared before",
    ),
    "a condition that never holds": (
        {"choices": [1], "when": {"first": "z"}},
        "first = 'z', which it never is",
    ),
    "a condition without values": ({"choices": [1], "when": {"first": []}}, "names no value of 'first'"),
    "no table": (3, "Expected keys and values"),
    "no alternative": ([], "There are no alternatives"),
}


@pytest.mark.parametrize(("table", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_names_the_parameter_and_the_place(table: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        space(first={"choices": ["x", "y"]}, a=table)
    assert "'a'" in str(caught.value) and "test.toml" in str(caught.value)


def test_a_space_is_tables_by_parameter() -> None:
    with pytest.raises(ConfigError, match="tables by parameter"):
        read_space([1], "in test.toml")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="Give it a name"):
        read_space({"": {"choices": [1]}}, "in test.toml")


def test_frameworks_carry_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "adapter.py").write_text("def fit(train, budget, params): ...\ndef predict(model, test): ...\n")
    toml = 'name = "mine"\n[space]\nrate = { low = 0.1, high = 1.0, default = 0.5 }\n'
    (folder / "framework.toml").write_text(toml)
    spec = find_framework(f"{folder}/")
    assert spec.space is not None and spec.space.default("binary") == {"rate": 0.5}
    child = tmp_path / "child"
    child.mkdir()
    (child / "framework.toml").write_text('name = "child"\nextends = "../mine"\n')
    assert find_framework(f"{child}/").space == spec.space
    (child / "framework.toml").write_text(
        'name = "child"\nextends = "../mine"\n[space.depth]\nlow = 1\nhigh = 3\n'
    )
    extended = find_framework(f"{child}/").space
    assert extended is not None and [one.name for one in extended.parameters] == ["depth"]
    (folder / "framework.toml").write_text(toml.replace("low = 0.1", "low = 2.0"))
    with pytest.raises(ConfigError, match=r"mine/framework\.toml"):
        find_framework(f"{folder}/")


def test_a_space_does_not_change_what_a_job_is() -> None:
    """Adding a space must not make rows stale: it says what may be searched, not what was run."""
    spec = find_framework("decision_tree")
    from dataclasses import replace

    assert spec.space is not None and replace(spec, space=None).digest() == spec.digest()


@pytest.mark.parametrize("spec", [one for one in list_frameworks() if one.space], ids=lambda one: one.name)
def test_parameters_of_shipped_spaces_are_parameters_of_the_estimators(spec: Any) -> None:
    import sklearn.ensemble
    import sklearn.linear_model
    import sklearn.tree

    estimators = {
        "decision_tree": (sklearn.tree.DecisionTreeClassifier, sklearn.tree.DecisionTreeRegressor),
        "linear": (sklearn.linear_model.LogisticRegression, sklearn.linear_model.Ridge),
        "hist_gradient_boosting": (
            sklearn.ensemble.HistGradientBoostingClassifier,
            sklearn.ensemble.HistGradientBoostingRegressor,
        ),
    }[spec.name]
    x = np.random.default_rng(0).normal(size=(40, 3))
    for task_type in TASK_TYPES:
        make = estimators[task_type == "regression"]
        y = x[:, 0] if task_type == "regression" else np.arange(40) % (3 if task_type == "multiclass" else 2)
        source = draw(spec.space, task_type, 1)
        for params in [spec.space.default(task_type), *(next(source) for _ in range(4))]:
            small = {**params, **({"max_iter": 5} if "max_iter" in params else {})}
            make(**small).fit(x, y)


def test_optuna_proposes_from_a_space() -> None:
    optuna = pytest.importorskip("optuna")
    svm = space(**KERNELS, rate={"distribution": "lognormal", "median": 0.01, "factor": 10})
    study = open_guide("random", True, 0)
    found = [propose(svm, "regression", study.ask()) for _ in range(300)]
    for values in found:
        for parameter in svm.parameters:
            alternative = parameter.alternative("regression", values)
            assert (alternative is not None) == (parameter.name in values)
            assert alternative is None or alternative.domain.holds(values[parameter.name])
    rates = [log(float(values["rate"])) for values in found]  # type: ignore[arg-type]
    assert stats.kstest(rates, stats.norm(log(0.01), log(10)).cdf).pvalue > 1e-3
    assert exp(np.median(rates)) == pytest.approx(0.01, rel=0.7)
    guided = open_guide("guided", True, 0)
    for _ in range(30):
        trial = guided.ask()
        values = propose(svm, "binary", trial)
        guided.tell(trial, float(values["kernel"] == "poly"))
    last = [trial.params["kernel"] for trial in guided.get_trials()[-8:]]
    assert Counter(last).most_common(1)[0][0] == "poly", "it goes where scores were high"
    assert isinstance(guided, optuna.Study)
