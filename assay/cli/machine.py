"""`assay doctor`: what this machine can enforce, which interpreters and frameworks are there."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from assay.cli.options import Json
from assay.cli.output import print_json, print_table, say

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("doctor")(doctor)


def doctor(json: Json = False) -> None:
    """Show what this machine can enforce, and which interpreters and frameworks it has.

    \b
    Example:
      assay doctor
    """
    examined = _examine()
    if json:
        print_json(examined)
        return
    machine = examined["machine"]
    say(
        f"{machine['processor']}, {len(machine['cores'])} cores, {machine['memory_mb']} MB, {machine['system']}"
    )
    for gpu in machine["gpus"]:
        say(f"GPU {gpu['number']}: {gpu['model']}")
    print_table(
        "",
        ["tier", "here", "why"],
        [[t["tier"], "yes" if t["works"] else "no", t["why"]] for t in examined["tiers"]],
    )
    say(
        f"Runs use the {examined['tier']} tier. One core's share of memory: {examined['memory_per_core_mb']} MB."
    )
    say("interpreters: " + ", ".join(f"{v} ({p})" for v, p in examined["interpreters"].items()))
    print_table("", ["framework", "version", "ready", "why not"], [
        [f["name"], f["version"], "yes" if not f["problem"] else "no", f["problem"]] for f in examined["frameworks"]
    ])  # fmt: skip
    for name, path in examined["folders"].items():
        say(f"{name}: {path}")


def _examine() -> dict[str, Any]:
    from assay.errors import NotInstalled
    from assay.frameworks.envs import environment_of
    from assay.frameworks.find import list_frameworks
    from assay.frameworks.pythons import interpreters
    from assay.jobs.constraint import Constraint
    from assay.runs.machine import choose_tier, memory_share_mb, strict_problem, this_machine
    from assay.runs.sandbox.landlock import abi
    from assay.settings import Settings

    settings, machine, problem = Settings.from_environment(), this_machine(), strict_problem()
    frameworks = []
    for spec in list_frameworks():
        try:
            environment_of(spec, settings)
            why = ""
        except NotInstalled as error:
            why = str(error)
        frameworks.append({"name": spec.name, "version": spec.version, "problem": why})
    landlock = (
        f"version {abi()}: files and TCP"
        if abi() >= 4
        else f"version {abi()}"
        if abi()
        else "not in this kernel"
    )
    tiers = [
        {"tier": "strict", "works": not problem, "why": problem or "control groups and bubblewrap"},
        {"tier": "landlock", "works": abi() > 0, "why": landlock},
        {
            "tier": "plain",
            "works": True,
            "why": "needs nothing; limits are watched, blindness is by convention",
        },
    ]
    return {
        "machine": asdict(machine),
        "tiers": tiers,
        "tier": choose_tier(),
        "memory_per_core_mb": memory_share_mb(Constraint("1s1c", 1.0, 1), machine),
        "interpreters": {version: str(path) for version, path in interpreters().items()},
        "frameworks": frameworks,
        "folders": {"cache": str(settings.cache), "state": str(settings.state)},
    }
