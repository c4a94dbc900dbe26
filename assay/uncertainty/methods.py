"""All ways to an interval, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from assay.errors import ConfigError, UserError
from assay.uncertainty.bbc import Search, bbc, bbc_f, bbc_vc
from assay.uncertainty.naive import naive_folds, naive_samples, tt
from assay.uncertainty.result import Interval, Options
from assay.uncertainty.single_model import delong, delong_10p, hanley_mcneil, hanley_mcneil_10p
from assay.uncertainty.tilting import mabt, tilting, tilting_10p

__all__ = ["METHODS", "OWN_WINNER", "find_interval", "try_all"]

Method = Callable[[Search, Options, np.random.Generator], Interval]
METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "bbc": bbc,
        "bbc_f": bbc_f,
        "bbc_vc": bbc_vc,
        "naive_folds": naive_folds,
        "naive_samples": naive_samples,
        "delong": delong,
        "hanley_mcneil": hanley_mcneil,
        "tilting": tilting,
        "delong_10p": delong_10p,
        "hanley_mcneil_10p": hanley_mcneil_10p,
        "tilting_10p": tilting_10p,
        "mabt": mabt,
        "tt": tt,
    }
)

# These choose on a part of the rows, so whom they speak of may not be the winner of the cross-validation.
OWN_WINNER = frozenset(name for name in METHODS if name.startswith(("delong", "hanley", "tilting", "mabt")))
DRAW_NOTHING = frozenset(("delong", "delong_10p", "hanley_mcneil", "hanley_mcneil_10p", "tt"))


def find_interval(search: Search, method: str, options: Options, seed: int = 0) -> Interval:
    """Return the interval of one method; the same seed gives the same one, whatever was computed before."""
    if method not in METHODS:
        raise ConfigError(f"Unknown method '{method}'. There are: {', '.join(METHODS)}, all.")
    interval = METHODS[method](search, options, np.random.default_rng(seed))
    return interval.warned(*_without_effect(search, method, options))


def _without_effect(search: Search, method: str, options: Options) -> list[str]:
    """Return what to say of options that this method does not look at."""
    draws_rows = method not in DRAW_NOTHING | {"bbc_f", "naive_folds"}
    stratified = draws_rows and search.scorers[0].strata is not None and search.data.groups is None
    ignored = {
        "weights": options.weights is not None and method in DRAW_NOTHING,
        "resamples": options.resamples is not None
        and (method in DRAW_NOTHING or options.weights is not None),
        "split": options.evaluate is not None and method not in OWN_WINNER,
        "stratify": options.stratify and not stratified,
    }
    return [f"{name} has no effect on {method} here." for name, is_ignored in ignored.items() if is_ignored]


def try_all(search: Search, options: Options, seed: int = 0) -> list[Interval]:
    """Return the intervals of all methods; one that cannot be used here has no ends, and says why."""
    out = []
    for method in METHODS:
        try:
            out.append(METHODS[method](search, options, np.random.default_rng(seed)))
        except UserError as error:
            out.append(search.tell(method, options, warnings=(str(error),)))
    return out
