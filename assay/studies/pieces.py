"""The work of a study in pieces: each is a file of rows, and what is there is not done again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from assay.errors import ConfigError

__all__ = ["Piece", "check_folder", "run_pieces"]

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Piece:
    """A function of a module and its arguments; `about` is what its rows depend on, and names its file."""

    run: Callable[..., Rows]
    arguments: tuple[Any, ...]
    about: tuple[Any, ...]

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"{sha256(json.dumps(self.about, sort_keys=True).encode()).hexdigest()[:20]}.json"


def check_folder(folder: Path) -> None:
    """Raise ConfigError where work cannot be kept because a file has the folder's name."""
    if folder.exists() and not folder.is_dir():
        raise ConfigError(f"{folder} is a file: name a folder.")


def run_pieces(
    pieces: Sequence[Piece], folder: Path, jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> Iterator[dict[str, Any]]:
    """Run the pieces that the folder lacks in so many processes, then yield the rows of all, in their order."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    missing = [piece for piece in pieces if not (folder / piece.file).exists()]
    done = len(pieces) - len(missing)
    if progress is not None:
        progress(done, len(pieces))
    with ProcessPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(_run, piece, folder) for piece in missing]):
            future.result()
            done += 1
            if progress is not None:
                progress(done, len(pieces))
    for piece in pieces:
        yield from json.loads((folder / piece.file).read_text(encoding="utf-8"))


def _run(piece: Piece, folder: Path) -> None:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        rows = piece.run(*piece.arguments)
    partial = folder / f"{piece.file}.{os.getpid()}.partial"
    partial.write_text(json.dumps(rows), encoding="utf-8")
    partial.replace(folder / piece.file)  # so nobody ever sees half of it
