"""A nursery: a process that has imported a framework's adapter and holds no data. Each job is forked from it.

Started by `child.py --nursery CONTROL STATUS ADAPTER` in a sandbox without data. Its supervisor asks for a job through
the control socket; the new process speaks to the supervisor through a socket of its own, enters its sandbox and waits
there until the supervisor has looked at it from outside and laid the data before it. It never speaks to the nursery,
which is stopped meanwhile. Runs in foreign environments: standard library and numpy only, Python 3.8's language.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import sys
from types import ModuleType
from typing import Any, Callable, Dict

from . import enter

FAILED = 125
INSIDE = 1000  # the user inside every sandbox
RENEWED = ("jemalloc_bg_thd",)  # of pyarrow
FIRST = ("/bin/sleep", "infinity")  # the first process of a job's namespace: it does nothing
ANONYMOUS = ("[heap]", "")
HUGE, COLLAPSE = 2 << 20, 25  # bytes of a huge page, and the advice to make some


def keep_house(status: int) -> None:
    """Go on in a new process; this one, the first of its namespace, tells the supervisor how adopted processes end.

    It is called before anything foreign is imported, and cannot be read by what comes after.
    """
    enter.set_dumpable(False)
    pid = os.fork()
    if pid == 0:
        enter.set_dumpable(True)
        os.close(status)
        return
    enter.close_others((0, 1, 2, status))
    while True:  # also when the nursery itself was killed: a job of it may go on
        try:
            ended, how = os.waitpid(-1, 0)
        except ChildProcessError:
            os._exit(0)
        if ended != pid:
            os.write(status, struct.pack("ii", ended, how))


def serve(control: socket.socket, do_job: Callable[[int], None]) -> None:
    """Fork a process for each request until the supervisor hangs up. `do_job(phases)` does a job in its sandbox."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    while True:
        request, descriptors = enter.receive(control, 1)
        if not request or len(descriptors) != 1:
            return
        pid = os.fork()
        if pid == 0:
            control.close()
            _start(socket.socket(fileno=descriptors[0]), do_job)
        os.close(descriptors[0])
        os.waitpid(pid, 0)
        enter.send(control, "forked")


def use_huge_pages() -> None:
    """Put memory together in huge pages, which makes a fork take half of the time; where the kernel can do that."""
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file]
    for words in lines:
        if words[1] == "rw-p" and (words[5] if len(words) > 5 else "") in ANONYMOUS:
            low, high = (int(end, 16) for end in words[0].split("-"))
            low, high = -(-low // HUGE) * HUGE, high // HUGE * HUGE
            if low < high:
                enter.advise(low, high - low, COLLAPSE)


def describe_self() -> Dict[str, Any]:
    """Return what the supervisor may want to know before it trusts this process to fork."""
    return {"lost_threads": max(0, _n_threads() - 1 - _n_waiting())}


def _n_threads() -> int:
    """Return how many threads there are, without those whose library starts them again in a fork."""
    threads = 0
    for thread in os.listdir("/proc/self/task"):
        with open("/proc/self/task/%s/comm" % thread) as file:
            threads += file.read().strip() not in RENEWED
    return threads


def _n_waiting() -> int:
    """Return how many threads OpenBLAS keeps waiting; it ends them before a fork and starts them when it needs them."""
    with open("/proc/self/maps") as file:
        paths = {line.split()[-1] for line in file if "openblas" in line}
    return len(paths) * max(0, int(os.environ.get("OPENBLAS_NUM_THREADS", "1")) - 1)


def _start(channel: socket.socket, do_job: Callable[[int], None]) -> None:
    """Leave for new namespaces, start their first process there, then the job, and end."""
    try:
        enter.send(channel, "forked")
        text, (output, phases) = enter.receive(channel, 2)
        plan = json.loads(text.decode("utf-8"))
        enter.unshare(plan["network"])
        if plan["map"]:
            enter.map_self(INSIDE)
        enter.send(channel, "unshared")
        enter.receive(channel)
        enter.become(INSIDE)
        enter.drop_bounding_set()
        os.chdir("/")
        _start_first()
        if os.fork():
            os._exit(0)
        _enter(plan, channel, output, phases)
        enter.send(channel, "ready")
        if not enter.receive(channel)[0]:
            os._exit(FAILED)
        channel.close()
    except BaseException as error:
        _fail(channel, error)
    do_job(phases)
    os._exit(FAILED)  # a job ends its process by itself


def _start_first() -> None:
    """Start the first process of the new namespace, so that the job is not it: signals would not end the job then.

    It ignores the end of processes that it adopts, so that none of them remains.
    """
    null = (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDWR, 0)
    actions = [null, (os.POSIX_SPAWN_DUP2, 0, 1), (os.POSIX_SPAWN_DUP2, 0, 2)]
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    os.posix_spawn(FIRST[0], FIRST, {}, file_actions=actions, setsid=True)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


def _fail(channel: socket.socket, error: BaseException) -> None:
    try:
        enter.send(channel, "failed: %s: %s" % (type(error).__name__, error))
    finally:
        os._exit(FAILED)


def _enter(plan: Any, channel: socket.socket, output: int, phases: int) -> None:
    """Lay out the sandbox and give up everything that it takes to do so."""
    if not plan["network"]:
        enter.raise_loopback()
    enter.lay_out(plan["steps"])
    enter.limit_files(plan["most_bytes"])
    nothing = os.open("/dev/null", os.O_RDWR)
    for standard, descriptor in enumerate((nothing, output, output)):
        os.dup2(descriptor, standard)
    os.chdir("/tmp")
    os.setsid()
    os.umask(0o022)
    enter.close_others((0, 1, 2, phases, channel.fileno()))
    enter.drop_privileges()
    enter.filter_calls(bytes.fromhex(plan["filter"]))
    _seed_again()


def _seed_again() -> None:
    """Give numpy's global generator a state of its own, which it would have in a fresh process."""
    numpy = sys.modules.get("numpy.random")  # type: Any
    if isinstance(numpy, ModuleType):
        numpy.seed()
