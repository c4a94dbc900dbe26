"""What an attempt's folder says to the child, and what only to the supervisor."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from assay import api
from assay.data.task import Task, TaskRequest
from assay.errors import InternalError
from assay.files import read_json
from assay.frameworks.find import find_framework
from assay.jobs.constraint import LIMITED, parse_constraint
from assay.jobs.folder import StoreFolder
from assay.jobs.job import JobGroup
from assay.runs.folds import Folds
from assay.runs.launch import Launch, read_launch
from assay.runs.place import Share
from assay.runs.prepare import PreparedAttempt, Resources, describe_job, make_launch, write_attempt
from assay.runs.ready import keep_code, make_ready
from assay.runs.roots import roots_here
from assay.runs.run import RunOptions
from assay.runs.sandbox import landlock
from assay.runs.sandbox.description import bubblewrap_arguments
from assay.runs.sandbox.plain import Plain
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.suite import Suite

from ..conftest import write_framework

MACHINE = {
    "cores": [3], "memory_mb": 10, "host": "h", "system": "Linux", "processor": "p", "python": "3.11",
}  # fmt: skip
RESOURCES = Resources(Share(cores=1, memory_mb=1234), tier="plain", neighbours=2)


@pytest.fixture
def task(table: Path, settings: Settings) -> Task:
    request = TaskRequest("file", path=str(table), target="target", split={"kind": "cv", "folds": 3})
    (found,) = api.load_tasks(Suite("prepare", (request,)), settings)
    return found


@dataclass(frozen=True)
class Place:
    """Where the attempts of these tests are written."""

    store: StoreFolder
    settings: Settings

    @property
    def roots(self) -> dict[str, str]:
        return roots_here(self.store.root, self.settings)


@pytest.fixture
def place(tmp_path: Path, settings: Settings) -> Place:
    return Place(Store(tmp_path / "store").folder, settings)


def launch_of(task: Task, place: Place, name: str = "decision_tree") -> tuple[Launch, dict]:
    spec = find_framework(name)
    job = JobGroup(spec, task, parse_constraint("10s1c"), 0).job(task.folds[1])
    files = Folds(place.store, place.settings).files(task, job.repeat, job.fold, spec.format)
    prepared = PreparedAttempt(job, task, make_ready(spec, place.store, place.settings), files, RESOURCES)
    launch = make_launch(prepared, 1, place.roots)
    return launch.at(place.roots), describe_job(job, task, spec, RESOURCES)


def test_job_json_names_neither_dataset_nor_fold_nor_host(task: Task, place: Place, table: Path) -> None:
    launch, said = launch_of(task, place)
    text = json.dumps(said)
    for secret in (table.stem, task.name, task.id, task.digest, task.data_digest, launch.key, str(table.parent),
                   str(place.store.root), os.uname().nodename, str(Path.home())):  # fmt: skip
        assert not secret or secret not in text, secret
    assert {"fold", "repeat", "name", "id", "task", "path"}.isdisjoint(said)
    assert said["classes"] == ["no", "yes"] and said["target"] == "target"
    assert [column["name"] for column in said["columns"]] == ["a", "b", "side"]
    assert (said["budget_s"], said["cores"], said["memory_mb"]) == (10.0, 1, 1234)
    assert said["n_train"] + said["n_test"] == 200


def test_an_own_metric_is_told_by_its_name_alone(task: Task, tmp_path: Path) -> None:
    path = tmp_path / "secret_place.py"
    path.write_text(
        "def mine(truth, prediction):\n    return 0.0\n\n\nmine.higher_is_better = True\nmine.needs = 'labels'\n"
    )
    spec = find_framework("constant")
    job = JobGroup(spec, task, parse_constraint("10s1c"), 0).job(task.folds[0])
    said = describe_job(replace(job, metrics=(f"{path}:mine",)), task, spec, RESOURCES)
    assert said["metric"] == "mine" and "secret_place" not in json.dumps(said)


def test_code_is_kept_by_its_content(place: Place, tmp_path: Path) -> None:
    folder = write_framework(tmp_path / "mine", "x = 1\n")
    spec = find_framework(str(folder))
    first = keep_code(spec, place.store)
    names = {path.name for path in first.iterdir() if path.is_file()}
    assert names == {"adapter.py"}
    border = {path.name for path in (first / "border").glob("*.py")}
    assert border >= {"child.py", "contract.py", "tables.py", "encode.py"}
    assert (first / "adapter.py").read_text() == "x = 1\n"
    assert keep_code(spec, place.store) == first
    (folder / "adapter.py").write_text("x = 2\n")
    second = keep_code(find_framework(str(folder)), place.store)
    assert second != first and (first / "adapter.py").read_text() == "x = 1\n", "evidence stays"
    assert sorted(path.name for path in first.parent.iterdir()) == sorted([first.name, second.name])


def test_an_edit_half_way_does_not_change_what_is_run(place: Place, tmp_path: Path) -> None:
    folder = write_framework(tmp_path / "mine", "x = 1\n")
    ready = make_ready(find_framework(str(folder)), place.store, place.settings)
    (folder / "adapter.py").write_text("x = 2\n")
    assert (ready.code / "adapter.py").read_text() == "x = 1\n"


def test_what_must_not_be_seen_is_named(task: Task, place: Place, table: Path) -> None:
    launch, _ = launch_of(task, place)
    cache = place.settings.cache
    expected = [
        place.store.root,
        place.settings.state,
        table,
        cache / "openml",
        cache / "tables",
        cache / "splits",
    ]
    assert set(map(str, expected)) <= set(launch.hidden)


def test_the_launch_says_limits_data_and_circumstances(task: Task, place: Place) -> None:
    launch, _ = launch_of(task, place)
    assert launch.argv[0] == sys.executable and launch.argv[1] == "-s"
    assert launch.limits_s == {**dict.fromkeys(LIMITED, 300.0), "fit": 20.0}
    assert sorted(launch.data) == ["test.npz", "train.npz"]
    assert launch.circumstances.neighbours == 2 and (launch.n_cores, launch.cores) == (1, ())
    written = json.loads(json.dumps(launch.to_json()))
    assert Launch.from_json(written) == launch


def test_a_launch_names_no_folder_of_ours_by_its_path(task: Task, place: Place, table: Path) -> None:
    """So it can be run where the store, the cache and the interpreter lie elsewhere."""
    absolute, _ = launch_of(task, place)
    launch = absolute.relative_to(place.roots)
    assert launch.argv[0] == f"{{interpreter}}/{Path(sys.executable).relative_to(sys.prefix)}"
    assert launch.code.startswith("{store}/code/decision_tree-")
    assert launch.data["train.npz"].startswith("{store}/folds/")
    assert {"{store}", "{state}", "{cache}/tables", str(table)} <= set(launch.hidden)
    assert "store" not in launch.roots, "the file lies in it"
    assert launch.at({"store": str(place.store.root)}) == replace(absolute, roots=place.roots)
    elsewhere = launch.at({"store": "/mnt/s", "interpreter": "/opt/venv"})
    assert elsewhere.code.startswith("/mnt/s/code/") and elsewhere.argv[0].startswith("/opt/venv/")


def test_a_launch_of_the_version_before_is_read_as_it_stands(place: Place) -> None:
    folder = place.store.job("abcd").attempt(1)
    folder.path.mkdir(parents=True)
    written = {
        "schema": 1, "key": "abcd", "attempt": 1, "argv": ["/usr/bin/python3", "{code}/child.py"], "code": "/s/code/x",
        "tier": "plain", "cores": [3], "memory_mb": 10, "disk_mb": 10, "limits_s": {"fit": 2.0},
        "data": {"train.npz": "/s/folds/f/train.npz"}, "readable": ["/opt/env"], "hidden": ["/s"],
        "circumstances": {"machine": MACHINE},
    }  # fmt: skip
    folder.attempt.write_text(json.dumps(written))
    launch = read_launch(folder, {"cache": "/elsewhere"})
    assert (launch.argv[0], launch.code, launch.cores) == ("/usr/bin/python3", "/s/code/x", (3,))
    assert launch.data == written["data"] and launch.hidden == ("/s",)


def test_the_attempt_is_written_without_truth(task: Task, place: Place) -> None:
    launch, said = launch_of(task, place)
    folder = place.store.job(launch.key).attempt(1)
    folder.path.mkdir(parents=True)
    write_attempt(folder, said, launch)
    assert sorted(path.name for path in folder.path.iterdir()) == ["attempt.json", "job.json"]
    assert read_json(folder.job).get() == said
    assert not any("truth" in path for path in (*launch.data.values(), launch.code, *launch.readable))


def test_a_framework_without_environment_is_ready_with_its_problem(
    place: Place, task: Task, tmp_path: Path
) -> None:
    folder = write_framework(tmp_path / "mine", "", environment="own")
    (folder / "locks").mkdir()
    (folder / "locks" / "1.txt").write_text("six==1.0\n")
    ready = make_ready(find_framework(str(folder)), place.store, place.settings)
    assert ready.environment is None and "assay framework install" in ready.problem
    job = JobGroup(ready.spec, task, parse_constraint("10s1c"), 0).job(task.folds[0])
    files = Folds(place.store, place.settings).files(task, 0, 0, "npz")
    with pytest.raises(InternalError):
        make_launch(PreparedAttempt(job, task, ready, files, RESOURCES), 1, place.roots)


# --- masks -----------------------------------------------------------------------------------------------


def masks(launch: Launch, folder: Path) -> list[str]:
    """Return the places that the sandbox covers."""
    words = bubblewrap_arguments(launch, folder, 2)
    empty = [words[i + 1] for i, word in enumerate(words) if word == "--tmpfs"]
    empty += [words[i + 2] for i, word in enumerate(words) if words[i : i + 2] == ["--ro-bind", "/dev/null"]]
    return [place for place in empty if not place.startswith(("/proc/", "/dev/"))]


@pytest.mark.parametrize("linked", [False, True])
def test_a_store_inside_something_readable_is_masked_however_it_is_named(
    task: Task, place: Place, tmp_path: Path, linked: bool
) -> None:
    """A store below the interpreter's folder, perhaps named through a link that lies elsewhere."""
    launch, _ = launch_of(task, place)
    inner = tmp_path / "environment" / "lib" / "store"
    inner.mkdir(parents=True)
    (tmp_path / "environment" / "source.csv").touch()
    (tmp_path / "link").symlink_to(inner)
    (tmp_path / "other").symlink_to(tmp_path / "environment")
    named = tmp_path / "link" if linked else inner
    hidden = (str(named), str(tmp_path / "environment" / "source.csv"))
    launch = replace(launch, readable=(str(tmp_path / "environment"), str(tmp_path / "other")), hidden=hidden)
    expected = {str(inner), str(tmp_path / "environment/source.csv"),
                str(tmp_path / "other/lib/store"), str(tmp_path / "other/source.csv")}  # fmt: skip
    assert set(masks(launch, tmp_path)) == expected
    assert Plain(launch, tmp_path, landlock=True).blindness == "convention", "Landlock cannot mask"


def test_a_store_inside_a_programs_own_folder_is_masked_there(
    task: Task, place: Place, tmp_path: Path
) -> None:
    launch, _ = launch_of(task, place)
    (tmp_path / "program" / "results").mkdir(parents=True)
    launch = replace(
        launch, framework=str(tmp_path / "program"), hidden=(str(tmp_path / "program" / "results"),)
    )
    assert masks(launch, tmp_path) == ["/framework/results"]
    assert Plain(launch, tmp_path, landlock=True).blindness == "convention"


def test_what_lies_outside_needs_no_mask(task: Task, place: Place, tmp_path: Path) -> None:
    launch, _ = launch_of(task, place)
    launch = replace(launch, readable=(str(tmp_path / "elsewhere"),))
    assert masks(launch, tmp_path) == []
    assert Plain(launch, tmp_path, landlock=True).blindness == "files"


def test_talking_to_oneself_opens_tcp_under_landlock_only(task: Task, place: Place) -> None:
    spec = replace(find_framework("decision_tree"), loopback=True)
    job = JobGroup(spec, task, parse_constraint("10s1c"), 0).job(task.folds[1])
    files = Folds(place.store, place.settings).files(task, job.repeat, job.fold, spec.format)
    ready = make_ready(spec, place.store, place.settings)
    for tier, is_open in (("strict", False), ("landlock", True), ("plain", False)):
        prepared = PreparedAttempt(job, task, ready, files, replace(RESOURCES, tier=tier))
        launch = make_launch(prepared, 1, place.roots)
        assert launch.network is is_open


@pytest.mark.parametrize(
    ("tier", "abi", "said"),
    [("strict", 3, False), ("landlock", 4, False), ("landlock", 3, True), ("plain", 4, True)],
)
def test_row_says_where_nothing_forbids_the_network(
    task: Task, place: Place, tier: str, abi: int, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "abi", lambda: abi)
    spec = find_framework("decision_tree")
    job = JobGroup(spec, task, parse_constraint("10s1c"), 0).job(task.folds[1])
    files = Folds(place.store, place.settings).files(task, job.repeat, job.fold, spec.format)
    ready = make_ready(spec, place.store, place.settings)
    prepared = PreparedAttempt(job, task, ready, files, replace(RESOURCES, tier=tier))
    launch = make_launch(prepared, 1, place.roots)
    assert (launch.network, launch.circumstances.network) == (False, said)


@pytest.mark.parametrize(
    ("asked", "budget", "most"), [(None, 10, 2.0), (None, 3600, 360.0), (7.5, 10, 7.5), (0.0, 3600, 0.0)]
)
def test_timing_takes_a_tenth_of_the_budget_unless_something_else_is_asked(
    task: Task, asked: float | None, budget: int, most: float
) -> None:
    assert RunOptions(timing_s=asked).timing_for(budget) == most
    spec = find_framework("constant")
    job = JobGroup(spec, task, parse_constraint("10s1c"), 0).job(task.folds[0])
    described = describe_job(job, task, spec, replace(RESOURCES, timing_s=most))
    assert described["timing_s"] == most and bool(described["batch_sizes"]) == (most > 0)
