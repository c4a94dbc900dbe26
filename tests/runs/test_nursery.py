"""Jobs that are forked from a nursery: the same results, nothing shared, and a cold start wherever that is not sure."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from assay import Local, Store, api
from assay.data.task import TaskRequest
from assay.frameworks.find import find_framework
from assay.jobs.row import Row
from assay.runs.place import clean_up_nurseries
from assay.runs.run import Event, RunOptions
from assay.runs.sandbox.cgroup import group_names
from assay.runs.sandbox.inspect import _has_own_memory, inspect_nursery
from assay.runs.sandbox.nursery import GROUP
from assay.runs.sandbox.processes import pending_signals, process_status
from assay.settings import Settings
from assay.suites.suite import Suite

from ..conftest import write_framework
from .conftest import require_tier

pytestmark = pytest.mark.strict

ADAPTER = """\
import os
import numpy as np
from assay_contract import Prediction


def fit(train, budget, params):
    train.report(models_count=1, drawn=float(np.random.random()), parent=os.getppid(), pid=os.getpid())
    return np.bincount(train.y, minlength=len(train.classes)) / len(train.y)


def predict(model, test):
    return Prediction(probabilities=np.tile(model, (test.n_rows, 1)))


"""


@pytest.fixture(autouse=True)
def strict() -> None:
    require_tier("strict")
    if os.geteuid() != 0:
        pytest.skip("only root's jobs are forked from a nursery")


@pytest.fixture
def run(settings: Settings, table: Path, tmp_path: Path) -> Callable[..., list[Row]]:
    """Return a function that runs three folds of an adapter with more lines, one job at a time."""

    def run_folds(
        more: str = "", tell: Callable[[Event], None] = lambda event: None, **options: str
    ) -> list[Row]:
        folder = write_framework(tmp_path / "forked", ADAPTER + textwrap.dedent(more))
        suite = Suite("fork", (TaskRequest("file", path=str(table), target="target", split={"folds": 3}),))
        plan = api.plan(suite, [find_framework(f"{folder}/")], "30s1c", settings=settings)
        store = Store(tmp_path / "store")
        api.run(plan, store, Local(1, "strict"), RunOptions(**options), settings=settings, tell=tell)
        rows = sorted(store.rows(), key=lambda row: row.fold)
        assert [row.fold for row in rows] == [0, 1, 2]
        return rows

    return run_folds


def reports(rows: list[Row], tmp_path: Path) -> list[dict[str, float]]:
    store = Store(tmp_path / "store", create=False)
    folders = [store.folder.job(row.key).attempt(row.attempt) for row in rows]
    store.close()
    return [folder.read_facts().get().report for folder in folders]


def test_jobs_are_forked_and_say_so(run: Callable[..., list[Row]], tmp_path: Path) -> None:
    rows = run()
    assert [(row.status, row.start, row.cold_reason) for row in rows] == [("ok", "warm", "")] * 3
    assert rows[1].phases["start"] < rows[0].phases["start"], "only the first waits for the import"
    assert all(report["pid"] == 2 for report in reports(rows, tmp_path)), "each is alone in its namespace"


def test_a_run_can_ask_for_cold_starts(run: Callable[..., list[Row]]) -> None:
    assert {(row.status, row.start, row.cold_reason) for row in run(start="cold")} == {
        ("ok", "cold", "the run asked for it")
    }


def test_forked_jobs_draw_different_random_numbers(run: Callable[..., list[Row]], tmp_path: Path) -> None:
    """As processes of their own would: numpy's global generator is seeded when it is imported."""
    drawn = {report["drawn"] for report in reports(run(), tmp_path)}
    assert len(drawn) == 3


def test_predictions_do_not_depend_on_the_start(settings: Settings, tmp_path: Path) -> None:
    frameworks = "decision_tree,linear,hist_gradient_boosting"
    plan = api.plan("bundled", frameworks, "30s2c", tasks=["wine", "diabetes"], folds=[0], settings=settings)
    predictions = {}
    for start in ("auto", "cold"):
        store = Store(tmp_path / start)
        api.run(plan, store, Local(1, "strict"), RunOptions(start=start), settings=settings)  # type: ignore[arg-type]
        rows = store.rows()
        assert {row.start for row in rows} == {"warm" if start == "auto" else "cold"}, rows
        for row in rows:
            out = store.folder.job(row.key).attempt(row.attempt).out
            with np.load(out / "predictions.npz", allow_pickle=False) as file:
                predictions[start, row.key] = {name: file[name] for name in file.files}
    for key in {key for _, key in predictions}:
        for name, values in predictions["auto", key].items():
            assert (values == predictions["cold", key][name]).all(), name


def test_a_rehearsal_that_fails_makes_jobs_start_cold(run: Callable[..., list[Row]]) -> None:
    rows = run("""
        def fail(*_, **arrays): raise RuntimeError("no archives today")
        if "--nursery" in __import__("sys").argv: np.savez = fail
    """)
    assert {(row.status, row.start, row.cold_reason) for row in rows} == {
        ("ok", "cold", "its rehearsal fails: RuntimeError: no archives today")
    }


LEFT_AT_IMPORT = {
    "memory": ("import mmap; KEPT = mmap.mmap(-1, 4096)", "memory that forks share"),
    "pipe": ("KEPT = os.pipe()", "a descriptor open: pipe"),
    "socket": ("import socket; KEPT = socket.socketpair()", "a descriptor open: socket"),
    "memfd": ("KEPT = os.memfd_create('kept')", "a descriptor open: /memfd:kept"),
    "lock": (
        "import fcntl; KEPT = open('/usr/bin/env'); fcntl.flock(KEPT, fcntl.LOCK_SH)",
        "a descriptor open: /usr/bin/env",
    ),
    "scratch": ("KEPT = os.open('/tmp', os.O_RDONLY)", "a descriptor open: /tmp"),
    "file": ("open('/tmp/kept', 'w').close()", "leaves files in /tmp"),
    "file in memory": ("open('/dev/shm/kept', 'w').close()", "leaves files in /dev/shm"),
    "watcher": ("import ctypes; KEPT = ctypes.CDLL(None).inotify_init()", "a descriptor open: anon_inode:inotify"),
    "thread": ("import threading, time; threading.Thread(target=time.sleep, args=(99,), daemon=True).start()",
               "starts threads"),
    "late memory": (
        """
        import mmap
        KEPT, fork = [], os.fork
        def fork_with_memory():
            KEPT.append(mmap.mmap(-1, 4096))
            return fork()
        os.fork = fork_with_memory
        """,
        "memory that forks share",
    ),
    "adoption": (
        "import ctypes; ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)",
        "still a child of the nursery",
    ),
    "daemon": (
        """
        import time
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        """,
        "another process",
    ),
    "another process": (
        """
        import time
        fork = os.fork
        def fork_twice():
            pid = fork()
            if pid == 0 and fork() == 0:
                time.sleep(60)
                os._exit(0)
            return pid
        os.fork = fork_twice
        """,
        "another process",
    ),
    "privileges": (
        """
        import sys
        enter = sys.modules.get("assay_border.enter", os)
        enter.drop_privileges = lambda: None
        """,
        "kept privileges",
    ),
    "calls": (
        """
        import sys
        enter = sys.modules.get("assay_border.enter", os)
        enter.filter_calls = lambda program: None
        """,
        "not added its system-call filter",
    ),
    "segment": (
        """
        import ctypes, sys
        libc = ctypes.CDLL(None)
        segment = libc.shmget(0, 4096, 0o1600)  # not attached: the nursery itself has nothing of it
        enter = sys.modules.get("assay_border.enter", os)
        leave = getattr(enter, "unshare", None)
        libc.shmat.restype = ctypes.c_void_p
        enter.unshare = lambda network: (libc.shmat(segment, None, 0), leave(network))
        """,
        "memory that forks share: /SYSV",
    ),
    "nursery's memory file system": (
        """
        import sys
        enter = sys.modules.get("assay_border.enter", os)
        lay_out = getattr(enter, "lay_out", None)
        enter.lay_out = lambda steps: lay_out([step for step in steps if step["target"] != "/dev/shm"])
        """,
        "it has the nursery's /dev/shm",
    ),
    "moved": (
        """
        import sys
        enter = sys.modules.get("assay_border.enter", os)
        lay_out = getattr(enter, "lay_out", None)
        enter.lay_out = lambda steps: (enter.mount("/dev/shm", "/job", "", 4096), lay_out(steps))
        """,
        "it has moved the nursery's /dev/shm",
    ),
    "network": (
        """
        import sys
        enter = sys.modules.get("assay_border.enter", os)
        leave = getattr(enter, "unshare", None)
        enter.unshare = lambda network: leave(True)
        enter.raise_loopback = lambda: None
        """,
        "namespace 'net'",
    ),
    "folder": (
        """
        import sys
        enter = sys.modules.get("assay_border.enter", os)
        lay_out = getattr(enter, "lay_out", None)
        enter.lay_out = lambda steps: (os.open("/tmp", os.O_RDONLY), lay_out(steps))
        enter.close_others = lambda kept: None
        """,
        "descriptors that it was not given: /tmp",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", LEFT_AT_IMPORT)
def test_what_an_import_leaves_for_all_jobs_makes_them_start_cold(
    run: Callable[..., list[Row]], what: str
) -> None:
    more, reason = LEFT_AT_IMPORT[what]
    rows = run(more)
    assert {(row.status, row.start) for row in rows} == {("ok", "cold")}
    assert reason in rows[0].cold_reason, rows[0].cold_reason


def test_an_import_that_fails_is_the_frameworks_failure(run: Callable[..., list[Row]]) -> None:
    rows = run("raise RuntimeError('no library here')")
    assert {row.start for row in rows} == {"cold"} and "its import fails" in rows[0].cold_reason
    assert {row.status for row in rows} <= {"error", "setup"} and "no library here" in rows[0].message


def nurseries() -> list[psutil.Process]:
    """Return the nurseries of this process's supervisors: those that are stopped, or fork."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with_words = " ".join(process.cmdline())
        if "--nursery" in with_words and "bwrap" not in with_words and process.name() != "setpriv":
            found.append(process)
    return found


def test_a_nursery_that_was_killed_is_replaced(run: Callable[..., list[Row]]) -> None:
    killed = []

    def kill(event: Event) -> None:
        if event.kind == "done" and not killed:
            killed.extend(process.pid for process in nurseries())
            for pid in killed:
                with contextlib.suppress(ProcessLookupError):  # with the first one its whole namespace goes
                    os.kill(pid, signal.SIGKILL)

    rows = run(tell=kill)
    assert killed and [row.status for row in rows] == ["ok"] * 3
    assert [row.start for row in rows][::2] == ["warm", "warm"], [row.cold_reason for row in rows]


def test_nothing_is_left_of_a_run(run: Callable[..., list[Row]]) -> None:
    seen: set[str] = set()

    def look(event: Event) -> None:
        ours = tuple(f"{GROUP}-{child.pid}-" for child in psutil.Process().children())
        seen.update(name for name in group_names() if name.startswith(ours))

    run(tell=look)
    assert seen and not seen & set(group_names())
    assert not nurseries()


def test_groups_of_supervisors_that_are_gone_are_removed() -> None:
    from assay.runs.sandbox.cgroup import find_cgroup

    ended = subprocess.Popen(["true"])
    ended.wait()
    names = [f"{GROUP}-{ended.pid}-1", f"{GROUP}-{os.getpid()}-77"]
    groups = [find_cgroup(name) for name in names]
    for group in groups:
        assert group is not None
        group.create(100, 10, sorted(os.sched_getaffinity(0)))
    try:
        clean_up_nurseries()
        assert names[0] not in group_names() and names[1] in group_names()
        clean_up_nurseries(os.getpid())
        assert names[1] not in group_names()
    finally:
        for group in groups:
            assert group is not None
            group.remove()


# --- looking at processes from outside -----------------------------------------------------------------------------


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[Callable[[str], tuple[int, str, int]]]:
    """Return a function that starts a process with some lines of Python and stops it."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(lines: str) -> tuple[int, str, int]:
        import socket

        log = tmp_path / "log.txt"
        log.touch()
        ours, theirs = socket.socketpair()
        with open(log, "rb") as reader, open(log, "ab") as writer:
            code = f"import os, time\n{lines}\nprint('ready', flush=True)\ntime.sleep(600)"
            process = subprocess.Popen(
                [sys.executable, "-I", "-c", code], stdin=reader, stdout=writer, stderr=writer,
                pass_fds=(theirs.fileno(),),
            )  # fmt: skip
        inode = os.fstat(theirs.fileno()).st_ino
        theirs.close()
        processes.append(process)
        while b"ready" not in log.read_bytes():
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)
        while process_status(process.pid)["State"][:1] != "T":
            time.sleep(0.01)
        ours.close()
        return process.pid, str(log), inode

    yield start
    for process in processes:
        process.kill()
        process.wait()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("", ""),
        ("import mmap; kept = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE)", ""),
        ("import mmap; kept = mmap.mmap(-1, 4096)", "memory that forks share"),
        (
            "import mmap; kept = mmap.mmap(-1, 4096, mmap.MAP_SHARED, mmap.PROT_READ)",
            "memory that forks share",
        ),
        ("kept = os.open('/', os.O_RDONLY)", "a descriptor open: /"),
        ("kept = os.eventfd(0)", "a descriptor open: anon_inode:[eventfd]"),
        ("import socket; kept = socket.socket()", "a descriptor open: socket"),
        ("kept = os.dup(1)", ""),
    ],
)
def test_a_nursery_is_seen_from_outside(
    stopped: Callable[[str], tuple[int, str, int]], lines: str, problem: str
) -> None:
    pid, log, inode = stopped(lines)
    found = inspect_nursery(pid, log, inode, ("/usr", sys.prefix, sys.base_prefix))
    assert found == "" if not problem else problem in found


def test_a_nursery_that_runs_is_not_trusted(stopped: Callable[[str], tuple[int, str, int]]) -> None:
    pid, log, inode = stopped("")
    os.kill(pid, signal.SIGCONT)
    while process_status(pid)["State"][:1] == "T":
        time.sleep(0.01)
    assert inspect_nursery(pid, log, inode, ()) == "the nursery does not stop"


def test_signals_that_wait_for_a_nursery_are_seen(stopped: Callable[[str], tuple[int, str, int]]) -> None:
    """A job could have sent words by them while the nursery was stopped."""
    pid, _, _ = stopped("import signal; signal.signal(signal.SIGUSR1, lambda *_: None)")
    assert pending_signals(pid) == ""
    os.kill(pid, signal.SIGUSR1)
    assert pending_signals(pid) == "signals wait for the nursery"


def test_processes_that_share_their_memory_are_seen() -> None:
    other = subprocess.Popen(["sleep", "60"])
    try:
        assert _has_own_memory(other.pid, os.getpid())
        assert not _has_own_memory(os.getpid(), os.getpid())
    finally:
        other.kill()
        other.wait()


def test_a_library_may_be_mapped_for_reading(
    stopped: Callable[[str], tuple[int, str, int]], tmp_path: Path
) -> None:
    library = tmp_path / "library" / "cache"
    library.parent.mkdir()
    library.write_bytes(bytes(mmap.PAGESIZE))
    lines = f"import mmap; f = open({str(library)!r}, 'rb'); kept = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)\n"
    lines += "for n in os.listdir('/proc/self/fd'):\n    n = int(n)\n"
    lines += f"    try:\n        os.readlink(f'/proc/self/fd/{{n}}') == {str(library)!r} and os.close(n)\n"
    lines += "    except OSError: pass\n"
    pid, log, inode = stopped(lines)
    assert "memory that forks share" in inspect_nursery(pid, log, inode, ("/usr",))
    assert inspect_nursery(pid, log, inode, ("/usr", str(library.parent))) == ""


# --- a supervisor that stays ---------------------------------------------------------------------------------------


def test_a_supervisor_that_stays_answers_each_folder_and_ends_with_its_input(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-I", "-m", "assay.runs.stay", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    for number in (1, 2):
        folder = tmp_path / "jobs" / "ab" / "abcd" / "attempts" / f"{number:03d}"
        folder.mkdir(parents=True)
        (folder / "outcome.json").write_text("{}")  # it has ended already
        process.stdin.write(json.dumps(str(folder)).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        assert answer["exit_code"] == 5 and str(folder) in answer["message"]
    process.stdin.close()
    process.stdout.close()
    assert process.wait(30) == 0
