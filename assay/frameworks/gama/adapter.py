"""GAMA: asynchronous evolution of scikit-learn pipelines; every evaluation is in its log."""

import heapq
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
from assay_contract import SCORERS, Prediction, passed
from assay_encode import plain_frame
from gama import GamaClassifier, GamaRegressor

METRICS = {name: SCORERS[name] for name in ("pr_auc", "logloss", "acc", "mse", "mae", "r2")}
METRICS.update(
    auc={"binary": "roc_auc"}, f1={"multiclass": "f1_weighted"}, rmse=SCORERS["mse"]
)  # the same order; GAMA has no root
MOST = 200  # as many pipelines as GAMA considers for its ensemble
HELD_OUT = Path("held_out")


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
    HELD_OUT.mkdir()
    kept = []
    # First in the list: GAMA's own callback leaves 10,000 rows of the predictions, or none if it builds no ensemble.
    gama._subscribers["evaluation_completed"].insert(0, lambda evaluation: keep(kept, evaluation))
    began = datetime.now()
    gama.fit(frame(train), pd.Series(train.y))
    write_trace(train, began, metric)
    chosen = getattr(gama._post_processing, "_selected_individual", None)  # an ensemble has none
    train.report(best=name(chosen) if chosen else "")
    return gama, kept


def predict(model, test):
    """Let the ensemble predict."""
    gama, X = model[0], frame(test)
    if isinstance(gama, GamaRegressor):
        return Prediction(values=gama.predict(X))
    return Prediction(probabilities=gama.predict_proba(X), classes=gama._label_encoder.classes_)


def export(model, train):
    """Write what the best pipelines said about rows they had not seen."""
    gama, kept = model
    classes = gama._label_encoder.classes_ if train.is_classification else None
    best_first = sorted(kept, reverse=True)
    train.write_oof((which, answer(np.load(HELD_OUT / file), classes)) for _, file, which in best_first)


def keep(kept, evaluation):
    """Save the predictions of a pipeline's cross-validation, and forget those of the worst if there are too many."""
    if evaluation.error is not None:
        return
    file = "%s.npy" % evaluation.individual._id
    np.save(HELD_OUT / file, evaluation.predictions)
    heapq.heappush(kept, (evaluation.score, file, name(evaluation.individual)))
    if len(kept) > MOST:
        (HELD_OUT / heapq.heappop(kept)[1]).unlink()


def name(individual):
    """Return a pipeline's steps and the beginning of its id; the artifact `evaluations.csv` has its parameters."""
    return "%s %s" % (individual.short_name(), str(individual._id)[:8])


def answer(said, classes):
    """Return values, probabilities, or labels where the metric asks for no more."""
    if classes is None:
        return Prediction(values=said)
    if said.ndim > 1:
        return Prediction(probabilities=said, classes=classes)
    return Prediction(labels=said.astype(int))


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
