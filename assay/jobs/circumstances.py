"""Under which circumstances an attempt was made: what ran, on which machine, and how busy that machine was. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.vocabulary import Role, Start

__all__ = ["Circumstances", "Gpu", "Machine"]


@dataclass(frozen=True)
class Gpu:
    """One GPU: the number of its device node, the name by which CUDA knows it anywhere, and its model."""

    number: int
    uuid: str
    model: str = ""


@dataclass(frozen=True)
class Machine:
    """The hardware and the system a job runs on, as recorded with every outcome."""

    cores: tuple[int, ...]
    memory_mb: int
    host: str
    system: str
    processor: str
    python: str
    gpus: tuple[Gpu, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """All that may explain a result besides the job itself; not part of the job's key.

    An attempt that could not be started has only what was known before it: the other fields keep their defaults.

    Attributes:
        role, meta_learning: what the framework is, and whether it learned from public data beforehand.
        framework_digest: of the adapter and its settings; rows with another one are stale.
        lock_digest: of the list of packages in the framework's environment.
        fold_digest: of the training rows and test features.
        start: `cold` in a process of its own, `warm` forked from a nursery; empty if nothing was started.
        cold_reason: why it was not forked from a nursery; empty if it was.
        network: whether it could use the network.
        machine: None if nothing was started.
        cores, gpus: the cores that it used, and the UUIDs of its GPUs.
        neighbours: jobs of the same run that were running when this one started.
        cores_shared: whether its cores could not be claimed for it alone.
        cpu_pressure: share of the time in which some process on the machine waited for a core.
        steal: share of the machine's time that the hypervisor gave to others.
        load: the machine's load average when the attempt ended.
    """

    role: Role = "framework"
    meta_learning: str = ""
    framework_digest: str = ""
    lock_digest: str = ""
    fold_digest: str = ""
    start: Start | Literal[""] = ""
    cold_reason: str = ""
    network: bool = False
    machine: Machine | None = None
    cores: tuple[int, ...] = ()
    gpus: tuple[str, ...] = ()
    neighbours: int = 0
    cores_shared: bool = False
    cpu_pressure: float = 0.0
    steal: float = 0.0
    load: float = 0.0

    @property
    def is_contended(self) -> bool:
        """Whether something else on the machine may have slowed the job down."""
        return self.cores_shared or self.steal > MOST_STEAL or self.cpu_pressure > MOST_PRESSURE


# Above these a row is called contended. Stolen time slows a job down directly; pressure counts any process that waits,
# a short-lived one included, so that only a wait for half of the time says that cores were short.
MOST_STEAL = 0.05
MOST_PRESSURE = 0.5
