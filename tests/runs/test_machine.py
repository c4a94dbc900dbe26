"""What this machine is, what it can give to a job, and what it can enforce."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from assay.errors import ConfigError
from assay.jobs.constraint import Constraint, parse_constraint
from assay.runs import machine as module
from assay.runs.machine import (
    Machine,
    check_possible,
    choose_tier,
    memory_share_mb,
    strict_problem,
    this_machine,
)

FOUR = Machine(cores=(0, 1, 2, 3), memory_mb=16_000, host="h", system="s", processor="p", python="3")


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
    assert "`oversubscribe=True`" in str(told.value) and told.value.arguments == ("oversubscribe",)


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
