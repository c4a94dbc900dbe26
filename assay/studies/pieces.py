"""The work of a study in pieces: each is a file of rows, and what is there is not done again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from assay import __version__
from assay.errors import ConfigError, UserError
from assay.files import make_folder, read_bytes, write_replace

if TYPE_CHECKING:
    from assay.typing import JsonObject

__all__ = ["StudyPiece", "StudyRow", "StudyRows", "missing_pieces", "run_pieces"]

WORKER_DIED = (
    "A process was killed from outside, most likely because memory ran out. What is finished is kept: start again, "
    "with fewer processes."
)

StudyRow: TypeAlias = "JsonObject"
StudyRows: TypeAlias = "list[StudyRow]"


@dataclass(frozen=True)
class StudyPiece:
    """A function of a module and its arguments; `about` is what its rows depend on, and names its file.

    They also depend on this version: another one does the work again.
    """

    run: Callable[..., StudyRows]
    arguments: tuple[object, ...]
    about: tuple[object, ...]

    @property
    def file(self) -> str:
        """The name of its file."""
        about = json.dumps([__version__, *self.about], sort_keys=True)
        return f"{sha256(about.encode()).hexdigest()[:20]}.json"


def run_pieces(
    pieces: Sequence[StudyPiece],
    folder: Path,
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[StudyRow]:
    """Run the pieces that the folder lacks in so many processes, then yield the rows of all, in their order."""
    missing = missing_pieces(pieces, folder)
    n_found = len(pieces) - len(missing)
    report = progress or (lambda *_: None)
    report(n_found, len(pieces))
    for done, _ in enumerate(_run_all(missing, folder, jobs), start=n_found + 1):
        report(done, len(pieces))
    for piece in pieces:
        rows = _read(folder / piece.file)
        if rows is None:
            raise ConfigError(f"{folder / piece.file} was removed while the study ran. Start it again.")
        yield from rows


def missing_pieces(pieces: Sequence[StudyPiece], folder: Path) -> list[StudyPiece]:
    """Return the pieces that the folder lacks; the folder is made where there is none."""
    make_folder(folder)
    return [piece for piece in pieces if _read(folder / piece.file) is None]


def _run_all(missing: Sequence[StudyPiece], folder: Path, jobs: int) -> Iterator[None]:
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


def _read(path: Path) -> StudyRows | None:
    """Return the rows of a piece; None if there are none, or they were damaged since."""
    content = read_bytes(path)
    try:
        rows = json.loads(content.value) if content.value is not None else None
    except (ValueError, RecursionError):
        return None
    is_whole = isinstance(rows, list) and all(isinstance(row, dict) for row in rows)
    return rows if is_whole else None


def _run(piece: StudyPiece, folder: Path) -> None:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        rows = piece.run(*piece.arguments)
    data = json.dumps(rows).encode()
    write_replace(folder / piece.file, lambda file: file.write(data), durable=False)
