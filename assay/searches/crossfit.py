"""The work of a search: models of every configuration on every fold, in pieces that can be lost and made again.

A piece is one fold and one selector. Preparation and selection are fitted once for it and shared by all its learners.
Each finished piece is a file, written under another name and renamed, so a folder has whole pieces only.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from assay.errors import ConfigError, UserError
from assay.files import make_folder, read_json, read_npz, write_once, write_replace
from assay.searches.configurations import Configuration, Part
from assay.searches.estimator import Classifier, Columns, Estimator
from assay.searches.folds import Fold
from assay.searches.inputs import SearchData
from assay.searches.pipelines import Demand, make_first_steps, make_last

if TYPE_CHECKING:
    from assay.typing import Floats, Ints, JsonObject

__all__ = [
    "WORKER_DIED",
    "SearchPiece",
    "Work",
    "compute_all",
    "failure_text",
    "first_steps",
    "open_folder",
    "read_pieces",
    "scores_of",
]

WORKER_DIED = (
    "A process was killed from outside, most likely because memory ran out. What is finished is kept where a folder "
    "was named: start again, with fewer processes."
)

FORMAT = 2
ABOUT = "search.json"


@dataclass(frozen=True)
class SearchPiece:
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
    folds: tuple[Fold, ...]
    demand: Demand

    def pieces(self) -> list[SearchPiece]:
        """Return the pieces; those of one fold stand together."""
        members: dict[Part, list[int]] = {}
        for position, configuration in enumerate(self.configurations):
            members.setdefault(configuration.selector, []).append(position)
        return [
            SearchPiece(repeat, fold, number, selector, tuple(positions))
            for repeat, fold, _, _ in self.folds
            for number, (selector, positions) in enumerate(members.items())
        ]

    def rows_of(self, piece: SearchPiece) -> tuple[Ints, Ints]:
        """Return the training rows and the test rows of a piece."""
        return next((train, test) for r, f, train, test in self.folds if (r, f) == (piece.repeat, piece.fold))


# --- one piece --------------------------------------------------------------------------------------------


def compute_piece(work: Work, piece: SearchPiece, folder: Path) -> SearchPiece:
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
            failed = {work.configurations[at].name: failure_text(error) for at in piece.members}
        for position, at in enumerate(piece.members if not failed else ()):
            configuration = work.configurations[at]
            try:
                learner = make_last(configuration, work.demand).fit(x_train, work.data.y[train])
                values[position] = scores_of(learner, x_test, work.data, work.demand)
            except Exception as error:  # whatever a learner raises
                failed[configuration.name] = failure_text(error)
    messages = np.frombuffer(json.dumps(failed).encode(), dtype=np.uint8)
    # A lost piece is made again: no need to wait for the disk.
    write_replace(
        folder / piece.file, lambda file: np.savez(file, values=values, failed=messages), durable=False
    )
    return piece


def first_steps(
    data: SearchData, selector: Part, demand: Demand, train: Ints, test: Ints
) -> tuple[Columns, Columns]:
    """Return training and test columns after the steps that all configurations of a selector share."""
    x_train, x_test = data.rows(train), data.rows(test)
    for _, step in make_first_steps(selector, demand):
        x_train = step.fit(x_train, data.y[train]).transform(x_train)
        x_test = step.transform(x_test)
    return x_train, x_test


def scores_of(model: Estimator, x: Columns, data: SearchData, demand: Demand) -> Floats:
    """Return (n, 1) values or scores of the second class, or (n, K) probabilities; raises ValueError if not finite."""
    if data.is_value:
        out = np.asarray(model.predict(x), dtype=np.float64).reshape(-1, 1)
    else:
        out = _class_scores(cast("Classifier", model), x, data, demand)
    if not np.isfinite(out).all():
        raise ValueError("some predictions are not finite")
    return out


def _class_scores(model: Classifier, x: Columns, data: SearchData, demand: Demand) -> Floats:
    if hasattr(model, "predict_proba"):
        out = np.zeros((len(x), len(data.classes)))
        # A class may be missing in the training rows: then it has no probability.
        out[:, np.searchsorted(data.classes, model.classes_)] = model.predict_proba(x)
        return out if len(data.classes) > 2 else out[:, 1:]
    if demand.probabilities or len(data.classes) > 2:
        raise ValueError("it has no predict_proba, which this metric needs")
    return np.asarray(model.decision_function(x), dtype=np.float64).reshape(-1, 1)


def failure_text(error: Exception) -> str:
    """Return what a learner raised, in one line."""
    return f"{type(error).__name__}: {error}".split("\n")[0][:200].removesuffix(": ")


# --- all pieces -------------------------------------------------------------------------------------------


def compute_all(
    work: Work, folder: Path, jobs: int, progress: Callable[[int, int], None] | None = None
) -> int:
    """Compute the pieces that the folder does not have yet; return how many it had."""
    pieces = work.pieces()
    missing = [piece for piece in pieces if _read(work, piece, folder) is None]
    n_found = len(pieces) - len(missing)
    report = progress or (lambda *_: None)
    report(n_found, len(pieces))
    for done, _ in enumerate(_run(work, missing, folder, jobs), start=n_found + 1):
        report(done, len(pieces))
    return n_found


def _run(work: Work, missing: Sequence[SearchPiece], folder: Path, jobs: int) -> Iterator[SearchPiece]:
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


def read_pieces(work: Work, folder: Path) -> tuple[list[Floats], dict[str, str]]:
    """Return for each repeat (N, C) or (N, C, K) of all configurations, and why some failed: these are zero."""
    n_repeats = max(repeat for repeat, *_ in work.folds) + 1
    shape = (work.data.n_rows, len(work.configurations), work.data.n_scores)
    predictions = [np.zeros(shape) for _ in range(n_repeats)]
    failed: dict[str, str] = {}
    for piece in work.pieces():
        content = _read(work, piece, folder)
        if content is None:
            raise ConfigError(f"{folder / piece.file} was removed while the search ran. Start it again.")
        values, messages = content
        _, test = work.rows_of(piece)
        predictions[piece.repeat][np.ix_(test, np.array(piece.members))] = values.transpose(1, 0, 2)
        for name, message in messages.items():
            failed.setdefault(name, f"fold {piece.fold}: {message}")
    return [values[:, :, 0] if values.shape[2] == 1 else values for values in predictions], failed


def _read(work: Work, piece: SearchPiece, folder: Path) -> tuple[Floats, dict[str, str]] | None:
    """Return values and failures of a piece; None if there is none, or one that was damaged since."""
    arrays = read_npz(folder / piece.file, ("values", "failed")).value
    if arrays is None or arrays.keys() != {"values", "failed"}:
        return None
    _, test = work.rows_of(piece)
    values = arrays["values"]
    if values.shape != (len(piece.members), len(test), work.data.n_scores) or values.dtype != np.float64:
        return None
    try:
        messages = json.loads(arrays["failed"].tobytes())
    except (ValueError, RecursionError):
        return None
    return (values, messages) if _are_messages(messages) else None


def _are_messages(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


# --- the folder -------------------------------------------------------------------------------------------


def open_folder(folder: Path, about: JsonObject) -> Path:
    """Return a folder that holds this search or is new; refuse one that holds another, and say in what they differ."""
    about = {"format": FORMAT, **about}
    path = folder / ABOUT
    make_folder(folder)
    if not path.exists():
        if any(not _is_unfinished(other) and other != path for other in folder.iterdir()):
            raise ConfigError(f"{folder} is not empty and holds no search. Name a new folder.")
        _begin(path, about)
    earlier = read_json(path).value
    if earlier is None:
        raise ConfigError(f"{path} is damaged. Name another folder, or delete this one.")
    differences = [name for name in about if earlier.get(name) != about[name]]
    if differences:
        raise ConfigError(
            f"{folder} holds another search: it differs in {' and '.join(differences)}. Name another folder, or "
            "delete this one."
        )
    return folder


def _is_unfinished(path: Path) -> bool:
    """Return whether a file was left by a process that was killed while it wrote."""
    return path.suffix in (".part", ".partial")


def _begin(path: Path, about: JsonObject) -> None:
    """Write what the search is, unless another process has just done so: the first one decides."""
    try:
        write_once(path, json.dumps(about, indent=1).encode())
    except OSError as error:
        raise ConfigError(
            f"{path.parent} cannot be written: {error.strerror}. Name another folder."
        ) from None
