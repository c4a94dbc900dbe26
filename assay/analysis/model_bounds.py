"""What the frameworks' own models promise: the corrected bound of each job's best model, beside its test score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Protocol

from assay.analysis.options import Option
from assay.analysis.record import AnalysisRecord, Medium, TextTable, as_json
from assay.analysis.registry import AnalysisSpec
from assay.analysis.wording import count_of, significant
from assay.errors import UserError
from assay.typing import JsonObject

if TYPE_CHECKING:
    from assay.analysis.inputs import Inputs

__all__ = ["ANALYSIS", "Bound", "ModelBounds", "share_inside"]


@dataclass(frozen=True)
class BoundOptions:
    """How sure the bounds are."""

    alpha: Annotated[
        float, Option("Error that is allowed: bounds hold with 1 - alpha.", above=0, below=1)
    ] = 0.05


class BoundInterval(Protocol):
    """What is shown of the interval of a model."""

    @property
    def winner_name(self) -> str:
        """Of which model."""

    @property
    def metric(self) -> str:
        """By which metric it was chosen."""

    @property
    def higher_is_better(self) -> bool:
        """The direction of the metric."""

    @property
    def cv_score(self) -> float:
        """Its score on the framework's own folds."""

    @property
    def estimate(self) -> float | None:
        """The score, corrected for having been chosen."""

    @property
    def lower(self) -> float | None:
        """The lower end."""

    @property
    def upper(self) -> float | None:
        """The upper end."""

    @property
    def n_boot(self) -> int:
        """The number of draws."""


class Bound(Protocol):
    """The best model of one job and its corrected interval, as `assay.uncertainty` computes it."""

    @property
    def framework(self) -> str:
        """Whose model."""

    @property
    def task(self) -> str:
        """Of which task."""

    @property
    def repeat(self) -> int:
        """Of which repeat."""

    @property
    def fold(self) -> int:
        """Of which fold."""

    @property
    def models(self) -> int:
        """From how many it was chosen."""

    @property
    def interval(self) -> BoundInterval:
        """Its corrected interval."""

    @property
    def test_score(self) -> float:
        """The framework's score on the test rows."""

    @property
    def is_same(self) -> bool:
        """Whether that is of this very model."""

    @property
    def is_inside(self) -> bool:
        """Whether the score on the test rows lies within the interval."""

    def to_json(self) -> JsonObject:
        """Return plain values."""


@dataclass(frozen=True)
class ModelBounds(AnalysisRecord):
    """The bounds of all jobs whose frameworks left out-of-fold predictions of their models."""

    bounds: tuple[Bound, ...]
    alpha: float
    notes: tuple[str, ...] = ()

    def rows(self) -> list[JsonObject]:
        """Return one row per job."""
        rows: list[JsonObject] = []
        for bound in self.bounds:
            interval = bound.interval
            rows.append(
                {
                    "task": bound.task,
                    "repeat": bound.repeat,
                    "fold": bound.fold,
                    "framework": bound.framework,
                    "models": bound.models,
                    "best": interval.winner_name,
                    "metric": interval.metric,
                    "cv_score": interval.cv_score,
                    "estimate": interval.estimate,
                    "lower": interval.lower,
                    "upper": interval.upper,
                    "test_score": bound.test_score,
                    "is_inside": bound.is_inside if bound.is_same else None,
                }
            )
        return rows

    def to_json(self) -> JsonObject:
        """Return the bounds with their intervals."""
        bounds = [bound.to_json() for bound in self.bounds]
        return as_json({"model_bounds": bounds, "alpha": self.alpha, "notes": self.notes})

    def tables(self, medium: Medium) -> tuple[TextTable, ...]:
        """Return one line per job: the best of its models, its corrected bound, and the framework's score."""
        heads = [
            "task", "fold", "framework", ">models", "best of its models", "metric", ">own folds", ">corrected",
            ">bound", ">framework in test", "inside",
        ]  # fmt: skip
        lines = []
        for bound in self.bounds:
            interval = bound.interval
            end = interval.lower if interval.higher_is_better else interval.upper
            fold = f"{bound.repeat}.{bound.fold}" if bound.repeat else str(bound.fold)
            inside = ("yes" if bound.is_inside else "no") if bound.is_same else ""
            scores = (interval.cv_score, interval.estimate, end, bound.test_score)
            names = [bound.task, fold, bound.framework, bound.models, interval.winner_name, interval.metric]
            lines.append([*names, *map(significant, scores), inside])
        return (
            TextTable(heads, lines, "The best of each job's own models, corrected for having been chosen"),
        )

    def summary(self) -> str:
        """Say whose bounds these are, and how often they held."""
        inside, judged = share_inside(self.bounds)
        held = (
            "Where a framework predicts with that very model, its test score lay within the bound in "
            f"{inside} of {count_of(judged, 'job')}."
            if judged
            else "No framework here predicts with a single one of these models: all combine them."
        )
        return (
            f"The best single model of each of {count_of(len(self.bounds), 'job')}, by the framework's own out-of-fold "
            f"predictions, corrected for having been chosen. {held}"
        )

    def caveat(self) -> str:
        """Say what the test score is of."""
        return (
            "The framework's score in the test is of whatever it predicts with, mostly an ensemble: it may be better "
            f"than its best model. Bounds hold with {100 * (1 - self.alpha):g} % ({self._how()})."
        )

    def remarks(self) -> tuple[str, ...]:
        """Say what the test score is of, and how often the bounds held."""
        inside, judged = share_inside(self.bounds)
        held = (
            f"; where it is that very model, it lay inside in {inside} of {judged} jobs." if judged else "."
        )
        return (
            f"The framework's score in the test is of whatever it predicts with, mostly an ensemble{held}",
        )

    def methods(self) -> tuple[tuple[str, str], ...]:
        """Say which method and how many draws."""
        return (("Bounds of models", f"{self._how()}, one-sided, level {1 - self.alpha:g}"),)

    def _how(self) -> str:
        return f"BBC, {max(bound.interval.n_boot for bound in self.bounds)} draws of rows"


def share_inside(bounds: Sequence[Bound]) -> tuple[int, int]:
    """Return in how many jobs the model's own test score lay within its interval, and of how many that is known."""
    judged = [bound for bound in bounds if bound.is_same and bound.interval.lower is not None]
    return sum(bound.is_inside for bound in judged), len(judged)


def compute(inputs: Inputs, options: BoundOptions) -> ModelBounds:
    """Bound the best models of the jobs that are looked at."""
    bounds, notes = inputs.bounds(set(inputs.rows["key"]), options.alpha, inputs.seed)
    if not bounds:
        missing = "No framework here left out-of-fold predictions of its models that can be judged."
        raise UserError(" ".join((missing, *notes)))
    ordered = sorted(bounds, key=lambda bound: (bound.task, bound.framework, bound.repeat, bound.fold))
    return ModelBounds(tuple(ordered), options.alpha, notes)


ANALYSIS = AnalysisSpec(
    name="models",
    title="What their own models promise",
    help="Show the corrected bound of each job's best single model, where its framework left predictions.",
    compute=compute,
    options=BoundOptions,
    needs=("out-of-fold predictions of models",),
    examples=("models --store results",),
)
