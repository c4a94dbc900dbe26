"""What a cheating framework can reach in every tier, as the table in docs/trust.md lists it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from assay import api
from assay.data.task import TaskRequest
from assay.files import read_json
from assay.frameworks.find import find_framework
from assay.runs.executors.local import Local
from assay.runs.run import RunOptions
from assay.runs.sandbox.spawn import drop_capabilities
from assay.settings import Settings
from assay.store.store import Store
from assay.suites.suite import Suite

from .conftest import HERE, WAYS, require_tier

DOCS = HERE.parent.parent / "docs" / "trust.md"
TIERS = ("strict", "landlock", "plain")


def promises() -> dict[str, dict[str, str]]:
    """Read the table: what is looked for → tier → nothing or found."""
    table = DOCS.read_text(encoding="utf-8").partition("test_cheat.py reads this table")[2]
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (\w+) \| (\w+) \| (\w+) \|$", table, re.MULTILINE)
    return {row[0]: dict(zip(TIERS, row[1:], strict=True)) for row in rows}


class Temptations:
    """Servers, files and canaries that a cheat would like to reach."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self.tcp = socket.create_server(("127.0.0.1", 0))
        self.udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.udp.bind(("127.0.0.1", 0))
        self.token = f"assay-neighbour-{os.getpid()}"
        self.canary = f"canary-{os.urandom(8).hex()}"
        # In our own memory the needle stands in the clear; what the child is told is disguised.
        self.needle = os.urandom(24)
        self.neighbour = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()", self.token],
            stdin=subprocess.PIPE,
            env={**os.environ, "CANARY": self.canary},
            # An ordinary process of the same user; one of root's with its capabilities is beyond reach anyway.
            preexec_fn=drop_capabilities,
        )
        self.secret = settings.state / "secret"
        self.source = root / "private_source.csv"
        lines = [f"{i},{(i * 7) % 11 / 3},{'no' if i < 100 else 'yes'}" for i in range(200)]
        self.source.write_text("a,b,target\n" + "\n".join(lines) + "\n")
        self.openml = settings.cache / "openml" / "org" / "openml" / "www" / "tasks" / "1" / "task.xml"
        self.openml.parent.mkdir(parents=True, exist_ok=True)
        self.openml.write_text("<oml:task/>")
        for serve in (self._serve_tcp, self._serve_udp):
            threading.Thread(target=serve, daemon=True).start()

    def _serve_tcp(self) -> None:
        while True:
            try:
                connection, _ = self.tcp.accept()
            except OSError:
                return
            connection.sendall(b"labels over tcp")
            connection.close()

    def _serve_udp(self) -> None:
        while True:
            try:
                _, address = self.udp.recvfrom(10)
                self.udp.sendto(b"labels over udp", address)
            except OSError:
                return

    def words(self) -> dict[str, Any]:
        return {
            "_source": str(self.source),
            "_openml": str(self.openml),
            "_secret": str(self.secret),
            "_token": self.token,
            "_canary": self.canary,
            "_needle": bytes(b ^ 0x55 for b in self.needle).hex(),
            "_pids": [os.getpid()],
            "_tcp": self.tcp.getsockname()[1],
            "_udp": self.udp.getsockname()[1],
            "_store_words": [str(self.source.parent / "store"), "/jobs/", "/folds/", "/attempts/"],
            "_names": ["private_source", '"fold"', "task_id", str(self.source.parent)],
        }

    def close(self) -> None:
        self.neighbour.communicate()
        for server in (self.tcp, self.udp):
            server.shutdown(socket.SHUT_RDWR) if server is self.tcp else None
            server.close()


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def caught(
    request: pytest.FixtureRequest, settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[str, str]]:
    """Let the cheat loose beside a store with other folds, and return what it reached."""
    tier, start = request.param
    require_tier(tier)
    options = RunOptions(start=start)
    root = tmp_path_factory.mktemp(f"cheat-{tier}")
    bait = Temptations(root, settings)
    try:
        suite = Suite(
            "cheat", (TaskRequest("file", path=str(bait.source), target="target", split={"folds": 3}),)
        )
        store = Store(root / "store")
        # The other folds lie in the store before the cheat comes.
        api.run(
            api.plan(suite, "constant", "30s1c", settings=settings),
            store,
            Local(2, tier),
            options,
            settings=settings,
        )
        spec = find_framework(str(HERE / "cheat")).with_params(bait.words())
        api.run(
            api.plan(suite, [spec], "60s1c", folds=[0], settings=settings),
            store,
            Local(1, tier),
            options,
            settings=settings,
        )
    finally:
        bait.close()
    (row,) = [row for row in store.rows() if row.framework == "cheat"]
    assert row.status == "ok", row.message
    assert row.start == ("warm" if (tier, start, os.geteuid()) == ("strict", "auto", 0) else "cold"), (
        row.cold_reason
    )
    left = store.folder.job(row.key).attempt(row.attempt).out / "tool"
    special = left.stat().st_mode & 0o7000 or left.stat().st_uid != os.geteuid()
    facts = read_json(store.folder.job(row.key).attempt(row.attempt).outcome).get()
    return tier, {**facts["report"]["found"], "special_bits": "kept" if special else ""}


def test_the_table_lists_everything_the_cheat_looks_for() -> None:
    source = (HERE / "cheat" / "adapter.py").read_text()
    assert set(re.findall(r"^def find_(\w+)\(", source, re.MULTILINE)) == set(promises())


@pytest.mark.strict
@pytest.mark.parametrize("what", promises())
def test_the_cheat_reaches_what_the_docs_admit_and_no_more(
    caught: tuple[str, dict[str, str]], what: str
) -> None:
    tier, found = caught
    promise = promises()[what][tier]
    if promise == "root" and os.geteuid() != 0:
        return  # an ordinary user's job finds what that user may write: its own groups, if it has any
    promise = "found" if promise == "root" else promise
    assert ("found" if found[what] else "nothing") == promise, found[what]


@pytest.mark.strict
def test_the_strict_tier_leaves_nothing_to_find(caught: tuple[str, dict[str, str]]) -> None:
    tier, found = caught
    if tier == "strict":
        assert not any(found.values()), found


@pytest.mark.strict
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user runs the tests above")
@pytest.mark.parametrize("start", ["auto", "cold"])
def test_the_strict_tier_leaves_nothing_to_find_for_an_ordinary_users_job(start: str) -> None:
    """The same test once more, by a user that nobody is, who has control groups of its own."""
    from benchmarks.as_user import run_as_user

    require_tier("strict")
    closed = [path for path in (*HERE.parents, *Path(sys.prefix).parents) if not path.stat().st_mode & 0o001]
    if closed:
        pytest.skip(f"other users cannot enter {closed[0]}, where the tests lie")
    name = f"{Path(__file__)}::test_the_strict_tier_leaves_nothing_to_find[strict-{start}]"
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", name]
    assert run_as_user(words, timeout_s=300) == 0
