"""Configurations as frameworks with parameters: of the built-in pipeline, or of the user's own estimators."""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING
from uuid import uuid4

import pandas as pd

from assay.errors import ConfigError
from assay.files import write_replace
from assay.frameworks.find import find_framework
from assay.frameworks.spec import FrameworkSpec
from assay.searches.configurations import Configuration
from assay.searches.identity import identity
from assay.searches.tasks import label_kind

if TYPE_CHECKING:
    from assay.frameworks.pipeline.estimator import Estimator
    from assay.searches.inputs import SearchData

__all__ = ["Specs"]

PICKLE = "estimators.pickle"


class Specs:
    """Makes frameworks with parameters of configurations.

    An estimator is known by what it is and how it is set, so that a job that is done is found again. Where that cannot
    be told, and jobs are to be kept, ConfigError is raised. All estimators that were ever given lie in one file: jobs
    of some of them are then forked from the nursery of all.
    """

    def __init__(self, is_kept: bool) -> None:
        self._base = self._own = find_framework("pipeline")
        self._is_kept = is_kept
        self._keys: dict[int, str] = {}
        self._held: list[Estimator] = []
        self._given: dict[str, Estimator] = {}
        self._pickles: dict[str, bytes] = {}

    def add(self, configurations: Iterable[Configuration], folder: Path) -> None:
        """Write the estimators of configurations, and those that were given before, to a folder."""
        for one in configurations:
            if one.estimator is not None and id(one.estimator) not in self._keys:
                key = self._keys[id(one.estimator)] = _key(one.estimator, self._is_kept)
                self._given.setdefault(key, one.estimator)
                self._held.append(one.estimator)  # or another could get its id
        with _by_value():
            for key, estimator in self._given.items():
                self._pickles.setdefault(key, _pickled(estimator))
        if self._pickles:
            path = folder / PICKLE
            write_replace(path, lambda file: file.write(pickle.dumps(self._pickles)), durable=False)
            self._own = replace(self._base, name="own", files=(*self._base.files, path), params={})

    def of(self, configuration: Configuration, data: SearchData, seed: int) -> FrameworkSpec:
        """Return the framework of one configuration."""
        common = {"_seed": seed, "_labels": label_kind(data)}
        if configuration.estimator is None:
            return replace(self._base, params={**configuration.params(), **common})
        chosen = {"selector": configuration.selector.kind, "_own": self._keys[id(configuration.estimator)]}
        matrix = {} if isinstance(data.x, pd.DataFrame) else {"_matrix": True}
        return replace(self._own, params={**chosen, **matrix, **common})


def _key(estimator: Estimator, is_kept: bool) -> str:
    try:
        return hashlib.sha256(identity(estimator).encode()).hexdigest()[:20]
    except ConfigError:
        if is_kept:
            raise
        return uuid4().hex[:20]


def _pickled(estimator: Estimator) -> bytes:
    """Return an estimator as a pickle of its own: one that cannot be read again fails alone."""
    import cloudpickle

    try:
        content: bytes = cloudpickle.dumps(estimator)
        return content
    except Exception as error:  # whatever pickle raises
        raise ConfigError(f"{estimator!r} cannot be given to another process: {error}") from None


@contextmanager
def _by_value() -> Iterator[None]:
    """Pickle the classes and functions of the user's modules with their code: a job cannot import those modules."""
    import cloudpickle

    own = [module for module in list(sys.modules.values()) if _is_users(module)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def _is_users(module: ModuleType) -> bool:
    """Whether a module lies outside the interpreter's library and its installed packages."""
    file = getattr(module, "__file__", None)
    name = getattr(module, "__name__", "")
    if not isinstance(file, str) or name == "__main__" or sys.modules.get(name) is not module:
        return False
    installed = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return not any(os.path.realpath(file).startswith(os.path.realpath(path) + os.sep) for path in installed)
