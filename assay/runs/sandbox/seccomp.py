"""A system-call filter against what no framework needs: a small BPF program, the same for every way into a sandbox.

Refused are ways to other processes (tracing, their memory), to the kernel (BPF, performance counters, io_uring,
modules), to further namespaces and mounts, to keyrings, and to what tells whether a file's pages are in memory: two
jobs can talk through that. Everything else is allowed; frameworks run many libraries.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator, Mapping
from functools import cache

__all__ = ["REFUSED", "filter_program"]

EPERM, ENOSYS, EOPNOTSUPP = 1, 38, 95
# From <linux/audit.h>: how the kernel names the machine whose numbers a call uses.
ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
# The call, its number on x86_64 and on aarch64, and what it returns. ENOSYS where libraries then do without it.
REFUSED: Mapping[str, tuple[int, int, int]] = {
    "ptrace": (101, 117, EPERM), "process_vm_readv": (310, 270, EPERM), "process_vm_writev": (311, 271, EPERM),
    "kcmp": (312, 272, EPERM), "pidfd_getfd": (438, 438, EPERM),
    "io_uring_setup": (425, 425, ENOSYS), "io_uring_enter": (426, 426, ENOSYS), "io_uring_register": (427, 427, ENOSYS),
    "bpf": (321, 280, EPERM), "perf_event_open": (298, 241, EPERM), "userfaultfd": (323, 282, EPERM),
    "fanotify_init": (300, 262, EPERM), "syslog": (103, 116, EPERM), "lookup_dcookie": (212, 18, EPERM),
    "keyctl": (250, 219, EPERM), "add_key": (248, 217, EPERM), "request_key": (249, 218, EPERM),
    "cachestat": (451, 451, ENOSYS), "open_by_handle_at": (304, 265, EPERM),
    "unshare": (272, 97, EPERM), "setns": (308, 268, EPERM), "clone3": (435, 435, ENOSYS),
    "mount": (165, 40, EPERM), "umount2": (166, 39, EPERM), "pivot_root": (155, 41, EPERM), "chroot": (161, 51, EPERM),
    "open_tree": (428, 428, EPERM), "move_mount": (429, 429, EPERM), "fsopen": (430, 430, EPERM),
    "fsconfig": (431, 431, EPERM), "fsmount": (432, 432, EPERM), "fspick": (433, 433, EPERM),
    "mount_setattr": (442, 442, EPERM),
    "init_module": (175, 105, EPERM), "finit_module": (313, 273, EPERM), "delete_module": (176, 106, EPERM),
    "kexec_load": (246, 104, EPERM), "kexec_file_load": (320, 294, EPERM), "reboot": (169, 142, EPERM),
    "swapon": (167, 224, EPERM), "swapoff": (168, 225, EPERM), "acct": (163, 89, EPERM),
    "quotactl": (179, 60, EPERM), "quotactl_fd": (443, 443, EPERM),
}  # fmt: skip
TO_ENTER = ("unshare", "mount")
CLONE = {"x86_64": 56, "aarch64": 220}
NEW_NAMESPACES = 0x7E020000  # CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
READ_OR_WRITE = {"x86_64": (327, 328), "aarch64": (286, 287)}  # preadv2, pwritev2
NOWAIT = 0x8  # RWF_NOWAIT: fails at once if a page is not in memory
X32 = 0x40000000  # calls of another set of numbers on x86_64 begin here

# Classic BPF: load a word of the call, compare it, return a verdict. Offsets are those of `struct seccomp_data`.
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_NUMBER, _ARCHITECTURE = 0, 4
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000


@cache
def filter_program(machine: str = "", to_enter: bool = False) -> bytes:
    """Return the program for this machine, as `bwrap --seccomp` and `seccomp(2)` take it; empty where there is none.

    `to_enter`: without the calls by which a process that is forked from a nursery enters its sandbox; it then adds the
    whole program to this one.
    """
    name = machine or platform.machine()
    return b"".join(_instructions(name, to_enter)) if name in ARCHITECTURES else b""


def _instructions(machine: str, to_enter: bool) -> Iterator[bytes]:
    yield _word(_LOAD, _ARCHITECTURE)
    yield _word(_EQUAL, ARCHITECTURES[machine], 1, 0)
    yield _word(_RETURN, _ERROR | ENOSYS)  # 32-bit calls have other numbers
    yield _word(_LOAD, _NUMBER)
    if machine == "x86_64":
        yield _word(_AT_LEAST, X32, 0, 1)
        yield _word(_RETURN, _ERROR | ENOSYS)
    column = list(ARCHITECTURES).index(machine)
    refused = {name: numbers for name, numbers in REFUSED.items() if not (to_enter and name in TO_ENTER)}
    for numbers in refused.values():
        yield _word(_EQUAL, numbers[column], 0, 1)
        yield _word(_RETURN, _ERROR | numbers[2])
    yield from _refuse_bits(CLONE[machine], 0, NEW_NAMESPACES, EPERM)
    for number in READ_OR_WRITE[machine]:
        yield from _refuse_bits(number, 5, NOWAIT, EOPNOTSUPP)
    yield _word(_RETURN, _ALLOW)


def _refuse_bits(number: int, argument: int, bits: int, error: int) -> Iterator[bytes]:
    """Refuse a call whose argument has one of these bits; the number is loaded again for what follows."""
    yield _word(_EQUAL, number, 0, 4)
    yield _word(_LOAD, 16 + 8 * argument)  # the lower half: both machines are little-endian
    yield _word(_ANY_BIT, bits, 0, 1)
    yield _word(_RETURN, _ERROR | error)
    yield _word(_LOAD, _NUMBER)


def _word(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("<HBBI", code, if_true, if_false, value)
