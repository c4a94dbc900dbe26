"""What a user may say about a CSV or TSV file, where the file itself leaves it open."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, field_validator

from assay.data.border import validated

__all__ = ["DELIMITERS", "CsvOptions", "DateOrder", "Decimal", "csv_argument", "parse_csv_options"]

Decimal = Literal["point", "comma"]
DateOrder = Literal["dmy", "mdy", "ymd"]
DELIMITERS: Mapping[str, str] = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|"}


class CsvOptions(BaseModel):
    """How a delimited file is to be read; everything that is left out is found from the file.

    Attributes:
        delimiter: one of `DELIMITERS` by name, or a single character.
        header: whether the first line names the columns.
        index: whether a first column without a name is kept as a column (`keep`) or left out (`drop`).
        decimal: the decimal mark; the other of point and comma then groups thousands.
        dates: the order of day, month and year in dates such as 01/02/03.
        encoding: a name that Python knows, such as `latin-1` or `cp1251`.
        missing: the values that mean "missing", instead of the usual ones; an empty field always does.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    delimiter: str = ""
    header: bool | None = None
    index: Literal["keep", "drop"] | None = None
    decimal: Decimal | None = None
    dates: DateOrder | None = None
    encoding: str = ""
    missing: tuple[str, ...] | None = None

    @field_validator("delimiter")
    @classmethod
    def _one_character(cls, value: str) -> str:
        character = DELIMITERS.get(value, value)
        if len(character) > 1 or character in ('"', "\n", "\r"):
            raise ValueError(f"choose one of {', '.join(DELIMITERS)}, or a single character")
        return character

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, value: str) -> str:
        try:
            name = codecs.lookup(value).name if value else ""
            b"".decode(name or "utf-8")  # codecs such as base64 are known too, but make no text
        except (LookupError, ValueError):
            raise ValueError(
                "Python does not know this encoding; use a name such as utf-8 or latin-1"
            ) from None
        return name

    @field_validator("missing", mode="before")
    @classmethod
    def _several(cls, value: object) -> object:
        return tuple(value.split(",")) if isinstance(value, str) else value


def csv_argument(key: str, value: str) -> str:
    """Return how a message names the argument that decides something; its error lists `csv` as an argument."""
    return f'`csv={{"{key}": "{value}"}}`'


def parse_csv_options(value: Mapping[str, object], where: str) -> CsvOptions:
    """Return the options that a mapping states; an empty one leaves everything to the file."""
    return validated(CsvOptions, value, f"in the csv options {where}".rstrip())
