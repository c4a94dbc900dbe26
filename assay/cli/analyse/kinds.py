"""`assay analyse tree` and `advise`: which framework for which kind of task."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.analyse.shared import Figure, draw_to, plain, say_notes
from assay.cli.output import print_json, print_table, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.analyses import Analysis
    from assay.analysis.advice import Advice
    from assay.analysis.trees import Node, Tree

__all__ = ["advise", "tree"]

Columns = Annotated[str, typer.Option(help="Properties to split by, separated by commas; default: all.")]


def tree(
    data: Analysis,
    json: bool,
    columns: Columns = "",
    max_depth: Annotated[int, typer.Option(help="Levels, the root counting as one; 0: no limit.")] = 3,
    alpha: Annotated[float, typer.Option(help="The level at which a node is split.")] = 0.05,
    unit: Annotated[
        str, typer.Option(help="What is independent: cluster (folds in tasks), fold, task.")
    ] = "cluster",
    min_size: Annotated[
        int | None, typer.Option(help="Observations of the unit in a leaf; default: 5 tasks.")
    ] = None,
    compat: Annotated[str, typer.Option(help="psychotree: rows and ties as R has them.")] = "",
    figure: Figure = None,
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
    found, notes = data.tree(_names(columns), settings, min_size)
    draw_to(figure, found)
    if json:
        nodes = [_node_json(node) for node in found.nodes]
        same = {
            "unit": found.settings.unit,
            "min_size": found.settings.min_size,
            "frameworks": found.frameworks,
        }
        print_json(plain({**same, "nodes": nodes, "notes": notes}))
        return
    for node in found.nodes:
        _print_node(found, node)
    say_notes(notes)


def _names(columns: str) -> list[str]:
    return [name.strip() for name in columns.split(",") if name.strip()]


def _node_json(node: Node) -> dict[str, Any]:
    keys = ("variable", "statistic", "p_raw", "p_adjusted", "by_permutation")
    tests = [{key: getattr(test, key) for key in keys} for test in node.tests]
    same = ("id", "parent", "depth", "n", "n_tasks", "loglik", "worth", "children")
    return {**{name: getattr(node, name) for name in same}, "tests": tests, "split": _split_json(node)}


def _split_json(node: Node) -> dict[str, Any] | None:
    split = node.split
    if split is None:
        return None
    if split.threshold is not None:
        return {"variable": split.variable, "threshold": split.threshold}
    return {
        "variable": split.variable,
        "left_levels": split.left_levels,
        "right_levels": split.right_levels,
    }


def _print_node(tree: Tree, node: Node) -> None:
    from assay.report.tables import split_words

    indent = "  " * (node.depth - 1)
    best = sorted(node.worth.items(), key=lambda item: -item[1])[:4]
    listed = ", ".join(f"{name} {worth:.2f}" for name, worth in best)
    say(f"{indent}[{node.id}] {split_words(tree, node)}{node.n_tasks} tasks: {listed}")
    if node.split is not None:
        test = next(test for test in node.tests if test.variable == node.split.variable)
        say(f"{indent}    splits by {node.split.variable}, p {test.p_adjusted:.3g}")


def advise(
    data: Analysis,
    json: bool,
    file: Annotated[Path, typer.Argument(help="The data set.")],
    target: Annotated[str | None, typer.Option(help="Its target column.")] = None,
    columns: Columns = "",
) -> None:
    """Say which framework suits a data set, by how the frameworks did on tasks like it, and how sure that is.

    \b
    Example:
      assay analyse advise my.csv --target y --store results
    """
    from assay.api import load_suite, load_tasks

    tasks = load_tasks(load_suite(file, target))
    if len(tasks) != 1:
        raise ConfigError(f"{file} holds {len(tasks)} tasks: name a data file.")
    found, notes = data.advise(tasks[0].facts, _names(columns))
    if json:
        print_json(plain({**_advice_json(found), "notes": notes}))
        return
    _print_advice(found)
    say_notes(notes)


def _advice_json(found: Advice) -> dict[str, Any]:
    ranked = found.standings
    return {
        "advice": ranked.frameworks[0],
        "sure": found.sure,
        "not_clearly_worse": found.equals,
        "leaf": found.leaf.id,
        "n_tasks": found.leaf.n_tasks,
        "properties": found.properties,
        "win_rate": dict(zip(ranked.frameworks, ranked.win_rate, strict=True)),
        "outside": found.outside,
        "missing": found.missing,
    }


def _print_advice(found: Advice) -> None:
    from assay.report.tables import split_words

    ranked, leaf = found.standings, found.leaf
    path = []
    node: Node = leaf
    while node.parent is not None:
        path.append(split_words(found.tree, node).rstrip(": "))
        node = found.tree.nodes[node.parent - 1]
    tested = (
        "no property was found that matters" if found.tree.nodes[0].tests else "too few to look for kinds"
    )
    kind = " and ".join(reversed(path)) or f"all tasks of these results, {tested}"
    say(f"Tasks like it ({leaf.n_tasks}): {kind}.")
    lines = [
        [name, f"{ranked.win_rate[i]:.0%}", "–" if found.sure is None else f"{ranked.first_share[i]:.0%}"]
        for i, name in enumerate(ranked.frameworks)
    ]
    print_table("", ["framework", ">wins there", ">strongest in draws"], lines[:8])
    how = (
        "too few tasks to say how sure"
        if found.sure is None
        else f"the strongest in {found.sure:.0%} of draws"
    )
    say(f"Advice: {ranked.frameworks[0]} ({how}).")
    if found.equals and found.sure is not None:
        say(f"Not clearly worse: {', '.join(found.equals)}.")
    for name, (low, high) in found.outside.items():
        say(f"warning: {name} is {found.properties[name]:g}, the tasks here have {low:g} to {high:g}.")
    if found.missing:
        say(f"Not known of the data set, hence not used: {', '.join(found.missing)}.")
