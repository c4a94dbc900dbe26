"""The cause of a failure is read off its text, and off its time where the text does not tell."""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.analysis.failures import category_of
from assay.results.formats.failure_texts import read_failure
from assay.results.formats.foreign import read_scores

HOUR = 3600.0
LABELS = Path(__file__).parent / "failure_labels.csv"
SOURCES = (
    "amlb_2021/amlb_2021_1h.csv.gz", "amlb_2019/input_results_sample.csv", "amlb_2019/all_results_sample.csv",
)  # fmt: skip
SEED = 20240
ENDED = "CalledProcessError: Command '/bench/python exec.py' returned non-zero exit status {}."


@pytest.mark.parametrize(
    ("text", "seconds", "status"),
    [
        (ENDED.format(134), 453, "crash"),
        (ENDED.format(-6), 453, "crash"),
        (ENDED.format(139), 453, "crash"),
        (ENDED.format(137), 453, "memory"),
        (ENDED.format(-9), 453, "memory"),
        (ENDED.format(137), 7230, "timeout"),  # what does not end when it is asked to is killed
        (ENDED.format(143), 7272, "timeout"),
        (ENDED.format(143), float("nan"), "timeout"),
        (ENDED.format(-15), 7272, "timeout"),
        (ENDED.format(143), 600, "error"),  # somebody ended it, but its time was not up
        (ENDED.format(1), 7272, "error"),
        (ENDED.format(255), 60, "error"),
        ("Command died with <Signals.SIGABRT: 6>.", 60, "crash"),
        ("Command died with <Signals.SIGKILL: 9>.", 60, "memory"),
        ("Process exited with code 139", 60, "crash"),
        ("Missing predictions.", 7200.1, "timeout"),
        ("Missing predictions.", 60, "error"),
        ("Exception: Aborting instance i-1 for job x.", 7205, "timeout"),
        ("Exception: Aborting instance i-1 for job x.", 3000, "error"),
        ("TimeoutError: Interrupting thread MainThread [ident=1] after 7500s timeout.", 7501, "timeout"),
        ("java.util.concurrent.TimeoutException", 60, "timeout"),
        ("subprocess.TimeoutExpired: Command 'x' timed out after 30 seconds", 60, "timeout"),
        ("TypeError: fit() got an unexpected keyword argument 'timeout'", 60, "error"),
        ("requests.exceptions.ReadTimeout: HTTPConnectionPool: Read timed out.", 60, "error"),
        ("MemoryError: Unable to allocate 4.44 GiB for an array", 60, "memory"),
        ("NoResultError: [Errno 12] Cannot allocate memory", 60, "memory"),
        ("java.lang.OutOfMemoryError: Java heap space", 60, "memory"),
        ("ValueError: the allocated time budget is too small", 60, "error"),
        ("TerminatedWorkerError: A worker process was unexpectedly terminated", 60, "crash"),
        ("NoResultError: ", 60, "error"),
        ("", 60, "error"),
    ],
)
def test_status_of_a_failure_by_text_and_time(text: str, seconds: float, status: str) -> None:
    assert read_failure(text, seconds, HOUR)[0] == status


def test_time_that_a_four_hour_job_may_take_is_an_hour_more() -> None:
    assert read_failure("Missing predictions.", 4 * HOUR + 3590, 4 * HOUR)[0] == "timeout"
    assert read_failure("Missing predictions.", 4 * HOUR + 60, 4 * HOUR)[0] == "error"


def test_text_that_we_wrote_is_read_back() -> None:
    assert read_failure("disk: It wrote 3 GB, exit status 139") == ("disk", "It wrote 3 GB, exit status 139")
    assert read_failure("ok: then it failed")[0] == "error"


@pytest.mark.shared
def test_categories_agree_with_labels_given_by_hand(repository: Path) -> None:
    """200 failures were drawn with a seed, read, and labelled by the definitions of the AMLB paper (section 6.4)."""
    folder = repository.parent / "shared" / "data" / "results"
    if not folder.is_dir():
        pytest.skip(f"the published results are not there: {folder}")
    with open(LABELS, newline="") as file:
        labels = list(csv.DictReader(file))
    texts, found = [], {}
    for source in SOURCES:
        frame = pd.read_csv(folder / source, low_memory=False)
        texts += [(source, row, str(frame["info"][row])) for row in np.flatnonzero(frame["result"].isna())]
        found[source] = _categories(folder / source, frame)
    drawn = np.sort(np.random.default_rng(SEED).choice(len(texts), 200, replace=False))
    sample = [texts[at] for at in drawn]
    assert [(one["source"], int(one["row"]), one["sha256"]) for one in labels] == [
        (source, row, hashlib.sha256(text.encode()).hexdigest()) for source, row, text in sample
    ]
    agree = Counter(found[one["source"]][int(one["row"])] == one["category"] for one in labels)
    assert agree[True] / agree.total() >= 0.98, agree


def _categories(path: Path, frame: pd.DataFrame) -> dict[int, str]:
    """Return the category of each failed row; rows that are copies have that of the row they copy."""
    table = read_scores(path).table
    table = table[table["optimised"] & (table["status"] != "ok")]
    job = ["task", "framework", "fold", "wall_s", "seed"]
    by_job = {
        tuple(key): category_of(status, message)
        for *key, status, message in table[[*job, "status", "message"]].itertuples(index=False)
    }
    keys = frame[["task", "framework", "fold", "duration", "seed"]].itertuples(index=False)
    return {row: by_job[tuple(key)] for row, key in enumerate(keys) if np.isnan(frame["result"][row])}
