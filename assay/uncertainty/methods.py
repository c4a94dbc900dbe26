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

__all__ = ["METHODS", "find_interval", "try_all"]

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


def find_interval(search: Search, method: str, options: Options, seed: int = 0) -> Interval:
    """Return the interval of one method; the same seed gives the same one, whatever was computed before."""
    if method not in METHODS:
        raise ConfigError(f"Unknown method '{method}'. There are: {', '.join(METHODS)}, all.")
    return METHODS[method](search, options, np.random.default_rng(seed))


def try_all(search: Search, options: Options, seed: int = 0) -> list[Interval]:
    """Return the intervals of all methods; one that cannot be used here has no ends, and says why."""
    out = []
    for method in METHODS:
        try:
            out.append(find_interval(search, method, options, seed))
        except UserError as error:
            out.append(search.tell(method, options, warnings=(str(error),)))
    return out
