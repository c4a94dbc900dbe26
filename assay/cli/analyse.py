"""`assay analyse …`: what the scores of a store, or of a file, mean; and `assay import`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict, is_dataclass, replace
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import Json
from assay.cli.output import STORE, check_target, number, open_store, print_json, print_table, seconds, short
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.analyse import Analysis

__all__ = ["register"]

# What every analysis takes: where the scores are, and which of them to look at.
SHARED: dict[str, tuple[Any, Any]] = {
    "store": (Annotated[Path, typer.Option("--store", metavar="DIR", help="The store.")], STORE),
    "scores": (
        Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="A file of scores, not a store: CSV or Parquet."),
        ],
        None,
    ),
    "covariates": (
        Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="A CSV with properties of tasks (task_id or task)."),
        ],
        None,
    ),
    "type_": (
        Annotated[
            list[str] | None, typer.Option("--type", help="binary, multiclass, regression, classification.")
        ],
        None,
    ),
    "constraint": (Annotated[str, typer.Option(help="Only rows of this constraint.")], ""),
    "metric": (Annotated[str, typer.Option(help="By this metric, not the one that was optimised.")], ""),
    "framework": (
        Annotated[list[str] | None, typer.Option("--framework", help="Only these frameworks.")],
        None,
    ),
    "exclude": (Annotated[list[str] | None, typer.Option("--exclude", help="Not these frameworks.")], None),
    "task": (
        Annotated[list[str] | None, typer.Option("--task", "-t", help="Only these tasks (name or id).")],
        None,
    ),
    "impute": (
        Annotated[str, typer.Option(help="What a failure counts as: constant, worst, random_forest, none.")],
        "constant",
    ),
    "impute_not_own": (
        Annotated[bool, typer.Option("--impute-not-own", help="Impute setup, lost and data rows too.")],
        False,
    ),
    "include_marked": (
        Annotated[
            bool, typer.Option("--include-marked", help="Rank what learned from public data beforehand too.")
        ],
        False,
    ),
    "seed": (Annotated[int, typer.Option(help="Of draws and permutations.")], 0),
    "json": (Json, False),
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    own = typer.Typer(help="Say what scores mean, and how sure one can be.", no_args_is_help=True)
    for name, command in (
        ("table", table), ("ranks", ranks), ("tree", tree), ("pairwise", pairwise), ("bayes", bayes),
        ("scaled", scaled), ("pareto", pareto), ("failures", failures), ("time", time), ("budgets", budgets),
        ("sensitivity", sensitivity),
    ):  # fmt: skip
        own.command(name)(_with_shared(command))
    app.add_typer(own, name="analyse")
    app.command("report")(_with_shared(report))
    imports = typer.Typer(help="Read results of other tools.", no_args_is_help=True)
    imports.command("amlb")(import_amlb)
    app.add_typer(imports, name="import")


def _with_shared(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with the shared options; it gets the analysis they ask for, and whether to print JSON."""
    own = [
        p
        for p in inspect.signature(command, eval_str=True, locals={"Analysis": Any}).parameters.values()
        if p.name not in ("data", "json")
    ]

    @functools.wraps(command)
    def run(**said: Any) -> None:
        mine = {p.name: said.pop(p.name) for p in own}
        command(_analysis(said), json=said["json"], **mine)

    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter(name, keyword, default=default, annotation=kind)
        for name, (kind, default) in SHARED.items()
    ]
    run.__signature__ = inspect.Signature([*(p.replace(kind=keyword) for p in own), *shared])  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in (*own, *shared)}
    return run


def _analysis(said: dict[str, Any]) -> Analysis:
    from assay.analyse import analyse
    from assay.analysis.impute import POLICIES, Filter

    if said["impute"] not in POLICIES:
        raise ConfigError(f"--impute {said['impute']}: choose one of {', '.join(POLICIES)}.")
    found = analyse(said["scores"] or open_store(said["store"]), said["covariates"])
    wanted = Filter(
        types=tuple(said["type_"] or ()),
        constraint=said["constraint"],
        metric=said["metric"],
        frameworks=tuple(said["framework"] or ()),
        exclude=tuple(said["exclude"] or ()),
        tasks=tuple(said["task"] or ()),
    )
    same = ("impute", "impute_not_own", "include_marked", "seed")
    return replace(found, wanted=wanted, **{name: said[name] for name in same})


def table(
    data: Analysis,
    json: bool,
    format_: Annotated[str, typer.Option("--format", help="table, csv or latex.")] = "table",
) -> None:
    """Show mean (deviation) and failures of each framework on each task.

    \b
    Example:
      assay analyse table --scores results.csv --type regression --format latex
    """
    from assay.report.tables import cells_csv, cells_latex, cells_text

    if format_ not in ("table", "csv", "latex"):
        raise ConfigError(f"--format {format_}: choose table, csv or latex.")
    cells = data.cells()
    if json:
        print_json(_plain(cells))
    elif format_ == "table":
        heads, lines = cells_text(cells)
        print_table("", heads, lines)
    else:
        print(cells_csv(cells) if format_ == "csv" else cells_latex(cells), end="")


def ranks(
    data: Analysis,
    json: bool,
    alpha: Annotated[float, typer.Option(help="The level of the tests.")] = 0.05,
    control: Annotated[
        str | None, typer.Option(help="Compare the others with this one (Bonferroni–Dunn).")
    ] = None,
    figure: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: SVG, PDF or PNG.")] = None,
) -> None:
    """Rank the frameworks and test whether average ranks differ: Friedman, Nemenyi, Wilcoxon with Holm.

    \b
    Example:
      assay analyse ranks --scores results.csv --type binary --figure ranks.svg
    """
    found, notes = data.ranks(alpha, control)
    imputed = data.imputed()
    if figure is not None:
        from assay.report.figures import draw

        check_target(figure)
        draw(found, figure)
    if json:
        names = found.frameworks
        by_name = dict(zip(names, found.average.tolist(), strict=True))
        said = {
            "average_ranks": by_name,
            "friedman": asdict(found.friedman),
            "iman_davenport": asdict(found.iman_davenport),
            "critical_distance": found.critical_distance,
            "alpha": found.alpha,
            "nemenyi_p": _matrix(names, found.nemenyi_p),
            "wilcoxon_holm_p": _matrix(names, found.wilcoxon_p),
            "groups": [list(names[first : last + 1]) for first, last in found.groups],
            "n_tasks": found.n_tasks,
            "n_frameworks": len(names),
            "n_imputed": {name: imputed[name] for name in names},
            "notes": list(notes),
        }
        if control is not None:
            said["bonferroni_dunn"] = {
                "control": control,
                "distance": found.dunn_distance,
                "p": dict(zip(names, found.dunn_p.tolist(), strict=True)),
            }
        print_json(_plain(said))
        return
    marks = _letters(found.groups, len(found.frameworks))
    lines = [
        [name, f"{rank:.3f}", mark, imputed[name]]
        for name, rank, mark in zip(found.frameworks, found.average, marks, strict=True)
    ]
    print_table("", ["framework", ">average rank", "group", ">imputed"], lines)
    said_p = found.iman_davenport.p
    print(
        f"{found.n_tasks} tasks. Friedman: χ² {found.friedman.chi2:.2f}, {found.friedman.df} degrees of freedom, "
        f"p {found.friedman.p:.3g}; Iman–Davenport: F {found.iman_davenport.F:.2f}, p {said_p:.3g}."
    )
    print(
        f"Critical distance at {found.alpha:g}: {found.critical_distance:.3f}. "
        "Frameworks that share a letter do not clearly differ."
    )
    _say(notes)


def tree(
    data: Analysis,
    json: bool,
    columns: Annotated[
        str, typer.Option(help="Properties to split by, separated by commas; default: all.")
    ] = "",
    max_depth: Annotated[int, typer.Option(help="Levels, the root counting as one; 0: no limit.")] = 3,
    alpha: Annotated[float, typer.Option(help="The level at which a node is split.")] = 0.05,
    unit: Annotated[
        str, typer.Option(help="What is independent: cluster (folds in tasks), fold, task.")
    ] = "cluster",
    min_size: Annotated[
        int | None, typer.Option(help="Observations of the unit in a leaf; default: 5 tasks.")
    ] = None,
    compat: Annotated[str, typer.Option(help="psychotree: ties between rows as R has them.")] = "",
    figure: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw it: SVG, PDF or PNG.")] = None,
) -> None:
    """Grow a Bradley–Terry tree: which framework is the strongest for which tasks.

    \b
    Example:
      assay analyse tree --scores results.csv --covariates tasks.csv --columns rows,features
    """
    from assay.analysis.trees import TreeSettings

    if compat not in ("", "psychotree"):
        raise ConfigError(f"--compat {compat}: there is psychotree only.")
    settings = TreeSettings(unit, 1, max_depth, alpha, compat == "psychotree")  # type: ignore[arg-type]
    names = [name.strip() for name in columns.split(",") if name.strip()]
    found, notes = data.tree(names, settings, min_size)
    if figure is not None:
        from assay.report.figures import draw

        check_target(figure)
        draw(found, figure)
    if json:
        print_json(
            _plain(
                {
                    "unit": found.settings.unit,
                    "min_size": found.settings.min_size,
                    "frameworks": found.frameworks,
                    "nodes": [_node(node) for node in found.nodes],
                    "notes": list(notes),
                }
            )
        )
        return
    for node in found.nodes:
        _print_node(found, node)
    _say(notes)


def _node(node: Any) -> dict[str, Any]:
    tests = [
        {
            "variable": test.variable,
            "statistic": test.statistic,
            "p_raw": test.p_raw,
            "p_adjusted": test.p_adjusted,
            "by_permutation": test.by_permutation,
        }
        for test in node.tests
    ]
    split = None
    if node.split is not None:
        split = {"variable": node.split.variable}
        if node.split.threshold is not None:
            split["threshold"] = node.split.threshold
        else:
            split |= {"left_levels": node.split.left_levels, "right_levels": node.split.right_levels}
    same = ("id", "parent", "depth", "n", "n_tasks", "loglik", "worth", "children")
    return {**{name: getattr(node, name) for name in same}, "tests": tests, "split": split}


def _print_node(tree: Any, node: Any) -> None:
    from assay.report.tables import split_words

    indent = "  " * (node.depth - 1)
    best = sorted(node.worth.items(), key=lambda item: -item[1])[:4]
    listed = ", ".join(f"{name} {worth:.2f}" for name, worth in best)
    words = split_words(tree, node)
    print(f"{indent}[{node.id}] {words}{node.n_tasks} tasks: {listed}")
    if node.split is not None:
        test = next(test for test in node.tests if test.variable == node.split.variable)
        print(f"{indent}    splits by {node.split.variable}, p {test.p_adjusted:.3g}")


def pairwise(
    data: Analysis,
    json: bool,
    draws: Annotated[int, typer.Option(help="Draws of tasks, for the intervals.")] = 1000,
    anchor: Annotated[str, typer.Option(help="Whose Elo is 1000; default: the random forest.")] = "",
) -> None:
    """Show who beats whom: win rates, Bradley–Terry strengths and Elo with intervals over tasks, tie groups.

    \b
    Example:
      assay analyse pairwise --scores results.csv
    """
    found, notes = data.pairwise(draws, anchor)
    names = found.frameworks
    if json:
        rows = [
            {
                "framework": name,
                "elo": found.elo[i],
                "elo_interval": [found.elo_low[i], found.elo_high[i]],
                "worth": found.worth[i],
                "win_rate": found.win_rate[i],
                "rank": found.rank[i],
                "rank_interval": [found.rank_low[i], found.rank_high[i]],
                "places": found.place[i],
                "group": found.group[i],
                "improvability": found.improvability[i],
                "mean_reciprocal_rank": found.mean_reciprocal_rank[i],
            }
            for i, name in enumerate(names)
        ]
        matrices = {name: _matrix(names, getattr(found, name)) for name in ("wins", "ties", "better")}
        said = {
            "frameworks": rows,
            **matrices,
            "draws": found.draws,
            "anchor": found.anchor,
            "n_tasks": found.n_tasks,
        }
        print_json(_plain({**said, "notes": list(notes)}))
        return
    lines = [
        [
            name, _elo(found.elo[i]), f"{_elo(found.elo_low[i])} … {_elo(found.elo_high[i])}", found.group[i],
            f"{found.place[i][0]}–{found.place[i][1]}", f"{found.rank[i]:.2f}", f"{found.win_rate[i]:.1%}",
            f"{found.improvability[i]:.1%}", f"{found.mean_reciprocal_rank[i]:.2f}",
        ]
        for i, name in enumerate(names)
    ]  # fmt: skip
    heads = ["framework", ">Elo", ">95 %", ">group", ">places", ">rank", ">wins", ">improvable", ">1/rank"]
    print_table("", heads, lines)
    print(f"{found.n_tasks} tasks, {found.draws} draws of them; Elo 1000 is {found.anchor}.")
    _say(notes)


def bayes(
    data: Analysis,
    json: bool,
    rope: Annotated[float, typer.Option(help="Half the width of the region of equivalence, in gaps.")] = 0.01,
    pair: Annotated[str, typer.Option(help="A,B: this pair on each task by itself.")] = "",
) -> None:
    """Say how probable it is that one is better than another, or that both are equivalent.

    \b
    Examples:
      assay analyse bayes --scores results.csv --rope 0.01
      assay analyse bayes --scores results.csv --pair flaml,tpot
    """
    if pair:
        a, _, b = pair.partition(",")
        rows = data.on_one_task(a.strip(), b.strip(), 0.0)
        if json:
            print_json(_plain(rows))
            return
        lines = [
            [r.task, number(r.mean_difference), f"{r.p:.3g}", f"{r.p_a:.3f}", f"{r.p_b:.3f}"] for r in rows
        ]
        print_table("", ["task", f">{a} - {b}", ">corrected p", f">P({a} better)", f">P({b} better)"], lines)
        return
    found, notes = data.bayes(rope)
    if json:
        print_json(_plain({"rope": rope, "pairs": found, "notes": list(notes)}))
        return
    lines = [
        [one.a, one.b, f"{one.p_a:.3f}", f"{one.p_rope:.3f}", f"{one.p_b:.3f}", number(one.mean_difference)]
        for one in found
    ]
    print_table("", ["A", "B", ">P(A better)", ">P(equivalent)", ">P(B better)", ">mean A - B"], lines)
    _say(notes)


def scaled(data: Analysis, json: bool) -> None:
    """Show scores scaled from the random forest (-1) to the best (0): medians and quartiles over tasks.

    \b
    Example:
      assay analyse scaled --scores results.csv
    """
    import numpy as np

    found, notes = data.scaled()
    five = np.nanquantile(found.values, [0, 0.25, 0.5, 0.75, 1], axis=0)
    if json:
        boxes = {
            name: dict(zip(("least", "lower", "median", "upper", "most"), five[:, j].tolist(), strict=True))
            for j, name in enumerate(found.frameworks)
        }
        values = {name: found.values[:, j] for j, name in enumerate(found.frameworks)}
        said = {"reference": found.reference, "tasks": found.tasks, "values": values, "boxes": boxes}
        print_json(_plain({**said, "without_scale": found.without_scale, "notes": list(notes)}))
        return
    order = np.argsort(-five[2])
    lines = [[found.frameworks[j], *(f"{five[i, j]:.2f}" for i in range(5))] for j in order]
    print_table("", ["framework", ">least", ">lower", ">median", ">upper", ">most"], lines)
    if found.without_scale:
        print(f"Without a scale, because {found.reference} is the best: {', '.join(found.without_scale)}.")
    _say(notes)


def pareto(
    data: Analysis,
    json: bool,
    against: Annotated[str, typer.Option(help="inference (seconds per row) or training.")] = "inference",
    over: Annotated[str, typer.Option(help="mean or median over tasks.")] = "mean",
) -> None:
    """Show scores from worst (0) to best (1) against time, and who is not beaten in both.

    \b
    Example:
      assay analyse pareto --against training
    """
    if against not in ("inference", "training") or over not in ("mean", "median"):
        raise ConfigError("--against is inference or training, --over is mean or median.")
    found, notes = data.pareto(against, over)
    if json:
        print_json(_plain({**asdict(found), "against": against, "notes": list(notes)}))
        return
    lines = [
        [p.framework, f"{p.score:.3f}", seconds(p.seconds), "●" if p.on_front else ""] for p in found.points
    ]
    print_table("", ["framework", ">scaled score", f">{against}", "front"], lines)
    if found.missing:
        print(f"Without seconds of {against}: {', '.join(found.missing)}.")
    _say(notes)


def failures(data: Analysis, json: bool) -> None:
    """Count failures by kind, framework and task.

    \b
    Example:
      assay analyse failures --scores results.csv
    """
    from assay.analysis.failures import CATEGORIES

    found = data.failures()
    if json:
        print_json(_plain(found))
        return
    if not found.failed:
        print(f"None of {found.jobs} jobs failed.")
        return
    lines = [
        [one.name, one.jobs, one.failed, *(one.by_category[name] or "" for name in CATEGORIES)]
        for one in found.by_framework
    ]
    print_table("", ["framework", ">jobs", ">failed", *(f">{name}" for name in CATEGORIES)], lines)
    worst = [[one.name, one.jobs, one.failed] for one in found.by_task if one.failed][:10]
    print_table("", ["task", ">jobs", ">failed"], worst)
    told = [
        [e["framework"], e["category"], e["jobs"], e["task"], short(e["message"])] for e in found.examples
    ]
    print_table("", ["framework", "category", ">jobs", "for example", "message"], told)


def time(data: Analysis, json: bool) -> None:
    """Show training times against the budget, and inference per row.

    \b
    Example:
      assay analyse time --store results
    """
    fits, infers = data.fit_times(), data.inference_times()
    if json:
        print_json(_plain({"training": fits, "inference": infers}))
        return
    lines = [
        [
            one.framework, one.constraint, one.jobs, seconds(one.least), seconds(one.median), seconds(one.most),
            one.over_budget or "", one.timeouts or "",
        ]
        for one in fits
    ]  # fmt: skip
    heads = ["framework", "constraint", ">jobs", ">least", ">median", ">most", ">over budget", ">timeouts"]
    print_table("", heads, lines)
    if infers:
        told = [[one.framework, one.batch, one.jobs, f"{one.median * 1000:.3g} ms"] for one in infers]
        print_table("", ["framework", ">batch", ">jobs", ">per row"], told)


def budgets(data: Analysis, json: bool) -> None:
    """Show what a longer budget bought.

    \b
    Example:
      assay analyse budgets --scores results.csv
    """
    found = data.budgets()
    if json:
        print_json(_plain(found))
        return
    lines = [
        [
            one.framework, seconds(one.from_s), seconds(one.to_s), one.tasks, one.better, one.equal, one.worse,
            number(one.gain), one.failed_before, one.failed_after,
        ]
        for one in found
    ]  # fmt: skip
    heads = [
        "framework",
        ">from",
        ">to",
        ">tasks",
        ">better",
        ">equal",
        ">worse",
        ">gain",
        ">failed",
        ">then",
    ]
    print_table("", heads, lines)


def sensitivity(data: Analysis, json: bool) -> None:
    """Show how ranks change with other choices, and what this suite could have detected.

    \b
    Example:
      assay analyse sensitivity --scores results.csv
    """
    found, notes = data.sensitivity()
    if json:
        print_json(_plain({**asdict(found), "notes": list(notes)}))
        return
    usable = [one for one in found.variants if one.ranks is not None]
    lines = [
        [name, *(f"{one.ranks[j]:.2f}" for one in usable if one.ranks is not None)]
        for j, name in enumerate(found.frameworks)
    ]
    print_table("", ["framework", *(f">{one.name}" for one in usable)], lines)
    changed = [one for one in found.tasks if one.new_leader]
    print(f"Without one task the leader changes in {len(changed)} of {found.n_tasks} cases.")
    rate = found.detectable_win_rate
    print(
        f"With {found.n_tasks} tasks, average ranks must differ by {found.detectable_rank:.2f}; a win rate of "
        + (f"{rate:.0%} would be found in 80 % of such suites." if rate else "even 100 % could not be found.")
    )
    _say(notes)


def report(
    data: Analysis,
    json: bool,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    title: Annotated[str, typer.Option(help="Its title.")] = "Benchmark report",
) -> None:
    """Write one HTML page with all analyses: it needs no network and no other file.

    \b
    Example:
      assay report --scores results.csv -o report.html
    """
    from assay.report.page import make_report
    from assay.report.sections import make_sections

    if json:
        print_json(_plain(make_sections(data)))
        return
    check_target(out)
    text = make_report(data, title)
    out.write_text(text, encoding="utf-8")
    print(f"Wrote {out} ({len(text.encode()) / 1e6:.1f} MB).")


def import_amlb(
    file: Annotated[Path, typer.Argument(help="AMLB's results: CSV or Parquet.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Default: beside FILE.")
    ] = None,
) -> None:
    """Read AMLB's results as a scores table of ours, with their origin, and write it as Parquet.

    \b
    Example:
      assay import amlb results.csv -o scores.parquet && assay analyse ranks --scores scores.parquet
    """
    from assay.results.formats.foreign import read_scores

    found = read_scores(file)
    if not found.origin.startswith("AMLB"):
        raise ConfigError(
            f"{file} is {found.origin.split(',')[0]}, not AMLB's results: use it with --scores as it is."
        )
    target = out or file.with_name(f"{file.name.split('.')[0]}-scores.parquet")
    check_target(target)
    found.table.to_parquet(target, index=False)
    jobs = int(found.table["optimised"].sum())
    print(f"{jobs} jobs with {len(found.table)} scores written to {target}.")
    _say(found.notes)


def _say(notes: Sequence[str]) -> None:
    for note in notes:
        print(f"note: {note}")


def _elo(value: float) -> str:
    return f"{value:.0f}" if isfinite(value) else ("∞" if value > 0 else "-∞")


def _letters(groups: Sequence[tuple[int, int]], m: int) -> list[str]:
    """Return for each place the letters of the groups it belongs to."""
    return [
        "".join(chr(97 + g) for g, (first, last) in enumerate(groups) if first <= i <= last) for i in range(m)
    ]


def _matrix(names: Sequence[str], values: Any) -> dict[str, dict[str, Any]]:
    return {a: {b: values[i][j] for j, b in enumerate(names) if j != i} for i, a in enumerate(names)}


def _plain(value: Any) -> Any:
    """Return plain JSON values; what is not a number is null."""
    import numpy as np

    if is_dataclass(value) and not isinstance(value, type):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if isinstance(value, float):
        return value if isfinite(value) else None
    return value
