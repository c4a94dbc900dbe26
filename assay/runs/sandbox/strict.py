"""The strict tier: a control group for the limits, bubblewrap for what the child may see."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from assay.errors import InternalError
from assay.runs.gpus import device_nodes
from assay.runs.launch import Launch
from assay.runs.sandbox.base import Sample, Streams
from assay.runs.sandbox.cgroup import find_cgroup
from assay.runs.sandbox.host_user import INSIDE, choose_host_user, give, make_readable, map_user
from assay.runs.sandbox.live import Live, open_live
from assay.runs.sandbox.seccomp import filter_program
from assay.runs.sandbox.spawn import child_environment, spawn
from assay.vocabulary import Blindness

__all__ = ["AS_CALLER", "BECOME", "ETC", "NAMESPACES", "Strict", "bubblewrap_arguments", "group_name"]

ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "localtime", "nsswitch.conf", "passwd", "group", "hosts",
       "host.conf", "alternatives", "fonts", "R", "java-*", "*-release", "debian_version")  # fmt: skip
JOB, CODE, FRAMEWORK = "/job", "/assay", "/framework"
OWN = 2  # bubblewrap outside and inside the namespace
NAMESPACES = ("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
              "--cap-drop", "ALL")  # fmt: skip
AS_CALLER = ("--disable-userns", "--uid", str(INSIDE), "--gid", str(INSIDE))
# Of root's privileges, what it takes to become somebody else for good.
AS_ANOTHER = tuple(word for name in ("SETUID", "SETGID", "SETPCAP") for word in ("--cap-add", f"CAP_{name}"))
BECOME = ("/usr/bin/setpriv", f"--reuid={INSIDE}", f"--regid={INSIDE}", "--clear-groups", "--bounding-set=-all",
          "--inh-caps=-all", "--no-new-privs", "--pdeathsig=KILL", "--")  # fmt: skip
# What of /proc is not about the child's own processes, and may be written by its owner or tells of the machine.
PROC_READ_ONLY = ("sys",)
PROC_MASKED = ("acpi", "asound", "fs", "kallsyms", "kcore", "key-users", "keys", "kmsg", "latency_stats", "sched_debug",
               "scsi", "sysrq-trigger", "timer_list", "timer_stats")  # fmt: skip


def group_name(folder: Path) -> str:
    """Return the name of an attempt's control group: two stores may run the same job at the same time."""
    place = hashlib.sha256(os.path.realpath(folder).encode()).hexdigest()[:12]
    return f"{folder.parent.parent.name}-{folder.name}-{place}"


class Strict:
    """An allow-list of files, own namespaces, no capabilities, hard limits."""

    blindness: Blindness = "enforced"
    hard_memory = True

    def __init__(self, launch: Launch, folder: Path) -> None:
        self.launch = launch
        self.folder = folder
        group = find_cgroup(group_name(folder))
        if group is None:
            raise InternalError("The strict tier was chosen on a machine without control groups.")
        self.group = group
        self.user = choose_host_user() if os.geteuid() == 0 else None
        self.process: subprocess.Popen[bytes] | None = None
        self.live: Live | None = None

    @property
    def writable(self) -> tuple[Path, Path]:
        """Return the folders that the child writes."""
        return self.live.writable if self.live else (self.folder / "out", self.folder / "tmp")

    def start(self, streams: Streams) -> int:
        """Make the group, then start bubblewrap inside it."""
        self.group.create(self.launch.memory_mb, self.launch.processes, self.launch.cores)
        self.live = open_live(self.launch, self.folder)
        self.launch = self.live.launch
        words = bubblewrap_arguments(self.launch, self.live.path, streams.phases, self.group.shown())
        with contextlib.ExitStack() as held:
            passed = [_in_memory(held, "seccomp", filter_program())]
            words += ["--seccomp", str(passed[0])] if filter_program() else []
            if self.user is None:
                words += AS_CALLER
                self._start(streams, words, inside(self.launch), passed)
            else:
                self._start_as(self.user, self.live, streams, words, passed)
        assert self.process is not None
        return self.process.pid

    def _start_as(self, user: int, live: Live, streams: Streams, words: list[str], passed: list[int]) -> None:
        """Start the child as a user that nobody is; only its own folders and pipes belong to that user."""
        give((*live.writable, streams.output, streams.phases), user)
        code = live.path / "code"
        inputs = (live.path / name for name in ("job.json", *live.launch.data))
        make_readable((code, *code.rglob("*"), *inputs))
        (blocked, ready), (info, told) = os.pipe2(os.O_CLOEXEC), os.pipe2(os.O_CLOEXEC)
        words += [*AS_ANOTHER, "--userns-block-fd", str(blocked), "--info-fd", str(told)]
        try:
            try:
                self._start(streams, words, [*BECOME, *inside(self.launch)], [*passed, blocked, told])
            finally:  # else we would wait for ourselves
                os.close(told)
                os.close(blocked)
            map_user(info, ready, user)
        finally:
            os.close(info)
            os.close(ready)

    def _start(self, streams: Streams, words: list[str], argv: list[str], passed: list[int]) -> None:
        with contextlib.ExitStack() as held:
            arguments = _in_memory(held, "arguments", b"".join(word.encode() + b"\0" for word in words))
            bwrap = shutil.which("bwrap") or "/usr/bin/bwrap"
            # bubblewrap's own environment would be readable at /proc/1/environ: it gets none.
            self.process = spawn(
                [bwrap, "--args", str(arguments), "--", *argv],
                {},
                streams,
                self.launch,
                "/",
                (arguments, *passed),
                before_exec=lambda: self.group.join(os.getpid()),
            )

    def sample(self) -> Sample:
        """Read the group's files."""
        return Sample(self.group.memory_mb(), max(0, len(self.group.pids()) - OWN), self.group.cpu_s())

    def oom_kills(self) -> int:
        """Return the group's count."""
        return self.group.oom_kills()

    def peak_mb(self) -> float | None:
        """Return the group's peak."""
        return self.group.peak_mb()

    def process_limit_hits(self) -> int:
        """Return how often a fork was refused."""
        return self.group.process_limit_hits()

    def kill(self) -> int:
        """Kill the group; bubblewrap's first process may still be on its way out and is nobody's leftover."""
        return max(0, self.group.kill() - OWN)

    def collect(self) -> None:
        """Move the child's output to the attempt's folder."""
        if self.live is not None:
            self.live.collect()

    def close(self) -> None:
        """Remove the group and the live folder."""
        self.group.remove()
        if self.live is not None:
            self.live.remove()


def _in_memory(held: contextlib.ExitStack, name: str, content: bytes) -> int:
    """Return a descriptor from which this content can be read."""
    descriptor = os.memfd_create(f"assay-{name}")
    held.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def inside(launch: Launch) -> list[str]:
    """Return the command with the folders as the child sees them."""
    return launch.words(job=JOB, code=CODE, framework=FRAMEWORK)


def bubblewrap_arguments(
    launch: Launch, folder: Path, phases: int, groups: Mapping[str, Path] | None = None
) -> list[str]:
    """Return the allow-list and the namespaces, as words for `bwrap --args`.

    `groups` are the control groups that the child sees, by where it sees them: its own, and no other job's.
    """
    words = [*NAMESPACES, "--hostname", "assay", "--die-with-parent", "--new-session", "--clearenv"]
    if not launch.network:
        words.append("--unshare-net")
    words += _system()
    if launch.network:
        words += [
            w for name in ("resolv.conf", "ssl") for w in ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
        ]
    words += ["--proc", "/proc", *_proc(), "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm"]
    for node in device_nodes(launch.gpus):  # after --dev, which shows none of them
        words += ["--dev-bind", str(node), str(node)]
    words += [*_folders_to("/sys/devices/system"), *_folders_to("/sys/fs/cgroup/any")]
    words += ["--ro-bind-try", "/sys/devices/system", "/sys/devices/system"]
    for place, group in (groups or {}).items():
        words += ["--ro-bind", str(group), place]
    # /tmp before what is readable: an interpreter or environment may lie below it.
    words += ["--bind", str(folder / "tmp"), "/tmp"]
    for path in launch.readable:
        words += [*_folders_to(path), "--ro-bind", path, path]
    shown = {path: path for path in ("/usr", *launch.readable)}
    if launch.framework:
        words += ["--ro-bind", launch.framework, FRAMEWORK]
        shown[launch.framework] = FRAMEWORK
    for path in launch.hidden:
        words += _hide(path, shown)
    words += [
        "--dir",
        JOB,
        "--ro-bind",
        launch.code,
        CODE,
        "--ro-bind",
        str(folder / "job.json"),
        f"{JOB}/job.json",
    ]
    for name, path in launch.data.items():
        words += ["--ro-bind", path, f"{JOB}/{name}"]
    words += ["--bind", str(folder / "out"), f"{JOB}/out"]
    words += ["--remount-ro", "/", "--chdir", "/tmp"]
    path = ":".join(f"{p}/bin" for p in (*launch.readable, "/usr/local", "/usr")) + ":/bin"
    for name, value in child_environment(launch, phases, "/tmp", path).items():
        words += ["--setenv", name, value]
    return words


def _proc() -> list[str]:
    """Close what of /proc is the machine's: for a child of root every file that root owns would be open."""
    words: list[str] = []
    for name in PROC_READ_ONLY:
        words += ["--ro-bind", f"/proc/{name}", f"/proc/{name}"]
    for name in PROC_MASKED:
        path = Path("/proc", name)
        if path.is_dir():
            words += ["--tmpfs", str(path), "--remount-ro", str(path)]
        elif path.exists():
            words += ["--ro-bind", "/dev/null", str(path)]
    return words


def _folders_to(path: str) -> list[str]:
    """Make the folders above a path, so that everybody may pass: those that bubblewrap makes by itself are its own."""
    return [word for folder in reversed(Path(path).parents[:-1]) for word in ("--dir", str(folder))]


def _system() -> list[str]:
    words = ["--dir", "/etc", "--ro-bind", "/usr", "/usr"]
    for name in ("bin", "sbin", "lib", "lib32", "lib64"):
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", os.readlink(path), str(path)]
        elif path.is_dir():
            words += ["--ro-bind", str(path), str(path)]
    for pattern in ETC:
        for path in sorted(Path("/etc").glob(pattern)):
            words += ["--ro-bind-try", str(path), str(path)]
    return words


def _hide(path: str, shown: Mapping[str, str]) -> list[str]:
    """Mask a file or folder wherever it really lies inside something shown; `shown` is outside → inside."""
    real = Path(os.path.realpath(path))
    words = []
    for outside, within in shown.items():
        base = os.path.realpath(outside)
        if real.exists() and real.is_relative_to(base):
            place = str(Path(within, real.relative_to(base)))
            words += ["--tmpfs", place] if real.is_dir() else ["--ro-bind", "/dev/null", place]
    return words
