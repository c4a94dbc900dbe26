"""`assay analyse table`, `ranks`, `pairwise`, `bayes`, `scaled`: who is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from string import ascii_letters as LETTERS
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.analyse.shared import Figure, draw_to, elo, plain, say_notes, square
from assay.cli.output import number, print_json, print_table, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.analyses import Analysis
    from assay.analysis.pairwise import Pairwise
    from assay.analysis.ranks import Ranks

__all__ = ["bayes", "pairwise", "ranks", "scaled", "table"]


def table(
    data: Analysis,
    json: bool,
    format: Annotated[str, typer.Option(help="table, csv or latex.")] = "table",
) -> None:
    """Show mean (deviation) and failures of each framework on each task, nothing imputed.

    \b
    Example:
      assay analyse table --scores results.csv --type regression --format latex
    """
    from assay.report.tables import cells_csv, cells_latex, cells_text

    if format not in ("table", "csv", "latex"):
        raise ConfigError(f"--format {format}: choose table, csv or latex.")
    cells = data.cells()
    say_notes(data.scores.notes, aside=True)
    if json:
        print_json(plain(cells))
    elif format == "table":
        print_table("", *cells_text(cells))
        say("Mean (deviation) over completed folds; ✗ counts those that failed.")
    else:
        say(cells_csv(cells) if format == "csv" else cells_latex(cells), end="")


def ranks(
    data: Analysis,
    json: bool,
    alpha: Annotated[float, typer.Option(help="The level of the tests.")] = 0.05,
    control: Annotated[
        str | None, typer.Option(help="Compare the others with this one (Bonferroni–Dunn).")
    ] = None,
    figure: Figure = None,
) -> None:
    """Rank the frameworks and test whether average ranks differ: Friedman, Nemenyi, Wilcoxon with Holm.

    \b
    Example:
      assay analyse ranks --scores results.csv --type binary --figure ranks.svg
    """
    if not 0 < alpha < 1:
        raise ConfigError(f"--alpha {alpha:g}: a level lies between 0 and 1.")
    found, notes = data.ranks(alpha, control)
    imputed = data.imputed()
    draw_to(figure, found)
    if json:
        print_json(plain({**_ranks_json(found), "n_imputed": _of(found, imputed), "notes": notes}))
        return
    lines = [
        [name, f"{rank:.3f}", mark, imputed[name]]
        for name, rank, mark in zip(found.frameworks, found.average, _letters(found), strict=True)
    ]
    heads = ["framework", ">average rank", "group", ">imputed folds"]
    if control is not None:
        heads.append(f">p against {control}")
        lines = [
            [*line, "" if name == control else f"{p:.3g}"]
            for line, name, p in zip(lines, found.frameworks, found.dunn_p, strict=True)
        ]
    print_table("", heads, lines)
    friedman, other = found.friedman, found.iman_davenport
    say(
        f"{found.n_tasks} tasks. Friedman: χ² {_shown(friedman.chi2, '.2f')}, {friedman.df} degrees of freedom, "
        f"p {_shown(friedman.p)}; Iman–Davenport: F {_shown(other.F, '.2f')}, p {_shown(other.p)}."
    )
    say(
        f"Critical distance at {found.alpha:g}: {found.critical_distance:.3f}. "
        "Frameworks that share a letter do not clearly differ."
    )
    say_notes(notes)


def _shown(value: float, digits: str = ".3g") -> str:
    """Return a number, or a sign where it is not defined or has no bound."""
    return "–" if value != value else format(value, digits) if isfinite(value) else "∞"


def _of(found: Ranks, values: dict[str, int]) -> dict[str, int]:
    return {name: values[name] for name in found.frameworks}


def _ranks_json(found: Ranks) -> dict[str, Any]:
    names = found.frameworks
    said = {
        "average_ranks": dict(zip(names, found.average, strict=True)),
        "friedman": asdict(found.friedman),
        "iman_davenport": asdict(found.iman_davenport),
        "critical_distance": found.critical_distance,
        "alpha": found.alpha,
        "nemenyi_p": square(names, found.nemenyi_p),
        "wilcoxon_holm_p": square(names, found.wilcoxon_p),
        "groups": [list(names[first : last + 1]) for first, last in found.groups],
        "n_tasks": found.n_tasks,
        "n_frameworks": len(names),
    }
    if found.control is not None:
        p = dict(zip(names, found.dunn_p, strict=True))
        said["bonferroni_dunn"] = {"control": found.control, "distance": found.dunn_distance, "p": p}
    return said


def _letters(found: Ranks) -> list[str]:
    """Return for each place the letters of its groups; nothing where there are more groups than letters."""
    if len(found.groups) > len(LETTERS):
        return [""] * len(found.frameworks)
    return [
        "".join(LETTERS[g] for g, (first, last) in enumerate(found.groups) if first <= i <= last)
        for i in range(len(found.frameworks))
    ]


def pairwise(
    data: Analysis,
    json: bool,
    draws: Annotated[int, typer.Option(min=1, help="Draws of tasks, for the intervals.")] = 1000,
    anchor: Annotated[str, typer.Option(help="Whose Elo is 1000; default: the random forest.")] = "",
    figure: Figure = None,
) -> None:
    """Show who beats whom: win rates, Bradley–Terry strengths and Elo with intervals over tasks, tie groups.

    \b
    Example:
      assay analyse pairwise --scores results.csv
    """
    from assay.analysis.pairwise import MIN_TASKS

    found, notes = data.pairwise(draws, anchor)
    draw_to(figure, found, "wins")
    if json:
        print_json(plain({**_pairs_json(found), "notes": notes}))
        return
    print_table("", *_pairs_table(found))
    if found.n_tasks < MIN_TASKS:
        say(f"{found.n_tasks} tasks: too few for intervals and groups. Elo 1000 is {found.anchor}.")
    else:
        say(f"{found.n_tasks} tasks, {found.draws} draws of them; Elo 1000 is {found.anchor}.")
        say("The first of a group is not clearly better than the others of it.")
    say_notes(notes)


def _pairs_table(found: Pairwise) -> tuple[list[str], list[list[Any]]]:
    from assay.analysis.pairwise import MIN_TASKS

    sure = found.n_tasks >= MIN_TASKS
    heads = ["framework", ">Elo", *((">95 %", ">group", ">places") if sure else ())]
    lines = []
    for i, name in enumerate(found.frameworks):
        line = [name, elo(found.elo[i])]
        if sure:
            line += [f"{elo(found.elo_low[i])} to {elo(found.elo_high[i])}", found.group[i]]
            line += [f"{found.place[i][0]} to {found.place[i][1]}"]
        gain = found.improvability[i]
        line += [f"{found.rank[i]:.2f}", f"{found.win_rate[i]:.1%}", f"{gain:.1%}" if isfinite(gain) else "–"]
        lines.append([*line, f"{found.mean_reciprocal_rank[i]:.2f}"])
    return [*heads, ">rank", ">wins", ">improvable", ">1/rank"], lines


def _pairs_json(found: Pairwise) -> dict[str, Any]:
    single = ("elo", "worth", "win_rate", "rank", "group", "improvability", "mean_reciprocal_rank")
    rows = [
        {
            "framework": name,
            **{key: getattr(found, key)[i] for key in single},
            "elo_interval": [found.elo_low[i], found.elo_high[i]],
            "rank_interval": [found.rank_low[i], found.rank_high[i]],
            "places": found.place[i],
            "best_share": found.first_share[i],
        }
        for i, name in enumerate(found.frameworks)
    ]
    squares = {name: square(found.frameworks, getattr(found, name)) for name in ("wins", "ties", "better")}
    same = {"draws": found.draws, "anchor": found.anchor, "n_tasks": found.n_tasks}
    return {"frameworks": rows, **squares, "losses": _turned(squares["wins"]), **same}


def _turned(values: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {a: {b: values[b][a] for b in values if b != a} for a in values}


def bayes(
    data: Analysis,
    json: bool,
    rope: Annotated[
        float | None,
        typer.Option(
            help="Half the width of the region of equivalence: in gaps (0.01); with --pair in the metric's units (0)."
        ),
    ] = None,
    pair: Annotated[str, typer.Option(help="A,B: this pair on each task by itself.")] = "",
    figure: Figure = None,
) -> None:
    """Say how probable it is that one is better than another, or that both are equivalent.

    A gap is the way from the constant predictor to the best framework on a task.

    \b
    Examples:
      assay analyse bayes --scores results.csv --rope 0.01
      assay analyse bayes --scores results.csv --pair flaml,tpot
    """
    if pair:
        if figure is not None:
            raise ConfigError("--figure draws all pairs: leave out --pair.")
        _on_each_task(data, pair, rope or 0.0, json)
        return
    rope = 0.01 if rope is None else rope
    found, notes = data.bayes(rope)
    draw_to(figure, found)
    if json:
        print_json(plain({"rope": rope, "pairs": found, "notes": notes}))
        return
    lines = [
        [one.a, one.b, f"{one.p_a:.3f}", f"{one.p_rope:.3f}", f"{one.p_b:.3f}", number(one.mean_difference)]
        for one in found
    ]
    print_table("", ["A", "B", ">P(A better)", ">P(equivalent)", ">P(B better)", ">mean A - B"], lines)
    say_notes(notes)


def _on_each_task(data: Analysis, pair: str, rope: float, json: bool) -> None:
    names: Sequence[str] = [name.strip() for name in pair.split(",")]
    if len(names) != 2:
        raise ConfigError(f"--pair {pair}: name two frameworks, as in flaml,tpot.")
    a, b = names
    rows = data.on_each_task(a, b, rope)
    if not rows:
        raise ConfigError(f"{a} and {b} have no task with two folds in common: there is nothing to test.")
    if json:
        print_json(plain(rows))
        return
    lines = [
        [r.task, number(r.mean_difference), f"{r.p:.3g}", f"{r.p_a:.3f}", f"{r.p_rope:.3f}", f"{r.p_b:.3f}"]
        for r in rows
    ]
    heads = ["task", f">{a} - {b}", ">corrected p", f">P({a} better)", ">P(equivalent)", f">P({b} better)"]
    print_table("", heads, lines)
    say(
        "Corrected p: Nadeau and Bengio's resampled t-test, each task by itself, not corrected for their number."
    )


def scaled(data: Analysis, json: bool, figure: Figure = None) -> None:
    """Show scores scaled from the random forest (-1) to the best (0): medians and quartiles over tasks.

    \b
    Example:
      assay analyse scaled --scores results.csv
    """
    import numpy as np

    found, notes = data.scaled()
    known = found.values[np.isfinite(found.values).all(axis=1)]
    if not len(known):
        raise ConfigError(
            f"{found.reference} is the best on every task: there is no scale from it to the best."
        )
    draw_to(figure, found)
    five = np.quantile(known, [0, 0.25, 0.5, 0.75, 1], axis=0)
    if json:
        boxes = {
            name: dict(zip(("least", "lower", "median", "upper", "most"), five[:, j], strict=True))
            for j, name in enumerate(found.frameworks)
        }
        values = {name: found.values[:, j] for j, name in enumerate(found.frameworks)}
        said = {"reference": found.reference, "tasks": found.tasks, "values": values, "boxes": boxes}
        print_json(plain({**said, "without_scale": found.without_scale, "notes": notes}))
        return
    order = np.argsort(-five[2])
    lines = [[found.frameworks[j], *(f"{five[i, j]:.2f}" for i in range(5))] for j in order]
    print_table("", ["framework", ">least", ">lower", ">median", ">upper", ">most"], lines)
    if found.without_scale:
        say(f"Without a scale, because {found.reference} is the best: {', '.join(found.without_scale)}.")
    say_notes(notes)
