"""The readers: which files each is given, and everything that Assay does with them."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from assay import api
from assay.analysis.anytime import best_so_far
from assay.api import analyse, interval
from assay.data.archive import gunzip, unpack
from assay.data.resolve import resolve
from assay.data.task import TaskRequest
from assay.errors import UserError
from assay.files import write_json
from assay.frameworks.envs import environment_of
from assay.frameworks.find import find_framework
from assay.frameworks.locks import find_set
from assay.jobs.circumstances import Circumstances, Machine
from assay.jobs.constraint import parse_constraint, read_constraint
from assay.jobs.job import Job, JobGroup
from assay.jobs.outcome import Facts
from assay.results.explain import explain
from assay.results.judge import judge_attempt
from assay.results.matrices import read_job_matrices
from assay.results.rescore import rescore
from assay.results.traces import read_traces
from assay.results.upkeep import merge, rebuild, verify
from assay.runs.attempt import _read_report
from assay.runs.folds import Folds, read_truth
from assay.runs.launch import Launch
from assay.runs.shell import pack
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.find import read_suite
from assay.suites.suite import Suite
from assay.uncertainty.result import Options

TABLE = "x,z,flag,size\n" + "".join(
    f"{i % 13},{(i * 7) % 11 / 3},{'yes' if (i * 5) % 7 > 3 else 'no'},{i % 17 / 4}\n" for i in range(60)
)


@dataclass(frozen=True)
class Reader:
    """Makes good files in an empty folder, returns those to be damaged, and reads them once they are."""

    make: Callable[[Path], list[Path]]
    read: Callable[[Path, Path], None]


def refused(call: Callable[[], object]) -> bool:
    """Whether a call ends in an error for people, which is one line; other exceptions are not caught."""
    try:
        call()
    except UserError as error:
        if "\n" in str(error).strip():
            raise AssertionError(f"more than a line: {error}") from error
        return True
    return False


# --- stores ------------------------------------------------------------------------------------------


def _settings(root: Path) -> Settings:
    return Settings(cache=root / "cache", state=root / "state")


def make_store(root: Path) -> tuple[Store, list[Job]]:
    """Make a store with a finished job of classification and one of regression, as supervisors leave them."""
    (root / "table.csv").write_text(TABLE)
    split = {"kind": "holdout", "test_size": 0.4}
    requests = tuple(
        TaskRequest("file", name=name, path=str(root / "table.csv"), target=name, split=split)
        for name in ("flag", "size")
    )
    settings = _settings(root)
    tasks = api.load_tasks(Suite("fuzz", requests), settings)
    store = Store(root / "store")
    folds = Folds(store.folder, settings)
    jobs = []
    for task in tasks:
        job = JobGroup(find_framework("decision_tree"), task, parse_constraint("10s1c"), 0).job(task.folds[0])
        files = folds.files(task, 0, 0, "npz")
        y = read_truth(store.folder, files.digest).get().y
        store.add([job])
        claim = store.claim(job)
        assert claim is not None
        os.close(claim.lock)
        folder = claim.folder
        (folder.out / "artifacts").mkdir(parents=True)
        np.savez(folder.out / "predictions.npz", row=np.arange(len(y)), prediction=y)
        with np.load(files.train) as train:
            n, target = len(train["y"]), train["y"]
        models = {f"config_{i}": target * 0.5 + 0.1 * i + np.linspace(0, 0.3, n) for i in range(3)}
        np.savez(folder.out / "oof.npz", names=np.array(["a", "b", "c"]), fold=np.arange(n) % 3, **models)
        trace = {"metric": "auc", "higher_is_better": True, "points": [[1.0, 0.5], [2.0, 0.7]]}
        (folder.out / "artifacts" / "trace.json").write_text(json.dumps(trace))
        report = {"models_count": 3, "phases": {"fit": 1.0}, "timing": {"1": {"median_s": 0.1}}, "best": "a"}
        (folder.out / "report.json").write_text(json.dumps(report))
        folder.log.write_text("a line\n")
        launch = Launch(
            key=job.key, attempt=1, argv=("x",), code=str(store.folder.root / "code" / "x"), tier="plain", cores=(0,),
            memory_mb=100, disk_mb=100, limits_s={"fit": 20.0}, data={"train.npz": str(files.train)},
        )  # fmt: skip
        write_json(folder.attempt, launch.to_json())
        machine = Machine((0,), 1000, "host", "Linux", "processor", "3.11")
        circumstances = Circumstances(
            role="baseline", fold_digest=files.digest, framework_digest="f", machine=machine
        )
        facts = Facts(
            "plain", "files", phase="end", phases={"start": 0.1, "fit": 1.0}, exit_code=0, report=report,
            circumstances=circumstances, memory_samples=((0.1, 20.0),),
        )  # fmt: skip
        write_json(folder.outcome, facts.to_json())
        store.finish(job.key, 1, judge_attempt(store.folder, job, folder))
        jobs.append(job)
    store.close()
    return store, jobs


def _jobs(root: Path) -> list[Job]:
    return [Job.from_json(value) for value in json.loads((root / "jobs.json").read_text())]


def _make_with_jobs(root: Path) -> Store:
    store, jobs = make_store(root)
    (root / "jobs.json").write_text(json.dumps([job.to_json() for job in jobs]))
    return store


def make_child(root: Path) -> list[Path]:
    """Return what a child leaves, and predictions as CSV."""
    store = _make_with_jobs(root)
    first, second = (store.folder.job(job.key).attempt(1) for job in _jobs(root))
    with np.load(second.out / "predictions.npz") as file:
        rows = "".join(f"{row},{value}\n" for row, value in zip(file["row"], file["prediction"], strict=True))
    (second.out / "predictions.npz").unlink()
    (second.out / "predictions.csv").write_text(f"row,prediction\n{rows}")
    names = ("predictions.npz", "report.json", "oof.npz", "artifacts/trace.json")
    return [*(first.out / name for name in names), second.out / "predictions.csv"]


def read_child(root: Path, damaged: Path) -> None:
    """Judge both jobs, and show them in every way."""
    store = Store(root / "store")
    try:
        for job in _jobs(root):
            folder = store.folder.job(job.key).attempt(1)
            report, _ = _read_report(folder.out / "report.json")
            json.dumps(Facts("plain", "", report=report).to_json(), allow_nan=False).encode()
            store.finish(job.key, 1, judge_attempt(store.folder, job, folder))
            explain(store, job.key)
        rows = store.rows()
        assert sorted(row.key for row in rows) == sorted(job.key for job in _jobs(root))
        rescore(store.folder, rows, ["acc", "rmse"])
        for _, matrix, _ in read_job_matrices(store.folder, rows):
            assert all(len(values) == matrix.n_rows for values in matrix.values)
        for row, trace in read_traces(store.folder, rows):
            best_so_far(row.framework, row.task, trace)
        if zlib.crc32(str(rows[0].predictions_digest).encode() + damaged.name.encode()) % 8 == 0:
            refused(analyse(store).models)
            refused(analyse(store).anytime)
        pack(folder, root / "bundle.tar.gz")
        problems = verify(store)
        assert not problems, problems
    finally:
        store.close()


def make_stored(root: Path) -> list[Path]:
    """Return the files of a store itself."""
    store = _make_with_jobs(root)
    job = _jobs(root)[0]
    folder = store.folder
    attempt = folder.job(job.key).attempt(1)
    others = [
        attempt.outcome,
        attempt.attempt,
        attempt.verdict,
        folder.job(job.key).job,
        attempt.claim,
        attempt.log,
    ]
    truth = [folder.truth / f"{json.loads(attempt.verdict.read_text())['fold_digest']}.npz"]
    return [*others, folder.index, folder.format, folder.tasks / f"{job.task_digest}.json", *truth]


def read_stored(root: Path, damaged: Path) -> None:
    """Look at the store, judge its jobs, merge it, rebuild it; the innocent job keeps its row."""
    ours, theirs, innocent = root / "ours", root / "store", _jobs(root)[1].key
    shutil.rmtree(ours, ignore_errors=True)
    refused(lambda: _use(theirs, ours, root))
    if refused(lambda: rebuild(theirs)):
        assert damaged.name == "assay-store.json", damaged
        return
    store = Store(theirs)
    keys = [row.key for row in store.rows()]
    # A job without a description is named and left out; one without facts was not tried.
    is_out = damaged.name == "job.json" or (damaged.name == "outcome.json" and not os.path.lexists(damaged))
    assert innocent in keys and len(set(keys)) == len(keys) >= 2 - is_out, keys
    store.close()


def _use(theirs: Path, ours: Path, root: Path) -> None:
    store = Store(theirs, create=False)
    try:
        for call in (store.rows, store.counts, store.running, store.unjudged, lambda: verify(store)):
            refused(call)
        for job in _jobs(root):
            folder = store.folder.job(job.key).attempt(1)
            refused(lambda: explain(store, job.key))  # noqa: B023  called at once
            refused(lambda: pack(folder, root / "bundle.tar.gz"))  # noqa: B023
            judge_attempt(store.folder, job, folder)
        target = Store(ours)
        refused(lambda: merge(target, store))
        refused(lambda: verify(target))
        target.close()
    finally:
        store.close()


# --- files of users ----------------------------------------------------------------------------------

SUITE = """\
name: mine
constraint: quick
constraints:
  quick: {time: 2m, cores: 1, memory: 2g, disk: 5g, files: 1000, leeway: 10s, folds: 2, phases: {start: 10m}}
defaults: {metrics: [auc, logloss], split: {kind: cv, folds: 3}}
tasks:
  - bundled/iris
  - {name: table, file: table.csv, target: flag, type: binary, positive: "yes", columns: {x: {kind: numeric}}}
  - {name: two, train: [a.csv], test: [b.csv], target: y}
"""
AMLB = """\
- name: __defaults__
  folds: 3
  max_runtime_seconds: 60
- name: iris
  openml_task_id: 59
- name: mine
  dataset: {train: table.csv, test: table.csv, target: flag, type: binary}
  metric: [auc]
"""


def make_suites(root: Path) -> list[Path]:
    """Return a suite of our own form and one of AMLB's."""
    (root / "table.csv").write_text(TABLE)
    (root / "suite.yaml").write_text(SUITE)
    (root / "amlb.yaml").write_text(AMLB)
    return [root / "suite.yaml", root / "amlb.yaml"]


def read_suites(root: Path, damaged: Path) -> None:
    """Read the suite and its constraints."""

    def read() -> None:
        suite = read_suite(damaged)
        for name in suite.constraints:
            refused(lambda: read_constraint(str(name), suite.constraints))  # noqa: B023
        json.dumps([request.digest() for request in suite.tasks])

    refused(read)


FRAMEWORK = """\
name = "mine"
version = "1.0"
description = "A framework."
environment = "own"
types = ["binary", "regression"]
stops_by = "count"
project = "https://example.org"
requires = ["numpy=={version}"]
[params]
depth = 3
nested = {a = [1, 2, {b = "c"}]}
"""


def make_locks(root: Path) -> list[Path]:
    """Return a framework's file, its lock, and a set of versions."""
    folder = root / "mine"
    (folder / "locks").mkdir(parents=True)
    (folder / "framework.toml").write_text(FRAMEWORK)
    (folder / "adapter.py").write_text("def fit(train, budget, params): ...\ndef predict(model, test): ...\n")
    (folder / "locks" / "1.0.txt").write_text("# python 3.11\nnumpy==1.26.4\nscipy==1.11.0\n")
    (root / "set.toml").write_text('[frameworks]\nconstant = "1"\nflaml = "2.3"\n')
    return [folder / "framework.toml", folder / "locks" / "1.0.txt", root / "set.toml"]


def read_locks(root: Path, damaged: Path) -> None:
    """Find the framework and the set."""

    def read() -> None:
        spec = find_framework(f"{root / 'mine'}/")
        spec.digest()
        environment_of(spec, _settings(root))

    refused(read)
    refused(lambda: find_set(str(root / "set.toml")))


def make_intervals(root: Path) -> list[Path]:
    """Return predictions of a search in every form."""
    import pandas as pd

    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    values = np.clip(y[:, None] * 0.4 + rng.uniform(0, 0.6, (60, 4)), 0, 1)
    np.savez(root / "a.npz", y=y, predictions=values, folds=np.arange(60) % 5, names=np.array(list("abcd")))
    frame = pd.DataFrame(values, columns=list("abcd")).assign(y=y, fold=np.arange(60) % 5)
    frame.to_csv(root / "a.csv", index=False)
    frame.to_parquet(root / "a.parquet")
    np.savez(root / "split.npz", split=np.arange(60) % 2)
    return [root / "a.npz", root / "a.csv", root / "a.parquet"]


def read_intervals(root: Path, damaged: Path) -> None:
    """Compute an interval from the file."""
    refused(lambda: interval(damaged, options=Options(resamples=20)))


def make_archives(root: Path) -> list[Path]:
    """Return a table in every kind of archive."""
    (root / "table.csv").write_text(TABLE)
    with zipfile.ZipFile(root / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(root / "table.csv", "folder/table.csv")
        archive.write(root / "table.csv", "other.csv")
    for name, mode in (("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tar.xz", "w:xz")):
        with tarfile.open(root / name, mode) as tar:  # type: ignore[call-overload]
            tar.add(root / "table.csv", "folder/table.csv")
    (root / "a.csv.gz").write_bytes(gzip.compress(TABLE.encode()))
    return [root / name for name in ("a.zip", "a.tar", "a.tar.gz", "a.tar.xz", "a.csv.gz")]


def read_archives(root: Path, damaged: Path) -> None:
    """Unpack the archive."""
    out = root / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    if damaged.name == "a.csv.gz":
        refused(lambda: gunzip(damaged, out / "a.csv"))
    else:
        refused(lambda: unpack(damaged, out))


def make_tables(root: Path) -> list[Path]:
    """Return a table as CSV, ARFF and Parquet."""
    import pandas as pd

    (root / "a.csv").write_text(TABLE)
    kinds = {"x": "numeric", "z": "numeric", "flag": "{yes,no}", "size": "numeric"}
    head = (
        "@relation r\n" + "".join(f"@attribute {name} {kind}\n" for name, kind in kinds.items()) + "@data\n"
    )
    (root / "a.arff").write_text(head + TABLE.partition("\n")[2])
    pd.read_csv(root / "a.csv").to_parquet(root / "a.parquet")
    return [root / name for name in ("a.csv", "a.arff", "a.parquet")]


def read_tables(root: Path, damaged: Path) -> None:
    """Make a task of the table."""
    shutil.rmtree(root / "cache", ignore_errors=True)
    refused(lambda: resolve(TaskRequest("file", path=str(damaged), target="flag"), _settings(root)))


READERS: dict[str, Reader] = {
    "child": Reader(make_child, read_child),
    "store": Reader(make_stored, read_stored),
    "suites": Reader(make_suites, read_suites),
    "locks": Reader(make_locks, read_locks),
    "intervals": Reader(make_intervals, read_intervals),
    "archives": Reader(make_archives, read_archives),
    "tables": Reader(make_tables, read_tables),
}
