"""`assay store rebuild|verify|merge|prune|migrate`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from assay.cli.options import Json, StoreOption
from assay.cli.output import STORE, open_store, print_json, print_table, say, space

if TYPE_CHECKING:
    from assay.store.prune import Pruned

__all__ = ["register"]

LARGEST = 20
RULES = {
    "models": "models and other artifacts",
    "logs": "logs of jobs that ended as ok",
    "failed_logs": "logs of jobs that failed",
    "attempts": "attempts before the one that counts",
}


def register(app: typer.Typer) -> None:
    """Add the commands."""
    commands = typer.Typer(
        help="Maintain a store: rebuild, verify, merge, prune, migrate.", no_args_is_help=True
    )
    commands.command("rebuild")(rebuild)
    commands.command("verify")(verify)
    commands.command("merge")(merge)
    commands.command("prune")(prune)
    commands.command("migrate")(migrate)
    app.add_typer(commands, name="store")


def rebuild(store: StoreOption = STORE) -> None:
    """Rebuild the index from the folders. Damaged files are named, with exit code 1.

    \b
    Example:
      assay store rebuild --store results
    """
    from assay.results.upkeep import rebuild as make

    made = make(store)
    for problem in made.problems:
        say(problem)
    damaged = f" {len(made.problems)} problem(s)." if made.problems else ""
    say(f"{made.jobs} jobs are in the index of {store}.{damaged}")
    raise typer.Exit(1 if made.problems else 0)


def verify(store: StoreOption = STORE) -> None:
    """Check that every row can be reproduced from its files. The exit code is 1 if not.

    \b
    Example:
      assay store verify --store results
    """
    from assay.results.upkeep import verify as check

    opened = open_store(store)
    problems = check(opened)
    for problem in problems:
        say(problem)
    say(f"{sum(1 for _ in opened.check_rows())} rows checked, {len(problems)} problem(s).")
    raise typer.Exit(1 if problems else 0)


def merge(
    other: Annotated[Path, typer.Argument(help="Store to merge from.")], store: StoreOption = STORE
) -> None:
    """Merge the finished jobs of another store into this one, which keeps its own rows.

    \b
    Example:
      assay store merge ../laptop/results --store results
    """
    from assay.results.upkeep import merge as take
    from assay.store.store import Store

    merged = take(Store(store), open_store(other))
    for problem in merged.problems:
        say(problem)
    left = f", {len(merged.problems)} could not be taken" if merged.problems else ""
    say(f"{merged.taken} jobs taken from {other}, {merged.already} were here already{left}.")
    raise typer.Exit(1 if merged.problems else 0)


def migrate(store: StoreOption = STORE) -> None:
    """Rewrite the rows of a store that an earlier version of Assay wrote, with the columns of this version.

    Such a store can be used without it; columns that were added since then have no values in its rows until then.
    Nothing runs again.

    \b
    Example:
      assay store migrate --store results
    """
    from assay.results.migrate import migrate as rewrite

    migrated = rewrite(open_store(store))
    for problem in migrated.problems:
        say(problem)
    say(f"{migrated.rewritten} of {migrated.rows} rows rewritten, {len(migrated.problems)} problem(s).")
    raise typer.Exit(1 if migrated.problems else 0)


def prune(
    models: Annotated[
        bool, typer.Option("--models", help="Remove models and other artifacts of finished jobs.")
    ] = False,
    logs: Annotated[bool, typer.Option("--logs", help="Remove the logs of jobs that ended as ok.")] = False,
    failed_logs: Annotated[
        bool, typer.Option("--failed-logs", help="Remove the logs of jobs that failed.")
    ] = False,
    attempts: Annotated[
        bool, typer.Option("--attempts", help="Remove attempts made before the one whose row counts.")
    ] = False,
    older_than: Annotated[
        str | None,
        typer.Option(
            "--older-than", metavar="TIME", help="Only jobs that ended longer ago, for example 30d."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List what would be removed, and remove nothing.")
    ] = False,
    store: StoreOption = STORE,
    json: Json = False,
) -> None:
    """Free disk space: remove models, logs and old attempts that no result needs.

    Rows, predictions and everything that verify, rebuild, score, report and resuming use stay. Without a rule, the
    command says how much each rule would free and removes nothing.

    \b
    Examples:
      assay store prune
      assay store prune --models --attempts --dry-run
      assay store prune --logs --older-than 30d
    """
    from dataclasses import replace

    from assay.jobs.constraint import parse_duration
    from assay.store.prune import ALL_RULES, PruneRules
    from assay.store.prune import prune as remove

    age = parse_duration(older_than, "--older-than") if older_than is not None else 0.0
    rules = PruneRules(models, logs, failed_logs, attempts, age)
    has_rule = bool(rules.names)
    pruned = remove(
        open_store(store),
        rules if has_rule else replace(ALL_RULES, older_than_s=age),
        dry_run or not has_rule,
    )
    if json:
        print_json(pruned.to_json())
    else:
        for problem in pruned.problems:
            say(problem)
        _print_pruned(pruned, store, dry_run) if has_rule else _print_rules(pruned)
    raise typer.Exit(2 if not has_rule else 1 if pruned.problems else 0)


def _print_rules(pruned: Pruned) -> None:
    sums = pruned.by_rule()
    lines = []
    for rule, what in RULES.items():
        count, size = sums.get(rule, (0, 0))
        lines.append([f"--{rule.replace('_', '-')}", space(size), count, what])
    print_table("", ["rule", ">frees", ">attempts", "removes"], lines)
    say("Nothing was removed: give one or more of these rules. --dry-run lists what a rule removes.")


def _print_pruned(pruned: Pruned, store: Path, dry_run: bool) -> None:
    if not pruned.removals:
        say(f"{store}: nothing to remove.")
    elif dry_run:
        _print_largest(pruned, store)
    sums = pruned.by_rule()
    verb = "would be freed" if dry_run else "freed"
    for rule, (count, size) in sums.items():
        say(f"{RULES[rule]}: {space(size)} {verb}, {count} attempt(s)")
    if len(sums) > 1:
        say(f"in total: {space(pruned.bytes)} {verb}")
    if pruned.in_use:
        say(f"{pruned.in_use} job(s) are in use and were left as they are.")


def _print_largest(pruned: Pruned, store: Path) -> None:
    largest = sorted(pruned.removals, key=lambda removal: -removal.bytes)
    lines = [[space(removal.bytes), removal.place.relative_to(store.absolute())] for removal in largest]
    print_table("", [">size", "path"], lines[:LARGEST])
    if len(lines) > LARGEST:
        say(f"… and {len(lines) - LARGEST} more; --json lists all of them.")
