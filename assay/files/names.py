"""Texts of others: numbers in names, and what a terminal may be shown."""

from __future__ import annotations

import re

__all__ = ["is_number", "visible", "visible_json"]

NUMBER = re.compile(r"[0-9]{1,9}")
# All control characters but tab and newline (a carriage return hides what stands before it), halves of
# characters, and the marks that change the direction of the text after them.
OBEYED = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def is_number(text: str) -> bool:
    """Whether a text is a whole number of at most nine ASCII digits; `isdecimal` accepts those of all scripts."""
    return NUMBER.fullmatch(text) is not None


def visible(text: str) -> str:
    r"""Return a text that a terminal cannot obey and every encoding can hold: control characters as `\x1b`."""
    return OBEYED.sub(_escaped, text)


def visible_json(text: str) -> str:
    r"""Return a JSON text with the same characters escaped as JSON does it: `\u009b`."""
    return OBEYED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"
