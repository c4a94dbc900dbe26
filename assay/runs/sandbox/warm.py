"""The strict tier by another way in: the job is forked from a nursery and then enters the same sandbox."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from assay.runs.launch import Launch
from assay.runs.sandbox.base import CannotFork, Ended, Sample, Streams, ended
from assay.runs.sandbox.description import steps_of_job
from assay.runs.sandbox.host_user import give, make_readable
from assay.runs.sandbox.inspect import FIRST, Expected, inspect_job
from assay.runs.sandbox.live import fill
from assay.runs.sandbox.nurseries import Nurseries, nursery_key
from assay.runs.sandbox.nursery import Hatched, Nursery
from assay.runs.sandbox.processes import stop
from assay.runs.sandbox.seccomp import filter_program
from assay.runs.sandbox.spawn import largest_file
from assay.runs.sandbox.strict import Strict

__all__ = ["Warm"]

OWN = 1  # the first process of its namespace


class Warm(Strict):
    """A job that is forked from a nursery. It sees its data only after it was found to be locked in.

    `start` raises CannotFork where that does not work; the nursery is ended then, and nothing is left of the job.
    """

    def __init__(self, launch: Launch, folder: Path, nurseries: Nurseries) -> None:
        super().__init__(launch, folder)
        self._nurseries = nurseries
        self._key = nursery_key(launch)
        self._nursery: Nursery | None = None
        self._known_as = 0

    def start(self, streams: Streams) -> int:
        """Fork the job, look at it from outside, and let it go."""
        try:
            return self._fork(self._nurseries.get(self._key, self.launch), streams)
        except Exception as error:  # whatever foreign code in the nursery made of it
            self._nurseries.note_trouble(self._key, str(error))
            raise CannotFork(str(error)) from None
        except BaseException:
            self._nurseries.drop(self._key)
            raise

    def _fork(self, nursery: Nursery, streams: Streams) -> int:
        self.group.create(self.launch.memory_mb, self.launch.processes, self.launch.cores)
        self.live = nursery.slot.open(self.launch, self.folder)
        if self.user is not None:
            give((*self.live.writable, streams.output, streams.phases), self.user)
        plan = {
            "network": self.launch.network,
            "steps": steps_of_job(self.launch, self.group.file_systems()),
            "filter": filter_program().hex(),
            "most_bytes": largest_file(self.launch),
        }
        hatched = nursery.fork(self.group, plan, (streams.output, streams.phases), self.user)
        with hatched.channel:
            for pid in (hatched.job, hatched.first):
                stop(pid)
            self._inspect(nursery, hatched, streams)
            self._show_data()
            for pid in (hatched.first, hatched.job):
                os.kill(pid, signal.SIGCONT)
            hatched.channel.send(b"go")
        nursery.is_well = True
        self._nursery, self._known_as = nursery, hatched.known_as
        return hatched.job

    def _inspect(self, nursery: Nursery, hatched: Hatched, streams: Streams) -> None:
        """See that both processes of the job have what they were given and nothing else."""
        user = os.geteuid() if self.user is None else self.user
        given = {"/dev/null", _link(streams.output), _link(streams.phases), hatched.link}
        root = Path(f"/proc/{nursery.pid}/root")
        expected = {
            hatched.job: Expected(given, user, self.writable[1]),
            hatched.first: Expected({"/dev/null"}, user, root, FIRST),
        }
        for pid, process in expected.items():
            problem = inspect_job(pid, nursery.pid, process, nursery.readable, self.launch.network)
            if problem:
                raise CannotFork(f"a process that was forked from its nursery is not locked in: {problem}.")

    def _show_data(self) -> None:
        """Lay the inputs into the folder that the job has mounted."""
        assert self.live is not None
        folder = self.live.path / "in"
        fill(folder, self.launch, self.folder)
        make_readable(folder / name for name in ("job.json", *self.launch.data))

    def wait(self) -> Ended:
        """Return how the job ended, as the kernel told the nursery's first process; killed, if that was killed too."""
        how = self._nursery.wait(self._known_as) if self._nursery else None
        return Ended(None, 9) if how is None else ended(os.waitstatus_to_exitcode(how))

    def sample(self) -> Sample:
        """Read the group's files."""
        return Sample(self.group.memory_mb(), max(0, len(self.group.pids()) - OWN), self.group.cpu_s())

    def kill(self) -> int:
        """Kill the group; the first process of the namespace is nobody's leftover."""
        return max(0, self.group.kill() - OWN)

    def close(self) -> None:
        """Remove the group, and what the job left in the nursery's folder; a nursery goes where the job did not."""
        if self.group.pids():
            self._nurseries.drop(self._key)
        super().close()
        self._nurseries.clear(self._key)


def _link(descriptor: int) -> str:
    return os.readlink(f"/proc/self/fd/{descriptor}")
