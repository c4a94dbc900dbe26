"""What a framework promises by taking part: results of the check's tasks → claims, kept or broken. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Literal

from assay.jobs.row import Row
from assay.testing.tasks import CATEGORIES_ALONE

if TYPE_CHECKING:
    import numpy as np

    from assay.frameworks.predictions import Predictions
    from assay.frameworks.spec import FrameworkSpec

__all__ = ["Promise", "Trial", "judge"]

FEWEST_ROWS = 20  # with fewer, chance may order the classes
RIGHT = 0.75  # whoever learned anything is right in more of the rows, since the tasks are easy
FAR = 0.25  # so much more often right is no chance


@dataclass(frozen=True)
class Promise:
    """One promise, and what is wrong with it, if anything.

    A `must` that is broken makes the framework's results wrong or absent; a `should` is a property to know of.
    """

    claim: str
    problem: str = ""
    kind: Literal["must", "should"] = "must"

    @property
    def is_broken(self) -> bool:
        """Whether the framework breaks the contract by it."""
        return bool(self.problem) and self.kind == "must"


@dataclass(frozen=True, eq=False)
class Trial:
    """One task of the check as the framework did it: its row and, where that is ok, its answer beside the truth.

    `again` is the answer of a second run with the same seed; `constant` the constant predictor's score. Each is
    None where there is none.
    """

    row: Row
    left_behind: int = 0
    classes: tuple[str, ...] = ()
    truth: np.ndarray | None = None
    answer: Predictions | None = None
    again: Predictions | None = None
    constant: float | None = None

    @property
    def task(self) -> str:
        """Return the task's name."""
        return self.row.task

    @property
    def n_test(self) -> int:
        """Return the number of test rows; 0 where there is no answer to them."""
        return 0 if self.truth is None else len(self.truth)


def judge(spec: FrameworkSpec, trials: Sequence[Trial]) -> Iterator[Promise]:
    """Yield the claims that can be judged from what there is: of a framework that never predicts, few."""
    unset = "" if spec.description else "`description` in its framework.toml is empty: say it in one sentence"
    yield Promise("its description says what it does", unset, "should")
    setup = [trial.row.message for trial in trials if trial.row.status == "setup"]
    yield Promise("it starts here", setup[0] if setup else "")
    for trial in trials:
        if trial.row.status != "setup":
            yield Promise(f"it predicts: {trial.task}", _failure(trial))
    done = [trial for trial in trials if trial.row.status == "ok"]
    if not done:
        return
    if spec.role != "constant":
        yield from _judge_learning(done)
    if spec.stops_by == "count":
        yield Promise(
            "the same seed gives the same predictions", _first(_difference(trial) for trial in done)
        )
    yield Promise("it counts its models", _uncounted(done), "should")
    yield Promise("it keeps its budget", _overrun(done), "should")
    yield Promise("it leaves no process behind", _leftovers(done), "should")


def _judge_learning(done: Sequence[Trial]) -> Iterator[Promise]:
    several = [trial for trial in done if trial.n_test >= FEWEST_ROWS]
    classified = [trial for trial in several if trial.classes]
    if several:
        yield Promise("its predictions depend on the features", _sameness(several))
    if classified:
        yield Promise("its classes are in the right order", _first(_disorder(trial) for trial in classified))
        yield Promise(
            "its labels go with its probabilities", _first(_contradiction(trial) for trial in classified)
        )
    by_category = [trial for trial in classified if trial.task == CATEGORIES_ALONE]
    if by_category:
        yield Promise("it learns from categories", _first(_ignorance(trial) for trial in by_category))
    yield Promise("it does better than the constant predictor", _weakness(done), "should")


def _first(problems: Iterator[str]) -> str:
    return next((problem for problem in problems if problem), "")


def _failure(trial: Trial) -> str:
    row = trial.row
    return "" if row.status == "ok" else f"{row.status}: {row.message}"


def _sameness(several: Sequence[Trial]) -> str:
    if not all(trial.row.constant_predictions for trial in several):
        return ""
    return f"on {_names(several)} every test row gets the same answer: see in the log whether a model was trained"


def _disorder(trial: Trial) -> str:
    """Say in which order of the classes the answer would be far more often right than as it stands."""
    import numpy as np

    answer, truth = trial.answer, trial.truth
    if answer is None or answer.probabilities is None:
        return ""
    likely = answer.probabilities.argmax(axis=1)
    orders = list(permutations(range(len(trial.classes))))
    right = [float(np.mean(np.array(order)[likely] == truth)) for order in orders]
    best, now = int(np.argmax(right)), right[0]  # the first order is the one asked for
    if right[best] < RIGHT or now > right[best] - FAR:
        return ""
    order = ", ".join(repr(trial.classes[code]) for code in orders[best])
    return (
        f"on {trial.task} its probabilities point to the right class in {now:.0%} of the rows, but in "
        f"{right[best]:.0%} if its columns are {order}: name its own order with Prediction(…, classes=…)"
    )


def _ignorance(trial: Trial) -> str:
    """Say that the answer is not what the categories tell; one wrong in another way is named by another claim."""
    if trial.answer is None or trial.truth is None or trial.row.constant_predictions or _disorder(trial):
        return ""
    p = trial.answer.probabilities
    likely = trial.answer.values if p is None else p.argmax(axis=1)
    right = float((likely == trial.truth).mean())
    if right >= RIGHT:
        return ""
    return (
        f"on {trial.task}, where categories alone tell the class, it is right in {right:.0%} of the rows: see whether "
        "they reach the learner as categories"
    )


def _contradiction(trial: Trial) -> str:
    import numpy as np

    if trial.answer is None or trial.answer.probabilities is None:
        return ""
    likely = trial.answer.probabilities.argmax(axis=1)
    share = float(np.mean(likely == trial.answer.values))
    if share >= RIGHT:
        return ""
    return f"on {trial.task} the label is the most probable class in {share:.0%} of the rows only: map labels exactly"


def _weakness(done: Sequence[Trial]) -> str:
    weak = []
    for trial in done:
        row, score, constant = trial.row, trial.row.score, trial.constant
        if score is None or constant is None:
            continue
        is_better = score > constant if row.higher_is_better[row.metric] else score < constant
        if not is_better:
            weak.append(f"{trial.task} ({row.metric} {score:.4g}, the constant's {constant:.4g})")
    return f"not on {', '.join(weak)}, although the features tell the target" if weak else ""


def _difference(trial: Trial) -> str:
    import numpy as np

    first, second = trial.answer, trial.again
    if first is None:
        return ""
    same = second is not None and np.array_equal(first.values, second.values)
    if same and second is not None and first.probabilities is not None:
        same = np.array_equal(first.probabilities, np.asarray(second.probabilities))
    remedy = 'hand on train.seed, or say stops_by = "time" if it stops by time'
    return "" if same else f"they differ on {trial.task}: {remedy}"


def _uncounted(done: Sequence[Trial]) -> str:
    silent = [trial for trial in done if trial.row.models_count is None]
    return f"not on {_names(silent)}: call train.report(models_count=…)" if silent else ""


def _overrun(done: Sequence[Trial]) -> str:
    late = [
        f"{trial.row.fit_s:.1f} s on {trial.task}"
        for trial in done
        if (trial.row.fit_s or 0) > trial.row.budget_s
    ]
    return f"told {done[0].row.budget_s:g} s, it took {', '.join(late)}" if late else ""


def _leftovers(done: Sequence[Trial]) -> str:
    left = [f"{trial.left_behind} on {trial.task}" for trial in done if trial.left_behind]
    return f"{', '.join(left)}; they were killed: end them in close(model)" if left else ""


def _names(trials: Sequence[Trial]) -> str:
    return ", ".join(trial.task for trial in trials)
