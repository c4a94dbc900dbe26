"""GAMA: asynchronous evolution of scikit-learn pipelines; every evaluation is in its log."""

from datetime import datetime
from pathlib import Path

import pandas as pd
from assay_contract import SCORERS, Prediction, passed
from assay_encode import plain_frame
from gama import GamaClassifier, GamaRegressor

METRICS = {name: SCORERS[name] for name in ("pr_auc", "logloss", "acc", "mse", "mae", "r2")}
METRICS.update(
    auc={"binary": "roc_auc"}, f1={"multiclass": "f1_weighted"}, rmse=SCORERS["mse"]
)  # the same order; GAMA has no root


def fit(train, budget, params):
    """Search, then build the preset's ensemble, in the time given."""
    kind = GamaClassifier if train.is_classification else GamaRegressor
    metric = train.metric_as(METRICS)
    gama = kind(
        max_total_time=int(budget.seconds),
        scoring=metric,
        n_jobs=budget.cores,
        max_memory_mb=budget.memory_mb,
        random_state=train.seed % 2**32,
        store="logs",
        output_directory="gama",
        **passed(params),
    )
    began = datetime.now()
    gama.fit(frame(train), pd.Series(train.y))
    write_trace(train, began, metric)
    return gama


def predict(gama, test):
    """Let the ensemble predict."""
    X = frame(test)
    if isinstance(gama, GamaRegressor):
        return Prediction(values=gama.predict(X))
    return Prediction(probabilities=gama.predict_proba(X), classes=gama._label_encoder.classes_)


def write_trace(train, began, metric):
    """Keep what GAMA logged of every pipeline; scores are pairs of the metric and the pipeline's length."""
    tried = pd.read_csv(Path("gama", "evaluations.log"), sep=";")
    tried.to_csv(train.artifacts / "evaluations.csv", index=False)
    ends = pd.to_datetime(tried["t_start"], format="%Y-%m-%d %H:%M:%S,%f") + pd.to_timedelta(
        tried["t_wallclock"], "s"
    )
    scores = tried["score"].str.extract(r"\((.*?),", expand=False).astype(float)
    train.write_trace(zip((ends - began).dt.total_seconds(), scores), metric, True)
    train.report(models_count=int((scores > float("-inf")).sum()))


def frame(rows):
    """Return numbers and categories; GAMA has no use for text."""
    return plain_frame(rows, text="drop")
