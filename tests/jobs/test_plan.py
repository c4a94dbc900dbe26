from __future__ import annotations

import re
from collections.abc import Callable, Collection

import pytest

from assay.data.task import Fold, Task
from assay.errors import ConfigError
from assay.frameworks.spec import FrameworkSpec
from assay.jobs.constraint import Constraint, parse_constraint
from assay.jobs.plan import Plan, cost, plan_jobs

MakeTask = Callable[..., Task]
MakeSpec = Callable[..., FrameworkSpec]
MINUTE = parse_constraint("1m1c")


def listed(plan: Plan) -> list[tuple[str, int, int, str]]:
    return [(job.task, job.repeat, job.fold, job.framework) for job in plan.jobs]


def test_first_fold_of_all_tasks_comes_first_for_all_frameworks(
    make_task: MakeTask, make_spec: MakeSpec
) -> None:
    plan = plan_jobs([make_task("a", 2), make_task("b", 3)], [make_spec("x"), make_spec("y")], MINUTE)
    assert listed(plan) == [
        ("a", 0, 0, "x"),
        ("a", 0, 0, "y"),
        ("b", 0, 0, "x"),
        ("b", 0, 0, "y"),
        ("a", 0, 1, "x"),
        ("a", 0, 1, "y"),
        ("b", 0, 1, "x"),
        ("b", 0, 1, "y"),
        ("b", 0, 2, "x"),
        ("b", 0, 2, "y"),
    ]


def test_later_repeats_come_last(make_task: MakeTask, make_spec: MakeSpec) -> None:
    plan = plan_jobs([make_task("a", 2, repeats=2), make_task("b", 1)], [make_spec("x")], MINUTE)
    assert [place[:3] for place in listed(plan)] == [
        ("a", 0, 0),
        ("b", 0, 0),
        ("a", 0, 1),
        ("a", 1, 0),
        ("a", 1, 1),
    ]


def test_keys_are_unique(make_task: MakeTask, make_spec: MakeSpec) -> None:
    plan = plan_jobs([make_task("a"), make_task("b")], [make_spec("x"), make_spec("x", "2")], MINUTE)
    assert len({job.key for job in plan.jobs}) == len(plan.jobs) == 12


def test_unsuited_types_are_reported_and_not_planned(make_task: MakeTask, make_spec: MakeSpec) -> None:
    only_numbers = make_spec("x", types=("regression",))
    plan = plan_jobs(
        [make_task("a"), make_task("b", type="regression", classes=())],
        [only_numbers, make_spec("y")],
        MINUTE,
    )
    assert plan.unsuited == (("x", "a"),)
    assert {(job.task, job.framework) for job in plan.jobs} == {("a", "y"), ("b", "x"), ("b", "y")}


def test_broken_task_is_planned_for_every_framework(make_task: MakeTask, make_spec: MakeSpec) -> None:
    """Its type is a guess, so no framework may be called unsuited; each job ends as a `data` row."""
    broken = make_task("a", problem="There is no file a.csv.")
    plan = plan_jobs([broken], [make_spec("x", types=("regression",))], MINUTE)
    assert len(plan.jobs) == 3
    assert plan.unsuited == ()


@pytest.mark.parametrize(("folds", "expected"), [([0], [0, 0]), ({1, 2}, [1, 1, 2]), ((2,), [2])])
def test_only_wanted_folds_are_planned(
    make_task: MakeTask, make_spec: MakeSpec, folds: Collection[int], expected: list[int]
) -> None:
    plan = plan_jobs([make_task("a", 2), make_task("b", 3)], [make_spec()], MINUTE, folds=folds)
    assert [job.fold for job in plan.jobs] == expected


def test_most_folds_are_the_first_of_each_task(make_task: MakeTask, make_spec: MakeSpec) -> None:
    few = Constraint("x", 60.0, 1, max_folds=2)
    later = make_task("c", folds=(Fold(0, 5, 1, 1), Fold(0, 4, 1, 1), Fold(0, 6, 1, 1)))
    plan = plan_jobs([make_task("a", 10), make_task("b", 3, repeats=3), later], [make_spec()], few)
    assert sorted(place[:3] for place in listed(plan)) == [
        ("a", 0, 0),
        ("a", 0, 1),
        ("b", 0, 0),
        ("b", 0, 1),
        ("c", 0, 4),
        ("c", 0, 5),
    ]


def test_overrides_reach_the_jobs_of_their_task(make_task: MakeTask, make_spec: MakeSpec) -> None:
    limits = Constraint("x", 60.0, 1, tasks={"b": {"time": "1h", "folds": 1}})
    plan = plan_jobs([make_task("a", 2), make_task("b", 2)], [make_spec()], limits)
    assert [(job.task, job.constraint.time_s) for job in plan.jobs] == [
        ("a", 60.0),
        ("b", 3600.0),
        ("a", 60.0),
    ]


def test_same_task_under_two_names_is_refused(make_task: MakeTask, make_spec: MakeSpec) -> None:
    """Its jobs would share their keys: a planned job would have no row of its own."""
    twin = make_task("b", data_digest="data of a", split_digest="splits of a")
    with pytest.raises(ConfigError, match=r"'a' and 'b' are the same.*Keep one of them"):
        plan_jobs([make_task("a"), twin], [make_spec()], MINUTE)
    with pytest.raises(ConfigError, match="'a' and 'a' are the same"):
        plan_jobs([make_task("a"), make_task("a")], [make_spec()], MINUTE)


@pytest.mark.parametrize(
    ("folds", "limits", "message"),
    [
        ([7, 5], MINUTE, "No fold is left to run: `folds` asks for 5, 7, there are 0 to 2."),
        (
            [2],
            Constraint("x", 60.0, 1, max_folds=2),
            "No fold is left to run: `folds` asks for 2, there are 0 to 1.",
        ),
        ([], MINUTE, "No fold is left to run: `folds` asks for none, there are 0 to 2."),
    ],
)
def test_folds_that_do_not_exist_are_refused(
    make_task: MakeTask, make_spec: MakeSpec, folds: list[int], limits: Constraint, message: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        plan_jobs([make_task("a", 3), make_task("b", 1)], [make_spec()], limits, folds=folds)


def test_nothing_to_plan_is_said(make_task: MakeTask, make_spec: MakeSpec) -> None:
    with pytest.raises(ConfigError, match="No task is left to run"):
        plan_jobs([], [make_spec()], MINUTE)
    with pytest.raises(ConfigError, match="task 'a' has none"):
        plan_jobs([make_task("a", folds=())], [make_spec()], MINUTE)


def test_plan_knows_the_task_and_the_framework_of_a_job(make_task: MakeTask, make_spec: MakeSpec) -> None:
    tasks = [make_task("same", data_digest=digest) for digest in "12"]
    specs = [make_spec("x", "1"), make_spec("x", "2")]
    plan = plan_jobs(tasks, specs, MINUTE)
    assert {(id(plan.task(job)), id(plan.framework(job))) for job in plan.jobs} == {
        (id(task), id(spec)) for task in tasks for spec in specs
    }
    assert all(plan.task(job).digest == job.task_digest for job in plan.jobs)
    assert all(plan.framework(job).version == job.version for job in plan.jobs)


def test_cost_counts_budgets_and_limits(make_task: MakeTask, make_spec: MakeSpec) -> None:
    hour = Constraint("x", 3600.0, 1, tasks={"b": {"time": "2h"}})
    jobs = plan_jobs([make_task("a", 2), make_task("b", 1)], [make_spec()], hour).jobs
    found = cost(jobs, parallel=2)
    # fit: budget plus an hour; predict: the budget; start, load, timing and export 5 minutes each.
    worst = 2 * (2 + 1 + 1 / 3) + (3 + 2 + 1 / 3)
    assert (found.jobs, found.budget_h, found.wall_h, found.parallel) == (3, 4.0, 2.0, 2)
    assert found.worst_h == pytest.approx(worst, rel=1e-12)
    assert cost(jobs, parallel=0).wall_h == 4.0
    assert cost([], parallel=1).budget_h == 0.0


def test_twenty_thousand_jobs_are_planned(make_task: MakeTask, make_spec: MakeSpec) -> None:
    tasks = [make_task(f"t{i}", 10) for i in range(200)]
    plan = plan_jobs(tasks, [make_spec(f"f{i}") for i in range(10)], MINUTE)
    assert len({job.key for job in plan.jobs}) == 20_000


def test_planning_imports_nothing_heavy() -> None:
    import subprocess
    import sys

    code = "import sys, assay.jobs.plan; print({'numpy', 'pandas', 'sklearn', 'pydantic'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
