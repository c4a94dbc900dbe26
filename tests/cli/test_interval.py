"""`assay interval` as a user calls it: every kind of file, words and JSON, and bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from .conftest import Assay

KEYS = {
    "method", "metric", "alpha", "side", "estimate", "lower", "upper", "winner", "winner_name", "cv_score", "bias",
    "n_boot", "exact", "quantile_rule", "warnings",
}  # fmt: skip


def table(n: int = 80, seed: int = 0) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    y = np.arange(n) % 2
    said = 1 / (1 + np.exp(-2 * (y[:, None] - 0.5) - random.normal(size=(n, 4))))
    configurations = {f"model {c}": said[:, c] for c in range(4)}
    return pd.DataFrame({"y": np.where(y, "yes", "no"), "fold": np.arange(n) // 2 % 8, **configurations})


@pytest.fixture
def file(tmp_path: Path) -> str:
    table().to_parquet(tmp_path / "search.parquet")
    return "search.parquet"


def test_words_say_what_to_expect(assay: Assay, file: str) -> None:
    said = assay("interval", file)
    found = json.loads(assay("interval", file, "--json").out)
    assert said.code == 0 and said.out.startswith(f"The winner of 4 is {found['winner_name']}: auc ")
    assert f"On new rows expect {found['estimate']:.4g}, and with 95 % confidence at least" in said.out
    assert set(found) >= KEYS and found["winner_name"] == f"model {found['winner']}"
    assert found["upper"] == 1 and found["quantile_rule"] == "inverse_ecdf" and "distribution" not in found
    loss = assay("interval", file, "--metric", "logloss", "--side", "one").out
    assert "with 95 % confidence at most" in loss
    assert "confidence between" in assay("interval", file, "--side", "two", "--alpha", "0.1").out


def test_every_kind_of_file_gives_the_same(assay: Assay, tmp_path: Path, file: str) -> None:
    frame = table()
    frame.to_csv(tmp_path / "search.csv", index=False)
    values = frame.drop(columns=["y", "fold"]).to_numpy()
    arrays = {"predictions": values, "folds": frame["fold"]}
    np.savez(tmp_path / "a.npz", labels=(frame["y"] == "yes").astype(int), **arrays)
    np.savez(tmp_path / "b.npz", y=frame["y"].to_numpy(dtype=str), names=list(frame.columns[2:]), **arrays)
    both = pd.DataFrame({"y": frame["y"], "fold": frame["fold"]})
    for name in frame.columns[2:]:
        both[f"{name}|yes"], both[f"{name}|no"] = frame[name], 1 - frame[name]
    both.to_csv(tmp_path / "both.csv", index=False)
    found = [
        json.loads(assay("interval", name, "--json", "--method", "bbc_f").out)
        for name in (file, "search.csv", "a.npz", "b.npz", "both.csv")
    ]
    assert {(one["winner"], round(one["lower"], 12), round(one["estimate"], 12)) for one in found} == {
        (found[0]["winner"], round(found[0]["lower"], 12), round(found[0]["estimate"], 12))
    }
    assert found[1]["winner_name"] == found[3]["winner_name"] == found[4]["winner_name"]


def test_draws_and_splits_can_be_given(assay: Assay, tmp_path: Path, file: str) -> None:
    random = np.random.default_rng(0)
    draws = random.multinomial(80, np.ones(80) / 80, size=50)
    keep = np.arange(80) % 4 == (np.arange(80) // 8) % 4
    within = np.zeros((30, int(keep.sum())), dtype=int)
    y = (np.arange(80) % 2)[keep]
    for code in (0, 1):
        own = np.flatnonzero(y == code)
        within[:, own] = random.multinomial(len(own), np.ones(len(own)) / len(own), size=30)
    np.savez(tmp_path / "w.npz", rows=draws, keep=keep, eval_ids=np.flatnonzero(keep), within=within,
             learn_ids=np.flatnonzero(~keep))  # fmt: skip
    words = ("interval", file, "--json", "--weights", "w.npz:rows")
    found = json.loads(assay(*words, "--distribution").out)
    assert found["n_boot"] == 50 and len(found["distribution"]) == 50
    assert found["lower"] == sorted(found["distribution"])[2], "rank ceil(0.05 * 50)"
    published = json.loads(assay(*words, "--compat", "reference").out)
    assert published["quantile_rule"] == "reference"
    assert published["lower"] == sorted(found["distribution"])[int(0.05 * 50)]
    splits = [
        json.loads(
            assay(
                "interval",
                file,
                "--json",
                "--method",
                "delong",
                "--split",
                f"w.npz:{name}",
                "--split-part",
                part,
            ).out
        )["lower"]
        for name, part in (("keep", "evaluation"), ("eval_ids", "evaluation"), ("learn_ids", "learning"))
    ]
    assert splits[0] == splits[1] == splits[2]
    tilted = assay(
        "interval",
        file,
        "--json",
        "--method",
        "tilting",
        "--split",
        "w.npz:keep",
        "--weights",
        "w.npz:within",
    )
    assert json.loads(tilted.out)["n_boot"] == 30


def test_all_methods_are_a_table_and_a_list(assay: Assay, file: str) -> None:
    said = assay("interval", file, "--method", "all")
    listed = json.loads(assay("interval", file, "--method", "all", "--json").out)
    assert len(listed) == 13 and all(set(one) >= KEYS for one in listed)
    assert said.code == 0 and "bbc_f" in said.out and "warning: tt: tt corrects the estimate" in said.out


def test_survival_times_have_a_concordance(assay: Assay, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    time = random.exponential(size=60)
    frame = pd.DataFrame({"time": time, "event": random.random(60) < 0.7, "fold": np.arange(60) % 6})
    for c in range(3):
        frame[f"cox {c}"] = -time + random.normal(0, 1, 60)
    frame.to_csv(tmp_path / "times.csv", index=False)
    found = json.loads(assay("interval", "times.csv", "--metric", "cindex", "--json").out)
    assert 0.5 < found["lower"] < found["estimate"] < 1


BAD = {
    "no file": (None, [], "There is no file"),
    "no truth": ({"fold": [0, 1], "a": [0.1, 0.2]}, [], "needs a column y"),
    "no configuration": ({"y": [0, 1], "fold": [0, 1]}, [], "no column of a configuration"),
    "text": ({"y": [0, 1], "a": ["x", "y"]}, [], "does not hold numbers"),
    "NaN": ({"y": [0, 1, 0], "a": [0.1, None, 0.2]}, [], "are no numbers, the first of 'a' in row 2"),
    "one class": ({"y": [1, 1, 1], "a": [0.1, 0.3, 0.2]}, [], "all rows are of '1'"),
    "a class with one row": ({"y": [*"bbba"], "a": [0.1, 0.3, 0.2, 0.1]}, [], "Class 'a' has one row only"),
    "a row a fold": ({"y": [0, 1] * 4, "fold": range(8), "a": range(8)}, ["--method", "bbc_f"], "there are 0"),
    "a class missing": ({"y": [0, 1, 2], "a|0": [1, 0, 0], "a|1": [0, 1, 0]}, [], "has a column for the class 2"),
    "few folds": ({"y": [0, 1] * 6, "fold": [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2], "a": list(range(12))},
                  ["--method", "bbc_f"], "There are 3 folds"),
    "method": ({"y": [0, 1] * 6, "a": list(range(12))}, ["--method", "magic"], "Unknown method 'magic'"),
    "metric": ({"y": [0, 1] * 6, "a": list(range(12))}, ["--metric", "magic"], "magic"),
    "alpha": ({"y": [0, 1] * 6, "a": list(range(12))}, ["--alpha", "7"], "alpha is 7"),
    "resamples": ({"y": [0, 1] * 6, "a": list(range(12))}, ["--resamples", "many"], "give a number, or exact"),
    "compat": ({"y": [0, 1] * 6, "a": list(range(12))}, ["--compat", "R"], "there is reference only"),
    "an index": ({"": range(12), "y": [0, 1] * 6, "a": list(range(12))}, [], "looks like an index"),
    "y and time": ({"y": [0, 1] * 6, "time": range(12), "a": range(12)}, [], "both y and time"),
    "weights": ({"y": [0, 1] * 6, "a": list(range(12))}, ["--weights", "no.npz:w"], "no.npz does not exist"),
}  # fmt: skip


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input_gets_one_clear_message(assay: Assay, tmp_path: Path, case: str) -> None:
    columns, words, message = BAD[case]
    if columns is not None:
        pd.DataFrame(columns).to_csv(tmp_path / "bad.csv", index=False)
    said = assay("interval", "bad.csv", *words)
    assert said.code == 2 and message in said.err and said.err.count("\n") == 1, said.err


def test_broken_files_are_named(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(b"PK nonsense")
    (tmp_path / "x.parquet").write_bytes(b"PAR1")
    np.savez(tmp_path / "y.npz", something=np.ones(3))
    (tmp_path / "folder").mkdir()
    for name, message in (
        ("x.npz", "cannot be read as npz"),
        ("x.parquet", "cannot be read as a table"),
        ("y.npz", "needs the arrays `predictions` and `y`"),
        ("folder", "not the folder of a job"),
    ):
        said = assay("interval", name)
        assert said.code == 2 and name in said.err and message in said.err, said.err


def test_a_second_column_of_a_name_is_refused(assay: Assay, tmp_path: Path) -> None:
    (tmp_path / "twice.csv").write_text("y,a,y\n0,0.1,0\n1,0.2,1\n")
    said = assay("interval", "twice.csv")
    assert said.code == 2 and "two columns are called y" in said.err


def test_classes_may_have_bars_in_their_names(assay: Assay, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    y = np.array(["a|b", "b", "c"])[np.arange(60) % 3]
    said = random.dirichlet(np.ones(3), size=(60, 2)) + 0.3 * (y[:, None] == ["a|b", "b", "c"])[:, None, :]
    said /= said.sum(axis=2, keepdims=True)
    frame = pd.DataFrame({"y": y, "fold": np.arange(60) // 3 % 5})
    for at, name in enumerate(("one", "two")):
        for code, cls in enumerate(("c", "b", "a|b")):
            frame[f"{name}|{cls}"] = said[:, at, 2 - code]
    frame.to_csv(tmp_path / "bars.csv", index=False)
    np.savez(tmp_path / "oof.npz", y=y, predictions=said, folds=frame["fold"], names=["one", "two"])
    found = [json.loads(assay("interval", name, "--json").out) for name in ("bars.csv", "oof.npz")]
    assert found[0] == found[1] and found[0]["estimate"] > 0.5


@pytest.mark.parametrize("part", ["evaluation", "learning"])
def test_a_split_describes_the_part_that_is_named(assay: Assay, tmp_path: Path, file: str, part: str) -> None:
    keep = np.arange(80) // 16 % 4 == 0  # every fold keeps both classes
    rows = keep if part == "evaluation" else ~keep
    arrays = {
        "train": rows.astype(int),
        "eval": np.flatnonzero(rows),
        "words": np.where(keep, "eval", "learn"),
    }
    np.savez(tmp_path / "split.npz", **arrays)
    words = ("interval", file, "--method", "delong", "--json", "--split-part", part, "--split")
    first, *others = (json.loads(assay(*words, f"split.npz:{name}").out) for name in arrays)
    assert others == [first, first], "names of arrays say nothing"


def test_an_unknown_part_of_a_split_is_refused(assay: Assay, tmp_path: Path, file: str) -> None:
    np.savez(tmp_path / "split.npz", keep=np.arange(80) % 2)
    said = assay("interval", file, "--method", "delong", "--split", "split.npz:keep", "--split-part", "test")
    assert said.code == 2 and "--split-part test: choose evaluation or learning." in said.err


def test_the_page_about_winners_shows_what_happens(assay: Assay, tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/howto/winner.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.S)
    exec(blocks[0], {})  # it writes the file
    shown = re.findall(r"```\n\$ assay (.*?)\n(.*?)```", page, re.S)
    assert len(shown) == 2
    for words, expected in shown:
        said = assay(*words.split())
        # Another version of scikit-learn may grow other trees.
        assert said.code == 0 and re.sub(r"[\d.]+", "#", said.out) == re.sub(r"[\d.]+", "#", expected)
    found: dict[str, object] = {}
    exec(blocks[1], found)
    assert 0.5 < found["found"].estimate < 1  # type: ignore[attr-defined]


def test_a_bound_that_is_not_to_be_relied_on_is_not_called_sure(assay: Assay, tmp_path: Path) -> None:
    y = np.arange(40) % 2
    pd.DataFrame({"y": y, "fold": np.arange(40) // 2 % 10, "a": y, "b": y}).to_csv(
        tmp_path / "all.csv", index=False
    )
    said = assay("interval", "all.csv").out
    assert "at least 1 by this method, but not with 95 % confidence" in said and "is a point" in said
    assert json.loads(assay("interval", "all.csv", "--json").out)["reliable"] is False


@pytest.mark.parametrize("spelling", ["{:g}", "{:.1f}"])
def test_classes_that_are_whole_numbers_may_be_spelled_both_ways(
    assay: Assay, tmp_path: Path, spelling: str
) -> None:
    y = np.arange(60) % 3 + 8.0
    columns = {f"tree|{spelling.format(one)}": np.where(y == one, 0.6, 0.2) for one in (8.0, 9.0, 10.0)}
    frame = pd.DataFrame({"y": y, "fold": np.arange(60) // 3 % 5, **columns})
    frame.to_csv(tmp_path / "all.csv", index=False)
    assert json.loads(assay("interval", "all.csv", "--json").out)["cv_score"] == 1
