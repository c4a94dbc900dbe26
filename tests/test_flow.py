"""The whole flow on the bundled suite with two baselines, through the Python API as CONVENTIONS shows it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import assay
from assay import Local, Settings, Store, analyse, load_suite, load_tasks, plan, run, score, write_report


def test_from_suite_to_report(tmp_path: Path, shared_settings: Settings) -> None:
    suite = load_suite("bundled")
    tasks = load_tasks(suite, shared_settings)
    assert {task.type for task in tasks} == {"binary", "multiclass", "regression"}
    jobs = plan(
        suite,
        frameworks=["constant", "decision_tree"],
        constraint="30s1c",
        tasks=tasks,
        folds=[0],
        settings=shared_settings,
    )
    store = Store(tmp_path / "results")
    told = []
    run(jobs, store, executor=Local(workers=1), settings=shared_settings, tell=told.append)
    assert len(jobs.jobs) == 2 * len(tasks)
    assert [event.kind for event in told if event.kind != "waiting"] == ["start", "done"] * len(jobs.jobs)

    scores = score(store)
    assert set(scores["key"]) == {job.key for job in jobs.jobs}
    assert set(scores["status"]) == {"ok"} and scores["value"].notna().all()
    again = score(store, ["acc", "mae"])
    assert set(again["metric"]) == {"acc", "mae"} and len(again) == len(jobs.jobs)

    board = analyse(store).leaderboard()
    ranks = {standing.framework: standing.rank for standing in board.standings}
    assert set(ranks) == {"constant", "decision_tree"} and sum(ranks.values()) == pytest.approx(3.0)
    assert board.notes == ()
    first = next(c.mean for (task, name), c in board.cells.items() if (task, name) == ("iris", "constant"))
    assert first == pytest.approx(1.0986, abs=1e-4)  # ln 3: the prior of three equal classes

    write_report(tmp_path / "report.html", analyse(store))
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert f"{board.standings[0].framework} comes out first on" in page and "<td>decision_tree</td>" in page

    told.clear()
    run(jobs, store, executor=Local(workers=1), settings=shared_settings, tell=told.append)
    assert told == [], "the same call again runs nothing"
    assert score(store).equals(scores)


def test_names_and_specs_may_be_mixed(shared_settings: Settings) -> None:
    spec = assay.find_framework("decision_tree")
    tasks = [task for task in load_tasks(load_suite("bundled"), shared_settings) if task.name == "iris"]
    jobs = plan("bundled", [spec, "constant"], "30s1c", tasks=tasks, folds=[0], settings=shared_settings)
    assert {job.framework for job in jobs.jobs} == {"decision_tree", "constant"}


def test_an_empty_store_has_no_leaderboard(tmp_path: Path) -> None:
    with pytest.raises(assay.UserError, match="no finished jobs"):
        analyse(Store(tmp_path / "results"))
    assert len(score(Store(tmp_path / "results"))) == 0


def test_the_public_names_are_few_and_all_there() -> None:
    assert 15 <= len(assay.__all__) <= 18
    assert assay.__all__ == sorted(assay.__all__)
    for name in assay.__all__:
        assert getattr(assay, name).__doc__, name
    assert set(dir(assay)) == {*assay.__all__, "__version__"}
    with pytest.raises(AttributeError, match="leaderbord"):
        assay.leaderbord  # noqa: B018


def test_importing_the_package_costs_next_to_nothing() -> None:
    code = "import sys, assay; print(len([m for m in sys.modules if m.startswith('assay')]))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
