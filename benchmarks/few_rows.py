"""Why bounds fall short on few rows: `python -m benchmarks.few_rows`, ten minutes on two cores.

Simulated searches say how often a bound holds by the number of rows, and by how many draws had no error in them. Real
ones, whose truth is taken in three ways, say whether the models of other fifty rows have a part in it (needs the
reference data).
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from itertools import pairwise, product
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from assay.searches.folds import fold_rows
from assay.studies.interval_coverage import run_coverage
from assay.studies.real_coverage import FOLDS, RealSetting, draw, open_study, search_rows, true_scores
from assay.studies.simulate import Setting, draw_search
from assay.uncertainty.bbc import prepare
from assay.uncertainty.coverage import Coverage
from assay.uncertainty.methods import find_interval
from assay.uncertainty.result import TIE, Options
from benchmarks.coverage import guided_sources

METHODS = ("bbc", "bbc_f")
METRICS = ("auc", "acc")
SHARES = (0.0, 0.2, 0.5, 0.8, 1.0)
ROWS = (10, 20, 30, 50, 100)
DATA = "PhishingWebsites"


def settings() -> list[Setting]:
    """Return searches for models from fair to nearly perfect, by 50 and 200 rows."""
    betas = ((24, 6), (60, 6), (95, 5), (190, 5))
    return [
        Setting(metric, n=n, c=60, balance=0.44, beta=beta, rho=rho)
        for metric, n, beta, rho in product(METRICS, (50, 200), betas, (0.0, 0.8, 0.95))
    ]


def small_settings() -> list[Setting]:
    """Return searches by few rows, by four metrics, of configurations that err by themselves and together."""
    return [
        Setting(metric, n=n, c=60, beta=(24, 6), rho=rho, classes=0 if metric == "rmse" else 2)
        for n, metric, rho in product(ROWS, (*METRICS, "logloss", "rmse"), (0.0, 0.8))
    ]


def by_rows(found: Sequence[Coverage]) -> str:
    """Return how often the bounds of BBC held, by rows, where configurations err by themselves and together."""
    metrics = (*METRICS, "logloss", "rmse")
    heads = [f"{metric}, {how}" for metric, how in product(metrics, ("alone", "together"))]
    lines = [f"| rows | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for n in ROWS:
        own = [one for one in found if one.n == n]
        lines.append(f"| {n} | {' | '.join(f'{one.inclusion:.3f}' for one in own)} |")
    return "\n".join(lines)


def simulate(setting: Setting, number: int) -> list[tuple[str, str, float, bool]]:
    """Return method, metric, the share of draws without an error, and whether the bound held."""
    drawn = draw_search(setting, np.random.default_rng(number))
    search, out = prepare(drawn.data, setting.metric), []
    for method in METHODS:
        found = find_interval(search, method, Options(), number)
        perfect = found.distribution >= 1 - TIE
        share = float(np.average(perfect, weights=found.probabilities))
        out.append((method, setting.metric, share, bool(drawn.truth[found.winner] >= found.lower)))
    return out


def by_share(rows: Sequence[tuple[str, str, float, bool]]) -> str:
    """Return how often bounds held, by the share of draws without an error, and of how many searches."""
    kinds = list(product(METHODS, METRICS))
    lines = [f"| draws without an error | {' | '.join(f'{one}, {metric}' for one, metric in kinds)} |"]
    lines.append("|---|" + "---|" * len(kinds))
    for low, high in pairwise(SHARES):
        cells = []
        for kind in kinds:
            held = [
                inside for *own, share, inside in rows if tuple(own) == kind and _within(share, low, high)
            ]
            cells.append(f"{fmean(held):.3f} of {len(held)}" if held else "–")
        lines.append(f"| {low:.0%} to {high:.0%} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _within(share: float, low: float, high: float) -> bool:
    return low < share <= high or (low == 0 and share == 0)


def search_real(source: RealSetting, number: int) -> dict[str, Any]:
    """Return bounds, and the truth of the winner: fitted on all rows, and the mean of its ten models of the folds."""
    drawn = draw(source, number)
    split, _ = fold_rows(drawn.train, FOLDS, 1, drawn.seed)
    with TemporaryDirectory() as folder, open_study(Path(folder)) as fitting:
        predictions, tried = search_rows(fitting, source, drawn)
        search = prepare(predictions, source.metric)
        winner = tried[predictions.names[search.winner]]
        final = true_scores(fitting, source, drawn, (winner,))[winner.name]
        folds = [true_scores(fitting, source, drawn, (winner,), rows)[winner.name] for _, _, rows, _ in split]
    return {
        "final": final,
        "folds": fmean(folds),
        **{method: find_interval(search, method, Options(), drawn.seed).lower for method in METHODS},
    }


def by_truth(rows: Sequence[dict[str, Any]]) -> str:
    """Return how often bounds held, by what is taken as the truth."""
    average = fmean(row["final"] for row in rows)
    truths = {
        "the winner, fitted on all rows": [row["final"] for row in rows],
        "the mean of its ten models of the folds": [row["folds"] for row in rows],
        "the mean of all winners": [average] * len(rows),
    }
    lines = [f"| truth | {' | '.join(METHODS)} |", "|---|" + "---|" * len(METHODS)]
    for name, values in truths.items():
        held = [fmean(truth >= row[one] for truth, row in zip(values, rows, strict=True)) for one in METHODS]
        lines.append(f"| {name} | {' | '.join(f'{share:.3f}' for share in held)} |")
    return "\n".join(lines)


def main() -> None:
    """Run both, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("-p", type=int, default=2)
    said = parser.parse_args()
    numbers = range(said.repetitions)
    with TemporaryDirectory() as folder:
        print(
            by_rows(run_coverage(small_settings(), Path(folder), 2 * said.repetitions, ["bbc"], said.p)),
            flush=True,
        )
    print()
    with Parallel(n_jobs=said.p) as run:
        made = run(delayed(simulate)(setting, number) for setting in settings() for number in numbers)
        print(by_share([row for rows in made for row in rows]), flush=True)
        for source in guided_sources():
            if (Path(source.path).stem, source.strategy) == (DATA, "random"):
                print(
                    f"\n{source.name}\n\n{by_truth(run(delayed(search_real)(source, one) for one in numbers))}"
                )


if __name__ == "__main__":
    main()
