"""Landlock: a process gives up all files but a list, and TCP, without any privilege (kernel 5.13 or later)."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterable
from pathlib import Path

from assay.runs.sandbox.spawn import PR_SET_NO_NEW_PRIVS, prctl

__all__ = ["abi", "guards_network", "restrict"]

_libc = ctypes.CDLL(None, use_errno=True)
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION_FLAG = 1
_PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
_ALL_V1 = (1 << 13) - 1
READ = EXECUTE | READ_FILE | READ_DIR
_FILE_RIGHTS = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
TCP_BIND, TCP_CONNECT = 1, 2
SCOPE_ABSTRACT_UNIX_SOCKET, SCOPE_SIGNAL = 1, 2


def abi() -> int:
    """Return the version of Landlock in this kernel; 0 where there is none."""
    version = _libc.syscall(_CREATE, None, 0, _VERSION_FLAG)
    return max(0, int(version))


def guards_network() -> bool:
    """Return whether this kernel's Landlock can refuse TCP."""
    return abi() >= 4


def restrict(readable: Iterable[Path], writable: Iterable[Path], network: bool = False) -> None:
    """Give up every file but these, for this process and all it will start. Raises OSError.

    From version 4 TCP is refused too, from version 6 signals and abstract sockets beyond the tree.
    UDP and the command lines of other processes stay open.
    """
    version = abi()
    if version < 1:
        raise OSError("this kernel has no Landlock")
    handled = _ALL_V1 | (REFER if version >= 2 else 0) | (TRUNCATE if version >= 3 else 0)
    handled |= IOCTL_DEV if version >= 5 else 0
    tcp = (TCP_BIND | TCP_CONNECT) if version >= 4 and not network else 0
    scoped = (SCOPE_ABSTRACT_UNIX_SOCKET | SCOPE_SIGNAL) if version >= 6 else 0
    attributes = struct.pack("QQQ", handled, tcp, scoped)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _call(_CREATE, attributes, len(attributes), 0)
    for path in readable:
        _allow(ruleset, path, READ & handled)
    for path in writable:
        _allow(ruleset, path, handled)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    _call(_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _FILE_RIGHTS
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, struct.pack("=Qi", rights, descriptor), 0)
    finally:
        os.close(descriptor)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc.syscall(number, *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"Landlock: {os.strerror(code)}")
    return result
