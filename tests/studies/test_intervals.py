"""The study of intervals: what its record shows, and which options it refuses."""

from __future__ import annotations

import json
from dataclasses import asdict, fields, replace
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.studies.intervals import IntervalOptions, IntervalStudy, run_intervals
from assay.studies.registry import StudyRun, find_study, study_names
from assay.uncertainty.coverage import Coverage

NAN = float("nan")
MEASURED = Coverage("a, b", "bbc", 20, 0, 0.95, 0.6, 0.1, 0.8, -0.01, 0.5, 50, 5, 10)
FAILED = Coverage("ρ=0.8", "tt", 0, 20, NAN, NAN, NAN, 0.8, 0.02, NAN)
BOTH = IntervalStudy((MEASURED, FAILED), 20, "paper")


def test_the_table_has_every_number_of_every_method(tmp_path: Path) -> None:
    import pandas as pd

    path = tmp_path / "table.csv"
    BOTH.to_frame().to_csv(path, index=False)
    table = pd.read_csv(path)
    assert list(table.columns) == [field.name for field in fields(Coverage)]
    assert table.iloc[0].to_dict() == asdict(MEASURED)
    assert table.setting[1] == "ρ=0.8" and table.inclusion.isna()[1] and table.failed[1] == 20


def test_json_has_null_where_nothing_was_measured() -> None:
    first, second = json.loads(json.dumps(BOTH.to_json(), allow_nan=False))
    assert first["inclusion"] == 0.95 and second["inclusion"] is None and second["method"] == "tt"


def test_each_setting_has_a_table_and_gaps_are_dashes() -> None:
    first, second, *_ = BOTH.tables("terminal")
    assert (first.title, second.title) == ("a, b", "ρ=0.8")
    (line,) = first.lines
    assert line[0] == "bbc" and line[1] == "0.950" and line[-2:] == ["500 ms", "0"]
    (line,) = second.lines
    assert line[1] == "–" and line[-2:] == ["–", "20"]


def test_a_promise_stands_where_the_share_is_no_less_than_chance_allows() -> None:
    for inclusion, p, word in ((0.95, 0.6, "stands"), (0.5, 1e-6, "")):
        study = IntervalStudy((replace(MEASURED, inclusion=inclusion, p=p),), 20, "paper")
        assert study.tables("terminal")[0].lines[0][2] == word


def test_methods_are_ranked_over_the_settings_in_which_both_were_measured() -> None:
    study = IntervalStudy(
        tuple(
            replace(MEASURED, setting=setting, method=method, tightness=tightness)
            for setting in ("a", "b")
            for method, tightness in (("bbc", 0.2), ("bbc_f", 0.1))
        ),
        20,
        "paper",
    )
    assert study.tables("terminal")[-1].title == "Average ranks"
    assert [line[0] for line in study.tables("terminal")[-1].lines] == ["bbc_f", "bbc"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"preset": "magic"}, "no preset 'magic': choose paper, beyond, guided, times or real"),
        ({"only": "N=7"}, "No setting of paper has 'N=7'"),
        ({"preset": "real"}, "`data=FILE:TARGET`"),
        ({"preset": "real", "data": ("file.csv",)}, "`data=FILE:TARGET`"),
        ({"preset": "real", "data": ("file.csv:y",), "only": "N=50"}, "`only` chooses among simulated"),
        ({"method": ("magic",)}, "magic"),
    ],
)
def test_options_that_mean_nothing_are_refused_before_any_work(
    options: dict[str, object], text: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=text.replace("(", r"\(")):
        run_intervals(IntervalOptions(**options), StudyRun(tmp_path / "study"))  # type: ignore[arg-type]
    assert not (tmp_path / "study").exists()


def test_a_study_runs_only_what_is_missing_in_its_folder(tmp_path: Path) -> None:
    options = IntervalOptions(repetitions=3, method=("naive_folds",), only="Beta(24, 6), N=50, C=100, b=0.5")
    calls: list[tuple[int, int]] = []
    first = run_intervals(options, StudyRun(tmp_path, progress=lambda *step: calls.append(step)))
    written = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    again = run_intervals(options, StudyRun(tmp_path))
    assert calls and len(first.coverages) == 1 and again == first
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == written


def test_the_built_in_study_is_found_by_name_and_has_a_folder() -> None:
    assert "intervals" in study_names()
    spec = find_study("intervals")
    assert spec.options is IntervalOptions and spec.default_folder == Path("interval-study")
    assert replace(spec, folder="").default_folder == Path("intervals-study")
