"""`assay analyse …`: one command for each analysis that is registered, made when it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer
from typer.core import TyperGroup

from assay.errors import ConfigError

__all__ = ["AnalyseGroup", "failing", "register"]

ANY_WORDS = {
    "ignore_unknown_options": True,
    "allow_extra_args": True,
}  # so that the message is about the name


def register(app: typer.Typer) -> None:
    """Add the commands."""
    analyses = typer.Typer(
        cls=AnalyseGroup,
        help="Analyse scores: ranks, tests, trees, costs. NAME may also be a Python file with an analysis.",
        no_args_is_help=True,
    )
    app.add_typer(analyses, name="analyse")


class AnalyseGroup(TyperGroup):
    """The commands of all analyses; an analysis is imported when its command is needed, not before."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all analyses."""
        from assay.analysis.registry import analysis_names

        return analysis_names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of an analysis: a name, or the path of a Python file."""
        if cmd_name.startswith("-"):
            return None  # an option: the group says that it does not know it
        callback = self.callback_of(cmd_name)
        settings = ANY_WORDS if getattr(callback, "fails", False) else {}
        single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        single.command(cmd_name, context_settings=settings)(callback)
        return typer.main.get_command(single)

    @staticmethod
    def callback_of(name: str) -> Callable[..., None]:
        """Return the function of a command, with the signature that its options have.

        Where there is no such analysis, or an installed package is broken, the command says so: the others are not to
        suffer for it.
        """
        from assay.analysis.registry import find_analysis
        from assay.cli.analyse.command import make_command

        try:
            return make_command(find_analysis(name))
        except ConfigError as error:
            return failing(str(error))

    @classmethod
    def callbacks(cls) -> dict[str, Callable[..., None]]:
        """Return the functions of all commands by name, for the reference page."""
        from assay.analysis.registry import analysis_names

        return {name: cls.callback_of(name) for name in analysis_names()}


def failing(message: str) -> Callable[..., None]:
    """Return a command that says what is wrong with what it was to be."""

    def fail() -> None:
        raise ConfigError(message)

    fail.__doc__ = message
    fail.fails = True  # type: ignore[attr-defined]
    return fail
