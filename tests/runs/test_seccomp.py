"""The system-call filter: what is refused is refused in a real process, what programs need is not."""

from __future__ import annotations

import ast
import ctypes
import os
import platform
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from assay.runs.sandbox.seccomp import ARCHITECTURES, REFUSED, filter_program

LOAD = """
import ctypes, os, sys
program = bytes.fromhex(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
class Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
buffer = ctypes.create_string_buffer(program)
loaded = Program(len(program) // 8, ctypes.addressof(buffer))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(loaded), 0, 0) == 0, os.strerror(ctypes.get_errno())
def call(number, *words):
    ctypes.set_errno(0)
    return libc.syscall(number, *words), ctypes.get_errno()
"""
pytestmark = pytest.mark.skipif(
    platform.machine() not in ARCHITECTURES, reason="there is no filter for this machine"
)


def run(code: str) -> str:
    """Run code in a process under the filter."""
    done = subprocess.run(
        [sys.executable, "-c", LOAD + code, filter_program().hex()],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_refused_call_fails_as_listed() -> None:
    column = list(ARCHITECTURES).index(platform.machine())
    numbers = {name: (entry[column], entry[2]) for name, entry in REFUSED.items()}
    code = f"numbers = {numbers!r}\nprint({{name: call(n, 0, 0, 0, 0, 0, 0)[1] for name, (n, _) in numbers.items()}})"
    found = ast.literal_eval(run(code))
    assert found == {name: error for name, (_, error) in numbers.items()}


def test_numbers_are_those_of_this_kernel() -> None:
    header = Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h")
    if platform.machine() != "x86_64" or not header.exists():
        pytest.skip("the kernel's list of calls is not installed")
    listed = dict(
        line.split()[1:3] for line in header.read_text().splitlines() if line.startswith("#define __NR_")
    )
    wrong = {
        name: number for name, (number, *_) in REFUSED.items()
        if f"__NR_{name}" in listed and int(listed[f"__NR_{name}"]) != number
    }  # fmt: skip
    assert wrong == {}


def test_processes_and_threads_start_and_namespaces_do_not() -> None:
    out = run(
        "import subprocess, threading, multiprocessing\n"
        "print(subprocess.run(['true']).returncode)\n"
        "t = threading.Thread(target=lambda: print('thread')); t.start(); t.join()\n"
        "fork = multiprocessing.get_context('fork')\n"
        "p = fork.Process(target=lambda: print('fork', flush=True)); p.start(); p.join()\n"
        "pid = os.fork()\n"
        "if not pid: os._exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))\n"
        f"print(call({ {'x86_64': 56, 'aarch64': 220}[platform.machine()] }, 0x10000000 | 17, 0, 0, 0, 0))\n"
    )
    assert sorted(out.split()[:4]) == sorted(["0", "thread", "fork", "3"])
    assert out.splitlines()[-1] == "(-1, 1)", "a user namespace is refused"


def test_reading_that_would_tell_what_is_in_memory_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.write_bytes(b"some bytes")
    out = run(
        f"fd = os.open({str(file)!r}, os.O_RDONLY)\n"
        "print(os.preadv(fd, [bytearray(4)], 0))\n"
        "try:\n    os.preadv(fd, [bytearray(4)], 0, os.RWF_NOWAIT)\n"
        "except OSError as error:\n    print(error.errno)\n"
        "print(os.preadv(fd, [bytearray(4)], 0, os.RWF_HIPRI) if hasattr(os, 'RWF_HIPRI') else 4)\n"
    )
    assert out.split()[:2] == ["4", "95"]


def test_a_program_has_whole_instructions_that_jump_within_it() -> None:
    for machine in ARCHITECTURES:
        program = filter_program(machine)
        words = list(struct.iter_unpack("<HBBI", program))
        assert len(words) < 4096 and words[-1][0] == 0x06
        assert all(
            at + 1 + max(true, false) < len(words) for at, (_, true, false, _) in enumerate(words[:-1])
        )
    assert filter_program("riscv64") == b""


def test_calls_of_another_kind_of_machine_are_refused() -> None:
    """32-bit calls have other numbers, so the filter could be passed by them."""
    if platform.machine() != "x86_64":
        pytest.skip("32-bit calls are of x86_64")
    out = run("print(call(0x40000000 + 101, 0, 0, 0, 0))")
    assert out.strip() == "(-1, 38)"


def test_the_filter_can_be_loaded_at_all() -> None:
    assert ctypes.sizeof(ctypes.c_void_p) == 8 and os.uname().sysname == "Linux"
    assert run("print('loaded')").strip() == "loaded"
