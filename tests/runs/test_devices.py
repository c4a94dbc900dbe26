"""Cores are claimed machine-wide, exclusively, and for as long as somebody uses them."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import stat
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from assay.runs.devices import claim_devices, count_free, wait_for_devices
from assay.runs.gpus import Gpu
from assay.runs.machine import Machine

FORK = multiprocessing.get_context("fork")
FOUR = Machine(cores=(0, 1, 2, 3), memory_mb=16_000, host="h", system="s", processor="p", python="3")


def held(folder: Path) -> set[int]:
    """Return the cores whose lock somebody holds."""
    out = set()
    for path in folder.glob("*.lock"):
        descriptor = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            out.add(int(path.stem.removeprefix("gpu-")))
        os.close(descriptor)
    return out


def test_cores_are_claimed_exclusively_and_given_back(tmp_path: Path) -> None:
    first = claim_devices(2, 0, FOUR, tmp_path / "locks")
    second = claim_devices(2, 0, FOUR, tmp_path / "locks")
    assert first is not None and second is not None
    assert (
        not set(first.devices.cores) & set(second.devices.cores)
        and len(first.devices.cores) == len(second.devices.cores) == 2
    )
    assert claim_devices(1, 0, FOUR, tmp_path / "locks") is None
    first.close()
    third = claim_devices(2, 0, FOUR, tmp_path / "locks")
    assert third is not None and set(third.devices.cores) == set(first.devices.cores)
    second.close()
    third.close()
    assert held(tmp_path / "locks") == set()


def test_a_claim_is_all_or_nothing(tmp_path: Path) -> None:
    first = claim_devices(2, 0, FOUR, tmp_path)
    assert first is not None
    assert claim_devices(3, 0, FOUR, tmp_path) is None
    assert held(tmp_path) == set(first.devices.cores), "what was too little was given back"
    first.close()


def test_the_lock_folder_is_for_all_users(tmp_path: Path) -> None:
    claim = claim_devices(1, 0, FOUR, tmp_path / "deep" / "locks")
    assert claim is not None
    assert stat.S_IMODE((tmp_path / "deep" / "locks").stat().st_mode) == 0o1777
    for path in (tmp_path / "deep" / "locks").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
    claim.close()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "0.lock").symlink_to(tmp_path / "victim")
    claim = claim_devices(3, 0, FOUR, tmp_path / "locks")
    assert claim is not None and claim.devices.cores == (1, 2, 3)
    assert not (tmp_path / "victim").exists()
    claim.close()


def _claim_often(folder: Path, told: Any) -> None:
    """Claim, note in a file that a core is ours, look whether anybody else did, release."""
    doubles = got = 0
    for _ in range(60):
        claim = claim_devices(2, 0, FOUR, folder / "locks")
        if claim is None:
            continue
        got += 1
        for core in claim.devices.cores:
            try:
                os.close(os.open(folder / f"busy-{core}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                doubles += 1
        time.sleep(0.001)
        for core in claim.devices.cores:
            (folder / f"busy-{core}").unlink(missing_ok=True)
        claim.close()
    told.put((got, doubles))


def test_no_two_processes_ever_have_the_same_core(tmp_path: Path) -> None:
    told = FORK.Queue()
    processes = [FORK.Process(target=_claim_often, args=(tmp_path, told)) for _ in range(4)]
    for process in processes:
        process.start()
    answers = [told.get(timeout=60) for _ in processes]
    for process in processes:
        process.join()
    assert sum(doubles for _, doubles in answers) == 0
    assert sum(got for got, _ in answers) > 0


def _claim_and_sleep(folder: Path, told: Any) -> None:
    claim = claim_devices(4, 0, FOUR, folder)
    told.put(claim.devices.cores if claim else None)
    time.sleep(600)


def test_cores_of_a_killed_process_are_free_again(tmp_path: Path) -> None:
    told = FORK.Queue()
    process = FORK.Process(target=_claim_and_sleep, args=(tmp_path, told))
    process.start()
    assert told.get(timeout=60) == (0, 1, 2, 3)
    assert claim_devices(1, 0, FOUR, tmp_path) is None
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    claim = claim_devices(4, 0, FOUR, tmp_path)
    assert claim is not None
    claim.close()


def test_free_cores_are_counted_without_taking_them(tmp_path: Path) -> None:
    assert count_free(FOUR, tmp_path / "nothing-yet") == (4, 0)
    claim = claim_devices(3, 0, FOUR, tmp_path)
    assert claim is not None
    assert count_free(FOUR, tmp_path) == (1, 0) and len(held(tmp_path)) == 3
    claim.close()
    assert count_free(FOUR, tmp_path) == (4, 0)


def test_who_waits_for_cores_gets_them_when_they_are_free_and_gives_them_back(tmp_path: Path) -> None:
    claim = claim_devices(4, 0, FOUR, tmp_path)
    assert claim is not None
    threading.Timer(0.3, claim.close).start()
    began = time.monotonic()
    with wait_for_devices(2, 0, FOUR, tmp_path) as devices:
        assert time.monotonic() - began > 0.2
        assert held(tmp_path) == set(devices.cores) and len(devices.cores) == 2
    assert held(tmp_path) == set()


# --- GPUs ------------------------------------------------------------------------------------------------

GPUS = tuple(Gpu(number, f"GPU-{number:08d}-0000-0000-0000-000000000000") for number in (0, 1))
WITH_GPUS = replace(FOUR, gpus=GPUS)


def test_gpus_are_claimed_with_cores_and_exclusively(tmp_path: Path) -> None:
    first = claim_devices(1, 1, WITH_GPUS, tmp_path)
    second = claim_devices(1, 1, WITH_GPUS, tmp_path)
    assert first is not None and second is not None
    assert {first.devices.gpus, second.devices.gpus} == {(GPUS[0],), (GPUS[1],)}
    assert count_free(WITH_GPUS, tmp_path) == (2, 0)
    assert claim_devices(1, 1, WITH_GPUS, tmp_path) is None, "a core is free, but no GPU"
    without = claim_devices(1, 0, WITH_GPUS, tmp_path)
    assert without is not None and without.devices.gpus == ()
    for claim in (first, second, without):
        claim.close()
    assert count_free(WITH_GPUS, tmp_path) == (4, 2)


def test_a_claim_of_gpus_that_fails_gives_the_cores_back(tmp_path: Path) -> None:
    assert claim_devices(2, 3, WITH_GPUS, tmp_path) is None
    assert count_free(WITH_GPUS, tmp_path) == (4, 2)
