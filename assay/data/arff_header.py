"""The header of an ARFF file: attribute lines, names and types."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from assay.errors import DataError

__all__ = ["Attribute", "read_header", "unquote", "unquoted_fields"]

AttributeKind = Literal["numeric", "nominal", "string", "date"]
_QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{'\"]+)\s*(.*)\Z", re.IGNORECASE | re.DOTALL)
_FIELD = re.compile(rf"\s*({_QUOTED}|[^,]*?)\s*(?:,|\Z)", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}


@dataclass(frozen=True)
class Attribute:
    """One attribute as declared: its labels in order if nominal, its format if a date."""

    name: str
    kind: AttributeKind
    labels: tuple[str, ...] = ()
    date_format: str = ""


def read_header(lines: Iterator[tuple[int, str]], source: str) -> list[Attribute]:
    """Consume numbered lines up to and with `@data`, and return the attributes."""
    attributes: list[Attribute] = []
    for number, line in lines:
        text = line.strip()
        word = text.split(None, 1)[0].lower() if text else ""
        if not text or text.startswith("%") or word == "@relation":
            continue
        if word == "@data":
            if not attributes:
                raise DataError(
                    f"{source}, line {number}: @data without any @attribute before. Declare the columns."
                )
            return attributes
        if word != "@attribute":
            raise DataError(
                f"{source}, line {number}: '{text[:40]}' is no ARFF header line. "
                "Use @relation, @attribute and @data, and % for comments."
            )
        attributes.append(_attribute(text, f"{source}, line {number}"))
    raise DataError(f"{source} has no @data line. Add it between the header and the rows.")


def unquoted_fields(text: str, place: str) -> list[str | None]:
    """Split a row at its commas; an unquoted `?` is None, quoted fields lose quotes and escapes."""
    fields: list[str | None] = []
    position, end = 0, len(text)
    while position <= end:
        match = _FIELD.match(text, position)
        if match is None:
            raise DataError(
                f"{place}: broken quotes. Close every quoted value, and write \\' for a quote inside."
            )
        fields.append(None if match[1] == "?" else unquote(match[1], place))
        if match.end() == end and not text.endswith(",", position, match.end()):
            break
        position = match.end()
    return fields


def unquote(text: str, place: str) -> str:
    """Return a value without its quotes and escapes."""
    if text[:1] not in ("'", '"'):
        return text
    if len(text) < 2 or text[-1] != text[0] or not re.fullmatch(_QUOTED, text, re.DOTALL):
        raise DataError(
            f"{place}: broken quotes at {text[:30]}. Close the value, and write \\' for a quote inside."
        )
    if "\\" not in text:
        return text[1:-1]
    return _ESCAPE.sub(lambda match: _unescape(match[1]), text[1:-1])


def _unescape(code: str) -> str:
    return chr(int(code[1:], 16)) if len(code) == 5 else _CONTROL.get(code, code)


def _attribute(text: str, place: str) -> Attribute:
    match = _ATTRIBUTE.match(text)
    if match is None:
        raise DataError(f"{place}: '{text[:40]}' has no readable name. Write @attribute NAME TYPE.")
    name, kind = unquote(match[1], place), match[2].strip()
    if kind.startswith("{"):
        return Attribute(name, "nominal", _labels(kind, name, place))
    word, _, rest = kind.partition(" ")
    if word.lower() in ("numeric", "real", "integer"):
        return Attribute(name, "numeric")
    if word.lower() == "string":
        return Attribute(name, "string")
    if word.lower() == "date":
        return Attribute(name, "date", date_format=unquote(rest.strip(), place))
    raise DataError(
        f"{place}: attribute '{name}' has the type '{kind[:30]}'. Use numeric, real, integer, string, date "
        "or "
        "{label, label, …}."
    )


def _labels(kind: str, name: str, place: str) -> tuple[str, ...]:
    if not kind.endswith("}"):
        raise DataError(f"{place}: the labels of attribute '{name}' do not end. Close them with '}}'.")
    inner = kind[1:-1]
    labels = (
        [label if label is not None else "?" for label in unquoted_fields(inner, place)]
        if inner.strip()
        else []
    )
    if len(set(labels)) != len(labels):
        raise DataError(f"{place}: attribute '{name}' declares a label twice. Name each label once.")
    return tuple(labels)
