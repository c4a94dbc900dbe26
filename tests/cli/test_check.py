"""`assay framework check`: what is printed, and which exit code says so."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ..conftest import RAISES, write_framework
from .conftest import Assay


def test_a_framework_that_keeps_the_contract_ends_with_0(assay: Assay) -> None:
    said = assay("framework", "check", "constant")
    assert said.code == 0, said.err
    assert "constant 1 with 30s1c" in said.out and "constant 1 keeps the contract." in said.out
    assert re.search(r"single +binary +boolean labels; one test row +ok +logloss +0\.51", said.out)
    assert "ok   it predicts: wide" in said.out


def test_a_broken_claim_is_a_fail_with_the_log_and_what_to_do(assay: Assay, tmp_path: Path) -> None:
    write_framework(tmp_path / "mine", RAISES, description="")
    said = assay("framework", "check", "./mine")
    assert said.code == 1
    assert "FAIL it predicts: gaps: error: ValueError: this one never learns" in said.out
    assert "note its description says what it does" in said.out
    assert "  ValueError: this one never learns" in said.out and "--keep DIR" in said.out
    assert "mine 1 breaks 5 claim(s)." in said.out
    assert "mine on gaps: error" in said.err


def test_what_is_kept_is_where_the_hint_says(assay: Assay, tmp_path: Path) -> None:
    write_framework(tmp_path / "mine", RAISES)
    said = assay("framework", "check", "./mine", "--keep", "kept", "--constraint", "10s1c")
    hints = re.findall(r"Look closer: assay (explain \w+ --store kept/mine-1/store)", said.out)
    assert len(hints) == 5
    assert "this one never learns" in assay(*hints[0].split()).out


def test_json_has_one_record_per_framework(assay: Assay, tmp_path: Path) -> None:
    write_framework(tmp_path / "mine", RAISES)
    said = assay("framework", "check", "constant", "./mine", "--json")
    assert said.code == 1
    constant, mine = json.loads(said.out)
    assert (constant["framework"], constant["ok"], mine["framework"], mine["ok"]) == (
        "constant",
        True,
        "mine",
        False,
    )
    assert {"task", "type", "packs", "status", "metric", "score", "constant_score", "fit_s"} <= set(
        mine["tasks"][0]
    )
    assert {"claim", "problem", "kind"} == set(mine["claims"][0])


def test_wrong_words_are_refused_before_anything_runs(assay: Assay) -> None:
    assert "--tier fast" in assay("framework", "check", "constant", "--tier", "fast").err
    said = assay("framework", "check", "constant", "--constraint", "soon")
    assert said.code == 2 and "soon" in said.err
    assert "named twice" in assay("framework", "check", "constant", "constant").err
