"""What misbehaving frameworks get, in every tier, as the table in docs/trust.md promises."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from assay import api
from assay.data.task import TaskRequest
from assay.files import Walk, read_json, remove_tree
from assay.frameworks.find import find_framework
from assay.jobs.constraint import Constraint
from assay.runs.executors.local import Local
from assay.runs.run import RunOptions
from assay.runs.sandbox.cgroup import ROOT
from assay.runs.sandbox.strict import group_name
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.suite import Suite

from .conftest import HERE, WAYS, require_tier

DOCS = HERE.parent.parent / "docs" / "trust.md"
TIGHT = Constraint(
    "tight",
    3.0,
    1,
    memory_mb=600,
    disk_mb=200,
    leeway_s=9.0,
    phase_limits_s={"timing": 3.0, "start": 60.0},
    max_files=20_000,
)


def promises() -> dict[str, dict[str, str]]:
    """Read the table: misbehaviour → tier → status."""
    table = (
        DOCS.read_text(encoding="utf-8")
        .partition("test_misbehaviour.py reads this table")[2]
        .partition("\n## ")[0]
    )
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (\w+) \| (\w+) \| (\w+) \|$", table, re.MULTILINE)
    return {row[0]: dict(zip(("strict", "landlock", "plain"), row[1:], strict=True)) for row in rows}


@dataclass(frozen=True)
class Ran:
    tier: str
    rows: dict[str, dict[str, Any]]
    store: Store
    connections: list[str]
    token: str
    processes_before: set[int]


def groups() -> set[str]:
    """Return the names of the control groups of ours that exist."""
    return {path.name for pattern in ("*/assay/*", "assay/*") for path in ROOT.glob(pattern) if path.is_dir()}


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def ran(
    request: pytest.FixtureRequest, settings: Settings, table: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ran]:
    """Run every misbehaviour and a well-behaved job beside each, two at a time."""
    tier, start = request.param
    require_tier(tier)
    root = tmp_path_factory.mktemp(f"bad-{tier}")
    token = f"assay-daemon-{os.getpid()}-{tier}"
    processes = {p.pid for p in psutil.process_iter()}
    connections: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        done = threading.Event()
        listener = threading.Thread(target=listen, args=(server, connections, done))
        listener.start()
        bad = find_framework(str(HERE / "bad"))
        words = {"_token": token, "_port": server.getsockname()[1]}
        specs = [replace(bad, name=name, params={"_do": name, **words}) for name in promises()]
        good = find_framework("constant")
        frameworks = [s for i, spec in enumerate(specs) for s in (spec, replace(good, name=f"good{i}"))]
        split = {"kind": "holdout", "test_size": 0.25}
        suite = Suite("bad", (TaskRequest("file", path=str(table), target="target", split=split),))
        store = Store(root / "store")
        jobs = api.plan(suite, frameworks, TIGHT, settings=settings)
        api.run(jobs, store, Local(2, tier), RunOptions(start=start), settings=settings)
        done.set()
        listener.join()
    rows = {row.framework: row for row in store.rows()}
    expected = "warm" if (tier, start, os.geteuid()) == ("strict", "auto", 0) else "cold"
    assert {row.start for row in rows.values()} == {expected}, {row.cold_reason for row in rows.values()}
    yield Ran(tier, rows, store, connections, token, processes)
    store.close()
    assert remove_tree(root) == "", "pytest could not remove it"


def listen(server: socket.socket, connections: list[str], done: threading.Event) -> None:
    while not done.is_set():
        try:
            connection, address = server.accept()
        except TimeoutError:
            continue
        connections.append(str(address))
        connection.close()


def test_the_table_covers_every_misbehaviour() -> None:
    source = (HERE / "bad" / "adapter.py").read_text()
    assert set(re.findall(r"^def (?:fit|predict)_(\w+)\(", source, re.MULTILINE)) == set(promises())


@pytest.mark.strict
@pytest.mark.parametrize("name", promises())
def test_misbehaviour_gets_the_status_the_docs_promise(ran: Ran, name: str) -> None:
    row = ran.rows[name]
    assert row.status == promises()[name][ran.tier], row.message
    assert row.enforcement == ran.tier
    if row.status != "ok":
        assert row.message[0].isupper() and len(row.message.split()) > 3, row.message


@pytest.mark.strict
def test_every_planned_job_has_exactly_one_row(ran: Ran) -> None:
    rows = ran.store.rows()
    assert len(rows) == len({row.key for row in rows}) == 2 * len(promises())


@pytest.mark.strict
def test_well_behaved_neighbours_are_unaffected(ran: Ran) -> None:
    good = [row for name, row in ran.rows.items() if name.startswith("good")]
    assert {row.status for row in good} == {"ok"}
    assert {row.score for row in good} == {0.5}


@pytest.mark.strict
def test_no_process_is_left(ran: Ran) -> None:
    left = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or [])
        if process.info["pid"] not in ran.processes_before and (
            ran.token in words or "/bin/sleep 3600" in words
        ):
            left.append(words)
    assert not left


@pytest.mark.strict
def test_no_control_group_is_left(ran: Ran) -> None:
    # Other runs on this machine have groups of their own.
    ours = {group_name(path) for path in ran.store.folder.root.glob("jobs/*/*/attempts/*")}
    assert len(ours) == 2 * len(promises()) and not ours & groups()


@pytest.mark.strict
def test_no_scratch_file_is_left(ran: Ran) -> None:
    attempts = list(ran.store.folder.root.glob("jobs/*/*/attempts/*"))
    assert attempts
    assert not [path for path in attempts if (path / "tmp").exists()]
    # Not `rglob`: some of them nested folders deeper than a path may be.
    assert not [found for found in Walk(ran.store.folder.root) if found.name.endswith(".partial")]


@pytest.mark.strict
def test_a_worker_killed_for_memory_is_counted(ran: Ran) -> None:
    if ran.tier == "strict":
        assert ran.rows["allocates_in_worker"].oom_kills == 1
        assert ran.rows["allocates"].oom_kills >= 1


@pytest.mark.strict
def test_memory_stays_near_its_limit(ran: Ran) -> None:
    """The kernel's limit is hard; a watched one is passed by what is allocated between two looks."""
    peak = ran.rows["allocates"].peak_memory_mb
    assert peak <= (600 if ran.tier == "strict" else 1500)


@pytest.mark.strict
def test_the_tree_dies_within_a_second_of_its_limit(ran: Ran) -> None:
    row = ran.rows["sleeps"]
    assert 12.0 <= row.phases["fit"] <= 13.0


@pytest.mark.strict
def test_a_gigabyte_of_output_is_cut_and_its_ends_are_kept(ran: Ran) -> None:
    row = ran.rows["prints"]
    folder = ran.store.folder.job(row.key).attempt(row.attempt)
    facts = read_json(folder.outcome).get()
    assert facts["log_bytes"] > 2**30 and facts["log_cut"]
    assert folder.log.stat().st_size < 2 * 2**20
    assert b"the end of a gigabyte" in folder.log.read_bytes()[-200:]


@pytest.mark.strict
def test_a_full_folder_stops_near_its_limit(ran: Ran) -> None:
    assert 200 <= ran.rows["fills_disk"].disk_peak_mb < 2500


@pytest.mark.strict
def test_too_many_files_are_counted_and_named(ran: Ran) -> None:
    assert "files, more than its limit of 20,000" in ran.rows["writes_many_files"].message


@pytest.mark.strict
def test_endless_forks_are_stopped_by_the_process_limit(ran: Ran) -> None:
    row = ran.rows["forks"]
    facts = read_json(ran.store.folder.job(row.key).attempt(row.attempt).outcome).get()
    if ran.tier == "strict":
        assert facts["process_limit_hits"] > 0
        assert facts["processes_peak"] <= 1024
    else:
        assert facts["stopped_for"] == "processes"


@pytest.mark.strict
def test_the_network_is_refused_where_the_tier_says_so(ran: Ran) -> None:
    assert bool(ran.connections) == (ran.tier == "plain")


@pytest.mark.strict
def test_predictions_survive_a_hang_in_inference_timing(ran: Ran) -> None:
    row = ran.rows["sleeps_later"]
    assert row.score == 0.5
    assert row.phases["timing"] >= 3.0
