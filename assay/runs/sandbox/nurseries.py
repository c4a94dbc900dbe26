"""The nurseries that a supervisor keeps: one for each kind of job, started when it is needed and replaced in time."""

from __future__ import annotations

import json
import os
from collections import Counter, OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from assay.runs.launch import Launch
from assay.runs.sandbox.base import CannotFork
from assay.runs.sandbox.description import readable_words
from assay.runs.sandbox.nursery import GROUP, Nursery

__all__ = ["Nurseries", "nursery_key"]

MOST_JOBS = 500  # a nursery is replaced after this number of jobs
MOST_NURSERIES = 8  # of one supervisor: each holds the private memory of its libraries, about 100 MB
MOST_TROUBLE = 3  # jobs start cold after this number of failed forks from the same kind of nursery
LEAST_AVAILABLE_MB = 1024


@dataclass
class Nurseries:
    """The nurseries of one supervisor, by what makes them different: sandbox, environment, code."""

    known: OrderedDict[str, Nursery] = field(default_factory=OrderedDict)
    trouble: Counter[str] = field(default_factory=Counter)
    refused: dict[str, str] = field(default_factory=dict)
    started: int = 0

    def get(self, key: str, launch: Launch) -> Nursery:
        """Return a nursery from which this job can be forked, started if there is none; raises CannotFork.

        `key` is what `nursery_key` returns of the launch.
        """
        if key in self.refused:
            raise CannotFork(self.refused[key])
        nursery = self.known.get(key)
        if nursery is not None and (nursery.jobs >= MOST_JOBS or not nursery.can_fork):
            self.drop(key)
            nursery = None
        if nursery is None:
            self._make_room()
            nursery = self._start(launch, key)
        self.known[key] = nursery
        self.known.move_to_end(key)
        nursery.jobs += 1
        return nursery

    def _start(self, launch: Launch, key: str) -> Nursery:
        self.started += 1
        nursery = Nursery(launch, f"{GROUP}-{os.getpid()}-{self.started}")
        try:
            nursery.start()
        except Exception as error:  # whatever foreign code in the nursery made of it
            nursery.close()
            self.refused[key] = str(error)
            raise CannotFork(str(error)) from None
        except BaseException:
            nursery.close()
            raise
        return nursery

    def _make_room(self) -> None:
        import psutil

        while self.known and (
            len(self.known) >= MOST_NURSERIES
            or psutil.virtual_memory().available < LEAST_AVAILABLE_MB * 2**20
        ):
            self.known.popitem(last=False)[1].close()

    def drop(self, key: str) -> None:
        """End the nursery of such jobs; the next one gets a fresh one."""
        nursery = self.known.pop(key, None)
        if nursery is not None:
            nursery.close()

    def note_trouble(self, key: str, reason: str) -> None:
        """End the nursery of such jobs; if that happens again and again, they start cold from now on."""
        self.drop(key)
        self.trouble[key] += 1
        if self.trouble[key] >= MOST_TROUBLE:
            self.refused[key] = reason

    def clear(self, key: str) -> None:
        """Remove what a job left in the folder of its nursery, which is stopped."""
        nursery = self.known.get(key)
        if nursery is not None:
            nursery.slot.clear()

    def close(self) -> None:
        """End them all."""
        while self.known:
            self.known.popitem()[1].close()


def nursery_key(launch: Launch) -> str:
    """Return all that a nursery depends on: sandbox, command, code and limits; but not a job's data or its cores."""
    limits = [launch.memory_mb, launch.disk_mb, launch.processes, launch.network, launch.n_cores]
    words = readable_words(launch.readable, launch.framework, launch.hidden)
    # Folders of code are named after their contents, so that the same framework in two stores is the same.
    return json.dumps([limits, launch.argv, Path(launch.code).name, dict(launch.environ), words])
