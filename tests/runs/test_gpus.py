"""GPUs as NVIDIA's driver lists them, on folders that look like its; nothing here needs one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay import api
from assay.errors import ConfigError
from assay.jobs.constraint import parse_constraint
from assay.runs.executors.local import Local
from assay.runs.gpus import Gpu, device_nodes, find_gpus, visible_gpus
from assay.runs.launch import Launch
from assay.runs.machine import Machine, check_possible, this_machine
from assay.runs.place import Place, Share
from assay.runs.run import RunOptions
from assay.runs.sandbox import description, spawn
from assay.runs.sandbox.description import bubblewrap_arguments
from assay.runs.sandbox.spawn import child_environment

UUIDS = [f"GPU-{digit * 8}-aaaa-bbbb-cccc-{digit * 12}" for digit in "01"]
TWO = tuple(Gpu(number, uuid, "NVIDIA T4") for number, uuid in enumerate(UUIDS))
MACHINE = Machine((0, 1, 2, 3), 16_000, "h", "s", "p", "3", TWO)
LAUNCH = Launch(
    key="k",
    attempt=1,
    argv=("sh",),
    code="/code",
    tier="strict",
    memory_mb=1,
    disk_mb=1,
    limits_s={},
    cores=(0,),
)


@pytest.fixture
def driver(tmp_path: Path) -> Path:
    for number, uuid in reversed(list(enumerate(UUIDS))):
        folder = tmp_path / "gpus" / f"0000:0{number}:00.0"
        folder.mkdir(parents=True)
        text = f"Model: \t\t NVIDIA T4\nIRQ:   \t\t 90\nGPU UUID: \t {uuid}\nDevice Minor: \t {number}\n"
        (folder / "information").write_text(text)
    return tmp_path / "gpus"


def test_gpus_are_those_the_driver_lists(driver: Path, tmp_path: Path) -> None:
    assert find_gpus(driver) == TWO
    asleep = driver / "0000:05:00.0"
    asleep.mkdir()
    (asleep / "information").write_text("GPU UUID: GPU-????????-????\nDevice Minor: 5\n")
    assert find_gpus(driver) == TWO, "one that cannot be named cannot be given to a job"
    assert find_gpus(tmp_path / "no-driver") == ()


def test_a_plan_that_needs_a_gpu_is_refused_where_there_is_none() -> None:
    limit, bare = parse_constraint("1h4c1gpu"), replace(MACHINE, gpus=())
    check_possible(limit, MACHINE)
    for oversubscribe in (False, True):
        with pytest.raises(ConfigError, match=r"'1h4c1gpu' asks for 1 GPU\(s\), this machine has none"):
            check_possible(limit, bare, oversubscribe)
    with pytest.raises(ConfigError, match="this machine has 2"):
        check_possible(parse_constraint("1h4c3gpu"), MACHINE)


def test_a_place_counts_its_gpus() -> None:
    place = Place(MACHINE, "plain")
    share = place.share(parse_constraint("1h1c1gpu"))
    assert share.gpus == 1 and place.count(share) == 2
    assert place.count(place.share(parse_constraint("1h1c"))) == 4


def test_there_is_no_room_for_a_gpu_that_is_not_there() -> None:
    executor = Local(1, "plain")
    assert not executor.has_room(Share(1, 100, gpus=len(this_machine().gpus) + 1))


def test_a_job_sees_its_own_gpu_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm", "sda"):
        (tmp_path / name).touch()
    monkeypatch.setattr(description, "device_nodes", lambda gpus: device_nodes(gpus, tmp_path))
    launch = replace(LAUNCH, gpus=TWO[1:])
    words = bubblewrap_arguments(launch, tmp_path, 3)
    shown = {words[i + 1] for i, word in enumerate(words) if word == "--dev-bind"}
    assert shown == {str(tmp_path / name) for name in ("nvidia1", "nvidiactl", "nvidia-uvm")}
    assert words[words.index("CUDA_VISIBLE_DEVICES") + 1] == UUIDS[1]


def test_a_job_without_gpus_sees_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_nodes((), tmp_path) == [] and visible_gpus(()) == ""
    monkeypatch.setattr(spawn, "find_gpus", lambda: TWO)
    assert child_environment(LAUNCH, 3, "/tmp", "/bin")["CUDA_VISIBLE_DEVICES"] == ""
    monkeypatch.setattr(spawn, "find_gpus", lambda: ())
    assert "CUDA_VISIBLE_DEVICES" not in child_environment(LAUNCH, 3, "/tmp", "/bin")


@pytest.mark.skipif(bool(find_gpus()), reason="this machine has a GPU")
def test_the_plan_is_refused_before_anything_runs(tmp_path: Path) -> None:
    from assay import Store

    jobs = api.plan("bundled", "constant", "10s1c1gpu", tasks=["iris"], folds=[0])
    with pytest.raises(ConfigError, match="asks for 1 GPU"):
        api.check_plan(jobs, Local(1, "plain").place, RunOptions(oversubscribe=True))
    store = Store(tmp_path / "store")
    with pytest.raises(ConfigError, match="asks for 1 GPU"):
        api.run(jobs, store, Local(1, "plain"))
    assert store.states() == {}
