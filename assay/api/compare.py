"""Compare two frameworks of a plan: from a store to how far B is ahead of A."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.analysis.compare import Comparison, Side, compare_sides
from assay.api.flow import count_stale, match_store
from assay.errors import ConfigError
from assay.frameworks.find import find_framework, find_frameworks
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.job import Job
from assay.jobs.plan import Plan
from assay.jobs.row import Row
from assay.store.store import Store

__all__ = ["compare", "find_pair"]


def find_pair(
    a: str, b: str, params: Mapping[str, Mapping[str, object]] | None = None
) -> list[FrameworkSpec]:
    """Return the frameworks to plan for a comparison: A, B, and the constant predictor where it is neither."""
    for name, word in (("A", a), ("B", b)):
        if "," in word:
            raise ConfigError(f"{name} is '{word}', which names several frameworks. Give one.")
    first, second, constant = find_framework(a), find_framework(b), find_framework("constant")
    if _identity(first) == _identity(second):
        _refuse_twin(a, b, first, second)
    is_planned = _identity(constant) in (_identity(first), _identity(second))
    return find_frameworks(f"{a},{b}" if is_planned else f"{a},{b},constant", params)


def _identity(spec: FrameworkSpec) -> tuple[str, str]:
    return spec.name, spec.version


def _refuse_twin(a: str, b: str, first: FrameworkSpec, second: FrameworkSpec) -> None:
    what = f"A '{a}' and B '{b}' are both {first.name} {first.version}"
    if first.folder.resolve() == second.folder.resolve():
        raise ConfigError(
            f"{what}: there is nothing to compare. Name two versions, as in flaml:2.6.0 flaml:2.7.0, two "
            "folders or two frameworks."
        )
    raise ConfigError(
        f"{what}, so their results could not be told apart. Give one of them another 'version' in its framework.toml."
    )


def compare(
    jobs: Plan, store: Store, a: str | FrameworkSpec, b: str | FrameworkSpec, *, confidence: float = 0.95
) -> Comparison:
    """Say how far framework B is ahead of A on the jobs of a plan, with an interval; run them first.

    The plan has `constant` too, because differences are measured in gaps: from the constant predictor to the better
    of the two. `a` and `b` are words as in the plan, or its specs where only parameters differ.
    """
    from assay.results.scores import long_rows

    jobs = match_store(jobs, store)
    specs = [_planned(jobs, framework) for framework in (a, b, "constant")]
    if specs[0] == specs[1]:
        raise ConfigError(
            f"A and B are both {specs[0].name} {specs[0].version}: there is nothing to compare. Name two."
        )
    planned = {job.key: job for job in jobs.jobs}
    rows = [row for row in store.rows() if row.key in planned]
    with_params = _identity(specs[0]) == _identity(specs[1])
    sides = [
        Side(
            f"{spec.name} {spec.version}{f' {dict(spec.params)}' if with_params else ''}",
            long_rows([row for row in rows if _is_of(planned[row.key], spec)]),
        )
        for spec in specs
    ]
    ratios = {
        (task.name, task.id): sum(fold.n_test / fold.n_train for fold in task.folds) / len(task.folds)
        for task in jobs.tasks
        if not task.problem
    }
    comparison = compare_sides(sides[0], sides[1], sides[2], ratios, confidence)
    return replace(comparison, warnings=(*comparison.warnings, *_plan_warnings(jobs, specs, rows)))


def _planned(jobs: Plan, framework: str | FrameworkSpec) -> FrameworkSpec:
    """Return the plan's framework that is meant."""
    meant = find_framework(framework) if isinstance(framework, str) else framework
    same = [spec for spec in jobs.frameworks if _identity(spec) == _identity(meant)]
    matches = same if isinstance(framework, str) else [spec for spec in same if spec.params == meant.params]
    if not matches:
        raise ConfigError(
            f"{meant.name} {meant.version} is not in the plan. Plan A, B and constant together, then run and compare."
        )
    return matches[0]


def _is_of(job: Job, spec: FrameworkSpec) -> bool:
    return (job.framework, job.version, job.params) == (spec.name, spec.version, spec.params)


def _plan_warnings(jobs: Plan, specs: Sequence[FrameworkSpec], rows: Sequence[Row]) -> list[str]:
    out = [
        f"{name} does not do tasks of the type of {task}: left out."
        for name, task in dict.fromkeys(jobs.unsuited)
        if name in {spec.name for spec in specs}
    ]
    if stale := count_stale(jobs, rows):
        out.append(
            f"{stale} row(s) were made with another adapter or lock: run them again with `rerun_stale=True`."
        )
    return out
