"""The targets of the code's structure hold: types, cycles, sizes, duplicates, names, tests per line."""

from __future__ import annotations

import pytest

from benchmarks.structure import measure

pytestmark = pytest.mark.checkout


def test_the_targets_are_met() -> None:
    missed = [
        str(figure) for figure in measure() if not figure.is_met
    ]  # not at import: a wheel has no checkout
    assert not missed, "\n".join(missed)
