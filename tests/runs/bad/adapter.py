"""A framework that misbehaves on demand: `_do` names one of the functions below."""

import ctypes
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np
from assay_contract import Prediction

MB = 2**20


def fit(train, budget, params):
    model = {"do": params["_do"], "prior": np.bincount(train.y, minlength=len(train.classes)) / len(train.y)}
    model.update(classes=train.classes, params=params, folder=train.artifacts.parent.parent, answered=False)
    train.report(models_count=1)
    action = globals().get("fit_" + params["_do"])
    if action is not None:
        action(model)
    return model


def predict(model, test):
    action = globals().get("predict_" + model["do"])
    probabilities = np.tile(model["prior"], (test.n_rows, 1))
    answered, model["answered"] = model["answered"], True
    if action is not None:
        return action(model, probabilities, answered)
    return Prediction(probabilities=probabilities)


# --- while fitting ----------------------------------------------------------------------------------


def allocate(megabytes):
    kept = []
    for _ in range(megabytes // 20):
        kept.append(np.ones(20 * MB, dtype=np.uint8))
    return kept


def fit_allocates(model):
    allocate(4000)


def fit_allocates_in_worker(model):
    worker = multiprocessing.get_context("fork").Process(target=allocate, args=(4000,))
    worker.start()
    worker.join()
    assert worker.exitcode != 0, "the worker should have been killed"


def fit_sleeps(model):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(3600)


def fit_leaves_daemon(model):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.execv("/bin/sleep", [model["params"]["_token"], "3600"])
        os._exit(0)
    os.wait()


def fit_segfaults(model):
    ctypes.string_at(0)


def fit_exits(model):
    os._exit(0)


def fit_prints(model):
    chunk = b"x" * 99 + b"\n"
    block = chunk * 10_000
    for _ in range(1074):
        sys.stdout.buffer.write(block)
    print("the end of a gigabyte")


def fit_fills_disk(model):
    with open(model["folder"] / "out" / "large", "wb") as file:
        for _ in range(4000):
            file.write(b"\0" * MB)
            file.flush()
            time.sleep(0.001)


def nest(folder, depth):
    """Go down a path that is longer than a path may be, and stay there."""
    os.chdir(str(folder))
    for _ in range(depth):
        os.mkdir("nested_folder")
        os.chdir("nested_folder")


def fit_nests_scratch(model):
    nest(tempfile.gettempdir(), 3000)
    os.chdir("/")


def fit_nests_output(model):
    nest(model["folder"] / "out", 3000)
    os.chdir("/")


def fit_hides_files(model):
    nest(model["folder"] / "out", 500)
    for number in range(1000):
        with open(str(number), "wb") as file:
            file.write(b"\0" * MB)
    os.chdir("/")


def fit_writes_many_files(model):
    for number in range(60_000):
        open(os.path.join(tempfile.gettempdir(), str(number)), "w").close()


def fit_forks(model):
    while True:
        subprocess.Popen(["/bin/sleep", "3600"], close_fds=False)


def fit_opens_network(model):
    with socket.create_connection(("127.0.0.1", model["params"]["_port"]), timeout=3) as connection:
        connection.sendall(b"hello")


def fit_tries_network(model):
    try:
        fit_opens_network(model)
    except OSError:
        pass


def fit_writes_inputs(model):
    with open(model["folder"] / "train.npz", "r+b") as file:
        file.write(b"spoiled")


def fit_tries_inputs(model):
    try:
        fit_writes_inputs(model)
    except OSError:
        pass


def fit_raises(model):
    raise RuntimeError("no luck today")


# --- while predicting -------------------------------------------------------------------------------


def predict_wrong_rows(model, probabilities, answered):
    return Prediction(probabilities=probabilities[:-1])


class Indexed:
    """What a DataFrame with an index of its own looks like."""

    def __init__(self, values):
        self.values = values
        self.index = np.arange(len(values))[::-1]

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def predict_other_order(model, probabilities, answered):
    return Prediction(probabilities=Indexed(probabilities))


def predict_nan(model, probabilities, answered):
    probabilities[3, 0] = np.nan
    return Prediction(probabilities=probabilities)


def predict_negative(model, probabilities, answered):
    probabilities[3] = [-0.5, 1.5]
    return Prediction(probabilities=probabilities)


def predict_not_one(model, probabilities, answered):
    return Prediction(probabilities=probabilities * 3)


def predict_unknown_label(model, probabilities, answered):
    return Prediction(labels=["neither"] * len(probabilities))


def predict_no_text(model, probabilities, answered):
    labels = np.full(len(probabilities), 0xD800, dtype=np.uint32).view("<U1")
    np.savez(str(model["folder"] / "out" / "predictions.npz"), prediction=labels)
    os._exit(0)


def predict_no_character(model, probabilities, answered):
    labels = np.full(len(probabilities), 0x7FFFFFFF, dtype=np.uint32).view("<U1")
    np.savez(str(model["folder"] / "out" / "predictions.npz"), prediction=labels)
    os._exit(0)


def predict_sleeps_later(model, probabilities, answered):
    if answered:
        time.sleep(3600)
    return Prediction(probabilities=probabilities)
