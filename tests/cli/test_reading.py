"""Commands that read a finished store: they run no job, so they share one."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import assay as package
from assay.runs.machine import strict_problem
from assay.store.store import Store

from .conftest import Assay

NEEDED = {  # the end of DESIGN §8
    "key", "framework", "version", "task", "repeat", "fold", "constraint", "seed", "status", "message", "metric",
    "score", "scores", "fit_s", "predict_s", "peak_memory_mb", "oom_kills", "enforcement", "blindness",
}  # fmt: skip


@pytest.fixture
def rows(finished: Path) -> list[dict[str, Any]]:
    return [row.to_json() for row in Store(finished).rows()]


@pytest.fixture
def key_of(rows: list[dict[str, Any]]) -> Callable[[str], str]:
    return lambda framework: next(row["key"] for row in rows if row["framework"] == framework)


def test_the_version_is_the_packages(assay: Assay) -> None:
    assert assay("--version").out == f"assay {package.__version__}\n"


def test_no_words_at_all_are_answered_with_help(assay: Assay) -> None:
    said = assay()
    assert "Usage: assay" in said.out + said.err and "leaderboard" in said.out + said.err
    assert "Start with: assay demo" in said.out + said.err


@pytest.mark.parametrize("words", [["runn"], ["run"], ["results", "--fromat", "csv"], ["explain"]])
def test_wrong_usage_is_exit_code_2(assay: Assay, words: list[str]) -> None:
    said = assay(*words)
    assert said.code == 2 and "Usage" in said.err and "Traceback" not in said.err


# --- status, results, score ------------------------------------------------------------------------------


def test_status_counts_by_kind(assay: Assay, finished: Path) -> None:
    said = assay("status", "--store", str(finished))
    assert (said.code, said.err) == (0, "")
    counts, size = said.out.splitlines()
    assert counts.endswith("0 waiting · 0 running · 2 error · 8 ok")
    assert re.match(r"size: (about )?[\d.]+ [kM]B; `assay store prune` can free (about )?\d+ kB", size)
    told = json.loads(assay("status", "--json", "--store", str(finished)).out)
    assert (told["counts"], told["running"]) == ({"error": 2, "ok": 8}, [])
    assert told["size"]["bytes"] > told["size"]["prunable_bytes"] and told["size"]["jobs"] == 10
    watched = assay("status", "--watch", "--store", str(finished))
    assert watched.code == 0 and "size" not in watched.out, "it ends when all is done"


def test_results_as_json_are_the_rows(assay: Assay, finished: Path, rows: list[dict[str, Any]]) -> None:
    found = json.loads(assay("results", "--format", "json", "--store", str(finished)).out)
    assert found == rows and len(found) == 10
    assert all(set(row) >= NEEDED for row in found)
    failed = json.loads(assay("results", "--format", "json", "--failed", "--store", str(finished)).out)
    assert [row["framework"] for row in failed] == ["raises", "raises"]


def test_results_as_csv_have_full_precision(assay: Assay, finished: Path, rows: list[dict[str, Any]]) -> None:
    text = assay("results", "--format", "csv", "--store", str(finished)).out
    found = list(csv.DictReader(io.StringIO(text)))
    assert [line["key"] for line in found] == [row["key"] for row in rows]
    assert [float(line["score"]) for line in found if line["score"]] == [
        r["score"] for r in rows if r["score"]
    ]


def test_results_as_a_table_have_a_line_per_job(
    assay: Assay, finished: Path, rows: list[dict[str, Any]]
) -> None:
    lines = assay("results", "--store", str(finished)).out.splitlines()
    assert lines[0].startswith("key ") and lines[0].rstrip().endswith("message")
    assert [line.split()[0] for line in lines[1:]] == [row["key"][:10] for row in rows]


def test_the_scores_table_is_written_as_parquet_and_csv(assay: Assay, finished: Path, tmp_path: Path) -> None:
    said = assay("score", "-o", "scores.parquet", "--store", str(finished))
    assert said.code == 0 and "30 rows written to scores.parquet" in said.out
    assay("score", "-o", "scores.csv", "--store", str(finished))
    parquet, text = pd.read_parquet(tmp_path / "scores.parquet"), pd.read_csv(tmp_path / "scores.csv")
    assert parquet["value"].tolist() == pytest.approx(text["value"].tolist(), rel=0, nan_ok=True)
    assert list(parquet.columns) == list(text.columns)


FAILING = """
def raises(truth, prediction):
    return 1 / (0 * len(truth))
def gives_nan(truth, prediction):
    return float("nan")
def declares(truth, prediction):
    from assay.metrics import UndefinedMetric
    print("called")
    raise UndefinedMetric("too few rows")
raises.higher_is_better = gives_nan.higher_is_better = declares.higher_is_better = True
"""


@pytest.mark.parametrize(
    ("name", "code", "reason"),
    [
        ("raises", 1, "ZeroDivisionError: division by zero (mine.py:3)"),
        ("gives_nan", 1, "its value is nan"),
        ("declares", 0, "too few rows"),
    ],
)
@pytest.mark.parametrize("way", [(), ("--json",), ("-o", "scores.csv")])
def test_metric_that_fails_is_told_once_with_its_line(
    assay: Assay, finished: Path, tmp_path: Path, name: str, code: int, reason: str, way: tuple[str, ...]
) -> None:
    (tmp_path / "mine.py").write_text(FAILING)
    said = assay("score", "-m", f"mine.py:{name}", *way, "--store", str(finished))
    told = [line for line in said.err.splitlines() if line.startswith("warning: ")]
    assert said.code == code and len(told) == 1
    assert f"mine.py:{name} has no value in " in told[0] and reason in told[0]
    if way == ("--json",):
        missing = [row for row in json.loads(said.out) if row["status"] == "ok" and row["value"] is None]
        assert all(reason in row["message"] for row in missing) and missing


def test_scores_by_another_metric_and_as_json(assay: Assay, finished: Path) -> None:
    said = assay("score", "-m", "mcc", "-m", "mse", "--json", "--store", str(finished))
    records = json.loads(said.out)
    assert {(r["type"], r["metric"]) for r in records} == {("multiclass", "mcc"), ("regression", "mse")}
    assert all((r["value"] is None) == (r["status"] != "ok") for r in records)
    assert "mcc" in assay("score", "-m", "mcc", "--store", str(finished)).out


@pytest.mark.parametrize(
    "words",
    [
        ["score", "-o", "nowhere/x.csv"],
        ["score", "-o", "."],
        ["score", "-o", "x.xlsx"],
        ["export", "amlb", "no/x.csv"],
    ],
)
def test_a_file_that_cannot_be_written_is_named(assay: Assay, finished: Path, words: list[str]) -> None:
    said = assay(*words, "--store", str(finished))
    assert said.code == 2 and words[-1] in said.err and "Traceback" not in said.err


def test_a_metric_that_fits_nothing_is_wrong_input(assay: Assay, finished: Path) -> None:
    said = assay("score", "-m", "pr_auc", "--store", str(finished))
    assert said.code == 2 and "pr_auc" in said.err


# --- leaderboard, explain --------------------------------------------------------------------------------


def test_the_leaderboard_shows_ranks_failures_and_trust(assay: Assay, finished: Path) -> None:
    said = assay("leaderboard", "--store", str(finished))
    assert said.code == 0
    assert "decision_tree" in said.out and "iris (logloss↓)" in said.out
    assert re.search(r"^raises .* 0 +2 ", said.out, re.MULTILINE)
    assert "* with failed folds imputed" in said.out
    assert re.search(r"^trust: tier \w+ · blindness \w+ · contended \d+ of 10", said.out, re.MULTILINE)
    assert "warning: Left out, because not all have a score there: 1 of 2 tasks (diabetes)." in said.out


def test_the_leaderboard_as_json(assay: Assay, finished: Path) -> None:
    board = json.loads(assay("leaderboard", "--json", "--store", str(finished)).out)
    standings = {standing["framework"]: standing for standing in board["standings"]}
    assert standings["raises"]["failed"] == standings["raises"]["imputed"] == 2
    cells = {(cell["task"], cell["framework"]): cell for cell in board["cells"]}
    assert cells["iris", "raises"]["mean"] == cells["iris", "constant"]["mean"]
    assert board["trust"] and board["warnings"]


def test_explain_tells_what_happened_and_what_to_do(
    assay: Assay, finished: Path, key_of: Callable[[str], str]
) -> None:
    said = assay("explain", key_of("raises")[:10], "--store", str(finished))
    assert said.code == 0
    for part in ("error: ValueError: this one never learns", "phases: start", "memory: peak", "evidence: tier",
                 "about to give up", "what to do:", "assay job shell"):  # fmt: skip
        assert part in re.sub(r"\s+", " ", said.out), part
    fine = assay("explain", key_of("constant"), "--store", str(finished))
    assert fine.code == 0 and "ok" in fine.out and "Nothing to do" in fine.out


def test_explain_as_json_has_row_and_facts(
    assay: Assay, finished: Path, key_of: Callable[[str], str]
) -> None:
    told = json.loads(assay("explain", key_of("raises"), "--json", "--store", str(finished)).out)
    assert told["row"]["status"] == "error" and told["facts"]["exit_code"] != 0 and told["remedy"]
    assert assay("explain", "zz", "--store", str(finished)).code == 2


# --- job pack, job shell ---------------------------------------------------------------------------------


def test_a_packed_job_has_data_code_and_log_but_no_truth(
    assay: Assay, finished: Path, rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    row = next(row for row in rows if row["framework"] == "decision_tree" and row["task"] == "diabetes")
    said = assay("job", "pack", row["key"], "-o", "bug.tar.gz", "--store", str(finished))
    assert said.code == 0, said
    with tarfile.open(tmp_path / "bug.tar.gz") as archive:
        members = archive.getmembers()
        archive.extractall(tmp_path / "bug", filter="data")
    names = {member.name.partition("/")[2] for member in members}
    assert names >= {"job.json", "log.txt", "outcome.json", "train.npz", "test.npz", "code/adapter.py"}
    assert {member.uname for member in members} == {""} and {member.uid for member in members} == {0}
    truth_file = finished / "truth" / f"{row['fold_digest']}.npz"
    with np.load(truth_file) as file:
        truth = np.sort(file["y"])
    contents = [path.read_bytes() for path in (tmp_path / "bug").rglob("*") if path.is_file()]
    assert truth_file.read_bytes() not in contents
    assert not any("truth" in member.name for member in members)
    columns = []
    for path in (tmp_path / "bug").rglob("*.npz"):
        with np.load(path, allow_pickle=False) as file:
            columns += [
                (path.name, np.sort(file[name])) for name in file.files if file[name].shape == truth.shape
            ]
    assert any(name == "test.npz" for name, _ in columns), "test features were looked at"
    assert not [name for name, values in columns if np.array_equal(values.astype(float), truth)]


def test_a_job_shell_shows_what_the_job_saw(finished: Path, key_of: Callable[[str], str]) -> None:
    if problem := strict_problem():
        pytest.skip(f"job shell needs bubblewrap: {problem}")

    # SQLite's own files beside the index come and go with whoever reads it.
    def files() -> list[Path]:
        return sorted(path for path in finished.rglob("*") if not path.name.startswith("index.sqlite-"))

    before = files()

    def shell(*words: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "assay.cli",
            "job",
            "shell",
            key_of("constant"),
            "--store",
            str(finished),
        ]
        return subprocess.run([*command, "--", *words], capture_output=True, text=True, timeout=60)

    listed = shell("ls", "/job")
    assert listed.returncode == 0 and listed.stdout.split() == ["job.json", "out", "test.npz", "train.npz"]
    assert shell("ls", str(finished)).returncode != 0, "the store is not there"
    assert shell("touch", "/job/out/new").returncode == 0 and shell("false").returncode == 1
    assert files() == before, "the attempt stays as it was"


# --- store -----------------------------------------------------------------------------------------------


def test_verify_and_rebuild_a_store(assay: Assay, copied: Path) -> None:
    assert "10 rows checked, 0 problem(s)." in assay("store", "verify").out
    assert assay("store", "rebuild").out == "10 jobs are in the index of results.\n"
    next(copied.glob("jobs/*/*/attempts/*/out/predictions.npz")).write_bytes(b"")
    said = assay("store", "verify")
    assert said.code == 1 and "not those that were scored" in said.out and "1 problem(s)" in said.out


def test_merge_takes_what_is_missing_and_nothing_twice(assay: Assay, copied: Path) -> None:
    said = assay("store", "merge", "results", "--store", "new")
    assert said.code == 0 and said.out == "10 jobs taken from results, 0 were here already.\n"
    assert "0 jobs taken from results, 10" in assay("store", "merge", "results", "--store", "new").out
    assert (
        assay("results", "--format", "json", "--store", "new").out == assay("results", "--format", "json").out
    )
    assert "0 problem(s)" in assay("store", "verify", "--store", "new").out
    assert assay("store", "merge", "nowhere", "--store", "new").code == 2


def test_a_lost_index_is_named_with_the_remedy(assay: Assay, copied: Path) -> None:
    for path in copied.glob("index.sqlite*"):
        path.unlink()
    said = assay("results")
    assert said.code == 2 and "assay store rebuild" in said.err
    assert assay("store", "rebuild").code == 0 and assay("store", "verify").code == 0


def test_an_empty_store_is_answered_kindly(assay: Assay, tmp_path: Path) -> None:
    Store(tmp_path / "results").close()
    for words in (["status"], ["results"], ["score"], ["results", "--format", "json"], ["store", "verify"]):
        assert assay(*words).code == 0, words
    for words in (["leaderboard"], ["export", "amlb", "x.csv"], ["explain", "ab"]):
        said = assay(*words)
        assert said.code == 2 and said.err.startswith("assay: "), words


def test_results_are_exported_for_amlb(assay: Assay, finished: Path, tmp_path: Path) -> None:
    said = assay("export", "amlb", "results.csv", "--store", str(finished))
    assert said.code == 0 and "10 rows written" in said.out
    table = pd.read_csv(tmp_path / "results.csv")
    assert list(table.columns[:7]) == ["id", "task", "framework", "constraint", "fold", "type", "result"]


# --- frameworks, suites, machine -------------------------------------------------------------------------


def test_frameworks_are_listed_and_shown(assay: Assay) -> None:
    listed = json.loads(assay("framework", "list", "--json").out)
    assert {"constant", "random_forest", "linear"} <= {spec["name"] for spec in listed}
    assert "decision_tree" in assay("framework", "list").out
    shown = json.loads(assay("framework", "show", "random_forest", "--json").out)
    assert shown["name"] == "random_forest" and len(shown["digest"]) == 64
    assert "adapter" in assay("framework", "show", "random_forest").out


def test_a_new_framework_is_ready_to_run(assay: Assay, tmp_path: Path) -> None:
    said = assay("framework", "new", "mine")
    assert said.code == 0 and "assay run ./mine" in said.out
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {"framework.toml", "adapter.py"}
    assert assay("framework", "new", "mine").code == 2
    assert assay("framework", "show", "./mine").code == 0
    assert "nothing to install" in assay("framework", "install", "./mine").out


def test_suites_are_listed_and_filtered(assay: Assay) -> None:
    assert "bundled" in [suite["name"] for suite in json.loads(assay("suite", "list", "--json").out)]
    assert "bundled" in assay("suite", "list").out

    def names(*words: str) -> set[str]:
        return {
            task["name"]
            for task in json.loads(assay("suite", "show", "bundled", "--json", *words).out)["tasks"]
        }

    everything = names()
    assert {"iris", "wine", "diabetes", "breast_cancer"} <= everything
    assert names("--type", "regression") == {"diabetes"}
    assert names("--max-rows", "150") == {"iris"}
    assert names("--min-rows", "151") == everything - {"iris"}
    assert names("--task", "*e") >= {"wine"} and "iris" not in names("--task", "*e")
    assert names("--max-classes", "2", "--min-classes", "2") >= {"breast_cancer"}
    assert names("--no-missing") == everything
    assert assay("suite", "show", "bundled", "--missing").code == 2, "none of them has missing values"
    assert assay("suite", "show", "bundled", "--min-categorical", "0.5").code == 2
    assert "logloss" in assay("suite", "show", "bundled", "-t", "iris").out
    assert assay("suite", "show", "bundled", "--min-rows", "9", "--max-rows", "8").code == 2


def test_a_task_is_shown_with_columns_folds_and_digests(assay: Assay, tmp_path: Path) -> None:
    said = assay("task", "show", "bundled/iris")
    assert said.code == 0
    for part in ("iris", "multiclass", "petal", "numeric", "classes:", "folds: 0.0", "licence"):
        assert part in said.out, part
    (tmp_path / "my.csv").write_text("a,y\n" + "".join(f"{i},{i % 2}\n" for i in range(30)))
    task = json.loads(assay("task", "show", "my.csv", "--target", "y", "--json").out)
    assert task["target"] == "y" and task["type"] == "binary"


def test_the_doctor_says_what_this_machine_can_do(assay: Assay) -> None:
    found = json.loads(assay("doctor", "--json").out)
    assert [tier["tier"] for tier in found["tiers"]] == ["strict", "landlock", "plain"]
    assert found["tier"] in {tier["tier"] for tier in found["tiers"] if tier["works"]}
    assert found["machine"]["cores"] and found["memory_per_core_mb"] > 0
    assert any(spec["name"] == "constant" and not spec["problem"] for spec in found["frameworks"])
    assert f"Runs use the {found['tier']} tier" in assay("doctor").out


def test_reading_never_changes_a_store(assay: Assay, copied: Path) -> None:
    def everything() -> dict[str, bytes]:
        return {str(p): p.read_bytes() for p in copied.rglob("*") if p.is_file() and "index" not in p.name}

    before = everything()
    for words in (["status"], ["results"], ["score", "-m", "acc"], ["leaderboard"], ["store", "verify"]):
        assert assay(*words).code == 0
    assert everything() == before
    shutil.rmtree(copied)
