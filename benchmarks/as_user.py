"""Run a command as an ordinary user who may use control groups: `python -m benchmarks.as_user …`.

For root only, who usually runs the tests in a container: the strict tier works differently without root's privileges.
The user is a number that nobody has. Its groups are made and given to it beforehand and removed in the end. Where the
interpreter lies in a home that others cannot enter, a private mount namespace shows that interpreter alone.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from assay.runs.sandbox.cgroup import ROOT, find_cgroup

USER = 54321
NEW_MOUNTS = 0x20000
OURS = ("XDG_", "ASSAY_", "PYTEST_")
_libc = ctypes.CDLL(None, use_errno=True)


def run_as_user(command: Sequence[str], user: int = USER, timeout_s: float | None = None) -> int:
    """Run a command as `user`, in control groups of its own; return its exit code."""
    group = find_cgroup(f"user-{os.getpid()}")
    if group is None:
        raise SystemExit("There are no control groups here.")
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    group.create(memory_mb, 10_000, sorted(os.sched_getaffinity(0)))
    try:
        for folder in {*group.shown().values()}:
            for path in (
                folder,
                folder / "cgroup.procs",
                folder / "tasks",
                folder / "cgroup.subtree_control",
            ):
                if path.exists():
                    os.chown(path, user, user)
        with tempfile.TemporaryDirectory(prefix="assay-user-") as home:
            os.chown(home, user, user)
            # Our own folders, which others cannot enter, are not passed on.
            environ = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
            environ |= {"HOME": home, "TMPDIR": home, "ASSAY_CGROUP": _group_of(group)}

            def become() -> None:
                group.join(os.getpid())
                _show_interpreter()
                os.setgroups([])
                os.setresgid(user, user, user)
                os.setresuid(user, user, user)

            return subprocess.run(list(command), env=environ, preexec_fn=become, timeout=timeout_s).returncode
    finally:
        group.kill()
        for folder in {*group.shown().values()}:
            for inner in sorted(folder.glob("**/"), key=lambda path: -len(path.parts)):
                if inner != folder:
                    inner.rmdir()
        group.remove()


def _group_of(group: object) -> str:
    """Return the folder of a group of version 2, which Assay is told of; version 1 is found by itself."""
    return str(getattr(group, "folder", ""))


def _show_interpreter() -> None:
    """Let everybody enter the home that this interpreter lies in, and see nothing else there."""
    base = Path(sys.base_prefix)
    closed = next((path for path in reversed(base.parents) if not path.stat().st_mode & 0o001), None)
    if closed is None:
        return
    if _libc.unshare(NEW_MOUNTS) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    seen = Path(tempfile.mkdtemp(prefix="assay-interpreter-"))
    for words in (
        ("--make-rprivate", "/"),
        ("--bind", str(base), str(seen)),
        ("-t", "tmpfs", "-o", "mode=755", "tmpfs", str(closed)),
    ):
        subprocess.run(["mount", *words], check=True)
    base.mkdir(parents=True)
    subprocess.run(["mount", "--bind", str(seen), str(base)], check=True)
    subprocess.run(["umount", str(seen)], check=True)
    seen.rmdir()


def main() -> int:
    """Run the command on the command line; without one, the tests of the strict tier."""
    if os.geteuid() != 0 or not ROOT.exists():
        raise SystemExit("Only root can do that: an ordinary user runs the tests as they are.")
    tests = ["tests/runs/test_cheat.py", "tests/runs/test_misbehaviour.py"]
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "strict", *tests]
    return run_as_user(sys.argv[1:] or pytest)


if __name__ == "__main__":
    sys.exit(main())
