"""Options are declared once: defaults, checks and messages follow from the dataclass."""

from __future__ import annotations

from dataclasses import MISSING, dataclass
from typing import Annotated, Any

import pytest

from assay.analysis.options import Option, make_options, option_fields
from assay.errors import ConfigError


@dataclass(frozen=True)
class Choices:
    """Options of every kind."""

    file: Annotated[str, Option("File to read.")]
    alpha: Annotated[float, Option("Level.", above=0, below=1)] = 0.05
    draws: Annotated[int, Option("Number of draws.", least=1)] = 1000
    over: Annotated[str, Option("Average.", choices=("mean", "median", "mode"))] = "mean"
    names: Annotated[tuple[str, ...], Option("Names.")] = ()


def test_fields_have_their_type_help_and_default() -> None:
    fields = {field.name: field for field in option_fields(Choices)}
    assert list(fields) == ["file", "alpha", "draws", "over", "names"]
    assert fields["file"].default is MISSING and fields["alpha"].type is float
    assert fields["over"].option.choices == ("mean", "median", "mode") and fields["names"].default == ()


def test_values_that_fit_make_the_record() -> None:
    options = make_options(Choices, {"file": "a.csv", "alpha": 0.1, "names": ("x", "y")})
    assert options == Choices("a.csv", 0.1, names=("x", "y"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"alpha": 1.0}, "alpha 1.0: give a number above 0 and below 1."),
        ({"draws": 0}, "draws 0: give a number 1 or more."),
        ({"over": "sum"}, "over sum: choose mean, median or mode."),
        ({"alfa": 0.1}, "There is no option 'alfa'. Did you mean 'alpha'?"),
        ({}, "file is needed: File to read."),
    ],
)
def test_values_that_do_not_fit_are_refused_by_name(values: dict[str, Any], message: str) -> None:
    given = values if not values or "file" in values else {**values, "file": "a.csv"}
    with pytest.raises(ConfigError) as caught:
        make_options(Choices, given)
    assert str(caught.value) == message


def test_the_command_line_spells_options_its_own_way() -> None:
    with pytest.raises(ConfigError, match=r"^--draws 0: "):
        make_options(Choices, {"file": "a", "draws": 0}, lambda name: f"--{name}")


def test_an_option_without_a_description_is_a_mistake_of_the_author() -> None:
    @dataclass(frozen=True)
    class Bare:
        alpha: float = 0.05

    with pytest.raises(TypeError, match=r"Bare\.alpha needs an annotation"):
        option_fields(Bare)
