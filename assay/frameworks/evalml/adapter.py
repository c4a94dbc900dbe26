"""EvalML: `AutoMLSearch` over batches of pipelines; it begins no further pipeline when the time is up."""

import numpy as np
import pandas as pd
import woodwork as ww
from assay_contract import Prediction, code_names, codes_in, passed
from assay_encode import plain_frame
from evalml.automl import AutoMLSearch
from evalml.objectives import ObjectiveBase, get_optimization_objectives
from evalml.problem_types import ProblemTypes

BINARY = {"auc": "AUC", "logloss": "Log Loss Binary", "acc": "Accuracy Binary", "balacc": "Balanced Accuracy Binary",
          "f1": "F1", "mcc": "MCC Binary"}  # fmt: skip
MULTICLASS = {
    "auc_ovr": "AUC Macro", "logloss": "Log Loss Multiclass", "acc": "Accuracy Multiclass",
    "balacc": "Balanced Accuracy Multiclass", "f1": "F1 Weighted", "mcc": "MCC Multiclass",
}  # fmt: skip
REGRESSION = {
    "rmse": "Root Mean Squared Error", "mse": "MSE", "mae": "MAE", "r2": "R2",
    "rmsle": "Root Mean Squared Log Error", "mape": "Mean Absolute Percentage Error",
}  # fmt: skip
OBJECTIVES = {"binary": BINARY, "multiclass": MULTICLASS, "regression": REGRESSION}
TYPES = {"categorical": "Categorical", "text": "NaturalLanguage", "date": "Datetime"}


def fit(train, budget, params):
    """Search until the time is up, then fit the best pipeline on all rows."""
    objective = train.metric_as(OBJECTIVES[train.type])
    tried, recorder, held_out = [], Recorder(train.is_classification), {}

    def note(result, pipeline, search):
        held_out[label(result)] = recorder.take(train)
        if "Baseline" not in result["pipeline_name"]:  # the mode or the mean: no model
            tried.append((budget.elapsed(), result["ranking_score"], result["pipeline_name"]))

    search = AutoMLSearch(
        X_train=frame(train),
        y_train=target(train),
        problem_type=train.type,
        objective=objective,
        max_time=budget.seconds,
        n_jobs=budget.cores,
        random_seed=train.seed % 2**31,
        add_result_callback=note,
        additional_objectives=[*others(train.type, objective), recorder],
        **passed(params),
    )
    search.search(interactive_plot=False)
    search.full_rankings.to_csv(train.artifacts / "leaderboard.csv", index=False)
    train.write_trace(tried, objective, search.objective.greater_is_better)
    best = label(search.rankings.iloc[0])
    train.report(models_count=sum(score == score for _, score, _ in tried), best=best)
    return search, train.type, held_out


def predict(model, test):
    """Let the best pipeline predict; where the objective is one of labels it has tuned a threshold for them."""
    search, task_type = model[:2]
    X, pipeline = frame(test), search.best_pipeline
    if task_type == "regression":
        return Prediction(values=pipeline.predict(X).to_numpy())
    said = pipeline.predict_proba(X)
    labels = None if search.objective.score_needs_proba else codes_in(pipeline.predict(X))
    return Prediction(probabilities=said.to_numpy(), classes=codes_in(said.columns), labels=labels)


def export(model, train):
    """Write what the pipelines said about rows they had not seen."""
    if not train.write_oof((name, said) for name, said in model[2].items() if said is not None):
        train.report(
            no_oof="EvalML validates on a part of the training rows where there are more than 100,000."
        )


class Recorder(ObjectiveBase):
    """An objective that is always 0 and keeps what it is to judge: the predictions of each fold."""

    name = "Out-of-fold predictions"
    greater_is_better = True
    score_needs_proba = True
    perfect_score = 0
    is_bounded_like_percentage = False
    expected_range = (0, 0)
    problem_types = (ProblemTypes.BINARY, ProblemTypes.MULTICLASS, ProblemTypes.REGRESSION)

    def __init__(self, is_classification):
        self.score_needs_proba = is_classification
        self.folds = []

    def objective_function(self, y_true, y_predicted, y_train=None, X=None, sample_weight=None):
        """Keep the rows of a fold, their encoded classes, and what was said about them."""
        self.folds.append((y_true.index.to_numpy(), y_true.to_numpy(), y_predicted.to_numpy()))
        return 0.0

    def take(self, train):
        """Return the predictions since the last call; None if there is not one of each row, as when a fold failed."""
        folds, self.folds = self.folds, []
        rows, truth, said = (np.concatenate(parts) for parts in zip(*folds)) if folds else ([], [], [])
        if not np.array_equal(np.sort(rows), np.arange(train.n_rows)):
            return None
        order = np.argsort(rows)
        if not train.is_classification:
            return Prediction(values=said[order])
        # EvalML counts the classes by their frequency, and of two it hands over the probability of the second.
        said = np.column_stack([1 - said, said]) if said.ndim == 1 else said
        classes = [train.y[rows[truth == number][0]] for number in range(said.shape[1])]
        return Prediction(probabilities=said[order], classes=classes)


def others(task_type, objective):
    """Return the objectives that EvalML scores by default beside the one it optimises."""
    return [one for one in get_optimization_objectives(task_type) if one.name != objective]


def label(result):
    """Return a pipeline's name and number, because tuned ones share their name."""
    return "%s #%d" % (result["pipeline_name"], result["id"])


def frame(rows):
    """Return the rows with the types EvalML goes by."""
    X = plain_frame(rows, dates="date")
    types = {name: TYPES.get(column["kind"], "Double") for name, column in zip(X, rows.columns)}
    X.ww.init(logical_types=types)
    return X


def target(train):
    """Return values, or classes as k0, k1 …, which EvalML encodes without gaps."""
    if train.is_classification:
        return ww.init_series(pd.Series(code_names(train.y)), "Categorical")
    return ww.init_series(pd.Series(train.y), "Double")
