"""`assay analyse …`, `leaderboard`, `report`, `import`, `export` on tables of scores: what is shown, and bad input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from .conftest import Assay, Said

COMMANDS = [
    "table",
    "ranks",
    "pairwise",
    "bayes",
    "scaled",
    "tree",
    "pareto",
    "time",
    "failures",
    "sensitivity",
]


def long_table(tasks: int = 12, folds: int = 3) -> pd.DataFrame:
    """Return a plain long table: `boost` is the best on large tasks, `linear` on small ones, `broken` fails often."""
    random = np.random.default_rng(0)
    rows = []
    for t in range(tasks):
        size = 100.0 * (t + 1)
        level = {"constant": 0.5, "random_forest": 0.7, "linear": 0.75, "boost": 0.72, "broken": 0.8}
        if t >= tasks // 2:
            level |= {"boost": 0.9, "linear": 0.6}
        for fold in range(folds):
            for framework, score in level.items():
                failed = framework == "broken" and (t + fold) % 3 == 0
                value = score + random.normal(scale=0.01) * (framework != "constant")
                rows.append((f"t{t}", fold, framework, np.nan if failed else value, size, "ab"[t % 2]))
    return pd.DataFrame(rows, columns=["task", "fold", "framework", "score", "n_rows", "origin_kind"])


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.csv"
    long_table().to_csv(path, index=False)
    return path


@pytest.fixture
def of(assay: Assay, scores: Path) -> Callable[..., Any]:
    """Return what `assay WORDS --scores FILE --json` says."""

    def read(*words: str) -> Any:
        said = assay(*words, "--scores", str(scores), "--json")
        assert said.code == 0, said.err
        return json.loads(said.out)

    return read


@pytest.mark.parametrize("command", COMMANDS)
def test_every_analysis_prints_a_table_and_json(assay: Assay, scores: Path, command: str) -> None:
    said = assay("analyse", command, "--scores", str(scores))
    assert said.code == 0, said.err
    assert said.out.strip() and "nan" not in said.out and "Traceback" not in said.err
    as_json = assay("analyse", command, "--scores", str(scores), "--json")
    assert as_json.code == 0 and json.loads(as_json.out) is not None


@pytest.mark.parametrize("command", ["ranks", "pairwise", "bayes", "scaled", "tree", "failures"])
def test_every_figure_is_drawn(assay: Assay, scores: Path, tmp_path: Path, command: str) -> None:
    pytest.importorskip("matplotlib")
    said = assay("analyse", command, "--scores", str(scores), "--figure", str(tmp_path / "figure.svg"))
    assert said.code == 0, said.err
    assert ElementTree.parse(tmp_path / "figure.svg").getroot().tag.endswith("svg")


def test_cells_are_mean_std_and_fails_over_completed_folds(of: Callable[..., Any]) -> None:
    cells = {(cell["task"], cell["framework"]): cell for cell in of("analyse", "table")}
    table = long_table()
    own = table[(table["task"] == "t0") & (table["framework"] == "broken")]["score"]
    cell = cells["t0", "broken"]
    assert cell["mean"] == pytest.approx(own.mean()) and cell["std"] == pytest.approx(own.std(ddof=1))
    assert (cell["n"], cell["fails"]) == (2, 1)
    assert set(cell) == {"task", "task_id", "framework", "constraint", "metric", "mean", "std", "n", "fails"}


def test_tables_for_papers(assay: Assay, scores: Path) -> None:
    latex = assay("analyse", "table", "--scores", str(scores), "--format", "latex").out
    assert r"\begin{tabular}" in latex and r"random\_forest" in latex and "$^{1}$" in latex
    rows = assay("analyse", "table", "--scores", str(scores), "--format", "csv").out.splitlines()
    assert rows[0] == "task,task_id,framework,constraint,metric,mean,std,n,fails" and len(rows) == 1 + 60


def test_ranks_have_the_documented_keys(of: Callable[..., Any]) -> None:
    found = of("analyse", "ranks")
    assert set(found["friedman"]) == {"chi2", "chi2_uncorrected", "df", "p"}
    assert set(found["iman_davenport"]) == {"F", "F_uncorrected", "df1", "df2", "p"}
    assert found["n_tasks"] == 12 and found["n_frameworks"] == 5 and found["n_imputed"]["broken"] == 12
    assert sum(found["average_ranks"].values()) == pytest.approx(15)
    assert found["nemenyi_p"]["boost"]["constant"] == found["nemenyi_p"]["constant"]["boost"]
    assert all(set(group) <= set(found["average_ranks"]) for group in found["groups"])
    assert "bonferroni_dunn" in of("analyse", "ranks", "--control", "random_forest")


@pytest.mark.parametrize(
    ("words", "check"),
    [
        (["--exclude", "broken"], lambda ranks: "broken" not in ranks),
        (["--framework", "boost", "--framework", "linear"], lambda ranks: set(ranks) == {"boost", "linear"}),
        (["--impute", "none"], lambda ranks: set(ranks) >= {"boost", "broken"}),
        (["--task", "t0", "--task", "t1"], lambda ranks: len(ranks) == 5),
    ],
)
def test_filters_choose_what_is_ranked(
    of: Callable[..., Any], words: list[str], check: Callable[[dict[str, float]], bool]
) -> None:
    assert check(of("analyse", "ranks", *words)["average_ranks"])


def test_the_tree_finds_the_size_and_says_where(of: Callable[..., Any]) -> None:
    found = of("analyse", "tree", "--columns", "n_rows,origin_kind", "--min-size", "9")
    root, left, right = found["nodes"]
    assert found["unit"] == "cluster" and found["min_size"] == 9
    assert root["split"] == {"variable": "n_rows", "threshold": 600.0} and root["n"] == 36
    assert left["parent"] == right["parent"] == 1 and left["depth"] == 2
    assert max(right["worth"], key=right["worth"].get) == "boost"
    assert {test["variable"] for test in root["tests"]} == {"n_rows", "origin_kind"}
    assert set(root["tests"][0]) >= {"variable", "statistic", "p_raw", "p_adjusted"}
    assert any("permutations" in note for note in found["notes"])


def test_advice_names_the_framework_of_tasks_like_it(assay: Assay, tmp_path: Path) -> None:
    long_table(30).rename(columns={"n_rows": "NumberOfInstances"}).to_csv(tmp_path / "s.csv", index=False)
    random = np.random.default_rng(1)
    mine = pd.DataFrame({"x": random.normal(size=2000), "y": random.integers(0, 2, 2000)})
    mine.to_csv(tmp_path / "mine.csv", index=False)
    words = ("analyse", "advise", "mine.csv", "--target", "y", "--scores", "s.csv")
    found = json.loads(assay(*words, "--columns", "NumberOfInstances", "--json").out)
    assert found["advice"] == "boost" and found["properties"] == {"NumberOfInstances": 2000.0}
    assert found["sure"] > 0.9 and 5 <= found["n_tasks"] <= 15
    said = assay(*words).out
    assert "NumberOfInstances > 1500" in said and "Advice: boost" in said
    assert "Not known about the data set, so not used: origin_kind" in said


def test_an_unusual_data_set_is_warned_of(assay: Assay, scores: Path, tmp_path: Path) -> None:
    pd.DataFrame({"x": range(5000), "y": [0.5 * i for i in range(5000)]}).to_csv(
        tmp_path / "m.csv", index=False
    )
    said = assay("analyse", "advise", "m.csv", "--target", "y", "--scores", str(scores))
    assert said.code == 0, said.err
    assert "warning: n_rows is 5000, the tasks here have 100 to 1200." in said.out


def test_one_pair_on_each_task(of: Callable[..., Any]) -> None:
    found = of("analyse", "bayes", "--pair", "boost,linear")
    assert len(found) == 12 and found[0]["mean_difference"] < 0 < found[-1]["mean_difference"]
    assert found[-1]["p"] < 0.05 and found[-1]["p_a"] > 0.97


def test_budgets_are_compared_where_there_are_two(assay: Assay, tmp_path: Path) -> None:
    table = long_table()
    better = table.assign(score=table["score"] + 0.02 * (table["framework"] != "constant"), constraint="4h8c")
    pd.concat([table.assign(constraint="1h8c"), better]).to_csv(tmp_path / "two.csv", index=False)
    found = json.loads(assay("analyse", "budgets", "--scores", "two.csv", "--json").out)
    boost = next(step for step in found if step["framework"] == "boost")
    assert (boost["from_s"], boost["to_s"], boost["better"], boost["worse"]) == (3600.0, 14400.0, 12, 0)
    assert boost["rank_before"] is not None and boost["rank_after"] is not None
    ranks = json.loads(assay("analyse", "ranks", "--scores", "two.csv", "--json").out)["average_ranks"]
    assert {"boost @1h8c", "boost @4h8c", "constant @1h8c", "constant @4h8c"} <= set(ranks)
    one = json.loads(assay("analyse", "ranks", "--scores", "two.csv", "--constraint", "4h8c", "--json").out)
    assert set(one["average_ranks"]) == {"constant", "random_forest", "linear", "boost", "broken"}


# --- leaderboard -----------------------------------------------------------------------------------------


def test_the_leaderboard_has_intervals_groups_elo_and_trust(assay: Assay, scores: Path) -> None:
    said = assay("leaderboard", "--scores", str(scores)).out
    first = said.splitlines()[0].split()
    assert first[:4] == ["framework", "rank", "95", "%"] and {"group", "Elo", "wins", "scaled", "ok"} <= set(
        first
    )
    assert "draws of 12 tasks; Elo 1000 is random_forest" in said and "trust: not known" in said


def test_the_leaderboard_obeys_filters_and_draws(of: Callable[..., Any]) -> None:
    found = of("leaderboard", "--exclude", "broken", "--draws", "50")
    assert found["draws"] == 50 and found["n_tasks"] == 12
    names = {standing["framework"] for standing in found["standings"]}
    assert names == {"constant", "random_forest", "linear", "boost"}
    boost = next(standing for standing in found["standings"] if standing["framework"] == "boost")
    assert boost["elo_low"] <= boost["elo"] <= boost["elo_high"] and boost["group"] == 1


# --- formats of others -----------------------------------------------------------------------------------


def test_bencheval_is_written_and_read_again(assay: Assay, scores: Path, tmp_path: Path) -> None:
    assert assay("export", "bencheval", "out.parquet", "--scores", str(scores)).code == 0
    table = pd.read_parquet(tmp_path / "out.parquet")
    assert len(table) == 180 - 12 and {"method", "dataset", "fold", "metric_error"} <= set(table.columns)
    own = long_table().set_index(["framework", "task", "fold"])["score"]
    for row in table.head(20).itertuples():
        assert row.metric_error == pytest.approx(1 - own[row.method, row.dataset, row.fold])
    words = ("--exclude", "broken", "--json")
    again, first = (
        json.loads(assay("analyse", "ranks", "--scores", file, *words).out)["average_ranks"]
        for file in ("out.parquet", str(scores))
    )
    assert again == pytest.approx(first)


def test_amlbs_results_are_imported_with_their_origin(assay: Assay, tmp_path: Path) -> None:
    rows = ["id,task,framework,constraint,fold,type,result,metric,mode,version,info"]
    for framework, value in (("constantpredictor", 0.5), ("RandomForest", 0.8), ("flaml", 0.9)):
        same = f"{framework},1h8c,{{}},binary,{value},auc,aws,1,"
        rows += [f"openml.org/t/{t},t{t},{same.format(fold)}" for t in (1, 2) for fold in (0, 1)]
    (tmp_path / "results.csv").write_text("\n".join(rows))
    said = assay("import", "amlb", "results.csv")
    assert said.code == 0 and "12 jobs with 12 scores written to" in said.out
    table = pd.read_parquet(tmp_path / "results-scores.parquet")
    assert set(table["origin"]) == {"AMLB's results, results.csv"} and set(table["task_id"]) == {"1", "2"}
    ranks = json.loads(assay("analyse", "ranks", "--scores", "results-scores.parquet", "--json").out)
    assert ranks["average_ranks"] == {"flaml": 1.0, "RandomForest": 2.0, "constantpredictor": 3.0}
    refused = assay("import", "amlb", "results-scores.parquet", "-o", "x.parquet")
    assert refused.code == 2 and "a scores table, not AMLB's results" in refused.err


# --- bad input: one clear message, never a traceback -----------------------------------------------------


def changed(**columns: Any) -> pd.DataFrame:
    return long_table().assign(**columns)


BAD: dict[str, tuple[pd.DataFrame, str]] = {
    "no rows": (long_table().head(0), "has no rows"),
    "a missing column": (long_table().drop(columns="score"), "lacks: score"),
    "one framework": (long_table().query("framework == 'boost'"), "at least two are needed"),
    "all failed": (changed(score=np.nan), "the constant predictor"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_table_that_cannot_be_ranked_gets_one_clear_message(
    assay: Assay, tmp_path: Path, case: str
) -> None:
    table, message = BAD[case]
    table.to_csv(tmp_path / "bad.csv", index=False)
    said = assay("analyse", "ranks", "--scores", "bad.csv")
    assert said.code == 2 and said.err.count("\n") == 1, said.err
    if case != "all failed":
        assert message in said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["ranks", "--metric", "nonsense"], "No row is left by --metric nonsense"),
        (["ranks", "--type", "images"], "No row is left by --type images"),
        (["ranks", "--framework", "nobody"], "No row is of the framework nobody"),
        (["ranks", "--impute", "best"], "choose one of constant, worst, random_forest, none"),
        (["ranks", "--control", "nobody"], "Unknown control 'nobody'"),
        (["ranks", "--alpha", "2"], "--alpha 2.0: give a number above 0 and below 1."),
        (["tree", "--columns", "colour"], "Unknown property colour. There are: n_rows, origin_kind"),
        (["tree", "--unit", "row"], "--unit row: choose cluster, fold or task."),
        (["tree", "--covariates", "no.csv"], "There is no file no.csv"),
        (["pairwise", "--anchor", "nobody"], "Unknown anchor 'nobody'"),
        (["bayes", "--pair", "boost"], "name two frameworks"),
        (["bayes", "--rope", "-1"], "--rope -1.0: give a number 0 or more."),
        (["pareto", "--against", "money"], "--against money: choose inference or training."),
        (["table", "--format", "pdf"], "choose table, csv or latex"),
        (["budgets"], "there is one only"),
        (["budgets", "--constraint", "1h8c"], "leave --constraint out"),
        (["anytime"], "No framework here left a trace"),
        (["ranks", "--figure", "figure.bmp"], ".svg, .pdf, .png"),
        (["ranks", "--figure", "no/such/folder.svg"], "there is no folder"),
    ],
)
def test_bad_words_get_one_clear_message(assay: Assay, scores: Path, words: list[str], message: str) -> None:
    said = assay("analyse", words[0], "--scores", str(scores), *words[1:])
    assert said.code == 2 and message in said.err and "Traceback" not in said.err, said.err


def test_a_file_that_is_no_table_is_named(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 no")
    for file, message in (("x.parquet", "cannot be read as a table"), ("no.csv", "There is no file")):
        said = assay("analyse", "ranks", "--scores", file)
        assert said.code == 2 and message in said.err and file in said.err


@pytest.mark.parametrize(
    "case", ["one framework", "one task", "all failed", "nan everywhere", "one fold", "twice"]
)
def test_the_report_of_a_poor_table_says_why_sections_are_empty(
    assay: Assay, tmp_path: Path, case: str
) -> None:
    tables = {
        "one framework": long_table().query("framework == 'boost'"),
        "one task": long_table().query("task == 't0'"),
        "all failed": changed(score=np.nan),
        "nan everywhere": changed(score=np.nan, n_rows=np.nan),
        "one fold": long_table(folds=1),
        "twice": pd.concat([long_table(), long_table()]),
    }
    tables[case].to_csv(tmp_path / "poor.csv", index=False)
    said: Said = assay("report", "--scores", "poor.csv", "-o", "poor.html")
    assert said.code == 0, said.err
    page = (tmp_path / "poor.html").read_text(encoding="utf-8")
    assert "Nothing to show:" in page and "Methods" in page and ">nan<" not in page
    if case == "twice":
        assert "of which the last counts: 180" in page
