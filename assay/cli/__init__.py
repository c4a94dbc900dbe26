"""The command line: parse, call one function, print. Nouns then verbs, in the order of the flow."""

from __future__ import annotations

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
from assay.errors import AssayError, UserError

__all__ = ["app", "main"]

app = typer.Typer(
    name="assay",
    help="Benchmark AutoML frameworks and tabular learners: enforced limits, blind tests, results one can believe.",
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
def _root(version: bool = typer.Option(False, "--version", help="Show the version and end.")) -> None:
    if version:
        from assay import __version__

        print(f"assay {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line: 0 all done, 1 some jobs failed, 2 wrong usage or input, 130 interrupted."""
    try:
        app(prog_name="assay")
    except UserError as error:
        print(f"assay: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    except AssayError as error:
        print(f"assay: this should not have happened, please report it: {error}", file=sys.stderr)
        sys.exit(3)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except KeyboardInterrupt:
        print("assay: interrupted.", file=sys.stderr)
        sys.exit(130)
