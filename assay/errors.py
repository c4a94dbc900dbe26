"""The exceptions of Assay.

    AssayError
    ├── UserError            shown as one line, exit code 2, no traceback
    │   ├── ConfigError      a file, argument or setting is wrong
    │   ├── DataError        a table cannot be used as it is
    │   ├── NotInstalled     an extra, a program or an interpreter is missing
    │   └── StoreError       the store cannot be read or written
    └── InternalError        a promise inside Assay was broken: please report it

A framework that fails is none of these: it is an outcome with a status (`assay.jobs.outcome`).
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "AssayError",
    "ConfigError",
    "DataError",
    "InternalError",
    "NotInstalled",
    "StoreError",
    "UserError",
]


class AssayError(Exception):
    """The base of everything Assay raises on purpose."""


class UserError(AssayError):
    """Something the user can fix; the message names the value, the place and the remedy.

    A message that names Python arguments has them in backquotes, `workers` or `workers=0`, and lists their names in
    `arguments`; the command line shows its own options in their place.
    """

    exit_code = 2

    def __init__(self, message: str = "", arguments: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.arguments = tuple(arguments)


class ConfigError(UserError):
    """A file, an argument or a setting is wrong."""


class DataError(UserError):
    """A table cannot be used as it is."""


class NotInstalled(UserError):
    """An extra, a program or an interpreter is missing."""


class StoreError(UserError):
    """The store cannot be read or written."""


class InternalError(AssayError):
    """A promise inside Assay was broken."""
