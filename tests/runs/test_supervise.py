"""One supervised child: real processes in the plain tier, small shell scripts, no cores claimed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from assay.files import read_json, write_json
from assay.jobs.circumstances import Circumstances
from assay.jobs.folder import AttemptFolder
from assay.jobs.outcome import Facts, PredictionCheck, classify
from assay.runs.attempt import REPORT_BYTES, _read_report
from assay.runs.launch import Launch
from assay.runs.machine import strict_problem
from assay.runs.sandbox.base import Ended, ended

from .conftest import require_tier

SUPERVISE = [sys.executable, "-I", "-m", "assay.runs.supervise"]
LIMITS = {"start": 20.0, "load": 20.0, "fit": 1.0, "predict": 20.0, "timing": 20.0}


@pytest.fixture
def folder(tmp_path: Path) -> AttemptFolder:
    path = tmp_path / "jobs" / "ab" / "abcd" / "attempts" / "001"
    path.mkdir(parents=True)
    (tmp_path / "code").mkdir()
    return AttemptFolder(path)


@pytest.fixture
def prepare(folder: AttemptFolder, tmp_path: Path) -> Callable[..., Launch]:
    """Write the attempt of a shell script, run at `out/..`."""

    def write(script: str, **changed: Any) -> Launch:
        core = min(os.sched_getaffinity(0))
        launch = Launch(
            key="abcd", attempt=1, argv=("/bin/sh", "-c", f"cd {folder.path}; {script}"), code=str(tmp_path / "code"),
            tier="plain", cores=(core,), memory_mb=500, disk_mb=50, limits_s=LIMITS,
        )  # fmt: skip
        launch = replace(launch, **changed)
        write_json(folder.attempt, launch.to_json())
        write_json(folder.job, {})
        return launch

    return write


@pytest.fixture
def supervise(folder: AttemptFolder, prepare: Callable[..., Launch]) -> Callable[..., Facts]:
    def run(script: str, **changed: Any) -> Facts:
        prepare(script, **changed)
        done = subprocess.run([*SUPERVISE, str(folder.path)], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        return Facts.from_json(read_json(folder.outcome).get())

    return run


def descendants(token: str) -> list[int]:
    """Return living processes whose command line has the token."""
    found = []
    for process in psutil.process_iter(["pid", "cmdline", "status"]):
        if (
            token in " ".join(process.info["cmdline"] or ())
            and process.info["status"] != psutil.STATUS_ZOMBIE
        ):
            found.append(process.info["pid"])
    return [pid for pid in found if pid != os.getpid()]


# --- the report, read with distrust ----------------------------------------------------------------------


def test_a_plain_report_is_read_as_it_is(tmp_path: Path) -> None:
    said = {"models_count": 3, "phases": {"fit": 0.125}, "notes": ["ü", None, True], "deep": [[[1]]]}
    (tmp_path / "report.json").write_text(json.dumps(said))
    assert _read_report(tmp_path / "report.json") == (said, "")
    assert _read_report(tmp_path / "none.json") == ({}, "")


def link(path: Path) -> None:
    path.with_name("elsewhere").write_text('{"models_count": 1}')
    path.symlink_to(path.with_name("elsewhere"))


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (link, "cannot be opened"),
        (lambda path: path.mkdir(), "not a regular file"),
        (lambda path: os.mkfifo(path), "not a regular file"),
        (lambda path: path.write_bytes(b'"' + b"x" * REPORT_BYTES + b'"'), "has more than"),
        (lambda path: path.write_text("[1, 2]"), "not an object"),
        (lambda path: path.write_text('"text"'), "not an object"),
        (lambda path: path.write_text("{"), "not JSON"),
        (lambda path: path.write_text(""), "not JSON"),
        (lambda path: path.write_bytes(b'{"a": "\xff"}'), "not JSON"),
        (lambda path: path.write_text("[" * 200_000), "not JSON"),
        (lambda path: path.write_text('{"a": ' + "9" * 5000 + "}"), "not JSON"),
    ],
)
def test_what_is_no_report_is_a_problem_and_no_crash(
    tmp_path: Path, make: Callable[[Path], Any], word: str
) -> None:
    make(tmp_path / "report.json")
    report, problem = _read_report(tmp_path / "report.json")
    assert report == {} and word in problem


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("NaN", None), ("Infinity", None), ("-Infinity", None), ("1e999", None), ("9" * 400, None), ("-1e999", None),
        (r'"\ud800"', "?"), (r'{"\udfff": 1}', {"?": 1}), ("[" * 300 + "]" * 300, ...), ("0.1", 0.1), ("12", 12),
    ],
)  # fmt: skip
def test_what_cannot_be_written_again_is_left_out(tmp_path: Path, text: str, expected: Any) -> None:
    """Else the supervisor would fail at its last step, and the framework's failure would count as `lost`."""
    (tmp_path / "report.json").write_text(f'{{"a": {text}, "b": 1}}')
    report, problem = _read_report(tmp_path / "report.json")
    assert problem == "" and report["b"] == 1
    if expected is not ...:
        assert report["a"] == expected
    facts = Facts("plain", "convention", report=report)
    write_json(tmp_path / "outcome.json", facts.to_json())
    assert Facts.from_json(read_json(tmp_path / "outcome.json").get()).report == report


@pytest.mark.parametrize(
    "script",
    ["mkdir out/report.json", "echo '{\"models_count\": 1e999}' > out/report.json", "ln -s /etc/passwd out/report.json",
     "printf '{\"error\": \"\\\\ud800\"}' > out/report.json"],
)  # fmt: skip
def test_no_report_keeps_the_facts_from_being_written(supervise: Callable[..., Facts], script: str) -> None:
    facts = supervise(f"{script}; exit 3")
    assert facts.exit_code == 3
    assert classify(facts, PredictionCheck(False), LIMITS).status == "error"


def test_braces_in_a_command_are_the_programs_own(
    supervise: Callable[..., Facts], folder: AttemptFolder
) -> None:
    supervise("echo {job} | awk '{print $1}'; echo {} {0} {unknown} {{job}}")
    assert folder.log.read_text().split("\n")[:2] == [
        str(folder.path),
        f"{{}} {{0}} {{unknown}} {{{folder.path}}}",
    ]


# --- ends ------------------------------------------------------------------------------------------------


def test_exit_codes_and_signals_are_told_apart() -> None:
    for through_bubblewrap in (True, False):
        assert ended(0, through_bubblewrap) == Ended(0)
        assert ended(3, through_bubblewrap) == Ended(3)
        assert ended(-signal.SIGSEGV, through_bubblewrap) == Ended(None, signal.SIGSEGV)
        assert ended(255, through_bubblewrap) == Ended(255)
    assert ended(128 + 11, True) == Ended(139, 11), "bubblewrap passes a signal on as 128 + n"
    assert ended(128 + 11, False) == Ended(139), "elsewhere a code is a code"


def test_output_phases_and_exit_are_recorded(supervise: Callable[..., Facts], folder: AttemptFolder) -> None:
    facts = supervise(
        "echo hello; echo load > $ASSAY_PHASES; sleep 0.3; echo fit > $ASSAY_PHASES; echo bye >&2; exit 7"
    )
    assert (facts.exit_code, facts.signal, facts.stopped_for, facts.phase) == (7, None, "", "fit")
    assert list(facts.phases) == ["start", "load", "fit"] and 0.1 < facts.phases["load"] < 5
    assert facts.wall_s == pytest.approx(sum(facts.phases.values()))
    assert folder.log.read_text() == "hello\nbye\n" and facts.log_bytes == 10
    assert not folder.tmp.exists() and facts.started_at < facts.ended_at
    assert facts.circumstances.load > 0


def test_a_phase_over_its_limit_is_stopped_with_all_its_daemons(
    supervise: Callable[..., Facts], folder: AttemptFolder
) -> None:
    token = "3601.25"
    began = time.monotonic()
    facts = supervise(
        f"setsid sleep {token} & (sleep {token} &) ; trap '' TERM; echo fit > $ASSAY_PHASES; sleep {token}"
    )
    assert facts.stopped_for == "time" and facts.phase == "fit"
    assert 1.0 <= facts.phases["fit"] < 2.0 and time.monotonic() - began < 30
    assert descendants(f"sleep {token}") == []
    assert facts.processes_peak >= 3


def test_what_is_left_behind_is_killed_and_counted(supervise: Callable[..., Facts]) -> None:
    facts = supervise("(setsid sleep 3602.25 &) ; sleep 0.2; exit 0")
    assert facts.exit_code == 0 and facts.left_behind == 1
    assert descendants("sleep 3602.25") == []


def test_what_was_half_written_is_removed_and_links_are_not_followed(
    supervise: Callable[..., Facts], folder: AttemptFolder, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept.partial").write_text("not the child's to have removed")
    supervise(
        "mkdir -p out/oof; echo half > out/report.json.partial; echo half > out/oof/a.npz.partial;"
        f" echo whole > out/whole.txt; ln -s {elsewhere} out/link; exit 1"
    )
    assert sorted(path.name for path in folder.out.iterdir()) == ["link", "oof", "whole.txt"]
    assert not list((folder.out / "oof").iterdir()) and (elsewhere / "kept.partial").exists()


def test_a_full_folder_is_stopped(supervise: Callable[..., Facts]) -> None:
    facts = supervise("i=0; while true; do head -c 8000000 /dev/urandom > out/$i; i=$((i+1)); done")
    assert facts.stopped_for == "disk" and facts.disk_peak_mb > 50


def test_measuring_many_files_does_not_delay_the_clock(supervise: Callable[..., Facts]) -> None:
    make = "import os; [os.close(os.open(f'{i}', os.O_CREAT)) for i in range(60_000)]"
    facts = supervise(
        f'cd tmp; {sys.executable} -c "{make}"; echo fit > $ASSAY_PHASES; sleep 60',
        limits_s={**LIMITS, "start": 300.0, "fit": 2.0},  # a slow disk makes the files in half a minute
    )
    assert facts.stopped_for == "time" and facts.files_peak > 1000
    assert 2.0 <= facts.phases["fit"] < 2.4


def test_too_many_files_are_stopped(supervise: Callable[..., Facts]) -> None:
    facts = supervise("i=0; while true; do : > out/$i; i=$((i+1)); done", files=500)
    assert facts.stopped_for == "files" and facts.files_peak > 500
    verdict = classify(facts, PredictionCheck(False), LIMITS)
    assert verdict.status == "disk" and "more than its limit of 500" in verdict.message


def test_a_missing_interpreter_is_setup(supervise: Callable[..., Facts]) -> None:
    facts = supervise("", argv=("/nowhere/python", "-I"))
    assert "/nowhere/python could not be started" in facts.setup_problem
    assert classify(facts, PredictionCheck(False), LIMITS).status == "setup"


@pytest.mark.strict
def test_a_missing_interpreter_is_setup_in_the_strict_tier_too(supervise: Callable[..., Facts]) -> None:
    if problem := strict_problem():
        pytest.skip(f"the strict tier does not work here: {problem}")
    facts = supervise("", argv=("/nowhere/python", "-I"), tier="strict")
    assert "/nowhere/python" in facts.setup_problem


def test_a_core_that_is_not_there_is_setup_and_not_lost(supervise: Callable[..., Facts]) -> None:
    facts = supervise("exit 0", cores=(4000,))
    assert "could not be started" in facts.setup_problem


@pytest.mark.parametrize(
    ("asked", "word"), [({"n_cores": 4000}, "4000 cores"), ({"n_cores": 1, "n_gpus": 99}, "99 GPUs")]
)
def test_what_the_machine_can_never_give_is_setup_and_not_waited_for(
    supervise: Callable[..., Facts], asked: dict[str, int], word: str
) -> None:
    facts = supervise("exit 0", cores=(), circumstances=Circumstances(role="baseline"), **asked)
    assert f"cannot give it {word}" in facts.setup_problem
    assert classify(facts, PredictionCheck(False), LIMITS).status == "setup"


def test_cores_and_the_machine_are_recorded_where_the_job_ran(supervise: Callable[..., Facts]) -> None:
    facts = supervise("exit 0")
    assert facts.circumstances.cores == (min(os.sched_getaffinity(0)),) and facts.circumstances.gpus == ()
    machine = facts.circumstances.machine
    assert machine is not None and machine.host == os.uname().nodename


def test_a_framework_cannot_pass_its_failure_off_as_the_sandboxes(supervise: Callable[..., Facts]) -> None:
    facts = supervise("echo 'bwrap: I am not to blame'; exit 1")
    assert facts.setup_problem == ""
    assert classify(facts, PredictionCheck(False), LIMITS).status == "error"


def test_a_child_that_nothing_holds_back_can_only_spoil_its_own_copy_of_the_inputs(
    supervise: Callable[..., Facts], tmp_path: Path
) -> None:
    train, test = tmp_path / "train.npz", tmp_path / "test.npz"
    train.write_text("rows")
    test.write_text("rows")
    facts = supervise("echo more >> train.npz", data={"train.npz": str(train), "test.npz": str(test)})
    assert facts.exit_code == 0
    assert train.read_text() == "rows"


def wait_for(token: str) -> None:
    deadline = time.monotonic() + 30
    while not descendants(token) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert descendants(token)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_interrupted_it_leaves_no_outcome_and_no_child(
    prepare: Callable[..., Launch], folder: AttemptFolder, number: int
) -> None:
    token = f"36{number:02d}.5"
    prepare(f"(setsid sleep {token} &); sleep {token}")
    process = subprocess.Popen([*SUPERVISE, str(folder.path)], stderr=subprocess.PIPE)
    wait_for(f"sleep {token}")
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 3 and errors == b""
    assert not folder.is_complete and not folder.tmp.exists()
    assert descendants(f"sleep {token}") == []


def test_with_its_parent_gone_it_ends_too(prepare: Callable[..., Launch], folder: AttemptFolder) -> None:
    prepare("sleep 3650.5")
    code = f"import subprocess; subprocess.Popen({[*SUPERVISE, str(folder.path)]!r}).wait()"
    parent = subprocess.Popen([sys.executable, "-c", code])
    wait_for("sleep 3650.5")
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 15
    while descendants("sleep 3650.5") and time.monotonic() < deadline:
        time.sleep(0.05)
    assert descendants("sleep 3650.5") == [] and not folder.is_complete


def test_a_second_supervisor_does_not_take_a_held_attempt(
    prepare: Callable[..., Launch], folder: AttemptFolder
) -> None:
    prepare("sleep 3660.5")
    first = subprocess.Popen([*SUPERVISE, str(folder.path)], stderr=subprocess.DEVNULL)
    wait_for("sleep 3660.5")
    second = subprocess.run([*SUPERVISE, str(folder.path)], capture_output=True, timeout=30)
    assert second.returncode != 0 and not folder.is_complete
    assert descendants("sleep 3660.5"), "the first goes on"
    first.terminate()
    first.wait(timeout=30)


@pytest.mark.parametrize("tier", ["plain", "landlock"])
def test_a_supervisor_that_stays_collects_the_orphans_of_each_job(
    tier: str, tmp_path: Path, prepare: Callable[..., Launch], folder: AttemptFolder
) -> None:
    """Else they would count as processes of all jobs that come later."""
    require_tier(tier)
    stay = subprocess.Popen(
        [sys.executable, "-I", "-m", "assay.runs.stay", str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert stay.stdin is not None and stay.stdout is not None
    with stay:
        for _ in range(2):
            prepare("for i in 1 2 3; do (setsid sleep 0.05 &); done; sleep 0.3", tier=tier)
            folder.outcome.unlink(missing_ok=True)
            stay.stdin.write(json.dumps(str(folder.path)).encode() + b"\n")
            stay.stdin.flush()
            assert json.loads(stay.stdout.readline())["exit_code"] == 0
            assert psutil.Process(stay.pid).children() == []
        stay.stdin.close()
