"""Make many records at once without the garbage collector looking at them."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["no_collection"]


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Pause the garbage collector while many records are made that hold no cycles.

    Afterwards they count as old. Else the next collection would look through all of them, for as long as a third of
    the time that it takes to read them.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():  # what the caller froze stays frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
