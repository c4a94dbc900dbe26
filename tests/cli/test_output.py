"""What is printed for people: short, aligned, and nothing that a terminal would obey."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay.cli.output import check_target, number, print_json, print_table, seconds, short, visible
from assay.cli.progress import RunProgress
from assay.errors import ConfigError
from assay.runs.run import Event


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "–"), (0.0123, "12 ms"), (1.0, "1.0 s"), (119.94, "119.9 s"), (120, "2.0 min"), (7200, "2.0 h")],
)
def test_a_duration_has_its_unit(value: float | None, text: str) -> None:
    assert seconds(value) == text


def test_numbers_and_texts_are_as_long_as_is_useful() -> None:
    assert (number(None), number(0.123456), number(123456.0), number(1 / 3, 6)) == (
        "–",
        "0.1235",
        "1.235e+05",
        "0.333333",
    )
    assert short("one line") == "one line"
    assert short("first\nsecond") == "first…"
    assert len(short("x" * 200)) == 80 and short("x" * 200).endswith("…")


def test_signs_that_a_terminal_obeys_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2J\x1b]0;title\x07 [bold]fine[/] \x9b31m tab\tline\n"
    assert not set(visible(evil)) & set("\x1b\x07\x9b") and "tab\tline\n" in visible(evil)
    print_table("", ["message"], [[evil]])
    out = capsys.readouterr().out
    assert "\x1b" not in out and "\x07" not in out and "[bold]fine[/]" in out


def test_json_is_json_for_everyone(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"path": Path("a"), "text": "ü"})
    assert json.loads(capsys.readouterr().out) == {"path": "a", "text": "ü"}
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


def test_a_file_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    check_target(tmp_path / "new.csv")
    for path in (tmp_path, tmp_path / "none" / "x.csv"):
        with pytest.raises(ConfigError, match="cannot be written"):
            check_target(path)


# --- progress --------------------------------------------------------------------------------------------


def make_event(kind: str, key: str = "k1", **row: Any) -> Event:
    job: Any = SimpleNamespace(
        key=key, framework="tree", task="iris", fold=2, repeat=1, constraint=SimpleNamespace(cores=4, gpus=0)
    )
    result: Any = SimpleNamespace(**row) if row else None
    return Event(kind, job, result)


def make_progress(total: int, done: set[str] = frozenset(), quiet: bool = False) -> RunProgress:  # type: ignore[assignment]
    plan: Any = SimpleNamespace(jobs=[None] * total, frameworks=())
    return RunProgress(plan, done, quiet)


def test_progress_is_one_line_per_job(capsys: pytest.CaptureFixture[str]) -> None:
    with make_progress(3, {"k0"}) as progress:
        progress.tell(make_event("waiting"))
        progress.tell(make_event("start"))
        assert list(progress.running) == ["k1"]
        progress.tell(make_event("done", status="ok", metric="auc", score=0.91234, fit_s=2.5))
        progress.tell(make_event("done", "k2", status="memory", message="Too\x1b[2J much\nof it"))
    assert capsys.readouterr().err.splitlines() == [
        "1 of 3 jobs are done already.",
        "Waiting for 4 free core(s): other runs on this machine hold them.",
        "[2/3] tree on iris, fold 1.2: auc 0.9123 in 2.5 s",
        "[3/3] tree on iris, fold 1.2: memory: Too\\x1b[2J much",
    ]
    assert progress.failed == {"memory": 1} and progress.running == {}
    assert "failed: 1 memory" in progress.__rich__()


def test_quiet_progress_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with make_progress(2, {"k0"}, quiet=True) as progress:
        progress.tell(make_event("waiting"))
        progress.tell(make_event("done", status="error", message="no"))
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "") and progress.failed == {"error": 1}
