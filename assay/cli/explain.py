"""`assay explain`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import Json, StoreOption
from assay.cli.output import STORE, console, open_store, print_json, seconds, visible

if TYPE_CHECKING:
    from assay.results.explain import Explanation

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("explain")(explain)


def explain(
    key: Annotated[str, typer.Argument(help="Key of the job, or its first characters.")],
    store: StoreOption = STORE,
    json: Json = False,
) -> None:
    """Explain what happened to a job: phases, memory, verdict with evidence, last log lines, suggested fix.

    \b
    Example:
      assay explain 3f9a
    """
    from assay.results.explain import explain as gather

    explanation = gather(open_store(store), key)
    if json:
        facts = explanation.facts.to_json() if explanation.facts else None
        row = explanation.row.to_json() if explanation.row else {}
        print_json(
            {
                "state": explanation.state, "row": row, "facts": facts, "log": explanation.log,
                "removed": explanation.removed, "remedy": explanation.remedy,
            }
        )  # fmt: skip
        return
    _show(explanation)


def _show(explanation: Explanation) -> None:
    from rich.markup import escape

    job, row, facts = explanation.job, explanation.row, explanation.facts
    out = console()
    status = row.status if row else explanation.state
    who = f"[bold]{escape(job.framework)}[/] {escape(job.version)} on [bold]{escape(job.task)}[/]"
    attempt = f"attempt {explanation.folder.number} of {explanation.attempts}"
    which = f"fold {job.fold}, {escape(job.constraint.name)}, {attempt}"
    out.print(f"{who}, {which}")
    message = row.message if row else ""
    out.print(f"[bold]{status}[/]" + (f": {escape(visible(message))}" if message else ""))
    for note in row.notes if row else ():
        out.print(f"note: {escape(visible(note))}")
    if facts is not None and facts.phases:
        limits = explanation.limits_s
        line = " → ".join(
            f"{phase} {seconds(spent)}" + (f" (limit {seconds(limits[phase])})" if phase in limits else "")
            for phase, spent in facts.phases.items()
        )
        out.print(f"phases: {line}")
        out.print(
            f"memory: peak {facts.memory_peak_mb:.0f} of {facts.memory_limit_mb} MB "
            f"{_sparkline(facts.memory_samples)} · cpu {seconds(facts.cpu_s)} · "
            f"disk {facts.disk_peak_mb:.0f} MB · processes {facts.processes_peak}"
        )
        out.print(f"evidence: {escape(_evidence(facts))}")
    if explanation.log:
        out.print(f"last lines of {escape(str(explanation.folder.log))}:")
        for line in explanation.log:
            out.print(f"  [dim]{escape(visible(line))}[/]")
    for sentence in explanation.removed:
        out.print(escape(sentence))
    out.print(f"[bold]what to do:[/] {escape(explanation.remedy)}")


def _evidence(facts: Any) -> str:
    parts = [f"tier {facts.enforcement}"]
    if facts.exit_code is not None:
        parts.append(f"exit code {facts.exit_code}")
    if facts.signal:
        parts.append(f"signal {facts.signal}")
    if facts.stopped_for:
        parts.append(f"stopped by the supervisor for {facts.stopped_for}")
    if facts.oom_kills:
        parts.append(f"{facts.oom_kills} process(es) killed for memory")
    if facts.process_limit_hits:
        parts.append(f"{facts.process_limit_hits} forks refused")
    if facts.left_behind:
        parts.append(f"{facts.left_behind} process(es) left behind and killed")
    if facts.log_cut:
        parts.append(f"log cut from {facts.log_bytes} bytes")
    return ", ".join(parts)


def _sparkline(samples: Sequence[tuple[float, float]]) -> str:
    if len(samples) < 2:
        return ""
    step = max(1, len(samples) // 40)
    values = [memory for _, memory in samples[::step]]
    top = max(values) or 1.0
    return "".join("▁▂▃▄▅▆▇█"[min(7, int(8 * value / top))] for value in values)
