"""The probability that one framework is better than another, and by more than matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np

from assay.analysis.bayes_tests import (
    SAMPLES,
    OneTask,
    SignedRank,
    compare_on_tasks,
    correlated_t,
    nadeau_bengio,
    signed_rank,
    signed_rank_pairs,
)
from assay.analysis.options import Option
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec
from assay.analysis.scaled import in_gaps
from assay.analysis.wording import significant
from assay.errors import ConfigError, UserError
from assay.typing import Json, JsonObject

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from assay.analysis.inputs import Inputs
    from assay.drawing import Drawing

__all__ = [
    "ANALYSIS",
    "OneTask",
    "PairOnTasks",
    "Probabilities",
    "SignedRank",
    "compare_on_tasks",
    "correlated_t",
    "nadeau_bengio",
    "signed_rank",
    "signed_rank_pairs",
]

ROPE_GAPS = 0.01  # a hundredth of the way from the constant predictor to the best hardly ever matters
CLEAR = 0.95  # a pair is called decided above this probability


@dataclass(frozen=True)
class BayesOptions:
    """What is taken as equivalent, and whether one pair is tested on each task."""

    rope: Annotated[
        float | None,
        Option(
            "Half the width of the region of equivalence: in gaps (0.01); with --pair in the metric's units (0).",
            least=0,
        ),
    ] = None
    pair: Annotated[str, Option("A,B: test this pair on each task by itself.")] = ""


@dataclass(frozen=True)
class Probabilities(AnalysisRecord):
    """The signed-rank test of every pair of frameworks; differences in gaps from the constant predictor to the best.

    `rope` is half the width of the region of equivalence, `samples` the number of draws from the posterior.
    """

    rope: float
    pairs: tuple[SignedRank, ...]
    samples: int = SAMPLES
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per pair."""
        return [as_json(pair) for pair in self.pairs]

    def to_json(self) -> JsonObject:
        """Return the probabilities of all pairs."""
        return as_json({"rope": self.rope, "pairs": self.pairs, "notes": self.notes})

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return one line per pair."""
        lines = [
            [pair.a, pair.b, f"{pair.p_a:.3f}", f"{pair.p_rope:.3f}", f"{pair.p_b:.3f}",
             significant(pair.mean_difference)]
            for pair in self.pairs
        ]  # fmt: skip
        heads = ["A", "B", ">P(A better)", ">P(equivalent)", ">P(B better)", ">mean A - B"]
        return (TextTable(heads, lines),)

    def summary(self) -> str:
        """Say how many pairs are decided."""
        decided = sum(max(pair.p_a, pair.p_b) > CLEAR for pair in self.pairs)
        equivalent = sum(pair.p_rope > CLEAR for pair in self.pairs)
        return (
            f"In {decided} of {len(self.pairs)} pairs one is better with a probability above {100 * CLEAR:g} %; "
            f"{equivalent} pairs are equivalent with that probability."
        )

    def caveat(self) -> str:
        """Say what equivalent means."""
        return (
            f"Equivalent means: within {self.rope:g} of the gap from the constant predictor to the best. "
            "All other pairs are undecided."
        )

    def remarks(self) -> tuple[str, ...]:
        """Return nothing: the table says it all."""
        return ()

    def nothing_to_show(self) -> str:
        """Say what is missing where there is no pair."""
        return "" if self.pairs else "At least two frameworks are needed."

    def drawings(self) -> tuple[Drawing, ...]:
        """Return a matrix of probabilities."""
        from assay.drawing import Drawing, square_size

        names = {name for pair in self.pairs for name in (pair.a, pair.b)}
        return (Drawing(*square_size(len(names)), self._draw),)

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say which test, region and number of draws."""
        how = f"Bayesian signed-rank test, region of equivalence ±{self.rope:g} gaps, {self.samples:,} draws"
        return (("Probabilities", how),)

    def _draw(self, figure: Figure) -> None:
        """Draw the probability that the row is better than the column by more than the region of equivalence."""
        from assay.drawing import paint_square

        names = list(dict.fromkeys(name for pair in self.pairs for name in (pair.a, pair.b)))
        shares = np.full((len(names), len(names)), np.nan)
        for pair in self.pairs:
            i, j = names.index(pair.a), names.index(pair.b)
            shares[i, j], shares[j, i] = pair.p_a, pair.p_b
        order = np.argsort(-np.nansum(shares, axis=1), kind="stable")
        ordered = shares[np.ix_(order, order)]
        paint_square(figure, [names[i] for i in order], ordered, "P(row is better than column)")


@dataclass(frozen=True)
class PairOnTasks(AnalysisRecord):
    """One pair of frameworks on each task by itself, in the metric's units, positive where A is better."""

    a: str
    b: str
    rope: float
    tasks: tuple[OneTask, ...]
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per task."""
        return [as_json(task) for task in self.tasks]

    def to_json(self) -> list[Json]:
        """Return one object per task."""
        return as_json(self.tasks)

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return one line per task."""
        lines = [
            [task.task, significant(task.mean_difference), f"{task.p:.3g}", f"{task.p_a:.3f}", f"{task.p_rope:.3f}",
             f"{task.p_b:.3f}"]
            for task in self.tasks
        ]  # fmt: skip
        heads = [f">P({self.a} better)", ">P(equivalent)", f">P({self.b} better)"]
        return (TextTable(["task", f">{self.a} - {self.b}", ">corrected p", *heads], lines),)

    def summary(self) -> str:
        """Say which test the p-values are from."""
        return (
            "Corrected p: Nadeau and Bengio's resampled t-test, each task by itself, not corrected for the number of "
            "tasks."
        )


def compute(inputs: Inputs, options: BayesOptions) -> Probabilities | PairOnTasks:
    """Test all pairs over tasks, or one pair on each task."""
    if options.pair:
        return _on_each_task(inputs, options.pair, options.rope or 0.0)
    rope = ROPE_GAPS if options.rope is None else options.rope
    compared = inputs.compared
    means, names, notes = in_gaps(compared.scores)
    pairs = signed_rank_pairs(means, names, rope, inputs.random(), SAMPLES)
    return Probabilities(rope, tuple(pairs), SAMPLES, (*compared.notes, *notes))


def _on_each_task(inputs: Inputs, pair: str, rope: float) -> PairOnTasks:
    names = [name.strip() for name in pair.split(",")]
    if len(names) != 2:
        raise ConfigError(f"The pair is '{pair}': name two frameworks, as in flaml,tpot.")
    a, b = names
    tasks = compare_on_tasks(inputs.folds, a, b, rope)
    if not tasks:
        raise UserError(f"{a} and {b} have no task with two folds in common: there is nothing to test.")
    return PairOnTasks(a, b, rope, tuple(tasks))


ANALYSIS = AnalysisSpec(
    name="bayes",
    title="Probability of being better",
    help="Show how probable it is that one framework is better than another, or that both are equivalent.",
    about="A gap is the distance from the constant predictor to the best framework on a task.",
    compute=compute,
    options=BayesOptions,
    examples=(
        "bayes --scores results.csv --rope 0.01",
        "bayes --scores results.csv --pair flaml,tpot",
    ),
    figures={"figure": "Draw the probabilities of all pairs: SVG, PDF or PNG."},
)
