from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.jobs.constraint import (
    KNOWN,
    LIMITED,
    Constraint,
    parse_constraint,
    parse_duration,
    parse_size,
    read_constraint,
)


@pytest.mark.parametrize(
    ("text", "time_s", "cores", "memory_mb"),
    [
        ("1h8c", 3600.0, 8, None),
        ("1H8C", 3600.0, 8, None),
        ("30s1c", 30.0, 1, None),
        ("1h30m4c", 5400.0, 4, None),
        ("1d2h3m4s16c", 93784.0, 16, None),
        ("0.5h2c", 1800.0, 2, None),
        ("1.5s1c", 1.5, 1, None),
        ("10m4c16g", 600.0, 4, 16 * 1024),
        ("10M4C0.5G", 600.0, 4, 512),
        (" 1m1c ", 60.0, 1, None),
    ],
)
def test_time_cores_and_memory_are_read_as_written(
    text: str, time_s: float, cores: int, memory_mb: int | None
) -> None:
    found = parse_constraint(text)
    assert (found.time_s, found.cores, found.memory_mb) == (time_s, cores, memory_mb)
    assert found.name == text.strip()


@pytest.mark.parametrize(
    "text", ["1x8c", "1h", "8c", "", "h8c", "1h8", "-1h8c", "1h8c16", "1h8c16gb", "1h8.5c", "1 h8c"]
)
def test_what_is_not_understood_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(f"'{text}' is not understood")) as caught:
        parse_constraint(text)
    assert "1h8c, 10m4c16g or 1h8c1gpu" in str(caught.value)
    assert "`constraints`" in str(caught.value) and caught.value.arguments == ("constraints",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0s1c", "Constraint '0s1c' has time 0: give more than zero."),
        ("1h0c", "Constraint '1h0c' has cores 0: give more than zero."),
        ("1h1c0g", "Constraint '1h1c0g' has memory 0: give more than zero."),
    ],
)
def test_nothing_at_all_is_refused(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        parse_constraint(text)


@pytest.mark.parametrize(
    "said",
    [
        {"time_s": math.nan},
        {"time_s": math.inf},
        {"leeway_s": -1.0},
        {"leeway_s": math.nan},
        {"disk_mb": 0},
        {"max_folds": 0},
        {"phase_limits_s": {"start": 0.0}},
        {"phase_limits_s": {"predict": math.inf}},
    ],
)
def test_limits_that_are_none_are_refused(said: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"^Constraint 'x' has .*: give "):
        Constraint(**{"name": "x", "time_s": 60.0, "cores": 1, **said})


@pytest.mark.parametrize(
    ("name", "hours", "cores", "folds", "disk_gb"),
    [
        ("1h4c", 1, 4, None, 20),
        ("1h8c", 1, 8, None, 20),
        ("4h8c", 4, 8, None, 20),
        ("8h8c", 8, 8, None, 20),
        ("1h8c_gp3", 1, 8, None, 100),
        ("4h8c_gp3", 4, 8, None, 100),
        ("test", 1 / 6, 4, 2, 20),
    ],
)
def test_names_of_amlb_mean_what_they_mean_there(
    name: str, hours: float, cores: int, folds: int | None, disk_gb: int
) -> None:
    found = read_constraint(name)
    assert (found.time_s, found.cores, found.max_folds) == (hours * 3600, cores, folds)
    assert found.disk_mb == disk_gb * 1024
    assert found.name == name
    assert read_constraint(name.upper()) == found


def test_every_known_name_is_tested_above() -> None:
    assert set(KNOWN) == {"1h4c", "1h8c", "4h8c", "8h8c", "1h8c_gp3", "4h8c_gp3", "test"}


@pytest.mark.parametrize(
    ("seconds", "leeway", "fit", "predict"),
    [
        (60.0, None, 120.0, 300.0),
        (7200.0, None, 10800.0, 7200.0),
        (60.0, 0.0, 60.0, 300.0),
        (60.0, 5.0, 65.0, 300.0),
    ],
)
def test_only_fit_has_budget_and_leeway(
    seconds: float, leeway: float | None, fit: float, predict: float
) -> None:
    found = Constraint("x", seconds, 1, leeway_s=leeway)
    limits = {phase: found.limit_s(phase) for phase in LIMITED}
    others = dict.fromkeys(("start", "load", "timing", "export"), 300.0)
    assert limits == {**others, "fit": fit, "predict": predict}
    assert found.worst_case_s == sum(limits.values())


def test_named_constraint_sets_every_field() -> None:
    named = {
        "mine": {
            "time": "1h30m",
            "cores": 4,
            "memory": "16g",
            "disk": "512m",
            "leeway": "10m",
            "folds": 3,
            "phases": {"start": "2m", "predict": 30},
            "tasks": {"adult": {"time": "3h", "memory": "32g"}},
        }
    }
    found = read_constraint("mine", named)
    assert found == Constraint(
        name="mine",
        time_s=5400.0,
        cores=4,
        memory_mb=16 * 1024,
        disk_mb=512,
        leeway_s=600.0,
        max_folds=3,
        phase_limits_s={"start": 120.0, "predict": 30.0},
        tasks={"adult": {"time": "3h", "memory": "32g"}},
    )
    assert (found.limit_s("start"), found.limit_s("predict"), found.limit_s("load")) == (120.0, 30.0, 300.0)


def test_overrides_count_for_their_task_alone() -> None:
    found = read_constraint(
        "m", {"m": {"time": "1h", "cores": 4, "tasks": {"adult": {"time": "3h", "cores": 8}}}}
    )
    assert (found.for_task("adult").time_s, found.for_task("adult").cores) == (10800.0, 8)
    assert (found.for_task("other").time_s, found.for_task("other").cores) == (3600.0, 4)
    assert found.for_task("adult").name == "m"
    assert found.for_task("adult").tasks == {}


def test_name_from_a_file_comes_before_the_known_ones() -> None:
    assert read_constraint("test", {"test": {"time": 5, "cores": 1}}).time_s == 5.0


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ({"time": "1h"}, "Constraint 'm' in file.yaml needs at least 'time' and 'cores'."),
        ({"cores": 1}, "Constraint 'm' in file.yaml needs at least 'time' and 'cores'."),
        (
            {"time": "1h", "cores": 1, "memroy": "1g"},
            "Unknown key 'memroy' in file.yaml, m. Did you mean 'memory'?",
        ),
        ({"time": "1h", "cores": 1.5}, "cores is 1.5 in file.yaml, m, cores: it must be a whole number."),
        ({"time": "1h", "cores": "8"}, "cores is '8' in file.yaml, m, cores: it must be a whole number."),
        ({"time": "1h", "cores": True}, "cores is True in file.yaml, m, cores: it must be a whole number."),
        (
            {"time": "soon", "cores": 1},
            "'soon' is not a time in file.yaml, m, time. Write for example 30s, 10m",
        ),
        ({"time": True, "cores": 1}, "'True' is not a time in file.yaml, m, time. Write for example"),
        (
            {"time": "1h", "cores": 1, "memory": "lots"},
            "'lots' is not a size in file.yaml, m, memory. Write for",
        ),
        (
            {"time": "1h", "cores": 1, "memory": math.nan},
            "'nan' is not a size in file.yaml, m, memory. Write for",
        ),
        (
            {"time": "1h", "cores": 1, "leeway": -5},
            "Constraint 'm' has leeway -5 s: give zero for none, or more.",
        ),
        (
            {"time": "1h", "cores": 1, "folds": 0.5},
            "folds is 0.5 in file.yaml, m, folds: it must be a whole number.",
        ),
        (
            {"time": "1h", "cores": 1, "phases": {"strat": 5}},
            "Unknown phase 'strat' in file.yaml, m, phases. Did you",
        ),
        (
            {"time": "1h", "cores": 1, "phases": {"fit": 5}},
            "the limit of fit is time plus leeway. Set those instead.",
        ),
        (
            {"time": "1h", "cores": 1, "phases": 5},
            "file.yaml, m, phases: expected phases such as start and predict",
        ),
        ({"time": "1h", "cores": 1, "tasks": ["a"]}, "file.yaml, m, tasks: expected task names, got ['a']."),
        (
            {"time": "1h", "cores": 1, "tasks": {"a": {"tiem": 1}}},
            "Unknown key 'tiem' in file.yaml, m, tasks, a. Did",
        ),
        (
            {"time": "1h", "cores": 1, "tasks": {"a": {"tasks": {}}}},
            "'tasks' stands inside a task. Move it up.",
        ),
        ("1h8c", "file.yaml, m: expected keys such as time and cores, got '1h8c'."),
    ],
)
def test_mistake_in_a_named_constraint_is_named(said: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        read_constraint("m", {"m": said}, "file.yaml")


@pytest.mark.parametrize(("text", "meant"), [("quikc", "quick"), ("tset", "test")])
def test_misspelt_name_is_answered_with_the_one_meant(text: str, meant: str) -> None:
    with pytest.raises(ConfigError, match=f"Unknown constraint '{text}' in c.yaml. Did you mean '{meant}'"):
        read_constraint(text, {"quick": {"time": 1, "cores": 1}}, "c.yaml")


def test_misspelt_known_name_is_answered_without_a_file_too() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'test'"):
        read_constraint("tests")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [(90, 90.0), (1.5, 1.5), ("90s", 90.0), ("1h30m", 5400.0), ("1h 30m", 5400.0), ("2D", 172800.0)],
)
def test_duration_is_read(text: str | float, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", "1", "h", "1h30", "1y", "1h-5m", "-5s", "1hh"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a time"):
        parse_duration(text)


@pytest.mark.parametrize(
    ("text", "mib"),
    [("16g", 16384), ("512m", 512), ("16GB", 16384), ("1.5 GiB", 1536), ("1t", 1 << 20), (256, 256)],
)
def test_size_is_read_in_binary_units(text: str | int, mib: int) -> None:
    assert parse_size(text) == mib


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("60s1c", "1m1c"),
        ("1h8c", "60M8C"),
        ("1h8c1g", "1h8c1.0g"),
    ],
)
def test_spelling_is_not_part_of_the_identity(one: str, other: str) -> None:
    assert parse_constraint(one).identity() == parse_constraint(other).identity()


def test_name_is_not_part_of_the_identity() -> None:
    named = read_constraint("mine", {"mine": {"time": "1h", "cores": 8}})
    assert named.identity() == read_constraint("1h8c").identity()


def test_leeway_spelt_out_is_the_default_leeway() -> None:
    assert Constraint("x", 60.0, 1, leeway_s=60.0).identity() == Constraint("x", 60.0, 1).identity()


def test_whole_number_and_fraction_have_one_text() -> None:
    """A constraint made in Python with `time_s=60` is the one read from `60s1c`."""
    by_hand = Constraint("x", 60, 1, memory_mb=1024, leeway_s=30, phase_limits_s={"start": 5})
    read = read_constraint(
        "m", {"m": {"time": "60s", "cores": 1, "memory": "1g", "leeway": "30s", "phases": {"start": "5s"}}}
    )
    assert json.dumps(by_hand.identity()) == json.dumps(read.identity())


@pytest.mark.parametrize(
    "changed",
    [
        {"time_s": 61.0},
        {"cores": 2},
        {"memory_mb": 1024},
        {"disk_mb": 1},
        {"leeway_s": 0.0},
        {"phase_limits_s": {"start": 1.0}},
    ],
)
def test_every_limit_is_part_of_the_identity(changed: dict[str, Any]) -> None:
    plain: dict[str, Any] = {"name": "x", "time_s": 60.0, "cores": 1}
    assert Constraint(**{**plain, **changed}).identity() != Constraint(**plain).identity()


def test_how_many_folds_run_is_no_part_of_a_jobs_identity() -> None:
    assert Constraint("x", 60.0, 1, max_folds=2).identity() == Constraint("x", 60.0, 1).identity()


def test_machines_memory_never_enters_the_identity() -> None:
    assert parse_constraint("1h8c").identity()["memory_mb"] is None


@pytest.mark.parametrize(
    "text",
    [
        "٣h1c",
        "1h٢c",
        "1h1c٤g",
        "９h1c",
        "99999999999999999999h1c",
        "1h99999999999999999999c",
        "1h1c99999999999999999999g",
    ],
)
def test_digits_of_other_scripts_and_numbers_beyond_every_machine_are_refused(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_constraint(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["٣h", "１０m", "1h٣٠m"])
def test_a_time_has_ascii_digits(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a time"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["٣g", "１０m"])
def test_a_size_has_ascii_digits(text: str) -> None:
    with pytest.raises(ConfigError, match="is not a size"):
        parse_size(text)


@pytest.mark.parametrize(
    ("text", "gpus", "memory_mb"),
    [("1h8c1gpu", 1, None), ("1h8c16g2gpu", 2, 16 * 1024), ("1H8C4GPU", 4, None), ("1h8c2g", 0, 2048)],
)
def test_gpus_are_written_after_cores_and_memory(text: str, gpus: int, memory_mb: int | None) -> None:
    found = parse_constraint(text)
    assert (found.gpus, found.memory_mb, found.cores) == (gpus, memory_mb, 8)


def test_gpus_are_part_of_the_key_only_where_there_are_some() -> None:
    assert "gpus" not in parse_constraint("1h8c").identity()
    assert parse_constraint("1h8c1gpu").identity() == {**parse_constraint("1h8c").identity(), "gpus": 1}
    named = read_constraint("big", {"big": {"time": "1h", "cores": 8, "gpus": 1}})
    assert named.identity() == parse_constraint("1h8c1gpu").identity()


@pytest.mark.parametrize("text", ["1h8c0gpu", "1h8c2000gpu", "1h8cgpu", "1h1gpu8c"])
def test_a_number_of_gpus_that_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(text)):
        parse_constraint(text)


@pytest.mark.parametrize("value", [-1, "1", 1.5, True])
def test_gpus_in_a_file_are_a_whole_number(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"gpus|GPUs"):
        read_constraint("m", {"m": {"time": 1, "cores": 1, "gpus": value}})
