"""Whether intervals hold what they promise, as tables for the docs: `make coverage`, about five hours on two cores.

The settings of the BBC-F paper beside its published numbers, then what it leaves open. Finished work is kept in the
folder and not done again.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt
from pathlib import Path
from typing import Any

from assay.cli.progress import Counted
from assay.studies.interval_coverage import PRESETS, run_coverage
from assay.studies.real_coverage import Source, run_real
from assay.studies.simulate import Strategy
from assay.uncertainty.coverage import Coverage, average_ranks
from assay.uncertainty.methods import METHODS

DATASETS = Path(__file__).resolve().parents[2] / "shared/data/datasets"
PUBLISHED = Path(__file__).resolve().parents[2] / "shared/data/results/bbc/final_results__sim_results.csv"
# Under which names the published table has which method; Hanley and McNeil's as it was coded.
COLUMNS = {
    "bbc": "BBC", "bbc_f": "BBCF", "delong": "DL", "hanley_mcneil/reference": "HM", "tilting": "BT",
    "delong_10p": "DL10", "hanley_mcneil_10p/reference": "HM10", "tilting_10p": "BT10", "mabt": "MABT",
    "naive_folds": "NB",
}  # fmt: skip
AS_CODED = tuple(name for name in COLUMNS if name.endswith("/reference"))
GUIDED = ("credit-g", "PhishingWebsites", "electricity")
GENERAL = ("bbc", "bbc_f", "bbc_vc", "naive_folds", "naive_samples", "tt")


def published() -> dict[tuple[str, str], tuple[float, float]]:
    """Return inclusion and tightness by setting and method; empty where the published table is not at hand."""
    if not PUBLISHED.is_file():
        return {}
    names = {(one.beta, one.n, one.c, one.balance): one.name for one in PRESETS["paper"]()}
    out = {}
    with open(PUBLISHED, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["C"] != "2":
                continue
            beta = tuple(int(part) for part in row["(alpha, beta)`"].split(","))
            name = names.get((beta, int(row["N"]), int(row["M"]), float(row["b"])))  # type: ignore[arg-type]
            for ours, theirs in COLUMNS.items():
                if name and row[f"{theirs}_95"]:
                    out[name, ours] = float(row[f"{theirs}_95"]), float(row[f"{theirs}_t"])
    return out


def beside(found: Sequence[Coverage]) -> str:
    """Return the paper's settings with ours and the published numbers in each cell; bold where they differ."""
    theirs, cells = published(), {(one.setting, one.method): one for one in found}
    settings = list(dict.fromkeys(one.setting for one in found))
    lines = [f"| setting | {' | '.join(COLUMNS)} |", "|---|" + "---|" * len(COLUMNS)]
    for setting in settings:
        shown = [_pair(cells.get((setting, name)), theirs.get((setting, name))) for name in COLUMNS]
        lines.append(f"| {setting} | {' | '.join(shown)} |")
    return "\n".join(lines)


def _pair(ours: Coverage | None, theirs: tuple[float, float] | None) -> str:
    own = "–" if ours is None or not ours.repetitions else f"{ours.inclusion:.3f} ({ours.tightness:.3f})"
    other = "–" if theirs is None else f"{theirs[0]:.3f} ({theirs[1]:.3f})"
    return (
        f"**{own} / {other}**"
        if ours is not None and theirs and _differs(ours, theirs[0])
        else f"{own} / {other}"
    )


def _differs(ours: Coverage, theirs: float, repetitions: int = 200) -> bool:
    """Whether two shares of so many searches differ by more than three standard errors."""
    if not ours.repetitions:
        return False
    share = (ours.inclusion * ours.repetitions + theirs * repetitions) / (ours.repetitions + repetitions)
    error = sqrt(share * (1 - share) * (1 / ours.repetitions + 1 / repetitions))
    return abs(ours.inclusion - theirs) > max(3 * error, 1e-9)


def plain(found: Sequence[Coverage], methods: Sequence[str]) -> str:
    """Return inclusion (tightness) and bias of some methods in each setting; bold where the promise is refuted."""
    return _lines(found, methods, _one)


def chosen(found: Sequence[Coverage], methods: Sequence[str]) -> str:
    """Return the mean true score of the models that each method chose."""
    return _lines(found, methods, lambda one: f"{one.truth:.3f}" if one and one.repetitions else "–")


def _lines(found: Sequence[Coverage], methods: Sequence[str], show: Callable[[Coverage | None], str]) -> str:
    """Return a line for each setting with a cell for each method."""
    cells = {(one.setting, one.method): one for one in found}
    lines = [f"| setting | {' | '.join(methods)} |", "|---|" + "---|" * len(methods)]
    for setting in dict.fromkeys(one.setting for one in found):
        lines.append(f"| {setting} | {' | '.join(show(cells.get((setting, name))) for name in methods)} |")
    return "\n".join(lines)


def _one(cell: Coverage | None) -> str:
    if cell is None or (not cell.repetitions and cell.bias != cell.bias):
        return "–"
    if not cell.repetitions:
        return f"bias {cell.bias:+z.3f}"
    text = f"{cell.inclusion:.3f} ({cell.tightness:z.3f}), {cell.bias:+z.3f}"
    return text if cell.holds else f"**{text}**"


def sources() -> list[Source]:
    """Return the paper's data sets that are at hand, with its numbers of training rows."""
    small, large = (
        ("credit-g", "PhishingWebsites", "musk"),
        ("electricity", "adult", "bank-marketing", "eeg-eye-state"),
    )
    targets = {}
    with open(DATASETS / "INDEX.csv", newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            targets[row["name"]] = row["target"]
    pairs = [(name, 50) for name in small] + [(name, 500) for name in large]
    return [
        Source(str(DATASETS / f"{name}.parquet"), targets[name], n) for name, n in pairs if name in targets
    ]


def guided_sources() -> list[Source]:
    """Return three data sets, 50 rows of each, searched by proposals of a sampler and by chance."""
    strategies: tuple[Strategy, ...] = ("random", "guided")
    small = [one for one in sources() if Path(one.path).stem in GUIDED]
    return [replace(one, n_train=50, strategy=strategy) for one in small for strategy in strategies]


def main() -> int:
    """Run what is missing, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, default=Path("interval-study"))
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("-p", type=int, default=2)
    parser.add_argument("presets", nargs="*", default=["paper", "beyond", "guided", "real", "real_guided"])
    said = parser.parse_args()
    for preset in said.presets:
        if preset.startswith("real"):
            static = preset == "real"
            with Counted(f"searches of {preset}") as progress:
                found = run_real(
                    sources() if static else guided_sources(), said.folder / preset,
                    min(said.repetitions, 30) if static else said.repetitions,
                    () if static else GENERAL, said.p, progress,
                )  # fmt: skip
            methods = tuple(METHODS) if static else GENERAL
            print(f"\n## {preset}\n\n{plain(found, methods)}\n\n{chosen(found, methods)}")
            continue
        extra: Any = AS_CODED if preset == "paper" else ()
        with Counted(f"pieces of {preset}") as progress:
            settings = PRESETS[preset]()
            found = run_coverage(settings, said.folder / preset, said.repetitions, (), said.p, progress)
            if extra:
                found += run_coverage(
                    settings, said.folder / preset, said.repetitions, extra, said.p, progress
                )
        print(f"\n## {preset}\n")
        print(beside(found) if preset == "paper" else plain(found, GENERAL))
        ranks = average_ranks([one for one in found if one.method in METHODS])
        print(
            "\nAverage ranks:",
            ", ".join(f"{name} {rank:.2f}" for name, rank in sorted(ranks.items(), key=_second)),
        )
    return 0


def _second(pair: tuple[str, float]) -> float:
    return pair[1]


if __name__ == "__main__":
    sys.exit(main())
