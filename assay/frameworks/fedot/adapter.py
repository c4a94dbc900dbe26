"""FEDOT: pipelines as graphs, evolved and then tuned; one that is being fitted is not interrupted."""

from datetime import datetime

from assay_contract import Prediction, code_names, codes_in, passed
from assay_encode import plain_frame
from fedot.api.main import Fedot

METRICS = {"auc": "roc_auc", "logloss": "neg_log_loss", "acc": "accuracy", "f1": {"multiclass": "f1"},
           "rmse": "rmse", "mse": "mse", "mae": "mae", "r2": "r2", "mape": "mape"}  # fmt: skip
TARGET = "target"


def fit(train, budget, params):
    """Evolve and tune; a pipeline may take a tenth of the time to fit."""
    metric = train.metric_as(METRICS)
    fedot = Fedot(
        problem="classification" if train.is_classification else "regression",
        timeout=budget.seconds / 60,
        metric=metric,
        n_jobs=budget.cores,
        seed=train.seed % 2**32,
        **{"max_pipeline_fit_time": budget.seconds / 600, "show_progress": False, **passed(params)},
    )
    X = frame(train)
    X[TARGET] = code_names(train.y) if train.is_classification else train.y
    began = datetime.now()
    pipeline = fedot.fit(X, target=TARGET)
    tried = [one for one in individuals(fedot.history) if one.fitness.valid]
    ends = [
        (datetime.fromisoformat(one.metadata["evaluation_time_iso"]) - began).total_seconds() for one in tried
    ]
    train.write_trace(
        zip(ends, [one.fitness.value for one in tried], [models(one.graph) for one in tried]), metric, False
    )
    train.report(models_count=len(tried) or int(pipeline.is_fitted), best=models(pipeline))
    return fedot, train.is_classification


def predict(model, test):
    """Let the pipeline predict; its last model has the order of the encoded classes."""
    fedot, is_classification = model
    X = frame(test)
    if not is_classification:
        return Prediction(values=fedot.predict(X))
    pipeline = fedot.current_pipeline
    encoded = pipeline.root_node.fitted_operation.classes_
    names = pipeline.preprocessor.apply_inverse_target_encoding(encoded.reshape(-1, 1)).ravel()
    probabilities = fedot.predict_proba(X, probs_for_all_classes=True)
    return Prediction(probabilities=probabilities, classes=codes_in(names))


def frame(rows):
    """Return numbers and categories; FEDOT needs gensim for text."""
    return plain_frame(rows, text="drop")


def individuals(history):
    """Return every pipeline that was tried, once; none if the time was too short to begin."""
    found = {one.uid: one for generation in history.generations for one in generation} if history else {}
    return list(found.values())


def models(graph):
    """Return the operations of a pipeline, the last one first."""
    return ", ".join(node.name for node in graph.nodes)
