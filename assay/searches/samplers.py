"""Take configurations out of a space: all of them, draws by chance, an even spread, or optuna's proposals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from math import gcd, lcm
from typing import TYPE_CHECKING, Literal

import numpy as np

from assay.errors import ConfigError, NotInstalled
from assay.frameworks.space import Choice, Configured, Domain, Range, Space, Value
from assay.vocabulary import TaskType

if TYPE_CHECKING:
    import optuna

    from assay.searches.configurations import Configuration, Part

__all__ = ["Guide", "all_of", "draw", "open_guide", "propose", "spread", "tell"]

Guide = Literal["guided", "random"]


def all_of(space: Space, task_type: TaskType, most: int | None = None) -> list[Configured] | None:
    """Return all configurations of a space, or None if there is no end of them, or more than `most`."""
    every = space.every(task_type)
    if every is None:
        return None
    found = list(islice(every, None if most is None else most + 1))
    return None if most is not None and len(found) > most else found


def draw(space: Space, task_type: TaskType, seed: int) -> Iterator[Configured]:
    """Yield independent draws without end; the same seed gives the same ones, so more of them include the fewer."""
    random = np.random.default_rng(seed)
    while True:
        yield space.configure(task_type, lambda _, domain: domain.at(float(random.random())))


def spread(configurations: Sequence[Configuration], seed: int) -> Iterator[Configuration]:
    """Yield configurations in an order in which selectors and families of learners take turns.

    Each cell of the two yields one at random. Walking both in step meets only every g-th cell, where g divides both
    numbers (three of 9 × 6): the next rounds begin one, two, … selectors further on.
    """
    random = np.random.default_rng(seed)
    cells: dict[tuple[Part, str], list[Configuration]] = {}
    for configuration in configurations:
        cells.setdefault((configuration.selector, configuration.learner.kind), []).append(configuration)
    selectors = list(dict.fromkeys(selector for selector, _ in cells))
    families = list(dict.fromkeys(family for _, family in cells))
    selectors = [selectors[at] for at in random.permutation(len(selectors))]
    families = [families[at] for at in random.permutation(len(families))]
    for cell in cells.values():
        random.shuffle(cell)
    while any(cells.values()):
        for shift in range(gcd(len(selectors), len(families))):
            for at in range(lcm(len(selectors), len(families))):
                cell = cells.get((selectors[(at + shift) % len(selectors)], families[at % len(families)]), [])
                if cell:
                    yield cell.pop()


def open_guide(guide: Guide, higher: bool, seed: int) -> optuna.Study:
    """Return an optuna study: `guided` by its tree-structured Parzen estimator, or `random`, which ignores scores."""
    try:
        import optuna
    except ImportError:
        raise NotInstalled("Guided searches need optuna: pip install 'assay-bench[search]'.") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler: optuna.samplers.BaseSampler = (
        optuna.samplers.TPESampler(seed=seed)
        if guide == "guided"
        else optuna.samplers.RandomSampler(seed=seed)
    )
    return optuna.create_study(direction="maximize" if higher else "minimize", sampler=sampler)


def tell(study: optuna.Study, trial: optuna.Trial, score: float | None) -> None:
    """Tell the guide how good its proposal is; None if it failed."""
    from optuna.trial import TrialState

    if score is None:
        study.tell(trial, state=TrialState.FAIL)
    else:
        study.tell(trial, score)


def propose(space: Space, task_type: TaskType, trial: optuna.Trial) -> Configured:
    """Return the configuration that a trial of optuna proposes.

    Bell curves are proposed by the share of their distribution, so that a random sampler keeps it. Weights of choices
    have no counterpart in optuna: it takes all as equally likely at first.
    """

    def suggest(name: str, domain: Domain) -> Value:
        if isinstance(domain, Choice):
            # One value is not a question, and would only move the sampler's random numbers on.
            return (
                domain.values[0]
                if len(domain.values) == 1
                else trial.suggest_categorical(name, domain.values)
            )
        if not isinstance(domain, Range):
            return domain.at(trial.suggest_float(name, 0.0, 1.0))
        if domain.whole:
            step = int(domain.step or 1)
            return trial.suggest_int(name, int(domain.low), int(domain.high), step=step, log=domain.log)
        return trial.suggest_float(name, domain.low, domain.high, step=domain.step, log=domain.log)

    try:
        return space.configure(task_type, suggest)
    except ValueError as error:  # such as another range under the same name, which optuna does not take
        raise ConfigError(f"Optuna cannot propose from this space: {error}") from None
