"""`assay search` as a user calls it: table, two sentences, files, JSON, a folder to continue in, and bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from assay.cli.output import outward

from .conftest import Assay

WORDS = ("search", "mine.csv", "--target", "left", "--configurations", "4", "--folds", "3")


@pytest.fixture
def file(tmp_path: Path) -> pd.DataFrame:
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 3))
    y = np.where(x[:, 0] + x[:, 1] + random.normal(size=80) > 0, "yes", "no")
    frame = pd.DataFrame(
        {"age": x[:, 0], "size": x[:, 1], "noise": x[:, 2], "patient": np.arange(80) // 2, "left": y}
    )
    frame.to_csv(tmp_path / "mine.csv", index=False)
    return frame


def test_words_files_and_a_folder_to_continue_in(assay: Assay, tmp_path: Path, file: pd.DataFrame) -> None:
    more = ("--folder", "kept", "-o", "all.parquet", "--model", "best.joblib")
    said = assay(*WORDS, *more)
    assert said.code == 0, said.err
    lines = said.out.strip().splitlines()
    assert (
        "configuration" in lines[0]
        and "auc↑ in the cross-validation" in lines[0]
        and lines[1].startswith("1 ")
    )
    assert any(line.split()[:2] == ["4", "trivial"] for line in lines) and len(lines) == 8
    assert (
        lines[-2].startswith("The best of 4 is ")
        and "sure of 0." in lines[-2]
        and lines[-2].endswith("or more.")
    )
    assert lines[-1].startswith(
        "Bootstrap bias correction (1000 draws) of 3-fold cross-validated predictions, n = 80:"
    )
    assert "one-sided 95 % interval [0." in lines[-1] and ", 1]" in lines[-1]
    assert said.err.splitlines()[-1] == "12 of 12 jobs"
    again = assay(*WORDS, *more)
    assert again.out == said.out and again.err == "12 of 12 jobs\n"
    model = joblib.load(tmp_path / "best.joblib")
    assert (model.predict(file.drop(columns="left")) == file["left"]).mean() > 0.6
    other = assay("interval", "all.parquet")
    assert other.code == 0 and other.out.startswith("The winner of 4 is ")
    shown = assay("status", "--store", "kept")
    assert shown.code == 0 and "12 ok" in shown.out


def test_json_has_the_interval_and_all_scores(assay: Assay, file: pd.DataFrame) -> None:
    words = ("--json", "--group", "patient", "--metric", "logloss", "--side", "two", "--alpha", "0.1")
    said = assay(*WORDS, *words, "--method", "naive_folds", "--repeats", "2")
    found = json.loads(said.out)
    assert said.code == 0 and said.err == ""
    assert len(found["scores"]) == 4 and found["winner"] == next(iter(found["scores"]))
    assert list(found["scores"].values()) == sorted(found["scores"].values())
    assert found["interval"]["method"] == "naive_folds" and found["interval"]["alpha"] == 0.1
    assert (found["rows"], found["folds"], found["repeats"]) == (80, 3, 2)
    assert found["classes"] == ["no", "yes"] and found["failed"] == {}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--configurations", "many"), "--configurations many: give a number, or all."),
        (("--target", "gone"), "gone"),
        (("--metric", "rmse"), "rmse is of numbers"),
        (("--method", "all"), "Unknown method 'all'"),
        (("--group", "nobody"), "no column 'nobody'"),
        (("-o", "nowhere/all.parquet"), "nowhere/all.parquet cannot be written"),
        (("--side", "three"), "side is 'three'"),
        (("--seed", "5000000000"), "The seed is 5000000000"),
        (("--model", "/proc/best.joblib"), "/proc/best.joblib cannot be written"),
        (("--folder", "/proc/kept"), "/proc/kept cannot be made"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    assay: Assay, file: pd.DataFrame, words: tuple[str, ...], message: str
) -> None:
    said = assay(*WORDS, *words)
    assert said.code == 2 and message in said.err and "Traceback" not in said.err


def test_a_file_that_is_cut_at_another_sign_is_named(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "hash.csv").write_text("a#y\n1#2\n")
    said = assay("search", "hash.csv", "--target", "y")
    assert said.code == 2 and "one column only, 'a#y'" in said.err


def test_numbers_are_judged_by_their_error(assay: Assay, file: pd.DataFrame) -> None:
    said = assay("search", "mine.csv", "--target", "age", "--configurations", "3", "--folds", "3")
    assert said.code == 0 and "rmse↓" in said.out and " or less." in said.out


def test_groups_may_be_long_texts(assay: Assay, tmp_path: Path, file: pd.DataFrame) -> None:
    site = [f"the site number {number} in the town where rows {number} come from" for number in range(40)]
    file.assign(site=np.repeat(site, 2)).to_csv(tmp_path / "mine.csv", index=False)
    said = assay(*WORDS, "--group", "site", "--json")
    assert said.code == 0, said.err
    assert "site" not in json.loads(said.out)["winner"]


def test_what_cannot_be_written_is_refused_before_the_work(
    assay: Assay, tmp_path: Path, file: pd.DataFrame
) -> None:
    (tmp_path / "taken").write_text("")
    for words, text in (
        (("-o", "all.txt"), "written as .parquet or .csv"),
        (("--folder", "taken"), "taken is a file"),
        (("--method", "delong"), "assay interval --method delong"),
        (("--method", "bbc_f"), "3 folds are too few"),
    ):
        said = assay(*WORDS, *words)
        assert said.code == 2 and text in said.err and "jobs" not in said.err, said.err


def test_the_model_reads_what_pandas_reads(assay: Assay, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    smoker = random.choice(["yes", "no"], size=120)
    y = (smoker == "yes") ^ (random.random(120) < 0.1)
    frame = pd.DataFrame({"smoker": smoker, "noise": random.normal(size=120), "ill": y})
    frame.to_csv(tmp_path / "mine.csv", index=False)
    words = ("--target", "ill", "--configurations", "4", "--folds", "3", "--model", "best.joblib")
    assert assay("search", "mine.csv", *words).code == 0
    again = pd.read_csv(tmp_path / "mine.csv")
    right = joblib.load(tmp_path / "best.joblib").predict(again) == again["ill"]
    assert again["smoker"].dtype.kind not in "fiub" and right.mean() > 0.85


def test_sentences_promise_no_more_than_the_numbers(assay: Assay, tmp_path: Path, file: pd.DataFrame) -> None:
    found = json.loads(assay(*WORDS, "--json").out)["interval"]
    words = assay(*WORDS).out.splitlines()[-2]
    assert float(words.split("sure of ")[1].split()[0]) <= found["lower"]
    naive = assay(*WORDS, "--method", "naive_folds").out.splitlines()[-2]
    assert "sure" not in naive and "cannot be estimated" in naive
    said = assay(*WORDS, "--method", "tt").out.splitlines()
    assert "sure" not in said[-2] and said[-1].startswith("tt of 3-fold") and "estimate 0." in said[-1]
    grouped = assay(*WORDS, "--group", "patient").out.splitlines()[-1]
    assert "n = 80 in 40 groups, drawn whole" in grouped
    file.assign(left=np.tile(["no", "yes"], 40), age=1.0, size=1.0, noise=1.0).to_csv(
        tmp_path / "mine.csv", index=False
    )
    nothing = assay(*WORDS, "--group", "patient").out.splitlines()
    assert nothing[-2].startswith("None of the 4 configurations beats trivial") and "sure" not in nothing[-2]
    assert "no reliable interval" in nothing[-1] and "[" not in nothing[-1]


def test_rows_that_are_numbered_are_pointed_at(assay: Assay, tmp_path: Path) -> None:
    y = np.repeat(["a", "b"], 40)
    pd.DataFrame({"id": np.arange(80), "x": np.random.default_rng(0).random(80), "y": y}).to_csv(
        tmp_path / "mine.csv", index=False
    )
    said = assay("search", "mine.csv", "--configurations", "4", "--folds", "3").out
    assert "The values of id go up (or down) from row to row" in said and "The target is 'y'" in said
    assert "sure" not in said, "all is right, so nothing can be said of errors"
    assert "no reliable interval" in said and "sided" not in said


def test_an_interrupted_search_says_how_to_go_on(tmp_path: Path, file: pd.DataFrame) -> None:
    words = [sys.executable, "-m", "assay", *WORDS[:4], "--configurations", "60", "--folder", "kept"]
    with subprocess.Popen(
        words,
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        # Where tests run in the background, it is ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as child:
        deadline = time.monotonic() + 60
        while (
            not list(tmp_path.glob("kept/jobs/*/*/attempts/*/verdict.json")) and time.monotonic() < deadline
        ):
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        try:
            _, err = child.communicate(timeout=60)
        finally:
            child.kill()
    assert child.returncode == 130 and "Traceback" not in err
    assert "jobs. The same command goes on from there." in err and "interrupted after" in err


def test_links_are_followed_and_devices_refused(assay: Assay, tmp_path: Path, file: pd.DataFrame) -> None:
    (tmp_path / "link.joblib").symlink_to(tmp_path / "real.joblib")
    os.mkfifo(tmp_path / "pipe")
    said = assay(*WORDS, "--model", "link.joblib")
    assert said.code == 0 and (tmp_path / "link.joblib").is_symlink() and (tmp_path / "real.joblib").is_file()
    said = assay(*WORDS, "--model", "pipe")
    assert said.code == 2 and "it is a device" in said.err and (tmp_path / "pipe").is_fifo()


@pytest.mark.parametrize(
    ("value", "down", "shown"),
    [
        (0.98765, True, "0.987"), (0.98765, False, "0.988"), (0.8500000000000001, False, "0.85"), (0.0, True, "0"),
        (-0.1234, True, "-0.124"), (-0.0, True, "0"), (1.0, False, "1"), (12345.0, False, "1.24e+04"),
        (1.23456e-9, True, "1.23e-09"),
    ],
)  # fmt: skip
def test_bounds_are_rounded_outward(value: float, down: bool, shown: str) -> None:
    assert outward(value, down, 3) == shown


@pytest.mark.parametrize("body", ["return 1 / 0", "return None", "import sys; sys.exit(0)"])
def test_metric_that_fails_ends_a_search_and_an_interval_with_its_line(
    assay: Assay, tmp_path: Path, file: pd.DataFrame, body: str
) -> None:
    assert assay(*WORDS, "--metric", "acc", "-o", "all.csv").code == 0
    (tmp_path / "bad.py").write_text(
        f"def bad(truth, prediction):\n    {body}\nbad.higher_is_better = True\n"
    )
    for words in (WORDS, ("interval", "all.csv")):
        said = assay(*words, "--metric", "bad.py:bad")
        assert said.code == 1 and said.out == ""
        assert said.err.count("Metric 'bad.py:bad' fails") == 1 and "(bad.py:" in said.err


SPACE = """
[learner]
choices = ["linear", "decision_tree"]
[linear_lambda]
low = 0.1
high = 10.0
log = true
when = { learner = "linear" }
[decision_tree_min_leaf]
low = 2
high = 20
when = { learner = "decision_tree" }
[decision_tree_alpha]
choices = [0.05]
when = { learner = "decision_tree" }
"""


def test_a_space_of_the_users_own(assay: Assay, tmp_path: Path, file: pd.DataFrame) -> None:
    (tmp_path / "mine.toml").write_text(SPACE)
    (tmp_path / "mine.py").write_text(
        "import pathlib, tomllib\ndef space():\n    return tomllib.loads(pathlib.Path('mine.toml').read_text())\n"
    )
    found = json.loads(assay(*WORDS, "--space", "mine.toml", "--json").out)
    assert len(found["scores"]) == 4 and "trivial" in found["scores"]
    assert found["winner_params"]["selector"] == "all"
    kind = found["winner_params"]["learner"]
    assert kind in ("linear", "decision_tree")
    same = json.loads(assay(*WORDS, "--space", "mine.py:space", "--json").out)
    assert same["scores"] == found["scores"]


@pytest.mark.parametrize(
    ("space", "text", "message"),
    [
        ("piplines", "", "Unknown space 'piplines'. Did you mean 'pipelines'?"),
        ("mine.toml", SPACE.replace("linear_lambda", "linear_lamda"), "Did you mean 'linear_lambda'?"),
        ("mine.toml", SPACE.replace('"linear", ', '"linaer", '), "learner = 'linear', which it never is"),
        ("mine.toml", "learner = 3", "Expected keys and values"),
        ("mine.toml", '[learner]\nchoices = ["svm"]', "The learner of the space is 'svm'."),
        ("mine.toml", "[learner", "mine.toml"),
        ("gone.toml", "", "gone.toml"),
    ],
)
def test_a_space_that_means_nothing_is_refused(
    assay: Assay, tmp_path: Path, file: pd.DataFrame, space: str, text: str, message: str
) -> None:
    (tmp_path / "mine.toml").write_text(text)
    said = assay(*WORDS, "--space", space)
    assert said.code == 2 and said.out == ""
    assert said.err.startswith("assay: ") and said.err.count("\n") == 1
    assert message in said.err


def test_all_of_a_space_without_end_is_refused(assay: Assay, file: pd.DataFrame) -> None:
    said = assay("search", "mine.csv", "--target", "left", "--space", "ranges", "--configurations", "all")
    assert said.code == 2 and "no end of configurations: say how many" in said.err
