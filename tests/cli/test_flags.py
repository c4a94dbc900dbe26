"""Below the command line, messages name Python arguments; the command line shows its options in their place."""

from __future__ import annotations

import pytest

from assay.cli.flags import FLAGS, message_of
from assay.errors import ConfigError


@pytest.mark.parametrize(
    ("message", "arguments", "shown"),
    [
        ("`workers=0`: too few.", ["workers"], "-p 0: too few."),
        (
            "Use `oversubscribe=True` or `workers`.",
            ["oversubscribe", "workers"],
            "Use --oversubscribe or -p.",
        ),
        ("Run `assay doctor`; `workers` is a word.", [], "Run `assay doctor`; `workers` is a word."),
        ("The column `workers` and `folds`.", ["folds"], "The column `workers` and --fold."),
        ("`no_such_table=3` of.", ["no_such_table"], "--no-such-table 3 of."),
        ('Give `impute="worst"`.', ["impute"], "Give --impute worst."),
        ("`tasks=['iris', 'it\\'s']`: none.", ["tasks"], "--task iris --task it's: none."),
        (
            'Say `csv={"header": "yes"}` (`csv: {header: true}`).',
            ["csv"],
            "Say `--csv header=yes` (`csv: {header: true}`).",
        ),
        ("`by=nan`: no. `by=-1`: no.", ["by"], "--fail-if-worse nan: no. --fail-if-worse -1: no."),
    ],
)
def test_arguments_become_options(message: str, arguments: list[str], shown: str) -> None:
    assert message_of(ConfigError(message, arguments)) == shown


def test_every_flag_is_one_of_a_command() -> None:
    from typer.testing import CliRunner

    from assay.cli import app

    commands = ("run", "compare", "search", "interval", "leaderboard")
    pages = "".join(CliRunner().invoke(app, [command, "--help"]).output for command in commands)
    assert [flag for flag in FLAGS.values() if flag.split()[0] not in pages] == []
