"""Live progress of a run: one display on a terminal, one line per job elsewhere."""

from __future__ import annotations

import sys
import time
from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING, Any

from assay.cli.output import number, say, seconds, visible

if TYPE_CHECKING:
    from assay.jobs.plan import Plan
    from assay.runs.run import Event

__all__ = ["Counted", "RunProgress", "tell_install"]


class RunProgress:
    """Shows done, running, failed by kind and the time left."""

    def __init__(self, plan: Plan, done: set[str], quiet: bool = False) -> None:
        self.total = len(plan.jobs)
        self.done = len(done)
        self._known = done
        names = [name for name, _ in {(spec.name, spec.version) for spec in plan.frameworks}]
        self._several = {name for name in names if names.count(name) > 1}  # versions side by side
        self.failed: Counter[str] = Counter()
        self.running: dict[str, str] = {}
        self._finished = 0
        self._began = time.monotonic()
        self._quiet = quiet
        self._live: Any = None

    def __enter__(self) -> RunProgress:
        if self.done and not self._quiet:
            say(f"{self.done} of {self.total} jobs are done already.", file=sys.stderr)
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(self, console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Take the display down."""
        if self._live is not None:
            self._live.stop()
            self._live = None

    def __rich__(self) -> str:
        from rich.markup import escape

        left = self.total - self.done
        per_job = (time.monotonic() - self._began) / self._finished if self._finished else 0.0
        parts = [f"[bold]{self.done}/{self.total}[/] done", f"{len(self.running)} running"]
        if self.failed:
            kinds = ", ".join(f"{count} {kind}" for kind, count in self.failed.most_common())
            parts.append(f"[red]failed: {kinds}[/]")
        if self._finished and left:
            parts.append(f"about {seconds(per_job * left)} left")
        now = escape(visible(" · ".join(self.running.values())))
        return " · ".join(parts) + (f"\n[dim]{now}[/]" if now else "")

    def tell(self, event: Event) -> None:
        """Take an event of the run."""
        job = event.job
        who = f"{job.framework}:{job.version}" if job.framework in self._several else job.framework
        name = f"{who} on {job.task}, fold {job.fold if not job.repeat else f'{job.repeat}.{job.fold}'}"
        if event.kind == "install":
            if not self._quiet:
                tell_install(f"{job.framework} {job.version}", event.text)
            return
        if event.kind == "waiting":
            if not self._quiet:
                limit = job.constraint
                needed = f"{limit.cores} free core(s)" + (f" and {limit.gpus} GPU(s)" if limit.gpus else "")
                say(f"Waiting for {needed}: other runs on this machine hold them.", file=sys.stderr)
            return
        if event.kind == "start":
            self.running[job.key] = name
            return
        self.running.pop(job.key, None)
        self._finished += 1
        self.done += job.key not in self._known
        status = event.row.status if event.row else "ok"
        if status != "ok":
            self.failed[status] += 1
        if not self._quiet and (self._live is None or status != "ok"):
            self._line(name, status, event.row)

    def _line(self, name: str, status: str, row: Any) -> None:
        if status == "ok":
            what = f"{row.metric} {number(row.score)} in {seconds(row.fit_s)}"
        else:
            what = f"{status}: {row.message}".split("\n")[0][:160]
        text = visible(f"[{self.done}/{self.total}] {name}: {what}")
        if self._live is None:
            say(text, file=sys.stderr, flush=True)
        else:
            from rich.markup import escape

            self._live.console.print(escape(text), highlight=False)


class Counted:
    """Shows how much of a number of equal pieces is done: a bar on a terminal, a line for each tenth elsewhere.

    `remedy` is what to say to someone who interrupts: whether the work is kept, and how to go on.
    """

    def __init__(self, what: str, quiet: bool = False, remedy: str = "") -> None:
        self._what = what
        self._quiet = quiet
        self._remedy = remedy
        self._done = (0, 0)
        self._bar: Any = None
        self._told = 0

    def __enter__(self) -> Counted:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import Progress as Bar

            self._bar = Bar(console=Console(stderr=True), transient=True)
            self._bar.start()
            self._bar.add_task(self._what, total=None)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()
        if kind is KeyboardInterrupt:
            done, total = self._done
            when = f"after {done} of {total} {self._what}" if total else "before the work began"
            say(f"\ninterrupted {when}. {self._remedy}", file=sys.stderr, flush=True)

    def __call__(self, done: int, total: int) -> None:
        """Take how many are done."""
        self._done = (done, total)
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, total=total)
        elif not self._quiet and done and (done == total or done * 10 // total > self._told):
            self._told = done * 10 // total
            say(f"{done} of {total} {self._what}", file=sys.stderr, flush=True)


def tell_install(framework: str, line: str) -> None:
    """Show one step of an install; not the hundred packages uv lists."""
    if line.strip() and not line.lstrip().startswith(("+", "-", "~", "warning:")):
        say(f"{framework}: {line.strip()[:160]}", file=sys.stderr, flush=True)
