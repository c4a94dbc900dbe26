"""Step into a job: a shell in the same sandbox, or a bundle of the job without the truth."""

from __future__ import annotations

import contextlib
import os
import shlex
import stat
import subprocess
import tarfile
from pathlib import Path

from assay.errors import StoreError
from assay.files import Walk, has_link, open_regular, read_bytes
from assay.jobs.folder import AttemptFolder
from assay.runs.launch import Launch, read_launch
from assay.runs.roots import given_roots

__all__ = ["pack", "shell"]

LONGEST_NAME = 3000
LARGEST_FILE = 4 * 2**30


def _launch_of(folder: AttemptFolder) -> Launch:
    """Return how an attempt was started; paths of this store are where it lies now."""
    if not folder.attempt.exists():
        raise StoreError(
            f"Job {folder.key} was never started, so there is nothing to show. `assay explain` says why."
        )
    return read_launch(folder, given_roots(os.environ))


def shell(folder: AttemptFolder, scratch: Path, command: tuple[str, ...] = ()) -> int:
    """Run a shell (or a command) where the child ran: same files, same namespaces; without limits on time.

    What it writes goes to `scratch`, so the attempt stays as it was. Needs bubblewrap.
    """
    from assay.runs.sandbox.bubblewrap import AS_CALLER
    from assay.runs.sandbox.description import bubblewrap_arguments, inside

    launch = _launch_of(folder)
    for name in ("out", "tmp"):
        (scratch / name).mkdir(parents=True, exist_ok=True)
    (scratch / "job.json").write_bytes(read_bytes(folder.job, folder.root).get())
    words = [*bubblewrap_arguments(launch, scratch, 2), *AS_CALLER, "--disable-userns"]
    words = [word for word in words if word not in ("--new-session", "--die-with-parent")]
    hint = f"The job ran: {' '.join(inside(launch))}"
    argv = list(command) or ["/bin/sh", "-c", f"echo {shlex.quote(hint)}; exec /bin/sh -i"]
    reader, writer = os.pipe()
    os.write(writer, b"".join(word.encode() + b"\0" for word in words))
    os.close(writer)
    try:
        return subprocess.run(
            ["bwrap", "--args", str(reader), "--", *argv], env={}, pass_fds=(reader,)
        ).returncode
    except FileNotFoundError:
        raise StoreError("`assay job shell` needs bubblewrap (bwrap), which is not installed.") from None
    finally:
        os.close(reader)


def pack(folder: AttemptFolder, target: Path) -> Path:
    """Write a tarball for a bug report: job, data, code, log, facts; never the truth.

    Data and code are taken from the store, by the names that `attempt.json` has for them: its paths may be another
    machine's, or name something that nobody meant to send.
    """
    launch = _launch_of(folder)
    store = folder.root.parent
    top = f"assay-job-{folder.key[:10]}"
    data = {
        name: store / "folds" / Path(path).parent.name / Path(path).name for name, path in launch.data.items()
    }
    with tarfile.open(target, "w:gz") as archive:
        for name, path in {
            "job.json": folder.job,
            "log.txt": folder.log,
            "outcome.json": folder.outcome,
        }.items():
            _add_file(archive, path, f"{top}/{name}", folder.root)
        for name, path in data.items():
            _add_file(archive, path, f"{top}/{Path(name).name}", store / "folds")
        _add_tree(archive, folder.out, f"{top}/out", folder.root)
        _add_tree(archive, store / "code" / Path(launch.code).name, f"{top}/code", store / "code")
    return target


def _add_tree(archive: tarfile.TarFile, root: Path, name: str, trusted: Path) -> None:
    """Add the regular files of a folder; what is too deep for a path on the other side is left out."""
    if has_link(root, trusted):
        return
    parts = [name]
    archive.addfile(_member(name, tarfile.DIRTYPE, 0o755))
    for entry in Walk(root, enter=parts.append, leave=lambda *_: _drop_last(parts)):
        inside = "/".join([*parts, entry.name])
        if len(inside) > LONGEST_NAME or "__pycache__" in inside:
            continue
        if stat.S_ISDIR(entry.state.st_mode):
            archive.addfile(_member(inside, tarfile.DIRTYPE, 0o755))
        elif stat.S_ISREG(entry.state.st_mode):
            with contextlib.suppress(OSError):
                descriptor = os.open(
                    entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=entry.folder
                )
                _add(archive, descriptor, inside)


def _drop_last(parts: list[str]) -> None:
    del parts[-1]


def _add_file(archive: tarfile.TarFile, path: Path, name: str, root: Path) -> None:
    opened = open_regular(path, root)
    if opened.value is not None:
        _add(archive, opened.value, name)


def _add(archive: tarfile.TarFile, descriptor: int, name: str) -> None:
    """Add an open file with the size it has now; one that shrinks meanwhile would leave a damaged tarball."""
    with open(descriptor, "rb") as file:
        member = _member(name, tarfile.REGTYPE, 0o644)
        member.size = os.fstat(descriptor).st_size
        if member.size <= LARGEST_FILE:  # a sparse file may be larger than every disk
            archive.addfile(member, file)


def _member(name: str, kind: bytes, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode = kind, mode
    return member
