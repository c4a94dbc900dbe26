"""The command line: parse, call one function, print. Nouns then verbs, in the order of the flow."""

from __future__ import annotations

import os
import sys

import typer

from assay.cli import (
    analyse,
    compare,
    explain,
    frameworks,
    interval,
    jobs,
    leaderboard,
    machine,
    report,
    results,
    run,
    search,
    stores,
    study,
    suites,
)
from assay.cli.flags import message_of
from assay.cli.output import say
from assay.errors import AssayError, ConfigError, UserError

__all__ = ["app", "main"]

app = typer.Typer(
    name="assay",
    help="Benchmark AutoML frameworks and tabular learners: enforced limits, blind tests, results you can trust.",
    epilog="Start with: assay demo",
    no_args_is_help=True,
    add_completion=True,
    # Plain help text answers in a blink; the pretty kind takes as long as everything else together.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
STAGES = (
    run,
    results,
    leaderboard,
    analyse,
    report,
    interval,
    search,
    study,
    compare,
    explain,
    stores,
    jobs,
    frameworks,
    suites,
    machine,
)
for module in STAGES:
    module.register(app)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    if version:
        from assay import __version__

        say(f"assay {__version__}")
        raise typer.Exit


def _check_text(words: list[str]) -> None:
    """Refuse words that are not UTF-8: they end up in files that are."""
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError:
            shown = os.fsencode(word).decode("utf-8", "backslashreplace")
            raise ConfigError(f"'{shown}' is not UTF-8. Use names and values in UTF-8.") from None


def main() -> None:
    """Run the command line: 0 all done, 1 some jobs failed, 2 wrong usage or input, 130 interrupted."""
    try:
        _check_text([*sys.argv[1:], os.getcwd()])
        app(prog_name="assay")
    except UserError as error:
        say(f"assay: {message_of(error)}", file=sys.stderr)
        sys.exit(error.exit_code)
    except AssayError as error:
        say(f"assay: this should not have happened, please report it: {error}", file=sys.stderr)
        sys.exit(3)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except KeyboardInterrupt:
        say("assay: interrupted.", file=sys.stderr)
        sys.exit(130)
