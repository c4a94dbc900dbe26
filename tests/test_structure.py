"""The targets of the code's structure hold: types, cycles, sizes, duplicates, names, tests per line."""

from __future__ import annotations

import pytest

from benchmarks.structure import Measure, measure

pytestmark = pytest.mark.checkout


@pytest.mark.parametrize("figure", measure(), ids=lambda figure: figure.name)
def test_the_target_is_met(figure: Measure) -> None:
    assert figure.is_met, str(figure)
