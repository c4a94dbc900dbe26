"""What every executor promises, as tests: derive a class from `ExecutorTests`, say how yours is made, run pytest.

    class TestMine(ExecutorTests):
        def make(self, options):
            return Mine(options)

The attempts are small shell scripts. Executors that start them on another machine say with `find_processes` how
processes are found there.
"""

from __future__ import annotations

import os
import secrets
import signal
import time
from collections.abc import Callable
from pathlib import Path

from assay.files import write_json
from assay.jobs.folder import AttemptFolder, StoreFolder
from assay.runs.executors.base import Executor, ExecutorOptions, Finished
from assay.runs.exit_codes import NOT_OURS, WROTE_FACTS
from assay.runs.launch import Launch
from assay.runs.place import Share
from assay.runs.roots import roots_here
from assay.runs.sandbox.base import TIERS
from assay.settings import Settings
from assay.store.locks import is_supervised

__all__ = ["ExecutorTests"]

SHARE = Share(cores=1, memory_mb=500)
LIMITS_S = {"start": 100.0}
PAUSE_S = 0.05


class ExecutorTests:
    """The promises of `assay.runs.executors.base.Executor`, one test each."""

    patience_s = 60.0  # how long anything may take to be seen

    def make(self, options: ExecutorOptions) -> Executor:
        """Return a new executor."""
        raise NotImplementedError

    def find_processes(self, words: str) -> list[int]:
        """Return the processes where jobs run whose command line has these words."""
        import psutil

        found = []
        for process in psutil.process_iter(["pid", "cmdline", "status"]):
            line = " ".join(process.info["cmdline"] or ())
            if words in line and process.info["status"] != psutil.STATUS_ZOMBIE:
                found.append(int(process.info["pid"]))
        return [pid for pid in found if pid != os.getpid()]

    def kill_supervisor(self, folder: AttemptFolder) -> None:
        """Kill the supervisor of an attempt, which is the process that holds its lock, at once."""
        inode = str(folder.lock.stat().st_ino)
        for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
            words = line.split()
            if words[1] == "FLOCK" and words[5].rpartition(":")[2] == inode:
                os.kill(int(words[4]), signal.SIGKILL)

    # --- the promises --------------------------------------------------------------------------------

    def test_making_one_starts_nothing_and_cancel_may_be_called_at_any_time(self) -> None:
        """It is made, asked and stopped without an attempt."""
        executor = self.make(ExecutorOptions())
        assert executor.poll(0.0) == []
        executor.cancel()
        executor.cancel()

    def test_it_says_what_a_job_gets(self) -> None:
        """Plans are checked against its place before anything runs."""
        executor = self.make(ExecutorOptions(workers=3))
        assert executor.workers == 3
        assert executor.place.machine.cores and executor.place.machine.memory_mb > 0
        assert executor.place.tier in TIERS

    def test_an_attempt_is_returned_once_with_its_files(self, tmp_path: Path) -> None:
        """It reads what lies in the store and writes to its own folder."""
        executor = self.make(ExecutorOptions(workers=1))
        folder = self._attempt(executor, tmp_path, "cat {job}/input.txt > {job}/out/copy.txt")
        try:
            finished = self._run(executor, folder)
            assert finished.exit_code == WROTE_FACTS, finished.message
            assert folder.read_facts().get().exit_code == 0, folder.log.read_text()
            assert (folder.out / "copy.txt").read_text() == "rows of a fold"
            assert executor.poll(0.0) == [] and not is_supervised(folder)
        finally:
            executor.cancel()
        assert folder.is_complete, "what is finished stays"

    def test_a_failing_job_is_a_fact_and_no_failure_of_the_executor(self, tmp_path: Path) -> None:
        """Its exit code is in the facts; the supervisor's is that of success."""
        executor = self.make(ExecutorOptions(workers=1))
        folder = self._attempt(executor, tmp_path, "exit 7")
        try:
            assert self._run(executor, folder).exit_code == WROTE_FACTS
        finally:
            executor.cancel()
        assert folder.read_facts().get().exit_code == 7

    def test_the_attempt_is_held_while_it_runs_and_there_is_no_room_beside_it(self, tmp_path: Path) -> None:
        """With one worker, a second job has to wait."""
        executor = self.make(ExecutorOptions(workers=1))
        folder = self._attempt(executor, tmp_path, "sleep 4")
        try:
            self._wait(lambda: executor.has_room(SHARE))
            executor.submit(folder, SHARE)
            self._wait(lambda: is_supervised(folder))
            assert not executor.has_room(SHARE)
            self._collect(executor, 1)
            assert not is_supervised(folder) and folder.is_complete
            self._wait(lambda: executor.has_room(SHARE))
        finally:
            executor.cancel()

    def test_two_attempts_share_no_core(self, tmp_path: Path) -> None:
        """Each has claimed its own, if there are two."""
        executor = self.make(ExecutorOptions(workers=2))
        folders = [self._attempt(executor, tmp_path, "sleep 1") for _ in range(2)]
        try:
            for folder in folders:
                executor.submit(folder, SHARE)
            self._collect(executor, 2)
        finally:
            executor.cancel()
        spans = [self._span(folder) for folder in sorted(folders, key=self._span)]
        assert spans[0][2] != spans[1][2] or spans[0][1] <= spans[1][0], "one core, but one after the other"

    def test_an_attempt_whose_supervisor_is_killed_is_returned_once_without_facts(
        self, tmp_path: Path
    ) -> None:
        """Nothing of it is left, and the job can be tried again."""
        executor = self.make(ExecutorOptions(workers=1))
        folder = self._attempt(executor, tmp_path, "exec sleep 4711.5")
        try:
            self._wait(lambda: executor.has_room(SHARE))
            executor.submit(folder, SHARE)
            self._wait(lambda: bool(self.find_processes("sleep 4711.5")))
            self.kill_supervisor(folder)
            (finished,) = self._collect(executor, 1)
            assert finished.exit_code not in (WROTE_FACTS, NOT_OURS)
            assert not folder.is_complete and not is_supervised(folder)
            self._wait(lambda: not self.find_processes("sleep 4711.5"))
            assert executor.poll(0.0) == []
        finally:
            executor.cancel()

    def test_after_cancel_nobody_is_left_and_nothing_is_returned(self, tmp_path: Path) -> None:
        """Children that left their session included."""
        executor = self.make(ExecutorOptions(workers=2))
        scripts = ("(setsid sleep 4712.5 &); sleep 4712.5", "sleep 4712.5")
        folders = [self._attempt(executor, tmp_path, script) for script in scripts]
        try:
            executor.submit(folders[0], SHARE)
            self._wait(lambda: len(self.find_processes("sleep 4712.5")) >= 2)
            executor.submit(folders[1], SHARE)  # it may not even have started
        finally:
            executor.cancel()
        assert self.find_processes("sleep 4712.5") == []
        assert executor.poll(0.0) == []
        time.sleep(1.0)  # for who would start late
        assert not any(folder.is_complete or is_supervised(folder) for folder in folders)
        assert self.find_processes("sleep 4712.5") == []

    def test_an_attempt_with_a_successor_is_not_made(self, tmp_path: Path) -> None:
        """Its coordinator was gone, another one has tried again: the late supervisor steps back."""
        executor = self.make(ExecutorOptions(workers=1))
        folder = self._attempt(executor, tmp_path, "touch {job}/out/ran")
        folder.path.with_name("002").mkdir()
        try:
            finished = self._run(executor, folder)
        finally:
            executor.cancel()
        assert finished.exit_code == NOT_OURS
        assert not folder.is_complete and not (folder.out / "ran").exists()

    # --- how -----------------------------------------------------------------------------------------

    def _attempt(self, executor: Executor, root: Path, script: str) -> AttemptFolder:
        """Write the attempt of a shell script, whose input lies in the store; its key is one that no other test has."""
        key = secrets.token_hex(8)
        store = StoreFolder(root / "store")
        fold, code = store.folds / "f0", store.root / "code" / "none"
        for path in (fold, code):
            path.mkdir(parents=True, exist_ok=True)
        (fold / "input.txt").write_text("rows of a fold")
        folder = store.job(key).attempt(1)
        for path in (folder.out, folder.tmp):
            path.mkdir(parents=True)
        launch = Launch(
            key=key, attempt=1, argv=("/bin/sh", "-c", script), code=str(code), tier=executor.place.tier,
            memory_mb=500, disk_mb=50, limits_s=LIMITS_S, data={"input.txt": str(fold / "input.txt")},
        )  # fmt: skip
        roots = roots_here(store.root, Settings.from_environment())
        write_json(folder.job, {})
        write_json(folder.attempt, launch.relative_to(roots).to_json())
        return folder

    def _run(self, executor: Executor, folder: AttemptFolder) -> Finished:
        self._wait(lambda: executor.has_room(SHARE))
        executor.submit(folder, SHARE)
        (finished,) = self._collect(executor, 1)
        assert finished.folder.path == folder.path, "it is named as it was submitted"
        return finished

    def _collect(self, executor: Executor, count: int) -> list[Finished]:
        ended: list[Finished] = []
        deadline = time.monotonic() + self.patience_s
        while len(ended) < count and time.monotonic() < deadline:
            ended += executor.poll(0.5)
        assert len(ended) == count, f"{len(ended)} of {count} attempts were returned"
        return ended

    def _wait(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.patience_s
        while not is_so():
            assert time.monotonic() < deadline, f"it took more than {self.patience_s:g} s"
            time.sleep(PAUSE_S)

    def _span(self, folder: AttemptFolder) -> tuple[str, str, str]:
        """Return when an attempt ran, and on which cores of which machine."""
        facts = folder.read_facts().get()
        seen = facts.circumstances
        host = seen.machine.host if seen.machine else ""
        return facts.started_at, facts.ended_at, f"{host} {seen.cores}"
