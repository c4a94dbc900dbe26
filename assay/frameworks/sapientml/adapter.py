"""SapientML: generated scripts, each run as a process of its own, for training and for every prediction."""

import csv
import pickle
import shutil
from pathlib import Path

import numpy as np
from assay_contract import Prediction, passed
from assay_encode import plain_frame
from sapientml import SapientML

METRICS = {"auc": "ROC_AUC", "auc_ovr": "ROC_AUC", "logloss": "LogLoss", "acc": "Accuracy", "mcc": "MCC",
           "rmse": "RMSE", "rmsle": "RMSLE", "mae": "MAE", "r2": "R2", "mape": "MAPE"}  # fmt: skip
TARGET = "target"
SCRIPTS = Path("sapientml")


def fit(train, budget, params):
    """Try the scripts, each with its share of the time, and train the best one."""
    sapient = SapientML(
        [TARGET],
        task_type="classification" if train.is_classification else "regression",
        adaptation_metric=train.metric_as(METRICS),
        split_seed=train.seed % 2**32,
        seed_for_model=train.seed % 2**32,
        predict_option="probability" if train.is_classification else "default",
        **{"initial_timeout": max(1, int(budget.seconds / (params["n_models"] + 1))), **passed(params)},
    )
    sapient.fit(plain(train).assign(**{TARGET: train.y}), output_dir=str(SCRIPTS))
    tried = sapient.generator._candidate_scripts
    with open(train.artifacts / "leaderboard.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(
            [["model", "score"], *([script.model, said.score] for script, said in tried)]
        )
    for script in SCRIPTS.glob("*.py"):
        shutil.copy(script, train.artifacts)
    train.report(models_count=sum(said.score is not None for _, said in tried))
    return sapient, train.type


def predict(model, test):
    """Run the script that predicts; of two classes it gives the second one's probability, of more all by name."""
    sapient, task_type = model
    said = sapient.predict(plain(test))
    if task_type == "regression":
        return Prediction(values=said[TARGET].to_numpy())
    if task_type == "multiclass":
        return Prediction(probabilities=said.to_numpy(), classes=[int(name) for name in said.columns])
    probabilities = np.column_stack([1 - said[TARGET], said[TARGET]])
    return Prediction(probabilities=probabilities, classes=classes(sapient.model.files))


def classes(files):
    """Return the class codes in the order of the trained model, which a script may have encoded."""
    found = pickle.loads(files["model.pkl"]).classes_
    encoder = files.get("target_LabelEncoder.pkl")
    return pickle.loads(encoder).inverse_transform(found) if encoder else found


def plain(rows):
    """Return numbers, dates and strings, from which SapientML makes out the types itself."""
    return plain_frame(rows, categories="text", dates="date")
