"""`assay analyse …`: what the scores of a store, or of a file, mean."""

from __future__ import annotations

import typer

from assay.cli.analyse.compare import bayes, pairwise, ranks, scaled, table
from assay.cli.analyse.costs import anytime, budgets, failures, pareto, sensitivity, time
from assay.cli.analyse.kinds import advise, tree
from assay.cli.analyse.shared import with_shared

__all__ = ["register"]

COMMANDS = (
    table,
    ranks,
    pairwise,
    bayes,
    scaled,
    tree,
    advise,
    pareto,
    time,
    failures,
    budgets,
    anytime,
    sensitivity,
)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    own = typer.Typer(help="Say what scores mean, and how sure one can be.", no_args_is_help=True)
    for command in COMMANDS:
        own.command(command.__name__)(with_shared(command))
    app.add_typer(own, name="analyse")
