"""The size of a store is measured as a whole if that is quick, and estimated from some jobs if it is not."""

from __future__ import annotations

import os
from pathlib import Path

from assay.store.prune import ALL_RULES, disk_space, prune
from assay.store.size import measure_store
from assay.store.store import Store


def test_a_small_store_is_measured_as_a_whole(copied: Path) -> None:
    store = Store(copied)
    size = measure_store(store, 60)
    files = sum(path.lstat().st_blocks * 512 for path in copied.rglob("*") if path.is_file())
    assert files <= size.bytes <= disk_space(copied)
    assert (size.jobs, size.measured_jobs, size.is_estimate) == (10, 10, False)
    assert size.prunable_bytes == prune(store, ALL_RULES, dry_run=True).bytes > 0
    prune(store, ALL_RULES)
    after = measure_store(store, 60)
    assert after.prunable_bytes == 0 and after.bytes < size.bytes


def test_what_is_not_measured_in_time_is_estimated(copied: Path) -> None:
    store = Store(copied)
    for key in store.states():
        (store.folder.job(key).path / "ballast").write_bytes(os.urandom(2_000_000))
    whole, quick = measure_store(store, 60), measure_store(store, 0)
    assert (quick.jobs, quick.measured_jobs, quick.is_estimate) == (10, 1, True)
    assert abs(quick.bytes / whole.bytes - 1) < 0.1, "all jobs are about as large"


def test_an_empty_store_has_the_size_of_its_index(tmp_path: Path) -> None:
    size = measure_store(Store(tmp_path / "store"))
    assert size.jobs == size.measured_jobs == size.prunable_bytes == 0
    assert 0 < size.bytes < 10**6 and not size.is_estimate


def test_strange_things_in_a_store_do_not_matter(copied: Path, tmp_path: Path) -> None:
    before = measure_store(Store(copied), 60)
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "file").write_bytes(os.urandom(5_000_000))
    (copied / "jobs" / "zz" / "unknown").mkdir(parents=True)
    (copied / "jobs" / "zz" / "link").symlink_to(tmp_path / "large")
    (copied / "link").symlink_to(tmp_path / "large")
    (copied / "loose").symlink_to("nowhere")
    size = measure_store(Store(copied), 60)
    assert size.bytes - before.bytes < 100_000 and size.prunable_bytes == before.prunable_bytes
