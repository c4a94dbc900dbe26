"""Enter a sandbox after a fork: new namespaces, the job's mounts, no privileges, the system-call filter.

Runs in foreign environments: standard library only, Python 3.8's language. What is to be done comes as JSON from the
supervisor, which describes the same sandbox for bubblewrap (`assay.runs.sandbox.description`), and which looks at the
result from outside before it lets any data in.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import struct
from typing import Any, Dict, List, Mapping, Sequence

NEW_NAMESPACES = 0x10000000 | 0x20000 | 0x20000000 | 0x08000000 | 0x04000000 | 0x02000000  # user … cgroup
NEW_NETWORK = 0x40000000
READ_ONLY, NO_SUID, NO_DEV, NO_EXEC, REMOUNT, BIND, RECURSIVE = 1, 2, 4, 8, 32, 4096, 16384
PR_SET_DUMPABLE, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 4, 22, 24, 38
SECCOMP_FILTER = 2
CAPABILITY_VERSION = 0x20080522
GET_FLAGS, SET_FLAGS, IS_UP = 0x8913, 0x8914, 1  # of a network interface
KEYCTL = {"x86_64": 250, "aarch64": 219}.get(os.uname().machine, -1)
JOIN_SESSION_KEYRING = 1

_libc = ctypes.CDLL(None, use_errno=True)


def check(result: int, what: str) -> None:
    """Raise OSError where a call of the C library failed."""
    if result != 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s: %s" % (what, os.strerror(code)))


def unshare(network: bool) -> None:
    """Leave all namespaces for new ones; that of processes is entered by the next fork."""
    check(_libc.unshare(NEW_NAMESPACES | (0 if network else NEW_NETWORK)), "unshare")
    _libc.syscall(KEYCTL, JOIN_SESSION_KEYRING, None)


def map_self(uid: int) -> None:
    """Be the same user in the new namespace as outside; for callers without privileges."""
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", "%d %d 1" % (uid, uid)),
        ("gid_map", "%d %d 1" % (uid, uid)),
    ):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)


def become(uid: int) -> None:
    """Become a user of the new namespace, which keeps the namespace's privileges for now."""
    with _ignored(PermissionError):  # where the map forbids other groups there are none
        os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


class _ignored:
    def __init__(self, *errors: type) -> None:
        self.errors = errors

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        return kind is not None and issubclass(kind, self.errors)


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount something; raises OSError."""
    words = [word.encode() if word else None for word in (source, target, kind)]
    check(
        _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), options.encode() or None),
        "mount %s" % target,
    )


def lay_out(steps: Sequence[Mapping[str, Any]]) -> None:
    """Mount what the job sees, in this order."""
    kept = {
        step["target"]: os.open(step["target"], os.O_PATH | os.O_CLOEXEC)
        for step in steps
        if step["kind"] == "keep"
    }
    for step in steps:
        _STEPS[step["kind"]](step, kept)
        if step.get("read_only"):
            mount("", step["target"], "", REMOUNT | BIND | READ_ONLY | NO_SUID | NO_DEV)
    for descriptor in kept.values():
        os.close(descriptor)


def _bind(step: Mapping[str, Any], kept: Dict[str, int]) -> None:
    mount(step["source"], step["target"], "", BIND)
    if not step.get("read_only") and not step.get("device"):
        mount("", step["target"], "", REMOUNT | BIND | NO_SUID | NO_DEV)


def _keep(step: Mapping[str, Any], kept: Dict[str, int]) -> None:
    """Show again what lies below a folder that was mounted over, such as an environment below /tmp."""
    if not os.path.lexists(step["target"]):
        os.makedirs(step["target"])
    mount("/proc/self/fd/%d" % kept[step["target"]], step["target"], "", BIND | RECURSIVE)


def _new(step: Mapping[str, Any], kept: Dict[str, int]) -> None:
    flags = NO_SUID | (0 if step["file_system"] == "devpts" else NO_DEV)
    flags |= NO_EXEC if step["file_system"] in ("proc", "cgroup", "cgroup2") else 0
    mount(step["file_system"], step["target"], step["file_system"], flags, step.get("options", ""))


_STEPS = {"bind": _bind, "keep": _keep, "new": _new}


def raise_loopback() -> None:
    """Switch the loopback interface on: frameworks talk to their own processes over it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as anywhere:
        asked = struct.pack("16sH14x", b"lo", 0)
        flags = struct.unpack("16sH14x", fcntl.ioctl(anywhere, GET_FLAGS, asked))[1]
        fcntl.ioctl(anywhere, SET_FLAGS, struct.pack("16sH14x", b"lo", flags | IS_UP))


def drop_bounding_set() -> None:
    """Keep programs that are started from getting capabilities."""
    for number in range(64):
        if _libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0) != 0:
            break  # the first number that the kernel does not know


def drop_privileges() -> None:
    """Give up all capabilities for good."""
    check(_libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    check(_libc.capset(header, bytes(24)), "capset")


def filter_calls(program: bytes) -> None:
    """Install a system-call filter (classic BPF, 8 bytes an instruction); nothing where there is none."""
    if program:
        buffer = ctypes.create_string_buffer(program, len(program))
        # struct sock_fprog: a short, padding, a pointer.
        head = ctypes.create_string_buffer(
            struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer)), 16
        )
        check(_libc.prctl(PR_SET_SECCOMP, SECCOMP_FILTER, head, 0, 0), "seccomp")


def limit_files(most_bytes: int) -> None:
    """Limit the size of a file and write no core files."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))


def set_dumpable(value: bool) -> None:
    """Let other processes of the same user read this one, or not."""
    _libc.prctl(PR_SET_DUMPABLE, int(value), 0, 0, 0)


def advise(address: int, size: int, advice: int) -> None:
    """Advise the kernel on memory; it need not follow."""
    _libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(size), advice)


def close_others(kept: Sequence[int]) -> None:
    """Close every descriptor but these."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with _ignored(OSError):  # the one that the listing itself used
                os.close(int(name))


def send(channel: socket.socket, text: str) -> None:
    """Send one message."""
    channel.send(text.encode("utf-8", "replace")[:60000])


def receive(channel: socket.socket, n_descriptors: int = 0) -> "tuple[bytes, List[int]]":
    """Return one message and the descriptors that came with it; b"" when the other end is closed."""
    space = socket.CMSG_SPACE(4 * max(1, n_descriptors))
    data, ancillary, _, _ = channel.recvmsg(1 << 20, space, socket.MSG_CMSG_CLOEXEC)
    descriptors = []  # type: List[int]
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            whole = len(content) - len(content) % 4
            descriptors += struct.unpack("%di" % (whole // 4), content[:whole])
    return data, descriptors
