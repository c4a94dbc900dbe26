"""What a text about a failure says of its cause: time, memory, a crash, or nothing of these.

AMLB keeps one text per failure, and kills what exceeds its limit from outside. Such a text says only how the process
ended, so the time it took has to be read beside it.
"""

from __future__ import annotations

import re
from math import isfinite, nan

from assay.vocabulary import STATUSES

__all__ = ["cause_of", "is_at_limit", "read_failure"]

TIME = re.compile(
    r"TimeoutE(?:rror|xception)|Interrupting thread|(?<!read )(?<!connect )(?<!connection )timed out"
    r"|exceeded (?:the |its )?(?:time|timeout)|time ?limit (?:was |is )?(?:exceeded|reached)"
    r"|timeout (?:was |is )?(?:exceeded|reached|expired)",
    re.IGNORECASE,
)
MEMORY = re.compile(
    r"MemoryError|OutOfMemory|out of memory|not enough memory|bad_alloc|java heap space|GC overhead limit"
    r"|(?:unable|cannot|can't|could not|failed|failure) (?:to )?allocate|memory allocation|oom[- ]?kill",
    re.IGNORECASE,
)
CRASH = re.compile(
    r"segmentation fault|segfault|core dumped|unexpectedly terminated|terminated (?:abruptly|unexpectedly)"
    r"|died unexpectedly|BrokenProcessPool|TerminatedWorkerError|bus error|illegal instruction",
    re.IGNORECASE,
)
SIGNAL_NAMES = {"SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGABRT": 6, "SIGBUS": 7, "SIGFPE": 8, "SIGKILL": 9,
                "SIGSEGV": 11, "SIGTERM": 15}  # fmt: skip
CRASHES = (4, 6, 7, 8, 11)
ENDINGS = (2, 3, 15)  # how AMLB ends a job whose time is up, before it kills it
# Texts that say that a job was ended, or left nothing, but not why.
ENDED = re.compile(r"^(?:\w+: )?(?:missing predictions|aborting instance)", re.IGNORECASE)
NEARLY = 0.99  # clocks differ
EARLY = 0.5  # what was ended before half of its time had not used it up


def read_failure(text: str, seconds: float = nan, budget_s: float = nan) -> tuple[str, str]:
    """Return our status for AMLB's text about a failure, and the message.

    A text that we wrote into AMLB's columns begins with the status, and is read back.

    Args:
        text: AMLB's `info`.
        seconds: how long the job took, if that is known.
        budget_s: the time it was given, if that is known.
    """
    begin, colon, rest = text.partition(": ")
    if colon and begin in STATUSES[1:]:
        return begin, rest
    return cause_of(text, seconds, budget_s) or "error", text


def cause_of(text: str, seconds: float = nan, budget_s: float = nan) -> str:
    """Return `timeout`, `memory` or `crash` where a text says so; else nothing."""
    if TIME.search(text):
        return "timeout"
    if MEMORY.search(text):
        return "memory"
    signal = _signal_in(text)
    is_late = is_at_limit(seconds, budget_s)
    if (signal == 9 or ENDED.search(text)) and is_late:
        return "timeout"
    if signal in ENDINGS and (is_late or not seconds < EARLY * budget_s):  # unknown times are not early
        return "timeout"
    if signal == 9:
        return "memory"  # the kernel kills for memory in this way, and hardly anybody else does
    return "crash" if signal in CRASHES or CRASH.search(text) else ""


def is_at_limit(seconds: float, budget_s: float) -> bool:
    """Whether a job took what AMLB allows at most: twice its budget, or an hour more, whichever comes first."""
    limit = min(2 * budget_s, budget_s + 3600)
    return isfinite(limit) and seconds >= NEARLY * limit


def _signal_in(text: str) -> int | None:
    """Return the signal that ended a process: -6, 134 (128 and 6) and SIGABRT are one; None where there is none."""
    named = re.search(r"\b(SIG[A-Z]{3,4})\b", text)
    if named and named[1] in SIGNAL_NAMES:
        return SIGNAL_NAMES[named[1]]
    match = re.search(
        r"\bexit(?:ed)?(?: with)?(?: the)?(?: status| code|code|value)?:? (-?\d+)\b", text, re.IGNORECASE
    )
    if not match:
        return None
    code = int(match[1])
    return -code if code < 0 else code - 128 if 128 < code < 160 else None
