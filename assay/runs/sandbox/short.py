"""A short name for a long path: sockets refuse more than 107 bytes, and Ray puts some 70 of its own behind TMPDIR."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

__all__ = ["LONGEST", "remove_short_path", "short_path"]

LONGEST = 36
PLACE = Path("/tmp")


def short_path(folder: Path) -> Path:
    """Return a link to the folder that is short, or the folder where it is short or no link can be made safely.

    Links whose folder is gone, because somebody was killed, are removed on the way.
    """
    if len(str(folder)) <= LONGEST:
        return folder
    for _ in range(5):  # who removes the last link removes the place, perhaps between two steps of ours
        try:
            return _link(folder)
        except FileNotFoundError:
            continue
        except OSError:
            break
    return folder


def _link(folder: Path) -> Path:
    place = PLACE / f"assay-{os.getuid()}"
    place.mkdir(mode=0o700, exist_ok=True)
    seen = place.lstat()
    if not stat.S_ISDIR(seen.st_mode) or seen.st_uid != os.getuid() or stat.S_IMODE(seen.st_mode) & 0o022:
        return folder  # somebody else's: they could turn our link elsewhere
    for link in place.iterdir():
        if link.is_symlink() and not link.exists():
            link.unlink(missing_ok=True)
    link = place / hashlib.sha256(str(folder).encode()).hexdigest()[:10]
    link.unlink(missing_ok=True)
    link.symlink_to(folder)
    return link


def remove_short_path(link: Path) -> None:
    """Remove the link, and the place of links when it was the last one."""
    if not link.is_symlink():
        return
    try:
        link.unlink(missing_ok=True)
        link.parent.rmdir()
    except OSError:
        pass  # others have theirs there
