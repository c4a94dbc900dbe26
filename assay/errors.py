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
    """Something the user can fix; the message names the value, the place and the remedy."""

    exit_code = 2


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
