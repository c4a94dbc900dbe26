# ruff: noqa: E501  (a table: one line per claim)
from __future__ import annotations

import json
from typing import Any

import pytest

from assay.jobs.circumstances import Circumstances
from assay.jobs.outcome import Facts, PredictionCheck, classify
from assay.vocabulary import STATUSES

LIMITS = {"start": 300.0, "load": 300.0, "fit": 120.0, "predict": 300.0, "timing": 300.0}
GOOD = PredictionCheck(found=True)
BAD = PredictionCheck(found=True, problem="Row 3: nan is not a finite number.")
NONE = PredictionCheck(found=False)


def facts(**said: Any) -> Facts:
    return Facts(**{"enforcement": "strict", "blindness": "enforced", **said})


def error(kind: str = "ValueError", message: str = "no", **more: Any) -> dict[str, Any]:
    return {"schema": 1, "error": {"type": kind, "message": message}, **more}


DONE = {"phase": "end", "exit_code": 0}
RAISED = {"phase": "fit", "exit_code": 1}
KILLED = {"exit_code": None, "signal": 9}

# One line per claim: what was seen, what the predictions are, what follows.
TABLE = [
    ("all went well", DONE, GOOD, "ok", ""),
    ("a program that announces no phase", {"phase": "start", "exit_code": 0}, GOOD, "ok", ""),
    ("a worker died for memory, the framework went on", {**DONE, "oom_kills": 2}, GOOD, "ok", "2 of its processes"),
    ("timing took too long", {**KILLED, "phase": "timing", "stopped_for": "time"}, GOOD, "ok", ""),
    ("timing took too much memory", {**KILLED, "phase": "timing", "oom_kills": 1}, GOOD, "ok", ""),
    ("timing crashed", {"phase": "timing", "signal": 11}, GOOD, "ok", ""),
    ("it hung at the end", {**KILLED, "phase": "end", "stopped_for": "time"}, GOOD, "ok", ""),
    ("closing the model failed", {"phase": "end", "exit_code": 1, "report": error()}, GOOD, "ok", ""),
    ("fit took too long", {**KILLED, "phase": "fit", "stopped_for": "time"}, NONE, "timeout", "fit phase passed its limit of 120 s"),
    ("predict took too long", {**KILLED, "phase": "predict", "stopped_for": "time"}, NONE, "timeout", "limit of 300 s"),
    ("predictions of a fit that was stopped", {**KILLED, "phase": "fit", "stopped_for": "time"}, GOOD, "timeout", "fit phase"),
    ("the kernel killed it for memory", {**KILLED, "phase": "fit", "oom_kills": 1, "memory_limit_mb": 512}, NONE, "memory", "its 512 MB"),
    ("we killed it for memory", {**KILLED, "phase": "fit", "stopped_for": "memory", "memory_peak_mb": 99.0}, NONE, "memory", "99 MB"),
    ("a worker died for memory, the framework raised", {**RAISED, "oom_kills": 1, "report": error()}, NONE, "memory", "killed for"),
    ("a worker died for memory, the framework raised though predictions lie there", {**RAISED, "oom_kills": 1}, GOOD, "memory", "killed for"),
    ("a worker died for memory, the predictions are none", {"phase": "predict", "exit_code": 0, "oom_kills": 1}, BAD, "invalid_predictions", "Row 3"),
    ("a worker died for memory, nothing was written", {**DONE, "oom_kills": 1}, NONE, "memory", "killed for"),
    ("MemoryError", {**RAISED, "report": error("MemoryError", "")}, NONE, "memory", "MemoryError"),
    ("numpy's MemoryError", {**RAISED, "report": error("_ArrayMemoryError", "8 TiB")}, NONE, "memory", "8 TiB"),
    ("Java's", {**RAISED, "report": error("java.lang.OutOfMemoryError", "heap")}, NONE, "memory", "heap"),
    ("out of memory while importing", {**RAISED, "report": error("MemoryError", import_failed=True)}, NONE, "memory", ""),
    ("a segfault", {"phase": "fit", "signal": 11}, NONE, "crash", "SIGSEGV in the fit phase"),
    ("a segfault through bubblewrap", {"phase": "fit", "exit_code": 139, "signal": 11}, NONE, "crash", "SIGSEGV"),
    ("an abort after predictions", {"phase": "predict", "signal": 6}, GOOD, "crash", "SIGABRT"),
    ("a rare signal", {"phase": "fit", "signal": 31}, NONE, "crash", "signal 31"),
    ("the disk is full", {**KILLED, "stopped_for": "disk", "disk_peak_mb": 2048.0}, NONE, "disk", "It wrote 2048 MB"),
    ("the disk is full, predictions are there", {"phase": "end", "exit_code": 0, "stopped_for": "disk"}, GOOD, "disk", "disk limit"),
    ("the framework raised", {**RAISED, "report": error()}, NONE, "error", "ValueError: no"),
    ("it raised after writing predictions itself", {**RAISED, "report": error()}, GOOD, "error", "ValueError: no"),
    ("it gave up with sys.exit(0)", {"phase": "fit", "exit_code": 0, "report": error("SystemExit", "0")}, NONE, "error", "SystemExit: 0"),
    ("it wrote nothing", {"phase": "fit", "exit_code": 0}, NONE, "error", "wrote no predictions"),
    ("it left no report", {"phase": "fit", "exit_code": 3}, NONE, "error", "exit code 3"),
    ("too many processes", {**KILLED, "stopped_for": "processes", "processes_peak": 2000}, NONE, "error", "2000 processes"),
    ("too many processes, with predictions", {**KILLED, "phase": "fit", "stopped_for": "processes"}, GOOD, "error", "processes"),
    ("refused a process", {**RAISED, "process_limit_hits": 4, "report": error()}, NONE, "error", "no (It was refused a new process 4 times"),
    ("trained no model", {**DONE, "report": {"models_count": 0}}, GOOD, "error", "trained no model"),
    ("NaN in the predictions", DONE, BAD, "invalid_predictions", "Row 3: nan is not a finite number."),
    ("NaN, and timing took too long", {**KILLED, "phase": "timing", "stopped_for": "time"}, BAD, "invalid_predictions", "Row 3"),
    ("NaN, and a segfault in timing", {"phase": "timing", "signal": 11}, BAD, "invalid_predictions", "Row 3"),
    ("the child refused the answer", {"phase": "predict", "exit_code": 1, "report": error(message="unknown class", invalid_predictions=True)}, NONE, "invalid_predictions", "unknown class"),
    ("refused without a word", {"phase": "predict", "exit_code": 1, "report": {"invalid_predictions": True}}, NONE, "invalid_predictions", "refused"),
    ("the adapter cannot be imported", {"exit_code": 1, "report": error("ImportError", "no sklearn", import_failed=True)}, NONE, "setup", "It cannot start here: ImportError: no sklearn"),
    ("not installed", {"setup_problem": "Run install."}, NONE, "setup", "Run install."),
    ("the task is broken", {"data_problem": "There is no file."}, NONE, "data", "There is no file."),
    ("the supervisor is gone", {"lost_reason": "Lost 3 times."}, NONE, "lost", "Lost 3 times."),
    ("data before setup before lost", {"data_problem": "d", "setup_problem": "s", "lost_reason": "l"}, NONE, "data", "d"),
    ("setup before lost", {"setup_problem": "s", "lost_reason": "l"}, NONE, "setup", "s"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("seen", "check", "status", "message"), [line[1:] for line in TABLE], ids=[line[0] for line in TABLE]
)
def test_facts_decide_the_status(
    seen: dict[str, Any], check: PredictionCheck, status: str, message: str
) -> None:
    verdict = classify(facts(**seen), check, LIMITS)
    assert verdict.status == status
    assert message in verdict.message
    assert status == "ok" or verdict.message


def test_every_status_is_in_the_table() -> None:
    assert {line[3] for line in TABLE} == set(STATUSES)


def test_constant_predictor_may_train_no_model() -> None:
    seen = facts(**DONE, report={"models_count": 0})
    assert classify(seen, GOOD, LIMITS, role="constant").status == "ok"
    assert classify(seen, GOOD, LIMITS, role="baseline").status == "error"


@pytest.mark.parametrize(
    "said", ["died", 3, ["a"], {"message": None}, {"type": 5, "message": {"a": 1}}], ids=str
)
def test_report_of_a_foreign_program_may_hold_anything(said: Any) -> None:
    verdict = classify(facts(**RAISED, report={"error": said}), NONE, LIMITS)
    assert verdict.status == "error"
    assert verdict.message


def test_long_message_is_cut() -> None:
    verdict = classify(facts(**RAISED, report=error(message="x" * 10**6)), NONE, LIMITS)
    assert len(verdict.message) < 5000


def test_facts_survive_json() -> None:
    seen = facts(
        phases={"fit": 1.25},
        memory_samples=((0.1, 20.5), (0.2, 30.25)),
        report={"models_count": 3},
        circumstances=Circumstances(load=0.5),
        signal=9,
    )
    text = json.dumps(seen.to_json(), allow_nan=False)
    assert Facts.from_json(json.loads(text)) == seen
    assert json.loads(text)["schema"] == 2


def test_facts_of_the_first_version_are_read() -> None:
    """It called the circumstances surroundings, and said less of an attempt that could not be started."""
    surroundings = {"role": "baseline", "framework_digest": "f", "steal": 0.25, "later": 1}
    written = {**facts().to_json(), "schema": 1, "surroundings": surroundings}
    del written["circumstances"]
    seen = Facts.from_json(written)
    assert seen.circumstances == Circumstances(role="baseline", framework_digest="f", steal=0.25)
    assert seen.circumstances.is_contended


def test_facts_of_a_later_version_are_read() -> None:
    assert Facts.from_json({**facts().to_json(), "energy_j": 12.0}) == facts()
