"""`assay search`: the best of many configurations on one's own table, and how good it really is."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.interval import with_flags_in_warnings
from assay.cli.options import Csv, Tier, parse_csv_words
from assay.cli.output import check_target, number, outward, print_json, print_table, say
from assay.cli.progress import Counted
from assay.cli.run_options import check_tier
from assay.errors import ConfigError, UserError
from assay.files import is_number

if TYPE_CHECKING:
    from assay.searches.nested import Nested
    from assay.searches.result import SearchResult

__all__ = ["register"]

BEST = 10
METHOD_NAMES = {"bbc": "Bootstrap bias correction", "bbc_f": "Bootstrap bias correction over folds"}


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("search")(search)


def search(
    data: Annotated[str, typer.Argument(help="Data file (CSV, TSV, ARFF, Parquet …) or openml/t/ID.")],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")] = "",
    metric: Annotated[
        str,
        typer.Option(
            help="Metric to optimise. Default: auc; logloss for several classes; rmse for regression."
        ),
    ] = "",
    configurations: Annotated[
        str, typer.Option(metavar="N", help="Number of configurations to try, or all of the space.")
    ] = "60",
    space: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Search space: pipelines (766 configurations), ranges, a TOML file or file.py:function.",
        ),
    ] = "pipelines",
    folds: Annotated[int, typer.Option(help="Number of folds of the cross-validation.")] = 10,
    repeats: Annotated[int, typer.Option(help="Number of repeats of the cross-validation.")] = 1,
    group: Annotated[
        str,
        typer.Option(
            metavar="COLUMN",
            help="Column of groups; a group is never split between folds.",
        ),
    ] = "",
    csv: Csv = None,
    constraint: Annotated[
        str, typer.Option(metavar="LIMITS", help="What one fit may use: time, cores and memory.")
    ] = "10m1c",
    parallel: Annotated[
        int | None, typer.Option("--parallel", "-p", help="Number of jobs at a time. Default: all cores.")
    ] = None,
    tier: Tier = "auto",
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Store for the jobs of the search; run the same command again to continue."
        ),
    ] = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run failed jobs of the folder again.")
    ] = False,
    nested: Annotated[
        bool,
        typer.Option(
            "--nested",
            help="Also repeat the search within each of as many outer folds (nested cross-validation).",
        ),
    ] = False,
    method: Annotated[
        str,
        typer.Option(help="Method of the interval: bbc, bbc_f, bbc_vc, or for comparison naive_folds … tt."),
    ] = "bbc",
    alpha: Annotated[float, typer.Option(help="Error level of the interval; 0.05 for 95 %.")] = 0.05,
    side: Annotated[
        str, typer.Option(help="Sides of the interval: one (open towards the best value) or two.")
    ] = "one",
    seed: Annotated[int, typer.Option(min=0, help="Seed of folds, learners and draws.")] = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write all predictions to a Parquet or CSV file."
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the fitted winner to a file for joblib.load.")
    ] = None,
    json: Annotated[bool, typer.Option(help="Print JSON.")] = False,
) -> None:
    """Find the best of many configurations, and estimate its performance on new data.

    A configuration is a selection of columns and a learner. By default 60 of the 766 of the paper's search space are
    tried, spread evenly. The estimate is corrected for the fact that the winner is the best of many. Each fit is a job
    in a sandbox; with --folder, `assay status`, `assay results` and `assay explain` show them.

    \b
    Examples:
      assay search churn.csv --target left
      assay search churn.csv --target left --configurations all --folder churn-search
      assay search prices.parquet --target price --metric mae --model best.joblib
      assay search churn.csv --target left --space ranges --configurations 100
    """
    for path in (output, model):
        if path is not None:
            check_target(path)
    if output is not None and output.suffix not in (".csv", ".parquet"):
        raise ConfigError(f"{output}: predictions are written as .parquet or .csv.")
    check_tier(tier)
    from assay.runs.executors.base import ExecutorOptions
    from assay.runs.executors.registry import make_executor
    from assay.runs.run import RunOptions
    from assay.searches.search import search as find

    goes_on = "The same command goes on from there." if folder else "Nothing is kept without --folder."
    with Counted("jobs", json, goes_on) as progress:
        result = find(
            data,
            target or None,
            metric=metric,
            configurations=_how_many(configurations),
            space=space,
            folds=folds,
            repeats=repeats,
            groups=group or None,
            csv=parse_csv_words(csv),
            seed=seed,
            constraint=constraint,
            executor=make_executor("local", ExecutorOptions(parallel, tier)),
            run_options=RunOptions(retry_failed=retry_failed),
            folder=folder,
            nested=nested,
            method=method,
            progress=progress,
            alpha=alpha,
            side=side,
        )
    result = replace(result, interval=with_flags_in_warnings(result.interval))
    # What was found is told first: it took long, and a disk may be full.
    if json:
        print_json(result.to_json())
    else:
        _print(result)
    for path, write in ((output, result.write_predictions), (model, partial(_write_model, result.model))):
        try:
            if path is not None:
                write(path)
        except OSError as error:
            raise UserError(f"{path} could not be written: {error.strerror or error}.") from None


def _how_many(text: str) -> int | str:
    if text != "all" and not (is_number(text) and int(text) > 0):
        raise ConfigError(f"--configurations {text}: give a number, or all.")
    return text if text == "all" else int(text)


def _write_model(model: Any, path: Path) -> None:
    import joblib

    if model is None:
        raise UserError(f"{path} is not written: the winner could not be fitted on all rows (see the notes).")
    path = path.resolve()  # what a link points at, not the link
    unfinished = path.with_name(f"{path.name}.part")
    try:
        joblib.dump(model, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def _print(result: SearchResult) -> None:
    best = list(result.scores.items())[:BEST]
    lines = [[at, name, number(score)] for at, (name, score) in enumerate(best, start=1)]
    arrow = "↑" if result.interval.higher_is_better else "↓"
    print_table("", [">", "configuration", f">{result.metric}{arrow} in the cross-validation"], lines)
    for note in (*result.notes, *result.interval.warnings):
        say(f"note: {note}")
    say()
    say(_for_everyone(result))
    say(_for_statisticians(result))
    if result.nested is not None:
        say(_nested(result.nested, result))


def _for_everyone(result: SearchResult) -> str:
    from assay.searches.configurations import TRIVIAL

    interval = result.interval
    n = len(result.scores)
    if result.is_trivial:
        tried = f"None of the {n} configurations beats" if n > 1 else f"{result.winner} does not beat"
        return f"{tried} {TRIVIAL.name}, which predicts the same for every row."
    what = f"The best of {n} is {result.winner}" if n > 1 else f"{result.winner} was tried"
    if interval.estimate is None:
        return f"{what}; how good it is on new rows could not be estimated."
    expectation = f"{what}: on new rows expect {result.metric} of about {number(interval.estimate, 3)}"
    if interval.lower is None or interval.upper is None:
        return f"{expectation}."
    if not interval.reliable:
        return f"{expectation}; how much worse it may be cannot be estimated from these rows (see the notes)."
    sure = f"{100 * (1 - interval.alpha):.4g} % sure"
    low, high = outward(interval.lower, True, 3), outward(interval.upper, False, 3)
    if interval.side == "two":
        return f"{expectation}, and be {sure} of {low} to {high}."
    return f"{expectation}, and be {sure} of {f'{low} or more' if interval.higher_is_better else f'{high} or less'}."


def _nested(nested: Nested, result: SearchResult) -> str:
    scores = [score for score in nested.scores if score == score]
    winners = Counter(nested.winners)
    same = winners[result.winner]
    return (
        f"Nested cross-validation, which repeats the search in {len(nested.scores)} outer folds: {result.metric} "
        f"{number(nested.mean)} on average, {number(min(scores))} to {number(max(scores))} over the folds; "
        f"{len(winners)} different winner{'s' * (len(winners) > 1)}, {result.winner} in {same} of the folds."
    )


def _for_statisticians(result: SearchResult) -> str:
    interval, data = result.interval, result.predictions
    repeats = f"{len(data.values)} × " if len(data.values) > 1 else ""
    groups = "" if data.groups is None else f" in {int(data.groups.max()) + 1} groups, drawn whole"
    drawn = (
        f" ({interval.n_boot} draws{', all there are' if interval.exact else ''})" if interval.n_boot else ""
    )
    method = (
        f"{METHOD_NAMES.get(interval.method, interval.method)}{drawn} of {repeats}{data.n_folds}-fold cross-validated "
        f"predictions, n = {data.n_rows}{groups if interval.method not in ('bbc_f', 'naive_folds', 'tt') else ''}"
    )
    if interval.estimate is None:
        return f"{method}: winner's score {number(interval.cv_score)}, no interval."
    level = f"{100 * (1 - interval.alpha):.4g} %"
    # An interval that the sentence before does not stand behind would be read as one that holds.
    shown = (
        "no reliable interval"
        if interval.lower is None or interval.upper is None or not interval.reliable or result.is_trivial
        else f"{interval.side}-sided {level} interval "
        f"[{outward(interval.lower, True)}, {outward(interval.upper, False)}]"
    )
    bias = interval.cv_score - interval.estimate
    apart = f"{number(abs(bias), 2)} {'above' if bias > 0 else 'below'}" if abs(bias) > 1e-12 else "equal to"
    return (
        f"{method}: estimate {number(interval.estimate)}, {shown}; the winner's own score, the mean over folds, is "
        f"{number(interval.cv_score)}, {apart} the estimate."
    )
