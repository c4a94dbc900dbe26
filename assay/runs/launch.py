"""What a supervisor is told about an attempt: the command, its limits and what it may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from assay.files import make_record

__all__ = ["Launch"]


@dataclass(frozen=True)
class Launch:
    """One attempt to be supervised, as it stands in `attempt.json`.

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
        cores: which cores these are, where they are given already.
    """

    key: str
    attempt: int
    argv: tuple[str, ...]
    code: str
    tier: str
    memory_mb: int
    disk_mb: int
    limits_s: Mapping[str, float]
    n_cores: int = 1
    cores: tuple[int, ...] = ()
    data: Mapping[str, str] = field(default_factory=dict)
    framework: str = ""
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    network: bool = False
    processes: int = 1024
    files: int = 1_000_000
    cores_shared: bool = False
    circumstances: Mapping[str, Any] = field(default_factory=dict)

    def words(self, **folders: str) -> list[str]:
        """Return the command with its folders put in; other braces are the program's own."""
        out = list(self.argv)
        for name, folder in folders.items():
            out = [word.replace(f"{{{name}}}", folder) for word in out]
        return out

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"schema": 1, **asdict(self)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Launch:
        """Make a launch from `attempt.json`; ValueError where a field is of another type."""
        return make_record(cls, value)
