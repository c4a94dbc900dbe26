"""One line per framework and one cell per framework and task: what a leaderboard is made of."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from assay.analysis.impute import ABSENT, NOT_OWN, OK, FoldScores
from assay.analysis.pairwise import Pairwise
from assay.analysis.scaled import scale_from_worst
from assay.typing import Bools, Floats, Frame

__all__ = ["Cell", "Standing", "make_cells_by_task", "make_standings"]


@dataclass(frozen=True)
class Cell:
    """One framework on one task: the mean of the metric over its folds, imputed ones included."""

    mean: float | None
    folds: int
    failed: int
    imputed: int


@dataclass(frozen=True)
class Standing:
    """One framework over all tasks.

    Attributes:
        rank: average rank over the `tasks` that all ranked frameworks have, 1 is best, ties share; None where it is
            not ranked. `rank_low` and `rank_high` are its 95 % interval over tasks, None with too few of them.
        group: number of the tie group by rank: its first is not clearly better than the others of it.
        elo: Bradley–Terry strength with `anchor` at 1000, and its interval.
        wins: tasks on which it is the best alone.
        win_rate: share of comparisons with the others that it won, ties counting half.
        scaled: mean over tasks of its score from the worst (0) to the best (1).
        ok, failed, imputed: jobs that gave a score, that did not, and those of them that were filled in.
        fit_s, row_s: medians of training and of inference per row, of jobs that gave a score.
        fit_share: the longest fit as a share of its budget, jobs that were stopped included.
        meta_learning: `marked`, `excluded` (no rank unless asked for) or empty.
    """

    framework: str
    rank: float | None = None
    rank_low: float | None = None
    rank_high: float | None = None
    group: int | None = None
    elo: float | None = None
    elo_low: float | None = None
    elo_high: float | None = None
    wins: int = 0
    win_rate: float | None = None
    scaled: float | None = None
    tasks: int = 0
    ok: int = 0
    failed: int = 0
    imputed: int = 0
    fit_s: float | None = None
    row_s: float | None = None
    constant_predictions: int = 0
    fit_share: float | None = None
    meta_learning: str = ""


def make_standings(
    table: Frame, scores: FoldScores, compared: FoldScores, ranks: Floats, pairs: Pairwise | None
) -> tuple[Standing, ...]:
    """Return one standing per framework, best first; those without a rank come last."""
    scaled, jobs = _mean_scaled(compared), _by_framework(table)
    imputed = dict(zip(scores.frameworks, scores.imputed.sum(axis=0).tolist(), strict=True))
    out = []
    for name in sorted(scores.frameworks):
        standing = replace(jobs[name], imputed=imputed[name], meta_learning=scores.meta_learning[name])
        if name in compared.frameworks and compared.tasks:
            own_ranks = ranks[:, compared.frameworks.index(name)]
            standing = replace(
                standing,
                rank=float(own_ranks.mean()),
                wins=int((own_ranks == 1.0).sum()),
                tasks=len(own_ranks),
                scaled=scaled.get(name),
            )
            standing = _with_pairs(standing, pairs) if pairs else standing
        out.append(standing)
    return tuple(sorted(out, key=lambda s: (s.rank is None, s.rank or 0.0, s.framework)))


def _with_pairs(standing: Standing, pairs: Pairwise) -> Standing:
    at = pairs.frameworks.index(standing.framework)
    return replace(
        standing,
        rank_low=_number(pairs.rank_low[at]),
        rank_high=_number(pairs.rank_high[at]),
        elo=_number(pairs.elo[at]),
        elo_low=_number(pairs.elo_low[at]),
        elo_high=_number(pairs.elo_high[at]),
        win_rate=_number(pairs.win_rate[at]),
        group=int(pairs.rank_group[at]),
    )


def _by_framework(table: Frame) -> dict[str, Standing]:
    """Return what each framework's rows say by themselves."""
    import pandas as pd

    done = table["status"] == "ok"
    budget = table["budget_s"].astype(float)
    is_constant = table["constant_predictions"].eq(True) & (table["role"] != "constant")
    frame = pd.DataFrame(
        {
            "label": table["label"],
            "ok": done,
            "failed": ~done,
            "fit_s": table["fit_s"].astype(float).where(done),
            "row_s": table["row_s"].astype(float).where(done),
            "constant_predictions": is_constant,
            "fit_share": table["fit_s"].astype(float) / budget.where(budget > 0),
        }
    )
    how = {"ok": "sum", "failed": "sum", "fit_s": "median", "row_s": "median", "constant_predictions": "sum"}
    totals = frame.groupby("label").agg({**how, "fit_share": "max"})
    return {
        str(name): Standing(
            framework=str(name),
            ok=int(row["ok"]),
            failed=int(row["failed"]),
            fit_s=_number(row["fit_s"]),
            row_s=_number(row["row_s"]),
            constant_predictions=int(row["constant_predictions"]),
            fit_share=_number(row["fit_share"]),
        )
        for name, row in totals.to_dict("index").items()
    }


def _mean_scaled(compared: FoldScores) -> dict[str, float | None]:
    if not compared.tasks:
        return {}
    values = scale_from_worst(compared).values
    values = values[np.isfinite(values).all(axis=1)]
    means = values.mean(axis=0).tolist() if len(values) else [None] * len(compared.frameworks)
    return dict(zip(compared.frameworks, means, strict=True))


def _number(value: float | None) -> float | None:
    """Return a float, infinite ones included; None where there is none."""
    return None if value is None or np.isnan(value) else float(value)


def make_cells_by_task(scores: FoldScores) -> dict[tuple[str, str], Cell]:
    """Return the cells of all tasks on which somebody has a result of its own: one that cannot be read has none."""
    is_own = ~np.isin(scores.state, (NOT_OWN, ABSENT))
    is_scored = is_own & ~np.isnan(scores.values)
    first = np.flatnonzero(np.diff(scores.task, prepend=-1))  # rows of a task stand together

    def count(part: Bools) -> list[list[int]]:
        counts: list[list[int]] = np.add.reduceat(part.astype(int), first, axis=0).tolist()
        return counts

    sums = np.add.reduceat(np.where(is_scored, scores.values, 0.0), first, axis=0).tolist()
    counts, folds, failed = count(is_scored), count(is_own), count(is_own & (scores.state != OK))
    imputed = count(scores.imputed)
    return {
        (task, name): Cell(
            sums[t][j] / counts[t][j] if counts[t][j] else None, folds[t][j], failed[t][j], imputed[t][j]
        )
        for t, task in enumerate(scores.tasks)
        for j, name in enumerate(scores.frameworks)
        if folds[t][j]
    }
