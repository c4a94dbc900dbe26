"""The GPUs of this machine (NVIDIA's, as the driver lists them), and how a job is shown only its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from assay.jobs.circumstances import Gpu

__all__ = ["device_nodes", "find_gpus", "visible_gpus"]

DRIVER = Path("/proc/driver/nvidia/gpus")
# What every program that uses a GPU opens, whichever GPU it is.
SHARED_NODES = ("nvidiactl", "nvidia-uvm", "nvidia-uvm-tools", "nvidia-modeset")


def find_gpus(driver: Path = DRIVER) -> tuple[Gpu, ...]:
    """Return the GPUs that the driver lists, by number; none where there is no driver."""
    gpus = []
    for path in driver.glob("*/information"):
        try:
            lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
        except OSError:
            continue
        facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
        number, uuid = facts.get("Device Minor", ""), facts.get("GPU UUID", "")
        # A GPU that the driver has not woken yet has a UUID of question marks.
        if number.isdecimal() and re.fullmatch(r"GPU-[0-9a-f-]+", uuid):
            gpus.append(Gpu(int(number), uuid, facts.get("Model", "")))
    return tuple(sorted(gpus, key=lambda gpu: gpu.number))


def visible_gpus(gpus: Sequence[Gpu]) -> str:
    """Return `CUDA_VISIBLE_DEVICES` for a job with these GPUs.

    By UUID: numbers depend on which device nodes a sandbox shows.
    """
    return ",".join(gpu.uuid for gpu in gpus)


def device_nodes(gpus: Sequence[Gpu], dev: Path = Path("/dev")) -> list[Path]:
    """Return the device nodes that a job with these GPUs needs, as far as they exist; none without a GPU."""
    if not gpus:
        return []
    names = [*(f"nvidia{gpu.number}" for gpu in gpus), *SHARED_NODES]
    return [dev / name for name in names if (dev / name).exists()]
