"""The user of the host under which a child of root runs: nobody's, so that owning files opens nothing to it.

Root's children in a user namespace are still root to the host: they own /proc/sys, and may ask which pages of root's
files are in memory. So a child of root gets another user: inside the sandbox it is 1000, on the host a number that
nobody has, a new one for each attempt where the machine has room.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import select
import stat
from collections.abc import Iterable
from pathlib import Path

from assay.files import Walk

__all__ = ["INSIDE", "choose_host_user", "give", "make_readable", "map_user", "take_back"]

INSIDE = 1000
# Far beyond what systems hand out (systemd stops at 1,879,048,191), within 31 bits.
FIRST, COUNT = 1_900_000_000, 2**24
# Where the machine is itself a container that has 65536 users: between its own users and nobody.
FEW_FIRST, FEW_COUNT = 60_600, 4_000
ANSWER_S = 60.0  # how long bubblewrap may take to make its namespaces
SPECIAL = stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX


def choose_host_user(uid_map: Path = Path("/proc/self/uid_map")) -> int | None:
    """Return a user that nobody is, or None where this machine can map no such user."""
    extents = [tuple(map(int, line.split())) for line in uid_map.read_text(encoding="ascii").splitlines()]
    for first, count in ((FIRST, COUNT), (FEW_FIRST, FEW_COUNT)):
        if any(start <= first and first + count <= start + size for start, _, size in extents):
            return first + secrets.randbelow(count)
    return None


def map_user(info: int, ready: int, user: int) -> None:
    """Tell the kernel who is who in the namespace that bubblewrap made, then let bubblewrap go on.

    Args:
        info: where bubblewrap says which process waits (`--info-fd`).
        ready: what it waits for (`--userns-block-fd`).
        user: of the host. Root is in the map too, because bubblewrap sets the sandbox up as root; the child cannot
            become root again, because it has no capabilities when it starts.
    """
    text = b""
    while b"}" not in text:
        if not select.select([info], [], [], ANSWER_S)[0]:
            raise OSError(errno.ETIMEDOUT, f"bubblewrap did not answer within {ANSWER_S:g} s")
        if not (part := os.read(info, 4096)):
            break
        text += part
    if b"}" in text:  # else bubblewrap ended, and its exit code tells
        process = json.loads(text)["child-pid"]
        for name in ("uid_map", "gid_map"):
            Path(f"/proc/{process}/{name}").write_text(f"0 0 1\n{INSIDE} {user} 1\n", encoding="ascii")
        with contextlib.suppress(BrokenPipeError):
            os.write(ready, b"\n")


def give(paths: Iterable[Path | int], user: int) -> None:
    """Make the user the owner of folders and open pipes, which it may then write."""
    for path in paths:
        os.chown(path, user, user)


def make_readable(paths: Iterable[Path]) -> None:
    """Let everybody read files of the store, whose root nobody else can enter: our umask may be a narrow one."""
    for path in paths:
        mode = stat.S_IMODE(os.stat(path).st_mode)
        wanted = mode | (0o555 if path.is_dir() else 0o444)
        if wanted != mode:
            os.chmod(path, wanted)


def take_back(folder: Path) -> None:
    """Make what a child left ours, whoever owns it, and without special bits. Links are not followed."""
    owner, group = os.geteuid(), os.getegid()
    with contextlib.suppress(OSError):
        os.chown(folder, owner, group)
    for entry in Walk(folder):
        with contextlib.suppress(OSError):  # what is gone meanwhile
            if (entry.state.st_uid, entry.state.st_gid) != (owner, group):
                os.chown(entry.name, owner, group, dir_fd=entry.folder, follow_symlinks=False)
            if not stat.S_ISLNK(entry.state.st_mode) and entry.state.st_mode & SPECIAL:
                mode = stat.S_IMODE(entry.state.st_mode) & ~SPECIAL
                os.chmod(entry.name, mode, dir_fd=entry.folder)
