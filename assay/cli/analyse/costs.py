"""`assay analyse pareto`, `time`, `failures`, `budgets`, `anytime`, `sensitivity`: at what cost, how robust."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.analyse.shared import Figure, draw_to, plain, say
from assay.cli.output import number, print_json, print_table, seconds, short
from assay.errors import ConfigError
from assay.results.scores import NOT_ITS_OWN

if TYPE_CHECKING:
    from assay.analyses import Analysis
    from assay.analysis.failures import Count

__all__ = ["anytime", "budgets", "failures", "pareto", "sensitivity", "time"]


def pareto(
    data: Analysis,
    json: bool,
    against: Annotated[str, typer.Option(help="inference (seconds per row) or training.")] = "inference",
    over: Annotated[str, typer.Option(help="mean or median over tasks.")] = "mean",
    figure: Figure = None,
) -> None:
    """Show scores from worst (0) to best (1) against time, and who is not beaten in both.

    \b
    Example:
      assay analyse pareto --against training
    """
    if against not in ("inference", "training") or over not in ("mean", "median"):
        raise ConfigError("--against is inference or training, --over is mean or median.")
    found, notes = data.pareto(against, over)
    if found.points:
        draw_to(figure, found)
    if json:
        print_json(plain({**asdict(found), "against": against, "notes": notes}))
        return
    lines = [
        [p.framework, f"{p.score:.3f}", _small(p.seconds), "●" if p.on_front else ""] for p in found.points
    ]
    print_table("", ["framework", ">scaled score", f">{against}", "front"], lines)
    if found.missing:
        print(f"Without seconds of {against}: {', '.join(found.missing)}.")
    say(notes)


def _small(value: float) -> str:
    """Return a duration that may be far below a millisecond."""
    return seconds(value) if value >= 1 else f"{value * 1000:.3g} ms"


def time(
    data: Analysis,
    json: bool,
    figure: Figure = None,
    inference_figure: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw seconds per row by batch size.")
    ] = None,
) -> None:
    """Show training times against the budget, and inference per row.

    \b
    Example:
      assay analyse time --store results --figure training.svg --inference-figure inference.svg
    """
    fits, infers = data.fit_times(), data.inference_times()
    if figure is not None and not any(one.jobs for one in fits):
        raise ConfigError("No training times are known: there is nothing to draw.")
    draw_to(figure, fits)
    if inference_figure is not None and not infers:
        raise ConfigError("Inference was not timed by batches: there is nothing to draw.")
    draw_to(inference_figure, infers)
    if json:
        print_json(plain({"training": fits, "inference": infers}))
        return
    lines = [
        [
            one.framework, one.constraint, one.jobs, seconds(one.least if one.jobs else None),
            seconds(one.median if one.jobs else None), seconds(one.most if one.jobs else None),
            one.over_budget or "", one.over_leeway or "", one.timeouts or "",
        ]
        for one in fits
    ]  # fmt: skip
    heads = [
        "framework", "constraint", ">jobs", ">least", ">median", ">most", ">over budget", ">over leeway", ">timeouts",
    ]  # fmt: skip
    print_table("", heads, lines)
    if infers:
        from assay.report.tables import batches_text

        print_table("Inference per row, by rows in a batch", *batches_text(infers, _small))


def failures(data: Analysis, json: bool, figure: Figure = None) -> None:
    """Count failures by kind, framework, task, size and budget.

    \b
    Example:
      assay analyse failures --scores results.csv
    """
    from assay.analysis.failures import CATEGORIES

    found = data.failures()
    if figure is not None and not found.failed:
        raise ConfigError(f"None of {found.jobs} jobs failed: there is nothing to draw.")
    draw_to(figure, found)
    if json:
        print_json(plain(found))
        return
    if not found.failed:
        print(f"None of {found.jobs} jobs failed.")
        return
    print(f"{found.failed} of {found.jobs} jobs failed.")
    lines = [
        [one.name, one.jobs, one.failed, *(one.by_category[name] or "" for name in CATEGORIES), _not_own(one)]
        for one in found.by_framework
    ]
    heads = ["framework", ">jobs", ">failed", *(f">{name}" for name in CATEGORIES), "not its own"]
    width = len(heads) if any(line[-1] for line in lines) else len(heads) - 1
    print_table("", heads[:width], [line[:width] for line in lines])
    for head, counts in (
        ("size", found.by_size),
        ("type", found.by_type),
        ("constraint", found.by_constraint),
    ):
        if len(counts) > 1:
            print_table("", [head, ">jobs", ">failed"], [[one.name, one.jobs, one.failed] for one in counts])
    worst = [[one.name, one.jobs, one.failed] for one in found.by_task if one.failed][:10]
    print_table("", ["task", ">jobs", ">failed"], worst)
    told = [
        [e["framework"], e["category"], e["jobs"], e["task"], short(e["message"])] for e in found.examples
    ]
    print_table("", ["framework", "category", ">jobs", "for example", "message"], told)


def _not_own(one: Count) -> str:
    return ", ".join(f"{one.by_status[name]} {name}" for name in NOT_ITS_OWN if name in one.by_status)


def budgets(data: Analysis, json: bool, figure: Figure = None) -> None:
    """Show what a longer budget bought: scores and failures of the same folds under both.

    \b
    Example:
      assay analyse budgets --scores results.csv
    """
    found = data.budgets()
    if found:
        draw_to(figure, found)
    if json:
        print_json(plain(found))
        return
    lines = [
        [
            one.framework, seconds(one.from_s), seconds(one.to_s), one.tasks, one.better, one.equal, one.worse,
            number(one.gain), _rank(one.rank_before), _rank(one.rank_after), one.failed_before, one.failed_after,
        ]
        for one in found
    ]  # fmt: skip
    heads = [
        "framework", ">from", ">to", ">tasks", ">better", ">equal", ">worse", ">gain", ">rank", ">then", ">failed",
        ">then",
    ]  # fmt: skip
    print_table("", heads, lines)
    print("Gain: in gaps from the constant predictor to the better of the two.")


def _rank(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def anytime(data: Analysis, json: bool, figure: Figure = None) -> None:
    """Show how far each framework's search was after which time, from its own trace.

    \b
    Example:
      assay analyse anytime --store results --figure anytime.svg
    """
    found = data.anytime()
    draw_to(figure, found)
    if json:
        print_json(plain(found))
        return
    quarters = [len(found.grid_s) * part // 4 - 1 for part in (1, 2, 3, 4)]
    heads = ["framework", ">searches", ">first score", ">last improvement"]
    heads += [f">done at {seconds(found.grid_s[at])}" for at in quarters]
    lines = []
    for one in found.frameworks:
        done = [one.done[at] for at in quarters]
        shown = ["–" if part is None else f"{part:.0%}" for part in done]
        lines.append([one.framework, one.jobs, seconds(one.first_s), seconds(one.last_s), *shown])
    print_table("", heads, lines)
    print(
        "Done: of the way from its first validation score to its last, in its own terms; not comparable as scores."
    )


def sensitivity(data: Analysis, json: bool) -> None:
    """Show how ranks change with other choices, and what this suite could have detected.

    \b
    Example:
      assay analyse sensitivity --scores results.csv
    """
    found, notes = data.sensitivity()
    if json:
        print_json(plain({**asdict(found), "notes": notes}))
        return
    usable = [(f"{one.name} ({one.n_tasks})", one.ranks) for one in found.variants if one.ranks is not None]
    lines = [[name, *(f"{ranks[j]:.2f}" for _, ranks in usable)] for j, name in enumerate(found.frameworks)]
    print_table("", ["framework", *(f">{name}" for name, _ in usable)], lines)
    print("Average ranks; in brackets on how many tasks.")
    changed = [one for one in found.tasks if one.new_leader]
    print(f"Without one task the leader changes in {len(changed)} of {found.n_tasks} cases.")
    for one in changed[:5]:
        print(f"  without {one.task}: {one.new_leader}")
    rate = found.detectable_win_rate
    print(
        f"With {found.n_tasks} tasks, average ranks must differ by {number(found.detectable_rank, 3)}; a win rate of "
        + (f"{rate:.0%} would be found in 80 % of such suites." if rate else "even 100 % could not be found.")
    )
    for variant in found.variants:
        if variant.ranks is None:
            print(f"note: {variant.name}: {variant.why_not}")
    say(notes)
