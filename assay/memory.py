"""Make many records at once without the garbage collector looking at them."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator

__all__ = ["no_collection"]


# So many young objects are worth the trick below. Where it is done for few, again and again, nothing is ever collected.
MANY = 100_000


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
            if gc.get_count()[0] > MANY and not gc.get_freeze_count():  # what the caller froze stays frozen
                gc.freeze()
                gc.unfreeze()
            gc.enable()
