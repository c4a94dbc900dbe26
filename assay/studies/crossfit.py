"""The work of a search: models of every configuration on every fold, in pieces that can be lost and made again.

A piece is one fold and one selector. Preparation and selection are fitted once for it and shared by all its learners.
Each finished piece is a file, written under another name and renamed, so a folder has whole pieces only.
"""

from __future__ import annotations

import json
import os
import warnings
import zipfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import ConfigError, UserError
from assay.studies.inputs import SearchData
from assay.studies.pieces import WORKER_DIED, make_folder
from assay.studies.spaces import Configuration, Demand, Part, make_first_steps, make_last

__all__ = [
    "Piece",
    "Work",
    "compute_all",
    "first_steps",
    "open_folder",
    "read_pieces",
    "scores_of",
    "told",
]

FORMAT = 2
ABOUT = "search.json"


@dataclass(frozen=True)
class Piece:
    """One fold of one repeat, and one selector with the positions of its configurations."""

    repeat: int
    fold: int
    number: int
    selector: Part
    members: tuple[int, ...]

    @property
    def file(self) -> str:
        """The name of its file."""
        return f"r{self.repeat}-f{self.fold}-s{self.number}.npz"

    def __str__(self) -> str:
        where = f"{self.repeat}.{self.fold}" if self.repeat else str(self.fold)
        return (
            f"fold {where}, {self.selector}, {len(self.members)} configuration{'s' * (len(self.members) > 1)}"
        )


@dataclass(frozen=True, eq=False)
class Work:
    """All that is to be computed: rows, configurations, folds as (repeat, fold, training rows, test rows), demand."""

    data: SearchData
    configurations: tuple[Configuration, ...]
    folds: tuple[tuple[int, int, Any, Any], ...]
    demand: Demand

    def pieces(self) -> list[Piece]:
        """Return the pieces; those of one fold stand together."""
        members: dict[Part, list[int]] = {}
        for position, one in enumerate(self.configurations):
            members.setdefault(one.selector, []).append(position)
        return [
            Piece(repeat, fold, number, selector, tuple(own))
            for repeat, fold, _, _ in self.folds
            for number, (selector, own) in enumerate(members.items())
        ]

    def rows_of(self, piece: Piece) -> tuple[Any, Any]:
        """Return the training rows and the test rows of a piece."""
        return next((train, test) for r, f, train, test in self.folds if (r, f) == (piece.repeat, piece.fold))


# --- one piece --------------------------------------------------------------------------------------------


def compute_piece(work: Work, piece: Piece, folder: Path) -> Piece:
    """Fit and predict with all configurations of a piece, and write it; what fails is written as its message."""
    from threadpoolctl import threadpool_limits

    train, test = work.rows_of(piece)
    values = np.zeros((len(piece.members), len(test), work.data.n_scores))
    failed: dict[str, str] = {}
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # learners warn of what their scores show
        try:
            x_train, x_test = first_steps(work.data, piece.selector, work.demand, train, test)
        except Exception as error:
            failed = {work.configurations[at].name: told(error) for at in piece.members}
        for position, at in enumerate(piece.members if not failed else ()):
            one = work.configurations[at]
            try:
                learner = make_last(one, work.demand).fit(x_train, work.data.y[train])
                values[position] = scores_of(learner, x_test, work.data, work.demand)
            except Exception as error:  # whatever a learner raises
                failed[one.name] = told(error)
    said = np.frombuffer(json.dumps(failed).encode(), dtype=np.uint8)
    _write(folder / piece.file, values=values, failed=said)
    return piece


def first_steps(data: SearchData, selector: Part, demand: Demand, train: Any, test: Any) -> tuple[Any, Any]:
    """Return training and test columns after the steps that all configurations of a selector share."""
    x_train, x_test = data.rows(train), data.rows(test)
    for _, step in make_first_steps(selector, demand):
        x_train = step.fit(x_train, data.y[train]).transform(x_train)
        x_test = step.transform(x_test)
    return x_train, x_test


def scores_of(model: Any, x: Any, data: SearchData, demand: Demand) -> Any:
    """Return (n, 1) values or scores of the second class, or (n, K) probabilities; raises ValueError if not finite."""
    if data.is_value:
        out = np.asarray(model.predict(x), dtype=float).reshape(-1, 1)
    elif hasattr(model, "predict_proba"):
        out = np.zeros((len(x), len(data.classes)))
        # A class may be missing in the training rows: then it has no probability.
        out[:, np.searchsorted(data.classes, model.classes_)] = model.predict_proba(x)
        out = out if len(data.classes) > 2 else out[:, 1:]
    elif demand.probabilities or len(data.classes) > 2:
        raise ValueError("it has no predict_proba, which this metric needs")
    else:
        out = np.asarray(model.decision_function(x), dtype=float).reshape(-1, 1)
    if not np.isfinite(out).all():
        raise ValueError("some predictions are not finite")
    return out


def told(error: Exception) -> str:
    """Return what a learner raised, in one line."""
    return f"{type(error).__name__}: {error}".split("\n")[0][:200].removesuffix(": ")


def _write(path: Path, **arrays: Any) -> None:
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    with unfinished.open("wb") as file:
        np.savez(file, **arrays)
    unfinished.replace(path)


# --- all pieces -------------------------------------------------------------------------------------------


def compute_all(
    work: Work, folder: Path, jobs: int, progress: Callable[[int, int], None] | None = None
) -> int:
    """Compute the pieces that the folder does not have yet; return how many it had."""
    pieces = work.pieces()
    missing = [piece for piece in pieces if _read(folder / piece.file) is None]
    found = len(pieces) - len(missing)
    tell = progress or (lambda *_: None)
    tell(found, len(pieces))
    for done, _ in enumerate(_run(work, missing, folder, jobs), start=found + 1):
        tell(done, len(pieces))
    return found


def _run(work: Work, missing: Sequence[Piece], folder: Path, jobs: int) -> Iterator[Piece]:
    if jobs == 1 or len(missing) < 2:
        yield from (compute_piece(work, piece, folder) for piece in missing)
        return
    from joblib import Parallel, delayed, parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        run = Parallel(n_jobs=jobs, return_as="generator_unordered")
        try:
            yield from run(delayed(compute_piece)(work, piece, folder) for piece in missing)
        except BrokenProcessPool:
            raise UserError(WORKER_DIED) from None


def read_pieces(work: Work, folder: Path) -> tuple[list[Any], dict[str, str]]:
    """Return for each repeat (N, C) or (N, C, K) of all configurations, and why some failed: these are zero."""
    n_repeats = max(repeat for repeat, *_ in work.folds) + 1
    out: list[Any] = []
    failed: dict[str, str] = {}
    for piece in work.pieces():
        found = _read(folder / piece.file)
        if found is None:
            raise ConfigError(f"{folder / piece.file} was removed while the search ran. Start it again.")
        values, said = found
        if not out:
            shape = (work.data.n_rows, len(work.configurations), values.shape[2])
            out = [np.zeros(shape) for _ in range(n_repeats)]
        _, test = work.rows_of(piece)
        out[piece.repeat][np.ix_(test, piece.members)] = values.transpose(1, 0, 2)
        for name, message in said.items():
            failed.setdefault(name, f"fold {piece.fold}: {message}")
    return [one[:, :, 0] if one.shape[2] == 1 else one for one in out], failed


def _read(path: Path) -> tuple[Any, dict[str, str]] | None:
    """Return values and failures of a piece; None if there is none, or one that was damaged since."""
    try:
        with path.open("rb") as raw, np.load(raw, allow_pickle=False) as file:
            return file["values"], json.loads(file["failed"].tobytes())
    except (OSError, ValueError, KeyError, EOFError, NotImplementedError, zipfile.BadZipFile):
        return None


# --- the folder -------------------------------------------------------------------------------------------


def open_folder(folder: Path, about: dict[str, Any]) -> Path:
    """Return a folder that holds this search or is new; refuse one that holds another, and say in what they differ."""
    said = {"format": FORMAT, **about}
    path = folder / ABOUT
    make_folder(folder)
    if not path.exists():
        if any(one.suffix != ".part" and one != path for one in folder.iterdir()):
            raise ConfigError(f"{folder} is not empty and holds no search. Name a new folder.")
        _write_once(path, json.dumps(said, indent=1))
    try:
        then = json.loads(path.read_text())
        other = [name for name in said if then.get(name) != said[name]]
    except (ValueError, AttributeError):
        raise ConfigError(f"{path} is damaged. Name another folder, or delete this one.") from None
    if other:
        raise ConfigError(
            f"{folder} holds another search: it differs in {' and '.join(other)}. Name another folder, or delete this "
            "one."
        )
    return folder


def _write_once(path: Path, text: str) -> None:
    """Write a file unless another process has just done so: whoever is first wins."""
    unfinished = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        unfinished.write_text(text)
        try:
            os.link(unfinished, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            unfinished.replace(path)
    except OSError as error:
        raise ConfigError(
            f"{path.parent} cannot be written: {error.strerror}. Name another folder."
        ) from None
    finally:
        unfinished.unlink(missing_ok=True)
