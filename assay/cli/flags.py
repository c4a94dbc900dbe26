"""Show the options of the command line in messages that name Python arguments."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from assay.errors import UserError

__all__ = ["FLAGS", "flag_of", "message_of", "with_flags"]

# Options that are not called like their Python argument.
FLAGS = {
    "by": "--fail-if-worse",
    "constraints": "--constraints FILE",
    "executor": "--on",
    "few_folds": "--allow-few-folds",
    "folds": "--fold",
    "frameworks": "--framework",
    "tasks": "--task",
    "types": "--type",
    "workers": "-p",
    "write_predictions": "-o",
}


def flag_of(name: str) -> str:
    """Return the option of the command line that has the name of a Python argument."""
    return f"--{name.replace('_', '-')}"


def message_of(error: UserError) -> str:
    """Return the message of an error as the command line says it: `workers=0` is -p 0."""
    return with_flags(str(error), error.arguments)


def with_flags(text: str, arguments: Sequence[str]) -> str:
    """Return a text in which options stand in place of these arguments: `tasks=["iris"]` is --task iris."""
    if not arguments:
        return text
    return re.sub(rf"`({'|'.join(arguments)})(?:=([^`]*))?`", _flag, text)


def _flag(match: re.Match[str]) -> str:
    flag = FLAGS.get(match[1], flag_of(match[1]))
    if match[2] in (None, "True"):
        return flag
    try:
        value = ast.literal_eval(match[2])
    except (SyntaxError, ValueError):  # a number such as nan, or a word
        return f"{flag} {match[2]}"
    if isinstance(value, dict):  # in backquotes, because it has an equals sign
        return " ".join(f"`{flag} {key}={item}`" for key, item in value.items())
    if isinstance(value, list | tuple):
        return " ".join(f"{flag} {item}" for item in value)
    return f"{flag} {value}" if isinstance(value, str) else f"{flag} {match[2]}"
