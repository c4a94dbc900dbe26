"""A store that an earlier version wrote is read as it is, and nothing in it runs again.

`data/version-1.tar.xz` was written before table digests had a version 2: two baselines on a Parquet file with declared
categories, the same table as ARFF, a CSV file and a bundled table, one fold each.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from assay import Local, Store, api
from assay.jobs.packed_row import is_packed
from assay.results.migrate import Migrated, migrate
from assay.results.upkeep import rebuild, verify
from assay.runs.run import Event
from assay.settings import Settings

ARCHIVE = Path(__file__).parent / "data" / "version-1.tar.xz"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path


def test_nothing_in_an_older_store_runs_again(older: Path, shared_settings: Settings) -> None:
    store = Store(older / "store")
    before = store.rows()
    suite = api.load_suite(older / "suite.yaml", settings=shared_settings)
    jobs = api.plan(suite, "constant,decision_tree", "30s1c", folds=[0], settings=shared_settings)
    events: list[Event] = []
    api.run(jobs, store, Local(1), settings=shared_settings, tell=events.append)
    assert [event.kind for event in events] == []
    assert store.rows() == before
    assert len(before) == 8


def test_an_older_store_is_whole_and_can_be_rebuilt(older: Path) -> None:
    store = Store(older / "store")
    before = store.rows()
    assert verify(store) == []
    store.close()
    rebuild(older / "store")
    assert Store(older / "store").rows() == before


def test_an_older_store_is_migrated_and_nothing_in_it_runs_again(
    older: Path, shared_settings: Settings
) -> None:
    store = Store(older / "store")
    before = store.rows()
    assert all("schema" not in text for _, text in store.row_texts())
    assert migrate(store) == Migrated(8, 8)
    assert all(is_packed(text) for _, text in store.row_texts())
    assert store.rows() == before and verify(store) == [] and migrate(store) == Migrated(8)
    suite = api.load_suite(older / "suite.yaml", settings=shared_settings)
    jobs = api.plan(suite, "constant,decision_tree", "30s1c", folds=[0], settings=shared_settings)
    events: list[Event] = []
    api.run(jobs, store, Local(1), settings=shared_settings, tell=events.append)
    assert events == []
    store.close()
    rebuild(older / "store")
    assert Store(older / "store").rows() == before


def test_another_framework_is_compared_with_the_older_rows(older: Path, shared_settings: Settings) -> None:
    store = Store(older / "store")
    suite = api.load_suite(older / "suite.yaml", settings=shared_settings)
    jobs = api.plan(suite, "linear", "30s1c", tasks=["parquet"], folds=[0], settings=shared_settings)
    api.run(jobs, store, Local(1), settings=shared_settings)
    rows = [row for row in store.rows() if row.task == "parquet"]
    assert {row.framework for row in rows} == {"constant", "decision_tree", "linear"}
    assert len({row.task_digest for row in rows}) == 1
