"""A machine, a container or a node as a run sees it: what a job gets there, where files are, how to clean up."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from assay.files import remove_tree
from assay.jobs.circumstances import Machine
from assay.jobs.constraint import Constraint
from assay.jobs.folder import AttemptFolder
from assay.runs.machine import memory_share_mb
from assay.runs.roots import VARIABLE, to_absolute, to_relative
from assay.runs.sandbox.cgroup import group_names, sweep
from assay.runs.sandbox.live import FOLDER, remove_abandoned
from assay.runs.sandbox.nursery import GROUP
from assay.runs.sandbox.strict import group_name
from assay.settings import Settings
from assay.vocabulary import Tier

__all__ = ["Place", "Share", "clean_up", "clean_up_nurseries"]


@dataclass(frozen=True)
class Share:
    """What one job takes of a place: numbers of cores and GPUs, and memory in MiB.

    `is_shared` where the cores cannot be claimed for the job alone (`oversubscribe`); GPUs always are.
    """

    cores: int
    memory_mb: int
    gpus: int = 0
    is_shared: bool = False


@dataclass(frozen=True)
class Place:
    """Where jobs run: the machine, and the tier in which limits are enforced there.

    `roots` are the named folders (`assay.runs.roots`) that lie elsewhere there than on the coordinator's machine. An
    executor with several equal nodes describes one of them.
    """

    machine: Machine
    tier: Tier
    roots: Mapping[str, str] = field(default_factory=dict)

    def share(self, constraint: Constraint, oversubscribe: bool = False) -> Share:
        """Return what a job under this constraint gets here; never more than there is."""
        return Share(
            cores=min(constraint.cores, len(self.machine.cores)),
            memory_mb=min(memory_share_mb(constraint, self.machine), self.machine.memory_mb),
            gpus=constraint.gpus,
            is_shared=oversubscribe,
        )

    def count(self, share: Share) -> int:
        """Return how many such jobs fit side by side, at least one."""
        by_cores = len(self.machine.cores) // max(1, share.cores)
        return max(1, min(by_cores, len(self.machine.gpus) // share.gpus) if share.gpus else by_cores)

    def environ(self) -> dict[str, str]:
        """Return the variables that tell a supervisor started here where its files are."""
        return {VARIABLE: json.dumps(dict(self.roots))}

    def folder(self, attempt: AttemptFolder) -> str:
        """Return where an attempt's folder lies here, to be supervised."""
        store = {"store": str(attempt.root.parent)}
        return to_absolute(to_relative(str(attempt.path), store), {**store, **self.roots})


def clean_up(folder: AttemptFolder) -> None:
    """Remove what a killed supervisor left where it ran: its control group with everybody in it, and the scratch."""
    with contextlib.suppress(OSError):
        sweep(group_name(folder.path))
    remove_abandoned(Settings.from_environment().cache / FOLDER)
    remove_tree(folder.tmp)


def clean_up_nurseries(supervisor: int | None = None) -> None:
    """Remove the control groups of the nurseries of a supervisor that is gone; by default of all that are gone."""
    pattern = re.compile(rf"{GROUP}-(\d+)-\d+")
    for name in group_names():
        match = pattern.fullmatch(name)
        if match and (int(match[1]) == supervisor if supervisor else not os.path.exists(f"/proc/{match[1]}")):
            with contextlib.suppress(OSError):
                sweep(name)
    remove_abandoned(Settings.from_environment().cache / FOLDER)
