"""TPOT 0.12, the generation of the AMLB paper: genetic programming on numbers only."""

import numpy as np
from assay_contract import SCORERS, Prediction, passed
from assay_encode import Encoder
from tpot import TPOTClassifier, TPOTRegressor


def fit(train, budget, params):
    """Evolve until the time is up."""
    encoder = Encoder().fit(train)
    tpot = (TPOTClassifier if train.is_classification else TPOTRegressor)(
        scoring=train.metric_as(SCORERS),
        generations=None,
        max_time_mins=budget.seconds / 60,
        max_eval_time_mins=max(0.5, budget.seconds / 600),
        n_jobs=budget.cores,
        random_state=train.seed % 2**32,
        verbosity=2,
        **passed(params),
    )
    codes, y = train.gapless()
    tpot.fit(encoder.transform(train), y)
    tried = tpot.evaluated_individuals_
    done = sum(np.isfinite(one["internal_cv_score"]) for one in tried.values())
    train.report(models_count=done, best=str(tpot.fitted_pipeline_))
    return encoder, tpot.fitted_pipeline_, codes


def predict(model, test):
    """Let the best pipeline predict."""
    encoder, pipeline, codes = model
    return Prediction.of(pipeline, encoder.transform(test), codes)
