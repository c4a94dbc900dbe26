"""EvalML: `AutoMLSearch` over batches of pipelines; it begins no further pipeline when the time is up."""

import pandas as pd
import woodwork as ww
from assay_contract import Prediction, code_names, codes_in, passed
from assay_encode import plain_frame
from evalml.automl import AutoMLSearch

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
    tried = []

    def note(result, pipeline, search):
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
        **passed(params),
    )
    search.search(interactive_plot=False)
    search.full_rankings.to_csv(train.artifacts / "leaderboard.csv", index=False)
    train.write_trace(tried, objective, search.objective.greater_is_better)
    train.report(models_count=sum(score == score for _, score, _ in tried), best=search.best_pipeline.name)
    return search, train.type


def predict(model, test):
    """Let the best pipeline predict; where the objective is one of labels it has tuned a threshold for them."""
    search, task_type = model
    X, pipeline = frame(test), search.best_pipeline
    if task_type == "regression":
        return Prediction(values=pipeline.predict(X).to_numpy())
    said = pipeline.predict_proba(X)
    labels = None if search.objective.score_needs_proba else codes_in(pipeline.predict(X))
    return Prediction(probabilities=said.to_numpy(), classes=codes_in(said.columns), labels=labels)


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
