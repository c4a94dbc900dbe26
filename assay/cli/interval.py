"""`assay interval`: how good the winner of a search really is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.flags import with_flags
from assay.cli.output import number, outward, print_json, print_table, say, visible
from assay.errors import ConfigError
from assay.files import is_number

if TYPE_CHECKING:
    from assay.uncertainty.result import Interval, Options

__all__ = ["register", "with_flags_in_warnings"]

COMPAT = "reference"


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("interval")(interval)


def interval(
    file: Annotated[Path, typer.Argument(help="Predictions: CSV, Parquet, npz, or the folder of a job.")],
    method: Annotated[
        str,
        typer.Option(
            help="bbc, bbc_f, bbc_vc, naive_folds, naive_samples, delong, hanley_mcneil, tilting, delong_10p, "
            "hanley_mcneil_10p, tilting_10p, mabt, tt, or all."
        ),
    ] = "bbc",
    metric: Annotated[
        str, typer.Option(help="Metric by which the winner was chosen: auc, logloss, acc, rmse, cindex …")
    ] = "auc",
    alpha: Annotated[float, typer.Option(help="Error level of the interval; 0.05 for 95 %.")] = 0.05,
    side: Annotated[
        str, typer.Option(help="Sides of the interval: one (open towards the best value) or two.")
    ] = "one",
    resamples: Annotated[str, typer.Option(help="Number of bootstrap draws, or exact (bbc_f only).")] = "",
    weights: Annotated[
        str,
        typer.Option(
            metavar="FILE.npz:ARRAY", help="Use these multiplicities of rows instead of random draws."
        ),
    ] = "",
    split: Annotated[
        str,
        typer.Option(
            metavar="FILE.npz:ARRAY",
            help="Use this split: 1 for evaluation rows and 0 for the others, or the positions of rows.",
        ),
    ] = "",
    split_part: Annotated[
        str, typer.Option(help="Part that --split describes: evaluation or learning.")
    ] = "evaluation",
    compat: Annotated[str, typer.Option(help="Set to reference to reproduce the published code.")] = "",
    allow_few_folds: Annotated[bool, typer.Option(help="Allow bbc_f with fewer than five folds.")] = False,
    stratify: Annotated[bool, typer.Option(help="Draw rows within each class.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws.")] = 0,
    distribution: Annotated[bool, typer.Option(help="With --json, include the bootstrap values.")] = False,
    json: Annotated[bool, typer.Option(help="Print JSON.")] = False,
) -> None:
    """Estimate how good the winner of a search really is, corrected for selection.

    FILE has the out-of-sample predictions of all configurations: columns y, fold, then one per configuration
    (configuration|class for several classes); optional repeat, group, and time, event for the c-index. With two classes
    scores are those of the second in sorted order; for the c-index, higher means an earlier event.

    \b
    Examples:
      assay interval search.parquet --metric auc
      assay interval search.csv --method bbc_f --metric rmse --side two
      assay interval search.npz --method all --json
    """
    from assay.api import open_search
    from assay.uncertainty.methods import find_interval, try_all

    search = open_search(file, metric)
    options = _options(
        alpha=alpha,
        side=side,
        resamples=resamples,
        weights=weights,
        compat=compat,
        evaluate=_evaluation(split, split_part, search.data.n_rows),
        few_folds=allow_few_folds,
        stratify=stratify,
    )
    intervals = (
        try_all(search, options, seed) if method == "all" else [find_interval(search, method, options, seed)]
    )
    intervals = [with_flags_in_warnings(interval) for interval in intervals]
    if json:
        values = [interval.to_json(distribution) for interval in intervals]
        print_json(values if method == "all" else values[0])
    elif method == "all":
        _print_all(intervals, len(search.data.names))
    else:
        _print_single(intervals[0], len(search.data.names))


def with_flags_in_warnings(interval: Interval) -> Interval:
    """Return the interval with the options of the command line in its warnings."""
    warnings = tuple(with_flags(warning, ["few_folds", "metric"]) for warning in interval.warnings)
    return replace(interval, warnings=warnings)


def _evaluation(split: str, part: str, n_rows: int) -> Any:
    """Return which rows `--split` keeps for the evaluation; None where it is not given."""
    from assay.api.interval import PARTS, evaluation_rows
    from assay.results.matrices import read_array

    if part not in PARTS:
        raise ConfigError(f"--split-part {part}: choose {' or '.join(PARTS)}.")
    return evaluation_rows(read_array(split, "--split"), n_rows, part) if split else None  # type: ignore[arg-type]


def _options(*, resamples: str, weights: str, compat: str, **others: Any) -> Options:
    from assay.results.matrices import read_array
    from assay.uncertainty.result import Options

    if compat not in ("", COMPAT):
        raise ConfigError(f"--compat {compat}: there is {COMPAT} only.")
    if resamples not in ("", "exact") and not is_number(resamples):
        raise ConfigError(f"--resamples {resamples}: give a number, or exact.")
    return Options(
        rule="reference" if compat else "inverse_ecdf",
        resamples=None if not resamples else "exact" if resamples == "exact" else int(resamples),
        weights=read_array(weights, "--weights") if weights else None,
        published=bool(compat),
        **others,
    )


def _print_single(interval: Interval, n: int) -> None:
    scored = f"{interval.metric} {number(interval.cv_score)} in the cross-validation"
    say(f"The winner of {n} is {interval.winner_name}: {scored}.")
    if interval.estimate is not None:
        say(f"On new rows expect {number(interval.estimate)}{_confidence(interval)}.")
    else:
        say("There is no estimate for new rows.")
    how = f"all {interval.n_boot} draws" if interval.exact and interval.n_boot else f"{interval.n_boot} draws"
    drawn = f"{how}, quantiles by {interval.quantile_rule}" if interval.n_boot else "nothing drawn"
    say(f"{interval.method}, {drawn}.")
    for warning in interval.warnings:
        say(f"warning: {warning}")


def _confidence(interval: Interval) -> str:
    if interval.lower is None or interval.upper is None:
        return ""
    low, high = outward(interval.lower, True), outward(interval.upper, False)
    if interval.side == "two":
        ends = f"between {low} and {high}"
    else:
        ends = f"at least {low}" if interval.higher_is_better else f"at most {high}"
    share = f"{100 * (1 - interval.alpha):.4g} % confidence"
    return (
        f", and with {share} {ends}"
        if interval.reliable
        else f"; {ends} by this method, but not with {share}"
    )


def _print_all(intervals: Sequence[Interval], n: int) -> None:
    lines = [
        [
            interval.method, visible(interval.winner_name), number(interval.cv_score), number(interval.estimate),
            _end(interval.lower, True), _end(interval.upper, False),
        ]
        for interval in intervals
    ]  # fmt: skip
    print_table("", ["method", "winner", ">cross-validation", ">estimate", ">lower", ">upper"], lines)
    say(f"{n} configurations, {intervals[0].metric}, {intervals[0].side}-sided at {intervals[0].alpha:g}.")
    shared = set(intervals[0].warnings).intersection(*(interval.warnings for interval in intervals))
    for warning in sorted(shared):
        say(f"warning: {warning}")
    for interval in intervals:
        for warning in interval.warnings:
            if warning not in shared:
                say(f"warning: {interval.method}: {warning}")


def _end(value: float | None, down: bool) -> str:
    return "–" if value is None else outward(value, down)
