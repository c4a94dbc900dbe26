"""`assay analyse pareto`, `time`, `failures`, `budgets`, `anytime`, `sensitivity`: at what cost, how robust."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.analyse.shared import Figure, draw_to, plain, say_notes
from assay.cli.output import number, print_json, print_table, say, seconds, short
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.analyses import Analysis

__all__ = ["anytime", "budgets", "failures", "pareto", "sensitivity", "time"]

MOST_TASKS = 10


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
        say(f"Without seconds of {against}: {', '.join(found.missing)}.")
    say_notes(notes)


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
        print_json(plain({"training": fits, "inference": infers, "notes": data.scores.notes}))
        return
    from assay.report.tables import batches_text, training_text

    print_table("", *training_text(fits, seconds))
    if infers:
        print_table("Inference per row, by rows in a batch", *batches_text(infers, _small))
    say_notes(data.scores.notes)


def failures(data: Analysis, json: bool, figure: Figure = None) -> None:
    """Count failures by kind, framework, task, size and budget.

    \b
    Example:
      assay analyse failures --scores results.csv
    """
    from assay.report.tables import failures_texts

    found = data.failures()
    if figure is not None and not found.failed:
        raise ConfigError(f"None of {found.jobs} jobs failed: there is nothing to draw.")
    draw_to(figure, found)
    if json:
        print_json({**plain(found), "notes": plain(data.scores.notes)})
        return
    say_notes(data.scores.notes)
    if not found.failed:
        say(f"None of {found.jobs} jobs failed.")
        return
    say(f"{found.failed} of {found.jobs} jobs failed.")
    for heads, lines in failures_texts(found):
        shown = lines[:MOST_TASKS] if heads[0] == "task" else lines
        if heads[-1] == "message":
            shown = [[*line[:-1], short(line[-1])] for line in shown]
        print_table("", heads, shown)


def budgets(data: Analysis, json: bool, figure: Figure = None) -> None:
    """Show what a longer budget bought: scores and failures of the same folds under both.

    \b
    Example:
      assay analyse budgets --scores results.csv
    """
    found = data.budgets()
    say_notes(data.scores.notes, aside=True)
    if found:
        draw_to(figure, found)
    if json:
        print_json(plain(found))
        return
    from assay.report.tables import budgets_text

    print_table("", *budgets_text(found, seconds))
    say("Gain: in gaps from the constant predictor to the better of the two.")


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
    say(
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
    from assay.report.tables import variants_text

    print_table("", *variants_text(found))
    say("Average ranks; in brackets on how many tasks.")
    changed = [one for one in found.tasks if one.new_leader]
    say(f"Without one task the leader changes in {len(changed)} of {found.n_tasks} cases.")
    for one in changed[:5]:
        say(f"  without {one.task}: {one.new_leader}")
    rate = found.detectable_win_rate
    say(
        f"With {found.n_tasks} tasks, average ranks must differ by {number(found.detectable_rank, 3)}; a win rate of "
        + (f"{rate:.0%} would be found in 80 % of such suites." if rate else "even 100 % could not be found.")
    )
    for variant in found.variants:
        if variant.ranks is None:
            say(f"note: {variant.name}: {variant.why_not}")
    say_notes(notes)
