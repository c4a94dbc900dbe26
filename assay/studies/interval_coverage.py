"""Do intervals hold what they promise? Simulated searches, every method, how often the truth was inside, how tight.

The protocol of the BBC-F paper's Tables 2 and 4, for its settings and for others. A repetition is one file in the
study's folder: what was done is not done again, and several processes may share the work.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, fields
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import ConfigError, UserError
from assay.metrics.registry import get_metric
from assay.studies.simulate import Setting, draw_search
from assay.uncertainty.bbc import prepare
from assay.uncertainty.coverage import Coverage, summarise
from assay.uncertainty.methods import METHODS, find_interval
from assay.uncertainty.result import Options

__all__ = [
    "AS_PUBLISHED",
    "PRESETS",
    "check_methods",
    "options_of",
    "run_coverage",
    "run_one",
    "write_rows",
    "write_table",
]

BATCH = 10  # repetitions that are one piece of work
AS_PUBLISHED = "/reference"


def paper() -> list[Setting]:
    """Return the settings of the paper's Table 2, in its order."""
    return [
        Setting(beta=beta, n=n, c=c, balance=b)
        for beta, n, c, b in product(((24, 6), (9, 6)), (500, 50), (100, 500), (0.1, 0.5))
    ]


def beyond() -> list[Setting]:
    """Return settings that the paper leaves open: other metrics, classes, folds, sizes, correlated configurations."""
    metrics = [
        Setting("auc", classes=4), Setting("acc"), Setting("acc", classes=4), Setting("logloss"),
        Setting("rmse", classes=0), Setting("r2", classes=0),
    ]  # fmt: skip
    sizes = [Setting(n=n, beta=(24, 6)) for n in (50, 500, 5000)]
    folds = [Setting(folds=k, beta=(24, 6)) for k in (3, 5, 10, 20)]
    correlated = [Setting(n=n, rho=0.8, beta=(24, 6)) for n in (50, 500)]
    small = [
        Setting("auc", classes=4, n=60), Setting("acc", n=50), Setting("logloss", n=50),
        Setting("rmse", classes=0, n=50),
    ]  # fmt: skip
    return list(dict.fromkeys([*metrics, *small, *sizes, *folds, *correlated]))


def guided() -> list[Setting]:
    """Return searches that are guided by earlier results, beside static ones of the same size."""
    return [
        Setting(n=n, beta=(24, 6), rho=rho, strategy="guided")
        for n, rho in product((50, 500), (0.0, 0.5, 0.9))
    ]


def times() -> list[Setting]:
    """Return the settings of the paper's Figure 3: 500 rows, 5 configurations and 3 folds, one of them varied."""
    rows = [Setting(n=n, c=5, folds=3) for n in (50, 100, 500, 1000, 5000)]
    columns = [Setting(c=c, folds=3) for c in (5, 20, 100, 500)]
    folds = [Setting(c=5, folds=k) for k in (3, 5, 10, 20)]
    return list(dict.fromkeys([*rows, *columns, *folds]))


PRESETS: Mapping[str, Callable[[], list[Setting]]] = {
    "paper": paper,
    "beyond": beyond,
    "guided": guided,
    "times": times,
}


def run_coverage(
    settings: Sequence[Setting],
    folder: Path,
    repetitions: int = 200,
    methods: Sequence[str] = (),
    jobs: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> list[Coverage]:
    """Run what is missing in the folder, then summarise all that was asked for.

    `bbc/reference` and the like do as the published code does.
    """
    wanted = check_methods(methods)
    folder.mkdir(parents=True, exist_ok=True)
    pieces = [
        (setting, begin, min(begin + BATCH, repetitions), wanted, folder)
        for setting in settings
        for begin in range(0, repetitions, BATCH)
    ]
    missing = [piece for piece in pieces if not _path(*piece).exists()]
    done = len(pieces) - len(missing)
    with ProcessPoolExecutor(jobs) as pool:
        for future in as_completed([pool.submit(_run_piece, *piece) for piece in missing]):
            future.result()
            done += 1
            if progress is not None:
                progress(done, len(pieces))
    return summarise(row for piece in pieces for row in _rows(*piece))


def check_methods(names: Sequence[str]) -> tuple[str, ...]:
    """Return the methods that are asked for, by default all; raises ConfigError where one is not known."""
    unknown = [name for name in names if name.removesuffix(AS_PUBLISHED) not in METHODS]
    if unknown:
        raise ConfigError(f"Unknown method '{unknown[0]}'. There are: {', '.join(METHODS)}.")
    return tuple(names) or tuple(METHODS)


def _rows(setting: Setting, *piece: Any) -> Iterator[dict[str, Any]]:
    size = {"n": setting.n, "c": setting.c, "folds": setting.n_folds}
    for row in json.loads(_path(setting, *piece).read_text(encoding="utf-8")):
        yield {**row, **size}


def _path(setting: Setting, begin: int, end: int, methods: Sequence[str], folder: Path) -> Path:
    said = json.dumps([asdict(setting), begin, end, list(methods)], sort_keys=True)
    return folder / f"{sha256(said.encode()).hexdigest()[:20]}.json"


def _run_piece(setting: Setting, begin: int, end: int, methods: Sequence[str], folder: Path) -> None:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        rows = [row for number in range(begin, end) for row in run_one(setting, number, methods)]
    write_rows(_path(setting, begin, end, methods, folder), rows)


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a piece of work by rename, so that nobody ever sees half of it."""
    partial = path.with_suffix(f".{os.getpid()}.partial")
    partial.write_text(json.dumps(rows), encoding="utf-8")
    partial.replace(path)


def run_one(setting: Setting, number: int, methods: Iterable[str]) -> list[dict[str, Any]]:
    """Return what each method said of one simulated search; the same number is the same search."""
    seed = int.from_bytes(sha256(f"{asdict(setting)}|{number}".encode()).digest()[:8], "big")
    drawn = draw_search(setting, np.random.default_rng(seed))
    search = prepare(drawn.data, setting.metric)
    higher = get_metric(setting.metric).higher_is_better
    rows = []
    for method in methods:
        begin = time.process_time()
        row: dict[str, Any] = {"setting": setting.name, "method": method, "number": number, "higher": higher}
        try:
            found = find_interval(search, method.removesuffix(AS_PUBLISHED), options_of(method), seed % 2**32)
        except UserError as error:
            rows.append({**row, "problem": str(error)})
            continue
        bound = found.lower if higher else found.upper
        said = {
            "bound": bound, "estimate": found.estimate, "truth": float(drawn.truth[found.winner]),
            "seconds": time.process_time() - begin, "problem": "" if bound is not None else found.warnings[-1],
        }  # fmt: skip
        rows.append({**row, **said})
    return rows


def options_of(method: str) -> Options:
    """Return how a method is run; `/reference` behind its name is as the published code does."""
    if method.endswith(AS_PUBLISHED):
        return Options(few_folds=True, rule="reference", published=True)
    return Options(few_folds=True)


def write_table(path: Path, found: Sequence[Coverage]) -> None:
    """Write all numbers as CSV."""
    import csv

    names = [field.name for field in fields(Coverage)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in found)
