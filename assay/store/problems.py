"""What can go wrong with an open store, in one sentence each: a full disk, a damaged index, a folder that is gone."""

from __future__ import annotations

import contextlib
import errno
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from assay.errors import StoreError
from assay.jobs.folder import StoreFolder

__all__ = ["check_there", "explained"]


@contextlib.contextmanager
def explained(root: Path) -> Iterator[None]:
    """Turn a full disk, a read-only folder, a broken index and a store that is gone into one sentence each."""
    try:
        yield
    except (
        sqlite3.DatabaseError,
        UnicodeDecodeError,
    ) as error:  # a value that should be text may be any bytes
        text = " ".join(str(error).split())[:300]  # it may quote a damaged schema, over several lines
        if not root.exists():
            raise _gone(root) from error
        if "locked" in text:
            raise StoreError(f"The index of {root} was busy for too long: {text}. Run it again.") from error
        if "readonly" in text or "unable to open" in text:
            raise StoreError(f"The store {root} cannot be written: {text}. Check its permissions.") from error
        if "full" in text or "disk I/O" in text:
            raise StoreError(
                f"The disk of the store {root} is full or failing: {text}. Free space, run again."
            ) from error
        raise StoreError(f"The index of {root} is damaged: {text}. Run `assay store rebuild`.") from error
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise StoreError(
                f"The disk of the store {root} is full. Free space and run the same command again."
            ) from error
        if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise StoreError(
                f"The store {root} cannot be written: {error.strerror}. Check its permissions."
            ) from error
        if not root.exists():
            raise _gone(root) from error
        if str(error.filename or "").startswith(str(root)):
            raise StoreError(f"{error.filename} cannot be used: {error.strerror}.") from error
        raise


def check_there(folder: StoreFolder) -> None:
    """Raise StoreError if the store was moved or removed since it was opened."""
    if not folder.format.exists():
        raise _gone(folder.root)


def _gone(root: Path) -> StoreError:
    return StoreError(f"The store {root} is gone: it was moved or removed during the run.")
