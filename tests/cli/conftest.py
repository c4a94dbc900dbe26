"""The command line, called in this process the way the shell calls it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.cli import main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


Assay = Callable[..., Said]


@pytest.fixture
def assay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Assay:
    """Run `assay WORDS` in an empty folder with a cache of its own."""
    monkeypatch.setenv("ASSAY_CACHE", str(tmp_path / ".cache"))
    monkeypatch.setenv("ASSAY_STATE", str(tmp_path / ".state"))
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Said:
        monkeypatch.setattr(sys, "argv", ["assay", *words])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        said = capsys.readouterr()
        return Said(code, said.out, said.err)

    return call
