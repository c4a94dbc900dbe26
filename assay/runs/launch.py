"""What a supervisor is told about an attempt: the command, its limits and what it may see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from assay.files import make_record, read_json, to_plain
from assay.jobs.circumstances import Circumstances, Gpu
from assay.jobs.folder import AttemptFolder
from assay.runs.roots import to_absolute, to_relative
from assay.vocabulary import Tier

__all__ = ["Launch", "read_launch"]


@dataclass(frozen=True)
class Launch:
    """One attempt to be supervised.

    In `attempt.json` its paths are relative to the named folders in `roots` (`assay.runs.roots`), which the place that
    runs it may have elsewhere; the supervisor and its sandbox work with the absolute ones.

    Attributes:
        argv: the command; `{job}`, `{code}` and `{framework}` stand for the folders as the child sees them.
        code: folder with the child script, the contract and the adapter, read-only for the child.
        framework: the framework's own folder, for programs without our child; or empty.
        data: file names in the job folder → files of this fold, read-only.
        readable: further folders the child may read: interpreter and environment.
        hidden: folders and files it must not see even where a readable folder holds them.
        tier: `strict`, `landlock` or `plain`.
        disk_mb, files: how much and how many files it may write.
        n_cores: how many cores it may use, claimed by the supervisor; not claimed with `cores_shared`.
        n_gpus: how many GPUs it may use, claimed by the supervisor; no other is visible to it.
        cores, gpus: which ones these are, where they are given already.
        cold_reason: why it must not be forked from a nursery; empty if it may be.
        roots: the named folders as whoever wrote the file has them; never the store, which the file lies in.
    """

    key: str
    attempt: int
    argv: tuple[str, ...]
    code: str
    tier: Tier
    memory_mb: int
    disk_mb: int
    limits_s: Mapping[str, float]
    n_cores: int = 1
    n_gpus: int = 0
    cores: tuple[int, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    framework: str = ""
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    processes: int = 1024
    files: int = 1_000_000
    cores_shared: bool = False
    cold_reason: str = ""
    circumstances: Circumstances = field(default_factory=Circumstances)
    roots: Mapping[str, str] = field(default_factory=dict)

    def words(self, **folders: str) -> list[str]:
        """Return the command with its folders put in; other braces are the program's own."""
        out = list(self.argv)
        for name, folder in folders.items():
            out = [word.replace(f"{{{name}}}", folder) for word in out]
        return out

    def relative_to(self, roots: Mapping[str, str]) -> Launch:
        """Return the launch as another machine can read it: its paths relative to these roots, which it names."""
        named = {name: root for name, root in roots.items() if name != "store"}
        return replace(self._with_paths(lambda path: to_relative(path, roots)), roots=named)

    def at(self, roots: Mapping[str, str]) -> Launch:
        """Return the launch with absolute paths, where `roots` win over the ones it names."""
        known = {**self.roots, **roots}
        return replace(self._with_paths(lambda path: to_absolute(path, known)), roots=known)

    def _with_paths(self, change: Callable[[str], str]) -> Launch:
        program, *words = self.argv  # only the program: other words are the framework's own
        return replace(
            self,
            argv=(change(program), *words),
            code=change(self.code),
            framework=change(self.framework),
            data={name: change(path) for name, path in self.data.items()},
            readable=tuple(map(change, self.readable)),
            hidden=tuple(map(change, self.hidden)),
            environ={name: change(value) for name, value in self.environ.items()},
        )

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"schema": 2, **to_plain(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Launch:
        """Make a launch from `attempt.json`; ValueError where a field is of another type."""
        return make_record(cls, value)


def read_launch(folder: AttemptFolder, roots: Mapping[str, str]) -> Launch:
    """Return the launch of an attempt with absolute paths; `roots` are those that lie elsewhere than it says.

    A launch of schema 1 has absolute paths already.
    """
    launch = read_json(folder.attempt, folder.root).then(Launch.from_json).get()
    return launch.at({**roots, "store": str(folder.root.parent)})
