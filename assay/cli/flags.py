"""Show the options of the command line in messages that name Python arguments."""

from __future__ import annotations

import re

from assay.errors import UserError

__all__ = ["FLAGS", "flag_of", "message_of"]

# Options that are not called like their Python argument.
FLAGS = {
    "constraints": "--constraints FILE",
    "executor": "--on",
    "folds": "--fold",
    "workers": "-p",
}


def flag_of(name: str) -> str:
    """Return the option of the command line that has the name of a Python argument."""
    return f"--{name.replace('_', '-')}"


def message_of(error: UserError) -> str:
    """Return the message of an error as the command line says it: `workers=0` is -p 0."""
    if not error.arguments:
        return str(error)
    return re.sub(rf"`({'|'.join(error.arguments)})(?:=([^`]*))?`", _flag, str(error))


def _flag(match: re.Match[str]) -> str:
    flag = FLAGS.get(match[1], flag_of(match[1]))
    return flag if match[2] in (None, "True") else f"{flag} {match[2]}"
