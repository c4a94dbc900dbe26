"""TPOT 1: genetic programming on Dask workers; it looks at the clock between generations."""

import time

from assay_contract import SCORERS, Prediction, passed
from assay_encode import plain_frame
from tpot import TPOTClassifier, TPOTRegressor


def fit(train, budget, params):
    """Evolve until the time is up; one evaluation gets a tenth of it, but half a minute at least."""
    scorer = train.metric_as(SCORERS)
    X = plain_frame(train, text="drop")
    X = X.dropna(axis=1, how="all")  # its imputer fails on a column without values
    began = time.time()
    tpot = (TPOTClassifier if train.is_classification else TPOTRegressor)(
        scorers=[scorer],
        scorers_weights=[1],
        max_time_mins=budget.seconds / 60,
        max_eval_time_mins=max(0.5, budget.seconds / 600),
        n_jobs=budget.cores,
        memory_limit="%dMB" % (budget.memory_mb // budget.cores),
        random_state=train.seed % 2**32,
        preprocessing=True,
        categorical_features=list(X.select_dtypes("category")),
        **passed(params),
    )
    codes, y = train.gapless()
    tpot.fit(X, y)
    name = tpot.objective_names[0]
    tried = tpot.evaluated_individuals
    tried = tried[tried[name].notna()]
    tried.drop(columns=["Instance", "Individual"], errors="ignore").to_csv(
        train.artifacts / "evaluations.csv"
    )
    train.write_trace(zip(tried["Completed Timestamp"] - began, tried[name]), scorer, True)
    train.report(models_count=len(tried), best=str(tpot.fitted_pipeline_))
    return tpot, codes, list(X)


def predict(model, test):
    """Let the best pipeline predict."""
    tpot, codes, columns = model
    return Prediction.of(tpot, plain_frame(test, text="drop")[columns], codes)
