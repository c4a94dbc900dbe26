"""Whether intervals hold what they promise, as tables for the docs: `make coverage`, about five hours on two cores.

The settings of the BBC-F paper beside its published numbers, then what it leaves open. Finished work is kept in the
folder and not done again.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from operator import itemgetter
from pathlib import Path
from statistics import fmean

from assay.cli.progress import Counted
from assay.studies.interval_coverage import PRESETS, run_coverage
from assay.studies.real_coverage import RealSetting, run_real
from assay.studies.simulate import Strategy
from assay.uncertainty.coverage import Coverage, average_ranks, comparable
from assay.uncertainty.methods import METHODS

SHARED = Path(__file__).resolve().parents[2] / "shared/data"
DATASETS, RESULTS = SHARED / "datasets", SHARED / "results/bbc"
# Under which names the published tables have which method; Hanley and McNeil's as it was coded.
COLUMNS = {
    "bbc": "BBC", "bbc_f": "BBCF", "delong": "DL", "hanley_mcneil/reference": "HM", "tilting": "BT",
    "delong_10p": "DL10", "hanley_mcneil_10p/reference": "HM10", "tilting_10p": "BT10", "mabt": "MABT",
    "naive_folds": "NB",
}  # fmt: skip
AS_CODED = tuple(name for name in COLUMNS if name.endswith("/reference"))
# The published table of real data has our data sets by these names.
REAL = {
    "credit-g": "dataset_31_credit-g", "PhishingWebsites": "phishing", "musk": "musk", "adult": "adult",
    "electricity": "electricity-normalized", "bank-marketing": "bank", "eeg-eye-state": "eeg-eye",
}  # fmt: skip
GUIDED = ("credit-g", "PhishingWebsites", "electricity")
OTHERS = ("bbc_vc", "naive_samples", "tt")
GENERAL = ("bbc", "bbc_f", "bbc_vc", "naive_folds", "naive_samples", "tt")


@dataclass(frozen=True)
class Published:
    """Inclusion and tightness by setting and method, and of how many searches."""

    cells: dict[tuple[str, str], tuple[float, float]]
    repetitions: int


def published_simulations() -> Published:
    """Return the paper's Table 2; empty where it is not at hand."""
    names = {(one.beta, one.n, one.c, one.balance): one.name for one in PRESETS["paper"]()}
    cells = {}
    for row in _rows(RESULTS / "final_results__sim_results.csv"):
        if row["C"] == "2":
            beta = tuple(int(part) for part in row["(alpha, beta)`"].split(","))
            name = names.get((beta, int(row["N"]), int(row["M"]), float(row["b"])))  # type: ignore[arg-type]
            cells |= {(name, ours): cell for ours, cell in _cells(row).items() if name}
    return Published(cells, 200)


def published_real(found: Sequence[RealSetting]) -> Published:
    """Return the lines of the paper's Table 3 that speak of these data; empty where it is not at hand."""
    names = {REAL[Path(one.path).stem]: one.name for one in found}
    cells = {}
    for row in _rows(RESULTS / "final_results__real_datasets_summaries.csv"):
        if row["dataset"] in names:
            cells |= {
                (names[row["dataset"]], ours.removesuffix("/reference")): cell
                for ours, cell in _cells(row).items()
            }
    return Published(cells, 100)


def _rows(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _cells(row: dict[str, str]) -> dict[str, tuple[float, float]]:
    return {
        ours: (float(row[f"{theirs}_95"]), float(row[f"{theirs}_t"]))
        for ours, theirs in COLUMNS.items()
        if row[f"{theirs}_95"]
    }


def beside(found: Sequence[Coverage], theirs: Published, methods: Sequence[str]) -> str:
    """Return ours and the published numbers in each cell; bold where they differ."""

    def pair(own: Coverage | None, setting: str, method: str) -> str:
        other = theirs.cells.get((setting, method))
        shown = f"{_held(own)} / {'–' if other is None else f'{other[0]:.3f} ({other[1]:z.3f})'}"
        return f"**{shown}**" if own and other and _differs(own, other[0], theirs.repetitions) else shown

    return _lines(found, methods, pair)


def _held(cell: Coverage | None) -> str:
    return "–" if cell is None or not cell.repetitions else f"{cell.inclusion:.3f} ({cell.tightness:z.3f})"


def _differs(ours: Coverage, theirs: float, repetitions: int) -> bool:
    """Whether two shares of so many searches differ by more than three standard errors."""
    if not ours.repetitions:
        return False
    share = (ours.inclusion * ours.repetitions + theirs * repetitions) / (ours.repetitions + repetitions)
    error = sqrt(share * (1 - share) * (1 / ours.repetitions + 1 / repetitions))
    return abs(ours.inclusion - theirs) > max(3 * error, 1e-9)


def plain(found: Sequence[Coverage], methods: Sequence[str]) -> str:
    """Return inclusion (tightness) and bias of some methods in each setting; bold where the promise is refuted."""
    return _lines(found, methods, lambda own, *_: _one(own))


def chosen(found: Sequence[Coverage], methods: Sequence[str]) -> str:
    """Return the mean true score of the models that each method chose."""
    return _lines(found, methods, lambda own, *_: f"{own.truth:.3f}" if own else "–")


def _lines(
    found: Sequence[Coverage], methods: Sequence[str], show: Callable[[Coverage | None, str, str], str]
) -> str:
    """Return a line for each setting with a cell for each method."""
    cells = {(one.setting, one.method): one for one in found}
    lines = [f"| setting | {' | '.join(methods)} |", "|---|" + "---|" * len(methods)]
    for setting in dict.fromkeys(one.setting for one in found):
        shown = [show(cells.get((setting, name)), setting, name) for name in methods]
        lines.append(f"| {setting} | {' | '.join(shown)} |")
    return "\n".join(lines)


def averages(found: Sequence[Coverage]) -> str:
    """Return average ranks, and the mean true score of the models chosen, over the settings where all gave bounds."""
    settings = list(comparable(found).values())
    scores = {name: fmean(own[name].truth for own in settings) for name in (settings or [{}])[0]}
    ranks = ", ".join(
        f"{name} {rank:.2f}" for name, rank in sorted(average_ranks(found).items(), key=itemgetter(1))
    )
    true = ", ".join(f"{name} {score:.4f}" for name, score in scores.items())
    return (
        f"Over {len(settings)} settings:\n\nAverage ranks: {ranks}\n\nTrue score of the models chosen: {true}"
    )


def _one(cell: Coverage | None) -> str:
    if cell is None or (not cell.repetitions and cell.bias != cell.bias):
        return "–"
    if not cell.repetitions:
        return f"bias {cell.bias:+z.3f}"
    text = f"{cell.inclusion:.3f} ({cell.tightness:z.3f}), {cell.bias:+z.3f}"
    return text if cell.holds else f"**{text}**"


def sources() -> list[RealSetting]:
    """Return the paper's data sets that are at hand, with its numbers of training rows."""
    small, large = (
        ("credit-g", "PhishingWebsites", "musk"),
        ("electricity", "adult", "bank-marketing", "eeg-eye-state"),
    )
    targets = {row["name"]: row["target"] for row in _rows(DATASETS / "INDEX.csv")}
    pairs = [(name, 50) for name in small] + [(name, 500) for name in large]
    return [
        RealSetting(str(DATASETS / f"{name}.parquet"), targets[name], n)
        for name, n in pairs
        if name in targets
    ]


def guided_sources() -> list[RealSetting]:
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
        report = real if preset.startswith("real") else simulated
        print(f"\n## {preset}\n\n{report(preset, said.folder / preset, said.repetitions, said.p)}")
    return 0


def real(preset: str, folder: Path, repetitions: int, processes: int) -> str:
    """Return tables of searches on rows of real data."""
    static = preset == "real"
    own = sources() if static else guided_sources()
    methods = () if static else GENERAL
    with Counted(f"searches of {preset}") as progress:
        found = run_real(
            own, folder, min(repetitions, 30) if static else repetitions, methods, processes, progress
        )
    if not static:
        return plain(found, GENERAL)
    tables = (
        beside(found, published_real(own), [name.removesuffix("/reference") for name in COLUMNS]),
        plain(found, OTHERS), chosen(found, tuple(METHODS)), averages(found),
    )  # fmt: skip
    return "\n\n".join(tables)


def simulated(preset: str, folder: Path, repetitions: int, processes: int) -> str:
    """Return tables of simulated searches."""
    settings = PRESETS[preset]()
    with Counted(f"pieces of {preset}") as progress:
        found = run_coverage(settings, folder, repetitions, (), processes, progress)
        if preset == "paper":
            found += run_coverage(settings, folder, repetitions, AS_CODED, processes, progress)
    own = [one for one in found if one.method in METHODS]
    if preset == "paper":
        return f"{beside(found, published_simulations(), tuple(COLUMNS))}\n\n{averages(own)}"
    return f"{plain(found, GENERAL)}\n\n{averages(own)}"


if __name__ == "__main__":
    sys.exit(main())
