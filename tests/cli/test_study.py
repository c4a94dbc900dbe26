"""`assay study`."""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Assay


def test_command_prints_tables_and_json(assay: Assay, tmp_path: Path) -> None:
    words = ("study", "intervals", "paper", "--repetitions", "5", "-m", "bbc", "-m", "naive_folds", "--only",
             "Beta(24, 6), N=50, C=100, b=0.5")  # fmt: skip
    said = assay(*words, "-o", "numbers.csv")
    assert said.code == 0 and "naive_folds" in said.out and "Average ranks" in said.out
    assert (tmp_path / "numbers.csv").read_text().count("\n") == 3
    found = json.loads(assay(*words, "--json").out)
    assert [one["method"] for one in found] == ["bbc", "naive_folds"] and found[0]["repetitions"] == 5
    for preset, file in (("paper", "tightness.svg"), ("times", "times.png")):
        own = (
            "study",
            "intervals",
            preset,
            *words[3:-2],
            "--only",
            "N=50,",
            "--repetitions",
            "1",
            "--figure",
            file,
        )
        assert assay(*own).code == 0 and (tmp_path / file).stat().st_size > 1000
    assert "no preset" in assay("study", "intervals", "magic").err
    assert "No setting" in assay("study", "intervals", "paper", "--only", "N=7").err
    assert "--data FILE:TARGET" in assay("study", "intervals", "real").err
