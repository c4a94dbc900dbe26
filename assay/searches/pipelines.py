"""The pipeline of a configuration, as it is fitted in a job and, of the winner, on all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.frameworks.pipeline.steps import Demand, make_pipeline, read_steps
from assay.searches.configurations import Configuration

if TYPE_CHECKING:
    from sklearn.pipeline import Pipeline

    from assay.frameworks.pipeline.estimator import Estimator
    from assay.searches.inputs import SearchData

__all__ = ["Demand", "fit_winner", "pipeline_of"]


def pipeline_of(configuration: Configuration, demand: Demand) -> Pipeline:
    """Return the steps of a configuration, not fitted."""
    return make_pipeline(*read_steps(configuration.params()), demand, configuration.estimator)


def fit_winner(data: SearchData, winner: Configuration, demand: Demand) -> Estimator:
    """Return the pipeline of a configuration, fitted on all rows in this process."""
    import warnings

    from threadpoolctl import threadpool_limits

    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # learners warn of what their scores show
        model: Estimator = pipeline_of(winner, demand).fit(data.x, data.y)
        return model
