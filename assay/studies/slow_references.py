"""The plain way to judge a search by the bootstrap, which fits everything many times over: to check the fast ones with.

The search is repeated on each of many draws of rows, and its winner is scored on the rows not drawn. The other plain
way, nested cross-validation, is `assay.searches.nested`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from assay.errors import DataError, UserError
from assay.metrics import get_metric
from assay.searches.fits import Fitting, Work
from assay.searches.folds import Fold, fold_rows
from assay.searches.inputs import SearchData
from assay.searches.nested import find_winners, score_winners
from assay.uncertainty.result import Options, read_off

if TYPE_CHECKING:
    from assay.typing import Floats, Ints

__all__ = ["direct_bootstrap"]


def direct_bootstrap(
    fitting: Fitting, work: Work, draws: int = 100, options: Options | None = None
) -> tuple[float, float, float, Floats]:
    """Return estimate, lower and upper end, and the score of each draw's winner on the rows that were not drawn.

    Each search has as many folds as the work has. Copies of a row stay in one fold of the search: else it would be
    tested on what it learned, which the papers do not speak of. Groups are drawn whole. A bag that cannot be searched
    on (a class has one row in it) is left out; where most are, DataError is raised.
    """
    random = np.random.default_rng(work.demand.seed)
    folds = 1 + max(fold for _, fold, _, _ in work.folds)
    searches, bags = [], []
    for draw in range(draws):
        rows = _bag(work.data, random)
        try:
            searches.append(_search(work, rows, folds, work.demand.seed + draw))
        except UserError:  # a class has too few rows in the bag to be searched on
            continue
        bags.append((0, draw, rows, np.setdiff1d(np.arange(work.data.n_rows), rows)))
    defined = _scores(fitting, work, searches, bags)
    if 2 * len(defined) <= draws:
        raise DataError(
            f"Only {len(defined)} of {draws} bags could be searched on and judged by {work.metric}: there are too few "
            "rows of a class, or too few groups."
        )
    low, high = read_off(get_metric(work.metric), defined, options or Options())
    return float(defined.mean()), low, high, defined


def _scores(fitting: Fitting, work: Work, searches: list[Work], bags: list[Fold]) -> Floats:
    if not searches:
        return np.zeros(0)
    scores = score_winners(fitting, work, bags, find_winners(fitting, searches))
    return scores[np.isfinite(scores)]


def _search(work: Work, rows: Ints, folds: int, seed: int) -> Work:
    groups = np.unique(rows, return_inverse=True)[1] if work.data.groups is None else None
    bag = work.data.take(rows, groups=groups)
    demand = replace(work.demand, seed=seed)
    return Work(bag, work.configurations, fold_rows(bag, folds, 1, seed)[0], demand, work.metric)


def _bag(data: SearchData, random: np.random.Generator) -> Ints:
    """Return rows drawn with replacement, as many as there are; of groups all rows, as many groups as there are."""
    if data.groups is None:
        return random.integers(data.n_rows, size=data.n_rows)
    n_groups = int(data.groups.max()) + 1
    drawn = random.integers(n_groups, size=n_groups)
    return np.concatenate([np.flatnonzero(data.groups == group) for group in drawn])
