"""Step into a job: a shell in the same sandbox, or a bundle of the job without the truth."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

from assay.errors import StoreError
from assay.jobs.folder import AttemptFolder, read_json
from assay.runs.launch import Launch

__all__ = ["pack", "shell"]


def read_launch(folder: AttemptFolder) -> Launch:
    """Return how an attempt was started."""
    if not folder.attempt.exists():
        raise StoreError(
            f"Job {folder.key} was never started, so there is nothing to show. `assay explain` says why."
        )
    return Launch.from_json(read_json(folder.attempt))


def shell(folder: AttemptFolder, scratch: Path, command: tuple[str, ...] = ()) -> int:
    """Run a shell (or a command) where the child ran: same files, same namespaces; without limits on time.

    What it writes goes to `scratch`, so the attempt stays as it was. Needs bubblewrap.
    """
    from assay.runs.sandbox.strict import bubblewrap_arguments, inside

    launch = read_launch(folder)
    for name in ("out", "tmp"):
        (scratch / name).mkdir(parents=True, exist_ok=True)
    (scratch / "job.json").write_bytes(folder.job.read_bytes())
    words = [
        w for w in bubblewrap_arguments(launch, scratch, 2) if w not in ("--new-session", "--die-with-parent")
    ]
    hint = f"The job ran: {' '.join(inside(launch))}"
    argv = list(command) or ["/bin/sh", "-c", f"echo '{hint}'; exec /bin/sh -i"]
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
    """Write a tarball for a bug report: job, data, code, log, facts; never the truth."""
    launch = read_launch(folder)
    top = f"assay-job-{folder.key[:10]}"
    members = {
        "job.json": folder.job,
        "log.txt": folder.log,
        "outcome.json": folder.outcome,
        "out": folder.out,
        "code": Path(launch.code),
        **{name: Path(path) for name, path in launch.data.items()},
    }
    with tarfile.open(target, "w:gz") as archive:
        for name, path in members.items():
            if path.exists():
                archive.add(path, f"{top}/{name}", filter=_anonymous)
    return target


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    if not (member.isreg() or member.isdir()) or "__pycache__" in member.name:
        return None
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member
