"""What the kernel says of a process, and stopping one."""

from __future__ import annotations

import os
import signal
import time

__all__ = ["pending_signals", "process_status", "stop"]

STOPPING_S = 30.0  # for what takes a millisecond


def process_status(pid: int) -> dict[str, str]:
    """Return the lines of `/proc/PID/status` by name; raises OSError for a process that is gone."""
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:
        lines = [line.partition(":") for line in file]
    return {name: value.strip() for name, _, value in lines}


def pending_signals(pid: int) -> str:
    """Return that signals wait for a stopped nursery: a job could have sent words by them."""
    status = process_status(pid)
    waiting = [status[name] for name in ("SigPnd", "ShdPnd") if int(status[name], 16)]
    return "signals wait for the nursery" if waiting else ""


def stop(pid: int) -> None:
    """Stop a process, and wait until it has stopped; whether it has is seen when it is looked at."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + STOPPING_S
    while process_status(pid)["State"][:1] not in "Tt" and time.monotonic() < deadline:
        time.sleep(0.0005)
