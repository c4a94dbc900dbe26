"""Do intervals hold what they promise? Simulated searches, every method, how often the truth was inside, how tight.

The protocol of the BBC-F paper's Tables 2 and 4, for its settings and for others. A repetition is one file in the
study's folder: what was done is not done again, and several processes may share the work.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from assay.errors import ConfigError, UserError
from assay.metrics.registry import get_metric
from assay.studies.simulate import Setting, draw_search
from assay.uncertainty.bbc import prepare
from assay.uncertainty.methods import METHODS, find_interval
from assay.uncertainty.result import Options

__all__ = [
    "PRESETS",
    "Coverage",
    "as_table",
    "average_ranks",
    "run_coverage",
    "run_one",
    "summarise",
    "write_table",
]

BATCH = 10  # repetitions that are one piece of work
PROMISED = 0.95
REJECTED = 0.05
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


PRESETS: Mapping[str, Callable[[], list[Setting]]] = {"paper": paper, "beyond": beyond, "guided": guided}


@dataclass(frozen=True)
class Coverage:
    """What a method did in one setting.

    Attributes:
        setting, method: which.
        repetitions: of how many searches it gave a bound.
        failed: in how many it could not.
        inclusion: the share in which the truth of its own winner was within the bound.
        p: of the exact binomial test that the share is below what was promised.
        tightness: how far the bound lies from the truth on average; lower is better as long as the truth is inside.
        truth: the mean true performance of the models it chose.
        bias: the mean of its estimate minus the truth, positive where it is too good.
        seconds: the median time it took.
    """

    setting: str
    method: str
    repetitions: int
    failed: int
    inclusion: float
    p: float
    tightness: float
    truth: float
    bias: float
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether the promise was not refuted."""
        return self.p >= REJECTED


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
    unknown = [name for name in methods if name.removesuffix(AS_PUBLISHED) not in METHODS]
    if unknown:
        raise ConfigError(f"Unknown method '{unknown[0]}'. There are: {', '.join(METHODS)}.")
    folder.mkdir(parents=True, exist_ok=True)
    wanted = tuple(methods) or tuple(METHODS)
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
    rows = [row for piece in pieces for row in json.loads(_path(*piece).read_text(encoding="utf-8"))]
    return summarise(rows)


def _path(setting: Setting, begin: int, end: int, methods: Sequence[str], folder: Path) -> Path:
    said = json.dumps([asdict(setting), begin, end, list(methods)], sort_keys=True)
    return folder / f"{sha256(said.encode()).hexdigest()[:20]}.json"


def _run_piece(setting: Setting, begin: int, end: int, methods: Sequence[str], folder: Path) -> None:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        rows = [row for number in range(begin, end) for row in run_one(setting, number, methods)]
    path = _path(setting, begin, end, methods, folder)
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
            found = find_interval(search, method.removesuffix(AS_PUBLISHED), _options(method), seed % 2**32)
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


def _options(method: str) -> Options:
    if method.endswith(AS_PUBLISHED):
        return Options(few_folds=True, rule="reference", published=True)
    return Options(few_folds=True)


def summarise(rows: Iterable[Mapping[str, Any]]) -> list[Coverage]:
    """Return what each method did in each setting, in the order of the rows."""
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["setting"], row["method"]), []).append(row)
    return [_coverage(setting, method, own) for (setting, method), own in groups.items()]


def _coverage(setting: str, method: str, rows: Sequence[Mapping[str, Any]]) -> Coverage:
    from scipy.stats import binomtest

    good = [row for row in rows if row.get("bound") is not None]
    sign = 1.0 if rows[0]["higher"] else -1.0
    if not good:
        told = [row for row in rows if row.get("estimate") is not None]
        bias = (
            float(np.mean([sign * (row["estimate"] - row["truth"]) for row in told]))
            if told
            else float("nan")
        )
        nothing = float("nan")
        return Coverage(setting, method, 0, len(rows), nothing, nothing, nothing, nothing, bias, nothing)
    keys = ("truth", "bound", "estimate")
    truth, bound, estimate = (np.array([row[key] for row in good], dtype=float) for key in keys)
    inside = sign * truth >= sign * bound - 1e-12
    test = binomtest(int(inside.sum()), len(good), PROMISED, alternative="less")
    return Coverage(
        setting, method, len(good), len(rows) - len(good), float(inside.mean()), float(test.pvalue),
        float((sign * (truth - bound)).mean()), float(truth.mean()), float((sign * (estimate - truth)).mean()),
        float(np.median([row["seconds"] for row in good])),
    )  # fmt: skip


def average_ranks(found: Sequence[Coverage]) -> dict[str, float]:
    """Return average ranks by the paper's rules, over the settings in which every method gave bounds.

    Methods that hold come before those that do not; among the former the tighter one is better, among the latter the
    one whose inclusion is nearer to the promise; equal ones share the better rank.
    """
    by_setting: dict[str, list[Coverage]] = {}
    for one in found:
        by_setting.setdefault(one.setting, []).append(one)
    methods = list(dict.fromkeys(one.method for one in found if one.repetitions))
    ranks: dict[str, list[int]] = {name: [] for name in methods}
    for own in by_setting.values():
        usable = {one.method: one for one in own if one.repetitions and one.repetitions > one.failed}
        if any(name not in usable for name in methods):
            continue
        keys = {name: _rank_key(usable[name]) for name in methods}
        for name in methods:
            ranks[name].append(1 + sum(other < keys[name] for other in keys.values()))
    return {name: float(np.mean(own)) for name, own in ranks.items() if own}


def _rank_key(one: Coverage) -> tuple[int, float]:
    return (0, round(one.tightness, 4)) if one.holds else (1, round(abs(one.inclusion - PROMISED), 4))


def as_table(found: Sequence[Coverage]) -> tuple[list[str], list[list[str]]]:
    """Return heads and lines: settings down, methods across, inclusion (tightness), a star where the promise holds."""
    methods = list(dict.fromkeys(one.method for one in found))
    cells = {(one.setting, one.method): one for one in found}
    lines = []
    for setting in dict.fromkeys(one.setting for one in found):
        lines.append([setting, *(_cell(cells.get((setting, name))) for name in methods)])
    ranks = average_ranks(found)
    if ranks:
        lines.append(["average rank", *(f"{ranks[name]:.2f}" if name in ranks else "–" for name in methods)])
    return ["setting", *(f">{name}" for name in methods)], lines


def _cell(one: Coverage | None) -> str:
    if one is None or not one.repetitions:
        return "–"
    return f"{one.inclusion:.3f} ({one.tightness:.3f}){'*' if one.holds else ''}"


def write_table(path: Path, found: Sequence[Coverage]) -> None:
    """Write all numbers as CSV."""
    import csv

    names = [field.name for field in fields(Coverage)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(one) for one in found)
