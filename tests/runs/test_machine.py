"""What this machine is, and cores that are claimed machine-wide."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import signal
import stat
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.jobs.constraint import Constraint, parse_constraint
from assay.runs import machine as module
from assay.runs.machine import (
    Machine,
    check_possible,
    choose_tier,
    claim_cores,
    memory_share_mb,
    strict_problem,
    this_machine,
)

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
            out.add(int(path.stem))
        os.close(descriptor)
    return out


# --- cores -----------------------------------------------------------------------------------------------


def test_cores_are_claimed_exclusively_and_given_back(tmp_path: Path) -> None:
    first = claim_cores(2, FOUR, tmp_path / "locks")
    second = claim_cores(2, FOUR, tmp_path / "locks")
    assert first is not None and second is not None
    assert not set(first.cores) & set(second.cores) and len(first.cores) == len(second.cores) == 2
    assert claim_cores(1, FOUR, tmp_path / "locks") is None
    first.close()
    third = claim_cores(2, FOUR, tmp_path / "locks")
    assert third is not None and set(third.cores) == set(first.cores)
    second.close()
    third.close()
    assert held(tmp_path / "locks") == set()


def test_a_claim_is_all_or_nothing(tmp_path: Path) -> None:
    first = claim_cores(2, FOUR, tmp_path)
    assert first is not None
    assert claim_cores(3, FOUR, tmp_path) is None
    assert held(tmp_path) == set(first.cores), "what was too little was given back"
    first.close()


def test_the_lock_folder_is_for_all_users(tmp_path: Path) -> None:
    claim = claim_cores(1, FOUR, tmp_path / "deep" / "locks")
    assert claim is not None
    assert stat.S_IMODE((tmp_path / "deep" / "locks").stat().st_mode) == 0o1777
    for path in (tmp_path / "deep" / "locks").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o666
    claim.close()


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "locks").mkdir()
    (tmp_path / "locks" / "0.lock").symlink_to(tmp_path / "victim")
    claim = claim_cores(3, FOUR, tmp_path / "locks")
    assert claim is not None and claim.cores == (1, 2, 3)
    assert not (tmp_path / "victim").exists()
    claim.close()


def _claim_often(folder: Path, told: Any) -> None:
    """Claim, note in a file that a core is ours, look whether anybody else did, release."""
    doubles = got = 0
    for _ in range(60):
        claim = claim_cores(2, FOUR, folder / "locks")
        if claim is None:
            continue
        got += 1
        for core in claim.cores:
            try:
                os.close(os.open(folder / f"busy-{core}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                doubles += 1
        time.sleep(0.001)
        for core in claim.cores:
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
    claim = claim_cores(4, FOUR, folder)
    told.put(claim.cores if claim else None)
    time.sleep(600)


def test_cores_of_a_killed_process_are_free_again(tmp_path: Path) -> None:
    told = FORK.Queue()
    process = FORK.Process(target=_claim_and_sleep, args=(tmp_path, told))
    process.start()
    assert told.get(timeout=60) == (0, 1, 2, 3)
    assert claim_cores(1, FOUR, tmp_path) is None
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    claim = claim_cores(4, FOUR, tmp_path)
    assert claim is not None
    claim.close()


def test_a_supervisor_that_inherited_the_locks_keeps_the_cores(tmp_path: Path) -> None:
    claim = claim_cores(4, FOUR, tmp_path)
    assert claim is not None
    inherited = [os.dup(descriptor) for descriptor in claim.descriptors]
    claim.close()
    assert claim_cores(1, FOUR, tmp_path) is None
    for descriptor in inherited:
        os.close(descriptor)
    free = claim_cores(4, FOUR, tmp_path)
    assert free is not None
    free.close()


# --- memory and what is possible -------------------------------------------------------------------------


def test_memory_is_as_named_or_the_cores_share_of_what_is_left() -> None:
    big = replace(FOUR, memory_mb=34_816)
    assert memory_share_mb(parse_constraint("1h2c3g"), FOUR) == 3 * 1024
    assert memory_share_mb(parse_constraint("1h1c"), big) == (34_816 - 2048) // 4
    assert memory_share_mb(parse_constraint("1h4c"), big) == 34_816 - 2048
    assert memory_share_mb(parse_constraint("1h8c"), big) == 34_816 - 2048, "never more than there is"
    assert memory_share_mb(parse_constraint("1h4c"), replace(FOUR, memory_mb=1000)) == 900


@pytest.mark.parametrize(("text", "word"), [("1h5c", "5 cores"), ("1h1c16g", "16384 MB")])
def test_what_the_machine_cannot_give_is_refused_with_a_remedy(text: str, word: str) -> None:
    with pytest.raises(ConfigError, match=word) as told:
        check_possible(parse_constraint(text), FOUR)
    assert "--oversubscribe" in str(told.value)


@pytest.mark.parametrize("text", ["1h4c", "1h1c", "1h4c15g"])
def test_what_the_machine_can_give_is_not_refused(text: str) -> None:
    check_possible(parse_constraint(text), FOUR)


def test_this_machine_is_told_without_guessing() -> None:
    here = this_machine()
    assert here.cores == tuple(sorted(os.sched_getaffinity(0)))
    assert 0 < here.memory_mb <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    assert memory_share_mb(Constraint("x", 1.0, len(here.cores)), here) < here.memory_mb
    assert here.processor and here.system.startswith("Linux")


# --- tiers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("problem", "version", "wanted", "expected"),
    [
        ("", 6, "auto", "strict"),
        ("", 6, "strict", "strict"),
        ("", 6, "landlock", "landlock"),
        ("", 6, "plain", "plain"),
        ("no bwrap", 6, "auto", "landlock"),
        ("no bwrap", 0, "auto", "plain"),
        ("no bwrap", 6, "strict", None),
        ("no bwrap", 0, "landlock", None),
    ],
)
def test_a_tier_that_was_asked_for_is_never_replaced(
    monkeypatch: pytest.MonkeyPatch, problem: str, version: int, wanted: str, expected: str | None
) -> None:
    monkeypatch.setattr(module, "strict_problem", lambda: problem)
    monkeypatch.setattr(module, "abi", lambda: version)
    if expected is not None:
        assert choose_tier(wanted) == expected
    else:
        with pytest.raises(ConfigError, match="assay doctor"):
            choose_tier(wanted)


def test_the_strict_tier_needs_bubblewrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert "bwrap" in strict_problem.__wrapped__()
