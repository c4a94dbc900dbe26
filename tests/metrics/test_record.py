"""The record of a metric and how one is made from a function."""

from dataclasses import FrozenInstanceError
from math import inf

import pytest

from assay.errors import ConfigError
from assay.metrics import BUILTIN, Metric
from assay.metrics.record import measure, metric_of


def test_record_is_frozen():
    with pytest.raises(FrozenInstanceError):
        BUILTIN["acc"].name = "accuracy"


def test_function_with_a_direction_is_a_metric_of_labels():
    def cost(truth, prediction):
        """Cost of all mistakes.

        More words.
        """

    cost.higher_is_better = False
    metric = metric_of(cost, "cost")
    assert metric == Metric("cost", cost, False, description="Cost of all mistakes.")
    assert (metric.low, metric.high, metric.needs, metric.kind) == (-inf, inf, "labels", "generic")
    assert metric.types == ("binary", "multiclass")


def test_attributes_fill_the_record():
    @measure(higher_is_better=True, needs="values", low=-1.0, high=1.0, kind="ratio")
    def correlation(truth, prediction):
        return 0.0

    metric = metric_of(correlation, "correlation")
    assert metric.types == ("regression",)
    assert (metric.low, metric.high, metric.needs, metric.kind) == (-1.0, 1.0, "values", "ratio")
    assert metric.description == ""


def test_one_type_may_be_given_as_a_word():
    def cost(truth, prediction): ...

    cost.higher_is_better, cost.types = False, "binary"
    assert metric_of(cost, "cost").types == ("binary",)


def test_missing_direction_is_explained():
    def cost(truth, prediction): ...

    with pytest.raises(
        ConfigError, match=r"'c\.py:cost' in suite s\.yaml does not say .*`cost\.higher_is_better = "
    ):
        metric_of(cost, "c.py:cost", "in suite s.yaml")


def test_what_cannot_be_called_is_no_metric():
    with pytest.raises(ConfigError, match="'cost' is 3, not a function"):
        metric_of(3, "cost")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"higher_is_better": "yes"}, "higher_is_better is 'yes'; use True or False"),
        ({"needs": "logits"}, "needs is 'logits'; use one of labels, probabilities, values"),
        ({"types": ("ranking",)}, "types is 'ranking'; use one of binary, multiclass, regression"),
        ({"kind": "sum"}, "kind is 'sum'; use one of additive"),
        ({"low": 1.0, "high": 1.0}, "low is 1.0, which is not below high"),
    ],
)
def test_wrong_attribute_is_named_with_its_choices(attributes, message):
    def cost(truth, prediction): ...

    cost.__dict__.update({"higher_is_better": False, **attributes})
    with pytest.raises(ConfigError, match=message):
        metric_of(cost, "cost")
