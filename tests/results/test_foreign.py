"""Tables that others made are read as ours: AMLB's, bencheval's, plain ones; and bad ones are refused."""

from __future__ import annotations

import csv
from pathlib import Path

import pandas as pd
import pytest

from assay.analysis.cells import make_cells
from assay.analysis.filter import Filter
from assay.analysis.impute import gather
from assay.errors import DataError
from assay.results.formats.columns import budget_of
from assay.results.formats.foreign import read_scores
from assay.results.roles import role_by_name
from assay.results.scores import COLUMNS

AMLB = """\
id,task,framework,constraint,fold,type,result,metric,mode,version,params,app_version,utc,duration,training_duration,predict_duration,models_count,seed,info,acc,auc,logloss
openml.org/t/31,credit-g,flaml,1h8c_gp3,0,binary,0.75,auc,aws,1,,2,2021-01-01T00:00:00,10,9,0.1,4,1,,0.7,0.75,0.5
openml.org/t/31,credit-g,flaml,1h8c_gp3,1,binary,,auc,aws,1,,2,2021-01-01T00:00:00,,,,,2,TimeoutError: after 7500s,,,
openml.org/t/31,credit-g,constantpredictor,1h8c,0,binary,0.5,auc,local,1,,2,2021-01-01T00:00:00,0,0,0,1,1,,0.7,0.5,0.61
openml.org/t/2073,yeast,flaml,1h8c_gp3,0,multiclass,-1.2,neg_logloss,aws,1,,2,2021-01-01T00:00:00,10,9,0.1,4,1,,0.5,,1.2
"""


@pytest.fixture
def amlb(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(AMLB)
    return path


def test_amlbs_results_become_a_scores_table(amlb: Path) -> None:
    found = read_scores(amlb)
    assert list(found.table.columns) == list(COLUMNS) and found.origin.startswith("AMLB's results")
    own = found.table[found.table["optimised"]].reset_index(drop=True)
    assert own["value"].tolist()[:1] == [0.75] and own["value"].tolist()[3] == 1.2
    assert own["metric"].tolist() == ["auc", "auc", "auc", "logloss"]
    assert own["higher_is_better"].tolist() == [True, True, True, False]
    assert own["status"].tolist() == ["ok", "timeout", "ok", "ok"]
    assert own["task_id"].tolist() == ["31", "31", "31", "2073"]
    assert own["role"].tolist() == ["framework", "framework", "constant", "framework"]
    assert own["budget_s"].tolist() == [3600.0] * 4
    others = found.table[~found.table["optimised"]]
    assert set(others["metric"]) == {"acc", "logloss"}
    assert others["value"].isna().equals(others["status"] != "ok")


def test_rows_that_come_twice_count_once(amlb: Path) -> None:
    lines = AMLB.splitlines()
    amlb.write_text("\n".join([*lines, lines[1].replace("0.75,auc", "0.8,auc")]) + "\n")
    found = read_scores(amlb)
    assert sum("the last counts: 1." in note for note in found.notes) == 1
    own = found.table[
        found.table["optimised"] & (found.table["framework"] == "flaml") & (found.table["fold"] == 0)
    ]
    assert own[own["task"] == "credit-g"]["value"].tolist() == [0.8]


def test_bencheval_frames_are_errors_and_imputed_ones_are_failures(tmp_path: Path) -> None:
    path = tmp_path / "frame.parquet"
    pd.DataFrame(
        {
            "method": ["a", "b"], "dataset": ["x", "x"], "fold": [0, 0], "metric_error": [0.1, 0.2],
            "metric": ["roc_auc", "roc_auc"], "imputed": [False, True], "time_train_s": [1.0, 2.0],
        }
    ).to_parquet(path)  # fmt: skip
    table = read_scores(path).table
    assert table["status"].tolist() == ["ok", "error"] and not table["higher_is_better"].any()
    assert table["fit_s"].tolist() == [1.0, 2.0]


def test_further_columns_of_a_plain_table_are_properties(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text(
        "task,fold,framework,score,rows,kind\nx,0,a,0.5,10,image\nx,0,b,0.6,10,image\ny,0,a,,20,text\n"
    )
    found = read_scores(path)
    assert found.properties.to_dict("records") == [
        {"task": "x", "task_id": "", "rows": 10, "kind": "image"},
        {"task": "y", "task_id": "", "rows": 20, "kind": "text"},
    ]
    assert found.table["status"].tolist() == ["ok", "ok", "error"]


def test_a_table_of_ours_is_read_back(tmp_path: Path, amlb: Path) -> None:
    first = read_scores(amlb).table
    for name in ("scores.parquet", "scores.csv"):
        path = tmp_path / name
        first.to_parquet(path) if name.endswith("parquet") else first.to_csv(path, index=False)
        again = read_scores(path).table
        assert again["value"].tolist() == pytest.approx(first["value"].tolist(), nan_ok=True)
        assert again["higher_is_better"].tolist() == first["higher_is_better"].tolist()
        assert again["role"].tolist() == first["role"].tolist()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "is not a known table of scores"),
        ("task,fold,framework\nx,0,a\n", "lacks: score"),
        ("task,fold,framework,score\n", "has no rows"),
        ("", "cannot be read as a table"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_scores(path)
    with pytest.raises(DataError, match="There is no file"):
        read_scores(tmp_path / "gone.csv")


def test_names_of_others_have_roles_and_constraints_have_budgets() -> None:
    assert [role_by_name(name) for name in ("constantpredictor", "RandomForest", "TunedRandomForest", "H2OAutoML")] == [
        "constant", "forest", "baseline", "framework",
    ]  # fmt: skip
    assert (
        budget_of("4h8c_gp3") == 14400
        and budget_of("10m4c") == 600
        and budget_of("test") != budget_of("test")
    )


@pytest.mark.shared
def test_cells_of_the_papers_tables_are_reproduced(repository: Path) -> None:
    folder = repository.parent / "shared" / "data" / "results" / "amlb_2021"
    if not folder.is_dir():
        pytest.skip(f"the published results are not there: {folder}")
    found = gather(Filter().apply(read_scores(folder / "amlb_2021_1h.csv.gz").table), "none")
    cells = {(cell.task_id, cell.framework): cell for cell in make_cells(found, {})}
    with open(folder / "paper_tables_6_8.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 500
    for row in rows:
        cell = cells[row["task_id"], row["framework"]]
        if row["status"] != "value":
            assert cell.mean is None and cell.fails == 10
            continue
        assert cell.mean is not None and cell.fails == float(row["recomputed_fails"])
        assert row["paper_fails"] in ("", row["recomputed_fails"])
        assert cell.mean == pytest.approx(float(row["recomputed_mean"]), rel=1e-6)
        assert (cell.std is None) == (row["recomputed_std"] == "")
        if cell.std is not None:
            assert cell.std == pytest.approx(float(row["recomputed_std"]), rel=1e-5, abs=1e-9)
        if row["paper_mean"]:  # where a single fold came through, the paper has a dash
            printed = round(cell.mean, 3) if row["table"] == "T6" else float(f"{cell.mean:.2g}")
            assert printed == pytest.approx(float(row["paper_mean"]), rel=1e-9)


def test_jobs_that_failed_have_a_row_for_every_other_metric_too(amlb: Path) -> None:
    table = read_scores(amlb).table
    failed = table[table["status"] == "timeout"]
    assert sorted(failed["metric"]) == ["acc", "auc", "logloss"] and failed["value"].isna().all()
    assert not table[(table["task"] == "yeast") & (table["metric"] == "auc")].shape[0], (
        "no auc of four classes"
    )


def test_names_may_be_words_that_mean_missing_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "names.csv"
    path.write_text("task,fold,framework,score\nNA,0,None,0.5\nnull,0,nan,NA\n")
    table = read_scores(path).table
    assert table["task"].tolist() == ["NA", "null"] and table["framework"].tolist() == ["None", "nan"]
    assert table["status"].tolist() == ["ok", "error"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("t,x,a,0.5", "Row 2 has the fold 'x': a fold is a whole number"),
        ("t,0.5,a,0.5", "Row 2 has the fold '0.5'"),
        ("t,,a,0.5", "Row 2 has the fold 'nan'"),
        (",1,a,0.5", "row 2 has no task"),
        ("t,1,,0.5", "row 2 has no framework"),
    ],
)
def test_rows_that_cannot_be_placed_are_refused_and_named(tmp_path: Path, row: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(f"task,fold,framework,score\nt,0,a,0.5\n{row}\n")
    with pytest.raises(DataError, match=message) as caught:
        read_scores(path)
    assert str(path) in str(caught.value)


def test_known_metrics_of_a_long_table_know_their_direction(tmp_path: Path) -> None:
    path = tmp_path / "long.csv"
    path.write_text("task,fold,framework,score,metric\nt,0,a,0.5,rmse\nu,0,a,0.5,auc\nv,0,a,0.5,own\n")
    assert read_scores(path).table["higher_is_better"].tolist() == [False, True, True]


def test_versions_are_no_duplicates(amlb: Path) -> None:
    lines = AMLB.splitlines()
    amlb.write_text("\n".join([*lines, lines[1].replace(",aws,1,", ",aws,2,")]) + "\n")
    found = read_scores(amlb)
    assert not any("come again" in note for note in found.notes)
    assert set(found.table["version"]) == {"1", "2"}


ROWS = [
    (task, fold, name, score + fold / 100)
    for task in "ab"
    for fold in range(3)
    for name, score in (("x", 0.9), ("y", 0.8))
]
WRITTEN = {
    "comma": (",", lambda value: f'"{value:.3f}"'.replace(".", ",")),
    "semicolon": (";", lambda value: f"{value:.3f}".replace(".", ",")),
    "tab": ("\t", lambda value: f"{value:.3f}"),
    "per cent": (",", lambda value: f"{100 * value:.1f}%"),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_scores_are_read_as_they_were_written(tmp_path: Path, way: str) -> None:
    sign, show = WRITTEN[way]
    lines = [sign.join(("task", "fold", "framework", "score"))]
    lines += [sign.join((task, str(fold), name, show(score))) for task, fold, name, score in ROWS]
    (tmp_path / "scores.csv").write_text("\n".join(lines) + "\n")
    found = read_scores(tmp_path / "scores.csv").table
    assert found["status"].eq("ok").all(), "a number that is not understood must not count as a failure"
    factor = 100 if way == "per cent" else 1
    assert found["value"].tolist() == pytest.approx([factor * score for *_, score in ROWS])


def test_a_score_that_is_not_a_number_is_named_with_its_row(tmp_path: Path) -> None:
    (tmp_path / "scores.csv").write_text("task,fold,framework,score\na,0,x,0.5\na,1,x,good\n")
    with pytest.raises(DataError, match="Row 2 has 'good' in the column score"):
        read_scores(tmp_path / "scores.csv")
