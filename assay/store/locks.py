"""Who holds an attempt: the coordinator that claimed it, the supervisor that works on it, or nobody.

Two locks in the attempt's folder keep a job from running twice. The coordinator holds `claim` from the moment it
takes the job until the job has its row, or is given up. The supervisor holds `lock` as long as it lives, also when its
coordinator is gone. The kernel frees a lock when its holder dies, however it dies.

A coordinator may die after it asked for a supervisor and before that supervisor has started, when neither lock is
held. So whoever makes the next attempt holds both locks of the last one while it makes the new folder, and a
supervisor that has its lock looks for a later folder. Whichever comes second sees the other and steps back.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from assay.files import is_number
from assay.jobs.folder import AttemptFolder, StoreFolder

__all__ = ["drop_locks", "hold_attempt", "hold_claim", "hold_store", "is_held", "is_supervised", "unheld"]

# Onlookers and other coordinators take a lock for an instant; a supervisor must not give up because of them.
PATIENCE_S = 2.0
PAUSE_S = 0.01


def hold_claim(folder: AttemptFolder) -> int:
    """Take the claim of a new attempt and return the descriptor that holds it until it is closed."""
    descriptor = _open(folder.claim)
    fcntl.flock(descriptor, fcntl.LOCK_EX)  # the folder is new: only an onlooker can be in the way
    return descriptor


def hold_attempt(folder: AttemptFolder) -> int | None:
    """Take the supervisor's lock and return the descriptor that holds it until it is closed.

    None means that the attempt must not be made: another supervisor is at it, it has ended, or there is a later one.
    """
    descriptor = _open(folder.lock)
    if _lock(descriptor, PATIENCE_S) and not folder.is_complete and not _has_later(folder):
        return descriptor
    os.close(descriptor)
    return None


def drop_locks(folder: AttemptFolder) -> None:
    """Remove the files of the locks of an attempt that has ended and whose job has its row.

    Nobody needs them any more: whoever takes one now makes the file anew, and finds the attempt complete.
    """
    for path in (folder.claim, folder.lock):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)


@contextlib.contextmanager
def unheld(folder: AttemptFolder) -> Iterator[bool]:
    """Keep everybody else from an attempt for the length of a block; False where somebody holds it."""
    with contextlib.ExitStack() as held:
        is_free = True
        for path in (folder.claim, folder.lock):
            # The file is made if need be: a supervisor that is late must find it locked.
            descriptor = _open(path)
            held.callback(os.close, descriptor)
            is_free = _lock(descriptor) and is_free
        yield is_free


@contextlib.contextmanager
def hold_store(folder: StoreFolder) -> Iterator[None]:
    """Wait until nobody else cleans up or migrates the store, and keep others from it for the length of a block."""
    descriptor = os.open(folder.format, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_held(folder: AttemptFolder) -> bool:
    """Whether a living process holds the attempt, as its coordinator or as its supervisor."""
    return any(_is_locked(path) for path in (folder.claim, folder.lock))


def is_supervised(folder: AttemptFolder) -> bool:
    """Whether a living supervisor is at work on the attempt."""
    return _is_locked(folder.lock)


def _is_locked(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)  # shared: two onlookers do not see each other
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


def _lock(descriptor: int, patience_s: float = 0.0) -> bool:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(PAUSE_S)


def _has_later(folder: AttemptFolder) -> bool:
    names = os.listdir(folder.path.parent)
    return any(int(name) > folder.number for name in names if is_number(name))
