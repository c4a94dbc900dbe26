"""Average ranks, with failures imputed and counted, and warnings where they mislead."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata

from assay.analysis import leaderboard
from assay.analysis.leaderboard import Leaderboard
from assay.analysis.pairwise import compare_pairwise
from assay.analysis.trust import trust
from assay.jobs.row import Row
from assay.results.scores import long_rows, scores_table


def make_leaderboard(rows: Sequence[Row], include_excluded: bool = False) -> Leaderboard:
    """Return the leaderboard of results rows."""
    return leaderboard.make_leaderboard(
        scores_table(rows), np.random.default_rng(0), include_excluded=include_excluded
    )


def row(framework: str, task: str, score: float | None, **changed: Any) -> Row:
    """Return a results row; without a score it failed."""
    metric = changed.get("metric", "auc")
    columns = {
        "key": "k",
        "attempt": 1,
        "task_id": task,
        "type": "binary",
        "cores": 8,
        "seed": changed.get("run_seed", 0),
        "message": "",
        "scores": {metric: score},
        "predict_s": 0.1,
        "wall_s": 2.0,
        "cpu_s": 2.0,
        "peak_memory_mb": 100.0,
        "models_count": 1,
        "inference_s": {"1": 0.01, "1000": 0.5},
        "origin": "assay",
        "framework": framework,
        "version": "1",
        "params": {},
        "role": "constant" if framework == "constant" else "framework",
        "task": task,
        "task_digest": f"digest of {task} {metric}",
        "repeat": 0,
        "fold": 0,
        "run_seed": 0,
        "constraint": "1h8c",
        "budget_s": 100.0,
        "status": "ok" if score is not None else "error",
        "metric": metric,
        "score": score,
        "higher_is_better": {metric: metric == "auc"},
        "fit_s": 1.0,
        "constant_predictions": False,
        "enforcement": "strict",
        "blindness": "enforced",
        "contended": False,
        "start": "cold",
        "started_at": "",
        "framework_digest": "",
        "fold_digest": "",
        "predictions_digest": "",
        **changed,
    }
    return Row(**columns)


def ranks(board: Leaderboard) -> dict[str, float | None]:
    return {standing.framework: standing.rank for standing in board.standings}


@pytest.mark.parametrize("metric", ["auc", "logloss"])
def test_average_ranks_are_scipys(metric: str) -> None:
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 6, (5, 12)) / 6  # frameworks × tasks, with many ties
    rows = [row(f"f{i}", f"t{j}", float(scores[i, j]), metric=metric) for i in range(5) for j in range(12)]
    random.Random(0).shuffle(rows)
    expected = rankdata(-scores if metric == "auc" else scores, axis=0).mean(axis=1)
    board = make_leaderboard(rows)
    assert ranks(board) == pytest.approx({f"f{i}": expected[i] for i in range(5)}, abs=1e-12)
    assert [s.rank for s in board.standings] == sorted(s.rank for s in board.standings if s.rank is not None)
    assert board.notes == ()


def test_folds_and_repeats_are_averaged_before_ranking() -> None:
    rows = [
        row(name, "t", score, fold=fold, repeat=repeat)
        for name, scores in (("a", (0.2, 0.8, 0.9, 0.5)), ("b", (0.7, 0.6, 0.7, 0.5)))
        for (repeat, fold), score in zip(((0, 0), (0, 1), (1, 0), (1, 1)), scores, strict=True)
    ]
    board = make_leaderboard(rows)
    assert board.cells["t", "a"].mean == pytest.approx(0.6) and board.cells["t", "a"].folds == 4
    assert ranks(board) == {"a": 2.0, "b": 1.0}
    assert [(s.framework, s.wins) for s in board.standings] == [("b", 1), ("a", 0)]


def test_ties_share_a_rank_and_nobody_wins() -> None:
    board = make_leaderboard([row(name, "t", 0.5) for name in "abc"])
    assert ranks(board) == {"a": 2.0, "b": 2.0, "c": 2.0}
    assert {s.wins for s in board.standings} == {0}


# --- failures --------------------------------------------------------------------------------------------


def test_a_failed_fold_counts_as_the_constant_predictor_on_that_fold() -> None:
    rows = [
        *(row("constant", "t", score, fold=fold) for fold, score in enumerate((0.5, 0.4))),
        *(row("good", "t", score, fold=fold) for fold, score in enumerate((0.9, 0.1))),
        row("bad", "t", 0.8, fold=0),
        row("bad", "t", None, fold=1, status="timeout"),
    ]
    board = make_leaderboard(rows)
    cell = board.cells["t", "bad"]
    assert (cell.mean, cell.folds, cell.failed, cell.imputed) == (pytest.approx((0.8 + 0.4) / 2), 2, 1, 1)
    bad = next(s for s in board.standings if s.framework == "bad")
    assert (bad.ok, bad.failed, bad.imputed) == (1, 1, 1)
    assert board.notes == ()


@pytest.mark.parametrize(("metric", "worst"), [("auc", 0.3), ("logloss", 0.9)])
def test_without_the_constant_predictor_a_failed_fold_counts_as_the_worst(metric: str, worst: float) -> None:
    rows = [
        row("a", "t", 0.9, metric=metric),
        row("b", "t", 0.3, metric=metric),
        row("c", "t", None, metric=metric),
    ]
    board = make_leaderboard(rows)
    assert board.cells["t", "c"].mean == worst
    assert any("constant predictor was not run" in warning for warning in board.notes)


def test_imputation_is_counted_fold_by_fold() -> None:
    """On fold 0 everybody failed, so there was nothing to impute with; on fold 1 there was."""
    rows = [row("a", "t", None, fold=0), row("b", "t", None, fold=0)]
    rows += [row("a", "t", 0.9, fold=1), row("b", "t", None, fold=1)]
    for order in (rows, rows[::-1]):
        board = make_leaderboard(order)
        assert board.cells["t", "a"].imputed == 0 and board.cells["t", "a"].failed == 1
        assert board.cells["t", "b"].imputed == 1 and board.cells["t", "b"].failed == 2


@pytest.mark.parametrize("status", ["setup", "data", "lost"])
def test_what_is_not_the_frameworks_doing_is_neither_imputed_nor_ranked(status: str) -> None:
    rows = [row("constant", "t", 0.5), row("a", "t", None, status=status), row("b", "t", 0.6)]
    board = make_leaderboard(rows)
    assert ("t", "a") not in board.cells
    assert ranks(board) == {"b": 1.0, "constant": 2.0, "a": None}
    assert board.standings[-1].framework == "a" and board.standings[-1].failed == 1
    assert any("no score of theirs can be compared: a" in warning for warning in board.notes)


def test_when_all_fail_there_is_no_rank() -> None:
    board = make_leaderboard([row("a", "t", None), row("b", "t", None)])
    assert ranks(board) == {"a": None, "b": None}
    assert board.cells["t", "a"].mean is None


@pytest.mark.parametrize("score", [None, float("inf")])
def test_predictions_that_the_metric_has_no_value_for_are_no_failure_but_count_as_the_constants(
    score: float | None,
) -> None:
    rows = [
        *(row("constant", "t", 0.5, fold=fold) for fold in (0, 1)),
        row("a", "t", 0.7),
        row("a", "t", score, fold=1, status="ok"),
        row("b", "t", 0.6),
        row("b", "t", 0.4, fold=1),
    ]
    cell = make_leaderboard(rows).cells["t", "a"]
    assert (cell.mean, cell.failed, cell.imputed) == (pytest.approx(0.6), 0, 1)


# --- warnings and trust ----------------------------------------------------------------------------------


def test_ranks_compare_on_the_tasks_that_all_have_and_the_others_are_named() -> None:
    rows = [row("a", "t1", 0.9), row("a", "t2", 0.5), row("b", "t2", 0.6), row("b", "t3", 0.1)]
    board = make_leaderboard(rows)
    assert ranks(board) == {"b": 1.0, "a": 2.0} and {s.tasks for s in board.standings} == {1}
    assert any("2 of 3 tasks" in warning and "t1, t3" in warning for warning in board.notes)


def test_ranks_compare_on_the_folds_that_all_have() -> None:
    rows = [row("a", "t", 0.5), row("a", "t", 0.9, fold=1), row("b", "t", 0.6)]
    board = make_leaderboard(rows)
    assert ranks(board) == {"b": 1.0, "a": 2.0}, "fold 1 is not b's"
    assert any("1 of the folds" in warning for warning in board.notes)
    assert board.cells["t", "a"].mean == 0.7 and board.cells["t", "a"].folds == 2


def test_one_that_was_run_on_nothing_the_others_have_does_not_take_their_ranks_away() -> None:
    rows = [row("a", "t", 0.5), row("b", "t", 0.6), row("late", "other", 0.6)]
    board = make_leaderboard(rows)
    assert ranks(board) == {"b": 1.0, "a": 2.0, "late": None}


def test_mixed_tiers_are_warned_of_and_counted_in_the_trust_line() -> None:
    rows = [
        row("a", "t", 0.7),
        row("b", "t", 0.6, enforcement="plain", blindness="convention", contended=True),
    ]
    board = make_leaderboard(rows)
    assert any("tiers are mixed" in warning for warning in board.notes)
    assert board.trust == trust(long_rows(rows))
    assert "plain (1), strict (1)" in board.trust and "convention (1), enforced (1)" in board.trust
    assert "contended 1 of 2" in board.trust and "start cold" in board.trust
    assert trust([]) == "no rows"


def test_constant_predictions_of_a_framework_are_warned_of_but_not_the_constants_own() -> None:
    rows = [
        row("constant", "t", 0.5, constant_predictions=True),
        row("a", "t", 0.6, constant_predictions=True),
    ]
    assert make_leaderboard(rows).notes == ("a gave constant predictions in 1 job(s).",)


# --- who is who ------------------------------------------------------------------------------------------


def names(*rows: dict[str, Any]) -> set[str]:
    return {standing.framework for standing in make_leaderboard(rows).standings}


def test_names_are_as_short_as_is_unambiguous() -> None:
    one = row("a", "t", 0.5)
    assert names(one, row("b", "t", 0.5, version="2", params={"x": 1})) == {"a", "b"}
    assert names(one, row("a", "t", 0.6, version="2")) == {"a:1", "a:2"}
    assert names(row("a", "t", 0.5, params={"x": 1}), row("a", "t", 0.6, params={"x": 2})) == {
        "a x=1",
        "a x=2",
    }
    longer = row("b", "t", 0.6, constraint="4h8c", budget_s=400.0)
    assert names(one, longer) == {"a @1h8c", "b @4h8c"}
    assert names(one, row("b", "t", 0.6, constraint="1h4c", cores=4)) == {"a @1h8c", "b @1h4c"}
    assert names(one, row("a", "t", 0.6, constraint="1h8c16g")) == {"a @1h8c", "a @1h8c16g"}
    assert len(names(one, row("a", "t", 0.6, params={"_trees": 2}))) == 2, "they are two frameworks"


def test_one_name_with_two_metrics_is_two_tasks() -> None:
    """The same task run for accuracy and again for log loss: their numbers must not meet."""
    rows = [
        *(row("a", "t", 0.9), row("b", "t", 0.8)),
        *(row("a", "t", 0.3, metric="logloss"), row("b", "t", 0.2, metric="logloss")),
    ]
    board = make_leaderboard(rows)
    assert board.metrics == {"t/auc": "auc", "t/logloss": "logloss"}
    assert board.higher_is_better == {"t/auc": True, "t/logloss": False}
    assert ranks(board) == {"a": 1.5, "b": 1.5}
    assert board.cells["t/logloss", "a"].mean == 0.3


def test_one_name_with_two_states_of_a_file_is_two_tasks() -> None:
    rows = [row("a", "t", 0.9, task_digest="111111aa"), row("a", "t", 0.1, task_digest="222222bb")]
    assert set(make_leaderboard(rows).metrics) == {"t/111111", "t/222222"}


def test_a_task_that_was_mended_has_its_own_metric() -> None:
    """A broken file has no type, so its `data` row carries a metric that means nothing."""
    rows = [
        row("a", "t", None, status="data", metric="auc"),
        row("a", "t", 0.3, metric="logloss"),
        row("b", "t", 0.2, metric="logloss"),
    ]
    board = make_leaderboard(rows)
    assert board.metrics == {"t": "logloss"} and ranks(board) == {"b": 1.0, "a": 2.0}


def test_another_run_seed_is_averaged_and_not_dropped() -> None:
    rows = [row("a", "t", 0.2), row("a", "t", 0.8, run_seed=1)]
    cell = make_leaderboard(rows).cells["t", "a"]
    assert (cell.mean, cell.folds) == (0.5, 2)


def test_the_time_shown_is_the_median_of_ok_jobs() -> None:
    rows = [row("a", "t", 0.5, fold=fold, fit_s=fit) for fold, fit in enumerate((1.0, 2.0, 4.0, 100.0))]
    rows.append(row("a", "t", None, fold=4, fit_s=1e6))
    assert make_leaderboard(rows).standings[0].fit_s == 3.0


def test_framework_that_cannot_be_evaluated_cleanly_has_no_rank_and_pushes_nobody_down() -> None:
    rows = [row("a", "t", 0.7), row("b", "t", 0.6), row("seen", "t", 0.9, meta_learning="excluded")]
    board = make_leaderboard(rows)
    assert ranks(board) == {"a": 1.0, "b": 2.0, "seen": None}
    assert board.cells["t", "seen"].mean == 0.9, "its score is shown all the same"
    assert [s.wins for s in board.standings] == [1, 0, 0]
    assert any("seen was meta-trained" in text and "it is not ranked" in text for text in board.notes)
    asked = make_leaderboard(rows, include_excluded=True)
    assert ranks(asked) == {"seen": 1.0, "a": 2.0, "b": 3.0}
    assert any("because that was asked for" in text for text in asked.notes)


def test_marked_framework_is_ranked_and_named() -> None:
    board = make_leaderboard([row("a", "t", 0.7), row("warm", "t", 0.9, meta_learning="marked")])
    assert ranks(board) == {"warm": 1.0, "a": 2.0}
    assert [s.meta_learning for s in board.standings] == ["marked", ""]
    assert any("read its results with care" in text for text in board.notes)


def test_longest_fit_is_given_as_a_share_of_the_budget() -> None:
    rows = [row("a", "t", 0.5, fold=0, fit_s=50.0), row("a", "t", None, fold=1, fit_s=180.0)]
    board = make_leaderboard(rows)
    assert board.standings[0].fit_share == 1.8
    assert "Exceeded the time budget, with the longest fit as a share of it: a 180%." in board.notes
    assert not any("budget" in text for text in make_leaderboard(rows[:1]).notes)
    assert make_leaderboard([row("a", "t", 0.5, fit_s=None)]).standings[0].fit_share is None


# --- how sure --------------------------------------------------------------------------------------------


def many(tasks: int) -> list[dict[str, Any]]:
    """Return rows of three frameworks: `good` is clearly ahead, the other two are alike."""
    draw = np.random.default_rng(1).normal(scale=0.02, size=(tasks, 3))
    strength = {"good": 0.9, "b": 0.6, "c": 0.6}
    return [
        row(name, f"t{t}", value + float(draw[t, j]))
        for t in range(tasks)
        for j, (name, value) in enumerate(strength.items())
    ]


def test_intervals_and_groups_are_those_of_drawing_tasks() -> None:
    board = make_leaderboard(many(20))
    good, *others = board.standings
    assert (good.framework, good.rank, good.group) == ("good", 1.0, 1) and {s.group for s in others} == {2}
    assert board.draws == 1000 and board.n_tasks == 20
    for standing in board.standings:
        assert standing.rank_low is not None and standing.rank_high is not None and standing.rank is not None
        assert standing.rank_low <= standing.rank <= standing.rank_high
    assert good.scaled == 1.0 and good.win_rate == 1.0 and good.wins == 20


def test_with_few_tasks_there_are_ranks_but_no_intervals_and_one_group() -> None:
    board = make_leaderboard(many(4))
    assert board.draws == 0 and {s.group for s in board.standings} == {1}
    assert all(s.rank is not None and s.rank_low is None and s.elo_low is None for s in board.standings)


def test_the_board_is_the_same_for_the_same_seed() -> None:
    assert make_leaderboard(many(8)) == make_leaderboard(many(8))


def test_elo_is_that_of_the_comparison_of_pairs() -> None:
    from assay.analysis.impute import gather

    board = make_leaderboard(many(20))
    pairs = compare_pairwise(gather(scores_table(many(20))), np.random.default_rng(0))
    by_name = dict(zip(pairs.frameworks, pairs.elo.tolist(), strict=True))
    assert {s.framework: s.elo for s in board.standings} == by_name


def test_inference_is_per_row_in_the_largest_batch() -> None:
    assert make_leaderboard([row("a", "t", 0.5)]).standings[0].row_s == 0.5 / 1000
    assert make_leaderboard([row("a", "t", 0.5, inference_s={})]).standings[0].row_s is None


def test_results_of_others_have_no_conditions_and_say_so() -> None:
    foreign = row("a", "t", 0.5, origin="AMLB's results, x.csv", enforcement="", blindness="", start="")
    assert (
        make_leaderboard([foreign]).trust == "not known: these are results of others (AMLB's results, x.csv)"
    )


def test_where_no_elo_is_finite_there_is_no_figure_of_it() -> None:
    rows = [row(name, f"t{j}", score) for j in range(6) for name, score in (("a", 0.9), ("b", 0.1))]
    board = make_leaderboard(rows)
    assert all(standing.elo in (np.inf, -np.inf) for standing in board.standings)
    (drawing,) = board.drawings()
    assert drawing.empty == "No framework has a finite Elo" and not drawing.on_page
    rows += [row("a", "t6", 0.1), row("b", "t6", 0.9)]
    (drawing,) = make_leaderboard(rows).drawings()
    assert drawing.empty == "" and drawing.on_page
