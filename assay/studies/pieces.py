"""The work of a study in pieces: each is a file of rows, and what is there is not done again."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from assay import __version__
from assay.errors import ConfigError, UserError

__all__ = ["WORKER_DIED", "Piece", "make_folder", "run_pieces"]

WORKER_DIED = (
    "A process was killed from outside, most likely because memory ran out. What is finished is kept where a folder "
    "was named: start again, with fewer processes."
)

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Piece:
    """A function of a module and its arguments; `about` is what its rows depend on, and names its file.

    They also depend on this version: another one does the work anew.
    """

    run: Callable[..., Rows]
    arguments: tuple[Any, ...]
    about: tuple[Any, ...]

    @property
    def file(self) -> str:
        """The name of its file."""
        about = json.dumps([__version__, *self.about], sort_keys=True)
        return f"{sha256(about.encode()).hexdigest()[:20]}.json"


def make_folder(folder: Path) -> None:
    """Make sure that there is a folder to keep work in; raises ConfigError where there cannot be one."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ConfigError(f"{folder} is a file: name a folder.") from None
    except OSError as error:
        raise ConfigError(f"{folder} cannot be made: {error.strerror}. Name another folder.") from None


def run_pieces(
    pieces: Sequence[Piece], folder: Path, jobs: int = 1, progress: Callable[[int, int], None] | None = None
) -> Iterator[dict[str, Any]]:
    """Run the pieces that the folder lacks in so many processes, then yield the rows of all, in their order."""
    make_folder(folder)
    missing = [piece for piece in pieces if _read(folder / piece.file) is None]
    found = len(pieces) - len(missing)
    tell = progress or (lambda *_: None)
    tell(found, len(pieces))
    for done, _ in enumerate(_run_all(missing, folder, jobs), start=found + 1):
        tell(done, len(pieces))
    for piece in pieces:
        rows = _read(folder / piece.file)
        if rows is None:
            raise ConfigError(f"{folder / piece.file} was removed while the study ran. Start it again.")
        yield from rows


def _run_all(missing: Sequence[Piece], folder: Path, jobs: int) -> Iterator[None]:
    """Yield after each; what fails ends all that have not begun."""
    pool = ProcessPoolExecutor(jobs)
    try:
        futures = [pool.submit(_run, piece, folder) for piece in missing]
        for future in as_completed(futures):
            yield future.result()
    except BrokenProcessPool:
        raise UserError(WORKER_DIED) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _read(path: Path) -> Rows | None:
    """Return the rows of a piece; None if there are none, or they were damaged since."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, list) else None


def _run(piece: Piece, folder: Path) -> None:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        rows = piece.run(*piece.arguments)
    partial = folder / f"{piece.file}.{os.getpid()}.partial"
    partial.write_text(json.dumps(rows), encoding="utf-8")
    partial.replace(folder / piece.file)  # so nobody ever sees half of it
