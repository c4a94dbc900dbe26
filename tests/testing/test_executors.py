"""The conformance tests of executors notice executors that break a promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.runs.executors.base import Executor, ExecutorOptions, Finished
from assay.runs.executors.local import Local
from assay.runs.place import Share
from assay.testing.executors import ExecutorTests


class Twice(Local):
    """Returns everything a second time."""

    ended: tuple[Finished, ...] = ()

    def poll(self, timeout_s: float) -> list[Finished]:
        before, self.ended = self.ended, tuple(super().poll(timeout_s))
        return [*before, *self.ended]


class Forgetful(Local):
    """Returns only what ended well."""

    def poll(self, timeout_s: float) -> list[Finished]:
        return [finished for finished in super().poll(timeout_s) if finished.exit_code == 0]


class Roomy(Local):
    """Has room for everybody."""

    def has_room(self, share: Share) -> bool:
        return True


class Careless(Local):
    """Stops nothing."""

    def cancel(self) -> None:
        pass


class Checks(ExecutorTests):
    patience_s = 10.0
    __test__ = False  # they are called by the tests below

    def __init__(self, kind: type[Local]) -> None:
        self.kind = kind
        self.made: list[Local] = []

    def make(self, options: ExecutorOptions) -> Executor:
        self.made.append(self.kind(options.workers, "plain"))
        return self.made[-1]


@pytest.mark.parametrize(
    ("kind", "test"),
    [
        (Twice, "test_an_attempt_is_returned_once_with_its_files"),
        (Forgetful, "test_an_attempt_whose_supervisor_is_killed_is_returned_once_without_facts"),
        (Roomy, "test_the_attempt_is_held_while_it_runs_and_there_is_no_room_beside_it"),
        (Careless, "test_after_cancel_nobody_is_left_and_nothing_is_returned"),
    ],
)
def test_a_broken_promise_is_noticed(tmp_path: Path, kind: type[Local], test: str) -> None:
    checks = Checks(kind)
    with pytest.raises(AssertionError):
        getattr(checks, test)(tmp_path)
    for executor in checks.made:
        Local.cancel(executor)
