"""AMLB's results of every year are read as they were meant, and what is merged or left out is counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from assay.analysis.filter import Filter, labelled
from assay.api import analyse
from assay.errors import DataError
from assay.results.formats.foreign import read_scores
from assay.results.formats.published import COLUMNS
from assay.results.scored import Scores

NOW = "id,task,framework,constraint,fold,type,result,metric,version,params,utc,duration,info,auc,logloss"
THEN = "id,task,framework,fold,result,version,params,utc,duration,info,acc,auc,logloss"


def read(folder: Path, head: str, *lines: str, name: str = "results.csv") -> Scores:
    path = folder / name
    path.write_text("\n".join([head, *lines]) + "\n")
    return read_scores(path)


def row(task: str = "t", framework: str = "a", fold: int = 0, params: str = "", **said: Any) -> str:
    """Return a row as AMLB writes it today."""
    known = {
        "id": "openml.org/t/1", "task": task, "framework": framework, "constraint": "1h8c", "fold": fold,
        "type": "binary", "result": "0.75", "metric": "auc", "version": "1", "params": f'"{params}"', "duration": 10,
        "logloss": 0.5, **said,
    }  # fmt: skip
    known["auc"] = known["result"]
    return ",".join(str(known.get(name, "")) for name in NOW.split(","))


def jobs(scores: Scores) -> Any:
    return scores.table[scores.table["optimised"]].reset_index(drop=True)


def labels(scores: Scores) -> list[str]:
    return sorted(labelled(jobs(scores))["label"].unique())


# --- params ----------------------------------------------------------------------------------------------


def test_params_that_begin_with_an_underscore_do_not_split_a_framework(tmp_path: Path) -> None:
    found = read(
        tmp_path, NOW, row(), row(fold=1, params="{'_n_jobs': 4}"), row(fold=2, params="{'_attempt': 2, '_n_jobs': 1}"),
        row(framework="b", params="{'n': 1, '_n_jobs': 4}"), row(framework="b", fold=1, params="{'n': 1}"),
    )  # fmt: skip
    assert labels(found) == ["a", "b"] and len(jobs(found)) == 5
    assert any("begin with _" in note and "in 3 rows" in note for note in found.notes)


def test_the_last_attempt_counts_by_its_time_and_not_by_its_place(tmp_path: Path) -> None:
    late = row(params="{'_attempt': 2}", result="0.9", utc="2019-05-02T10:00:00")
    early = row(result="", info="Error: no", utc="2019-05-01T10:00:00")
    found = read(tmp_path, NOW, late, early)
    assert jobs(found)["value"].tolist() == [0.9]
    assert any("the last counts: 1." in note for note in found.notes)


@pytest.mark.parametrize(
    "second", [{"task": "u", "id": "openml.org/t/2"}, {"fold": 1}, {"constraint": "4h8c"}]
)
def test_params_that_never_meet_are_one_framework(tmp_path: Path, second: dict[str, Any]) -> None:
    found = read(tmp_path, NOW, row(params="{'n': 2000}"), row(**{"params": "{'n': 500}", **second}))
    assert len(labels(found)) == (2 if "constraint" in second else 1) and "n" not in "".join(labels(found))
    (note,) = found.notes
    assert "a is read as one" in note and '{"n": 2000} in 1 rows, {"n": 500} in 1 rows' in note


def test_params_that_meet_on_a_fold_are_two_frameworks(tmp_path: Path) -> None:
    found = read(
        tmp_path, NOW, row(params="{'n': 2000}"), row(params="{'n': 500}"), row(fold=1, params="{'n': 500}")
    )
    assert labels(found) == ["a n=2000", "a n=500"] and found.notes == ()


@pytest.mark.parametrize("text", ["[1, 2]", "{'a': open}", "{" * 50, "plain words", "{'n': float('nan')}"])
def test_params_that_are_no_plain_dict_are_kept_as_they_are(tmp_path: Path, text: str) -> None:
    assert jobs(read(tmp_path, NOW, row(params=text)))["params"].tolist() == [text]


# --- constraints and budgets -----------------------------------------------------------------------------


def test_constraints_that_differ_in_the_volume_only_are_one_budget(tmp_path: Path) -> None:
    found = read(tmp_path, NOW, row(constraint="4h8c"), row(framework="b", constraint="4h8c_gp3"))
    assert labels(found) == ["a", "b"] and set(found.table["constraint"]) == {"4h8c"}
    assert any("4h8c_gp3 as 4h8c (1 rows)" in note for note in found.notes)
    for asked in ("4h8c", "4h8c_gp3"):
        assert set(Filter(constraint=asked).apply(labelled(jobs(found)))["framework"]) == {"a", "b"}


def test_one_spelling_of_a_constraint_stays_and_is_found_by_the_other(tmp_path: Path) -> None:
    found = read(tmp_path, NOW, row(constraint="4h8c_gp3"))
    assert found.notes == () and len(Filter(constraint="4h8c").apply(jobs(found))) == 1


@pytest.mark.parametrize(("budget", "seconds"), [("1h", 3600), ("4h", 14400), ("3600", 3600), ("90.0", 90)])
def test_a_budget_is_a_constraint(tmp_path: Path, budget: str, seconds: float) -> None:
    lines = [
        f"openml.org/t/1,t,a,{f},0.75,1,,,10,,0.7,0.75,0.5,{b},0.1" for f in (0, 1) for b in (budget, "7s")
    ]
    found = read(tmp_path, THEN + ",budget,score", *lines)
    assert found.origin.startswith("AMLB's results") and len(jobs(found)) == 4 and found.notes == ()
    assert set(found.table["budget_s"]) == {seconds, 7}


def test_a_budget_of_a_plain_table_is_a_constraint_too(tmp_path: Path) -> None:
    found = read(tmp_path, "task,fold,framework,score,budget", "t,0,a,0.5,1h", "t,0,a,0.6,4h")
    assert len(found.table) == 2 and found.table["budget_s"].tolist() == [3600, 14400]


@pytest.mark.parametrize(
    ("name", "constraint"),
    [
        ("results_small-8c1h_ref.csv", "1h8c"),
        ("1h8c.csv", "1h8c"),
        ("results_4h8c.csv", "4h8c"),
        ("2c4hx.csv", ""),
    ],
)
def test_the_name_of_a_file_tells_the_constraint(tmp_path: Path, name: str, constraint: str) -> None:
    found = read(tmp_path, THEN, "openml.org/t/1,t,a,0,0.75,1,,,10,,0.7,0.75,0.5", name=name)
    assert jobs(found)["constraint"].tolist() == [constraint]


def test_copies_without_a_constraint_are_left_out_and_counted(tmp_path: Path) -> None:
    job = "openml.org/t/1,t,a,0,0.75,1,,2019-05-01T10:00:00,10,,0.7,0.75,0.5"
    other = job.replace("t,a,0", "t,a,1")
    found = read(tmp_path, THEN + ",file", f"{job},old.csv", f"{job},small-8c1h.csv", f"{other},old.csv")
    assert sorted(jobs(found)["constraint"]) == ["", "1h8c"]
    assert any("copies of rows with one, left out: 1." in note for note in found.notes)


# --- metric and type -------------------------------------------------------------------------------------


def test_metric_and_type_of_old_results_are_those_of_the_column_they_equal(tmp_path: Path) -> None:
    found = read(
        tmp_path, THEN,
        "openml.org/t/1,two,a,0,0.75,1,,,10,,0.7,0.75,0.5", "openml.org/t/1,two,a,1,,1,,,10,Error: no,,,",
        "openml.org/t/2,three,a,0,0.8324199,1,,,10,,0.7,,0.83242",
    )  # fmt: skip
    own = jobs(found)
    assert own["metric"].tolist() == ["auc", "auc", "logloss"] and own["value"].tolist()[2] == 0.8324199
    assert own["higher_is_better"].tolist() == [True, True, False]
    assert own["type"].tolist() == ["binary", "binary", "multiclass"]


def test_results_of_today_without_a_metric_are_read_with_their_sign(tmp_path: Path) -> None:
    found = read(tmp_path, THEN, "openml.org/t/2,three,a,0,-0.83,1,,,10,,0.7,,0.83")
    assert (jobs(found)["metric"][0], jobs(found)["value"][0]) == ("logloss", 0.83)


def test_results_that_equal_no_column_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DataError, match=r"task 't' are not those of .* \(auc, logloss, acc\).*Add a column `metric`"
    ):
        read(tmp_path, THEN, "openml.org/t/1,t,a,0,0.11,1,,,10,,0.7,0.75,0.5")


# --- names of tasks --------------------------------------------------------------------------------------


def test_spellings_of_one_task_are_one(tmp_path: Path) -> None:
    found = read(
        tmp_path, NOW, row("numerai28_6"), row("numerai28_6", fold=1), row("numerai28.6", framework="b"),
    )  # fmt: skip
    assert set(found.table.loc[found.table["task_id"] == "1", "task"]) == {"numerai28_6"}
    assert any("numerai28.6 as numerai28_6 (1 rows)" in note for note in found.notes)
    for asked in ("numerai28.6", "NUMERAI28_6"):
        assert len(Filter(tasks=(asked,)).apply(jobs(found))) == 3


def test_tasks_of_two_ids_stay_two(tmp_path: Path) -> None:
    found = read(tmp_path, NOW, row("a.b"), row("a_b", id="openml.org/t/2"))
    assert sorted(found.table["task"].unique()) == ["a.b", "a_b"] and found.notes == ()


def test_properties_are_joined_by_either_spelling(tmp_path: Path) -> None:
    read(tmp_path, NOW, row("numerai28_6"), row("b.c", id="openml.org/t/2"), row("b_c", id="openml.org/t/3"))
    (tmp_path / "tasks.csv").write_text("name,rows\nnumerai28.6,10\nb_c,30\nb.c,20\n")
    known = analyse(tmp_path / "results.csv", tmp_path / "tasks.csv").inputs.scores.properties
    assert dict(zip(known["task"], known["rows"], strict=True)) == {"numerai28_6": 10, "b.c": 20, "b_c": 30}


# --- the published samples -------------------------------------------------------------------------------


@pytest.fixture
def published(repository: Path) -> Path:
    folder = repository.parent / "shared" / "data" / "results"
    if not folder.is_dir():
        pytest.skip(f"the published results are not there: {folder}")
    return folder


@pytest.mark.shared
def test_both_older_schemas_give_the_same_ranks(published: Path) -> None:
    ranks = {}
    for name, constraint in (("all_results_sample.csv", "4h"), ("input_results_sample.csv", "4h8c")):
        data = analyse(published / "amlb_2019" / name)
        table = Filter(constraint=constraint, exclude=("oboe",) if constraint == "4h8c" else ())
        board = data.using(selection=table).leaderboard(draws=10)
        ranks[name] = [(s.framework.lower().removesuffix("_enc"), s.rank, s.ok) for s in board.standings]
    first, second = ranks.values()
    assert first == second and len(first) == 7


@pytest.mark.shared
def test_no_row_of_the_older_samples_is_lost_without_a_word(published: Path) -> None:
    merged = read_scores(published / "amlb_2019" / "all_results_sample.csv")
    assert len(jobs(merged)) == 1400 and jobs(merged).groupby("constraint").size().to_dict() == {
        "1h": 630, "4h": 700, "8h": 70,
    }  # fmt: skip
    raw = read_scores(published / "amlb_2019" / "input_results_sample.csv")
    assert len(jobs(raw)) == 2735 - 579 and any("left out: 579." in note for note in raw.notes)
    assert {"id", "task", "framework", "fold", "result"} >= COLUMNS


@pytest.mark.shared
def test_all_tasks_of_the_published_results_have_properties(published: Path) -> None:
    folder = published / "amlb_2021"
    known = analyse(folder / "amlb_2021_1h.csv.gz", folder / "task_metadata_104.csv").inputs.scores.properties
    assert len(known) == 104 and known["NumberOfInstances"].notna().all()
