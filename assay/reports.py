"""All analyses on one page: which record becomes which section, and the appendix that says how each was made."""

from __future__ import annotations

import platform
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from assay import __version__
from assay.analyses import Analysis
from assay.analysis.trust import trust
from assay.errors import NotInstalled, UserError
from assay.report import sections as show
from assay.report.page import Part, render
from assay.report.sections import Section
from assay.report.tables import counted

__all__ = ["make_parts", "make_report", "write_report"]

ROPE = 0.01
NO_FIGURES = "There are no figures: they need matplotlib (pip install 'assay-bench[figures]')."


def make_report(data: Analysis, title: str = "Benchmark report") -> str:
    """Return the page: one HTML text that needs nothing else."""
    table = data.table
    jobs, tasks, frameworks = len(table), table["task"].nunique(), table["framework"].nunique()
    size = f"{counted(frameworks, 'framework')}, {counted(tasks, 'task')}, {counted(jobs, 'job')}"
    lead = f"{size}. From: {data.scores.origin}."
    missing = "" if _can_draw() else f" {NO_FIGURES}"
    return render(title, lead + missing, make_parts(data), _methods(data))


def write_report(path: str | Path, data: Analysis, title: str = "Benchmark report") -> None:
    """Write the page to a file."""
    Path(path).write_text(make_report(data, title), encoding="utf-8")


def make_parts(data: Analysis) -> list[Part]:
    """Return all parts of the page; one that cannot be made says why instead."""
    return [_made(name, title, make, data) for name, (title, make) in PARTS.items()]


def _made(name: str, title: str, make: Callable[[Analysis], Section], data: Analysis) -> Part:
    try:
        return Part(name, title, make(data))
    except UserError as error:
        return Part(name, title, empty=str(error))


def _standings(data: Analysis) -> Section:
    return show.show_standings(data.leaderboard())


def _pareto(against: str) -> Callable[[Analysis], Section]:
    def make(data: Analysis) -> Section:
        found, notes = data.pareto(against)
        if not found.points:
            raise UserError(f"No seconds of {against} are known.")
        return show.show_pareto(found, against, notes)

    return make


def _inference(data: Analysis) -> Section:
    times = data.inference_times()
    if not times:
        raise UserError("Inference was not timed by batches.")
    return show.show_inference(times)


def _bayes(data: Analysis) -> Section:
    found, notes = data.bayes(ROPE)
    if not found:
        raise UserError("At least two frameworks are needed.")
    return show.show_bayes(found, ROPE, notes)


METHODS = (
    ("Ranks", "means over folds, ranked within tasks, equals sharing their ranks"),
    (
        "Tests of ranks",
        "Friedman corrected for ties, Iman–Davenport, Nemenyi (infinite degrees of freedom), level 0.05",
    ),
    (
        "Elo",
        "Bradley–Terry with ties (Davidson) on all pairs on all folds, tasks counting alike; 1000 draws of tasks",
    ),
    ("Probabilities", f"Bayesian signed-rank test, region of equivalence ±{ROPE:g} gaps, 50,000 draws"),
    (
        "Tree",
        "model-based recursive partitioning, scores summed within tasks, Bonferroni, level 0.05, at least five tasks "
        "per leaf; p-values by permutation where tasks are few",
    ),
)
PARTS: dict[str, tuple[str, Callable[[Analysis], Section]]] = {
    "standings": ("Standings", _standings),
    "ranks": ("Average ranks", lambda data: show.show_ranks(*data.ranks())),
    "scaled": ("Scores on one scale", lambda data: show.show_scaled(*data.scaled())),
    "pairs": ("Who beats whom", lambda data: show.show_pairs(*data.pairwise())),
    "bayes": ("How probably better", _bayes),
    "tree": ("Which framework for which tasks", lambda data: show.show_tree(*data.tree())),
    "inference": ("Scores against inference time", _pareto("inference")),
    "training": ("Scores against training time", _pareto("training")),
    "time": ("Training time against the budget", lambda data: show.show_training(data.fit_times())),
    "batches": ("Inference by batch size", _inference),
    "failures": ("Failures", lambda data: show.show_failures(data.failures())),
    "budgets": ("What a longer budget bought", lambda data: show.show_budgets(data.budgets())),
    "anytime": ("Progress over time", lambda data: show.show_anytime(data.anytime())),
    "models": ("What their own models promise", lambda data: show.show_bounds(*data.model_bounds())),
    "sensitivity": (
        "Would other choices change it?",
        lambda data: show.show_sensitivity(*data.sensitivity()),
    ),
    "scores": ("All scores", lambda data: show.show_cells(data.cells())),
}


def _methods(data: Analysis) -> list[tuple[str, str]]:
    try:
        folds = data.folds
        imputed = ", ".join(f"{name} {count}" for name, count in data.imputed().items() if count) or "none"
        by_type = sorted(set(zip(folds.types, folds.metrics, strict=True)))
        metrics = ", ".join(f"{kind or 'all tasks'}: {name}" for kind, name in by_type)
    except UserError as error:
        imputed, metrics = str(error), "–"
    return [
        ("Metrics", metrics),
        ("Failures count as", f"{data.impute} (folds imputed: {imputed})"),
        *METHODS,
        ("Conditions", "; ".join([trust(data.table), *data.hardware])),
        (
            "Made with",
            f"assay {__version__}, Python {platform.python_version()}, {datetime.now(UTC):%Y-%m-%d}",
        ),
        ("Seed of draws", str(data.seed)),
    ]


def _can_draw() -> bool:
    from assay.report.style import figure_of

    try:
        with figure_of(1, 1):
            return True
    except NotInstalled:
        return False
