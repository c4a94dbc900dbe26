"""The control group drivers on fake trees: what they write, read and clean up. Version 1 runs for real elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from assay.runs.sandbox.cgroup import CgroupV1, CgroupV2, find_cgroup


class FakeV2(CgroupV2):
    """A driver whose folder is filled as the kernel would fill it."""

    def create(self, memory_mb: int, processes: int, cores: list[int]) -> None:
        self.folder.parent.mkdir(exist_ok=True)
        for folder in (self.base, self.folder.parent):
            (folder / "cgroup.subtree_control").touch()
        super().create(memory_mb, processes, cores)


@pytest.fixture
def v2(tmp_path: Path) -> FakeV2:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids")
    group = FakeV2("job-001", tmp_path)
    group.create(512, 100, [0, 3])
    return group


def test_v2_is_chosen_where_its_controllers_are_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids")
    assert isinstance(find_cgroup("x", tmp_path), CgroupV2)


def test_v1_is_chosen_where_each_controller_has_a_folder(tmp_path: Path) -> None:
    for name in ("memory", "pids", "cpuset", "cpuacct"):
        (tmp_path / name).mkdir()
    assert isinstance(find_cgroup("x", tmp_path), CgroupV1)


def test_no_driver_is_found_on_an_empty_tree(tmp_path: Path) -> None:
    assert find_cgroup("x", tmp_path) is None


def test_v2_writes_the_limits_in_the_kernels_units(v2: FakeV2, tmp_path: Path) -> None:
    assert (v2.folder / "memory.max").read_text() == str(512 * 2**20)
    assert (v2.folder / "pids.max").read_text() == "100"
    assert (v2.folder / "cpuset.cpus").read_text() == "0,3"
    for folder in (tmp_path, tmp_path / "assay"):
        assert (folder / "cgroup.subtree_control").read_text() == "+memory +pids +cpuset +cpu"


def test_v2_forbids_swap_where_the_kernel_counts_it(tmp_path: Path) -> None:
    group = FakeV2("job-001", tmp_path)
    group.folder.mkdir(parents=True)
    (group.folder / "memory.swap.max").write_text("max")
    group.folder.rename(tmp_path / "kept")
    (tmp_path / "cgroup.subtree_control").touch()
    group.create(1, 1, [0])
    assert not (group.folder / "memory.swap.max").exists(), (
        "nothing is written that the kernel does not offer"
    )


def test_v2_reads_memory_without_page_cache(v2: FakeV2) -> None:
    (v2.folder / "memory.stat").write_text(
        f"anon {300 * 2**20}\nfile {900 * 2**20}\nshmem {50 * 2**20}\nslab 5\n"
    )
    assert v2.memory_mb() == 350.0


def test_v2_reads_events_peak_and_cpu(v2: FakeV2) -> None:
    (v2.folder / "memory.events").write_text("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n")
    (v2.folder / "memory.peak").write_text(str(400 * 2**20))
    (v2.folder / "cpu.stat").write_text("usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n")
    (v2.folder / "pids.events").write_text("max 7\n")
    assert (v2.oom_kills(), v2.peak_mb(), v2.cpu_s(), v2.process_limit_hits()) == (2, 400.0, 2.5, 7)


def test_v2_has_no_peak_on_older_kernels(v2: FakeV2) -> None:
    assert v2.peak_mb() is None


def test_v2_joins_by_writing_the_process_id(v2: FakeV2) -> None:
    v2.join(4321)
    assert (v2.folder / "cgroup.procs").read_text() == "4321"
    assert v2.pids() == [4321]


def test_v2_kills_with_cgroup_kill_and_then_by_list(v2: FakeV2) -> None:
    sleeper = subprocess.Popen(["sleep", "60"])
    (v2.folder / "cgroup.procs").write_text(f"{sleeper.pid}\n")
    (v2.folder / "cgroup.kill").write_text("")
    import threading

    def reap() -> None:
        sleeper.wait()
        (v2.folder / "cgroup.procs").write_text("")

    threading.Thread(target=reap).start()
    assert v2.kill() == 1
    assert (v2.folder / "cgroup.kill").read_text() == "1"
    assert sleeper.wait() == -9


def test_v2_works_below_a_delegated_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_CGROUP", str(tmp_path / "delegated"))
    assert CgroupV2("job").folder == tmp_path / "delegated" / "assay" / "job"


@pytest.fixture
def v1(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CgroupV1:
    for name in ("memory", "pids", "cpuset", "cpuacct", "unified"):
        (tmp_path / name).mkdir()
    (tmp_path / "unified" / "cgroup.procs").touch()
    group = CgroupV1("job-001", tmp_path)
    for folder in (tmp_path / "cpuset", tmp_path / "cpuset/assay", tmp_path / "cpuset/assay/job-001"):
        folder.mkdir(exist_ok=True)
        (folder / "cpuset.mems").write_text("0" if folder == tmp_path / "cpuset" else "")
        (folder / "cpuset.cpus").write_text("0-7" if folder == tmp_path / "cpuset" else "")
    # The kernel fills a new folder; here it stands there before, so making it must not fail.
    monkeypatch.setattr(
        "assay.runs.sandbox.cgroup.make_group", lambda folder: folder.mkdir(parents=True, exist_ok=True)
    )
    group.create(256, 50, [2, 1])
    return group


def test_v1_writes_limits_into_each_controller(v1: CgroupV1, tmp_path: Path) -> None:
    assert (tmp_path / "memory/assay/job-001/memory.limit_in_bytes").read_text() == str(256 * 2**20)
    assert (tmp_path / "pids/assay/job-001/pids.max").read_text() == "50"
    assert (tmp_path / "cpuset/assay/job-001/cpuset.cpus").read_text() == "1,2"
    assert (tmp_path / "cpuset/assay/job-001/cpuset.mems").read_text() == "0"
    assert (tmp_path / "cpuset/assay/cpuset.cpus").read_text() == "0-7"


def test_v1_joins_every_hierarchy_also_the_unified_one(v1: CgroupV1, tmp_path: Path) -> None:
    v1.join(99)
    for name in ("memory", "pids", "cpuset", "cpuacct", "unified"):
        assert (tmp_path / name / "assay/job-001/cgroup.procs").read_text() == "99"


def test_v1_reads_what_the_kernel_counts(v1: CgroupV1, tmp_path: Path) -> None:
    memory = tmp_path / "memory/assay/job-001"
    (memory / "memory.stat").write_text(f"cache 99\ntotal_rss {100 * 2**20}\ntotal_shmem {28 * 2**20}\n")
    (memory / "memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 4\n")
    (memory / "memory.max_usage_in_bytes").write_text(str(256 * 2**20))
    (tmp_path / "cpuacct/assay/job-001/cpuacct.usage").write_text("1500000000\n")
    assert (v1.memory_mb(), v1.oom_kills(), v1.peak_mb(), v1.cpu_s()) == (128.0, 4, 256.0, 1.5)


def test_a_child_sees_cpu_and_cpuacct_also_where_they_are_one_folder(tmp_path: Path) -> None:
    for name in ("memory", "pids", "cpuset", "cpu,cpuacct"):
        (tmp_path / name).mkdir()
    for name in ("cpu", "cpuacct"):
        (tmp_path / name).symlink_to("cpu,cpuacct")
    shown = CgroupV1("job", tmp_path).shown()
    assert {place.rpartition("/")[2] for place in shown} == {"memory", "pids", "cpuset", "cpuacct", "cpu"}
    assert shown["/sys/fs/cgroup/cpu"] == shown["/sys/fs/cgroup/cpuacct"]
    (tmp_path / "cpu").unlink()
    (tmp_path / "cpu").mkdir()
    assert "cpu" in CgroupV1("job", tmp_path).folders, "a controller of its own has a group of its own"
