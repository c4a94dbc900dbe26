"""Options that commands share are records; typer sees one option for each field."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from assay.cli.groups import grouped


@dataclass(frozen=True)
class Base:
    name: Annotated[str, typer.Option(help="The name.")] = "x"


@dataclass(frozen=True)
class More(Base):
    count: Annotated[int, typer.Option("-n", "--count", help="How many.")] = 1


@grouped
def command(word: str, *, more: More, loud: bool = False) -> None:
    """Print what was given."""
    print(word, more, loud)


def test_fields_are_options_where_the_record_stands() -> None:
    assert list(inspect.signature(command).parameters) == ["word", "name", "count", "loud"]
    app = typer.Typer(rich_markup_mode=None)
    app.command()(command)
    page = CliRunner().invoke(app, ["--help"]).output
    assert "Print what was given." in page and "--name" in page and "-n, --count" in page
    said = CliRunner().invoke(app, ["a", "-n", "3", "--loud"])
    assert said.output == f"a {More('x', 3)} True\n"


def test_a_command_can_be_called_with_some_of_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    command(word="a", name="b")
    assert capsys.readouterr().out == f"a {More('b', 1)} False\n"
    with pytest.raises(TypeError, match=r"missing a required.* argument: 'word'"):
        command()
    with pytest.raises(TypeError, match="unexpected keyword argument 'colour'"):
        command(word="a", colour="red")
