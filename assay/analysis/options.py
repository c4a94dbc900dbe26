"""Options of an analysis: a frozen dataclass whose fields say what they mean and which values they take.

The command's flags, their help and the checks derive from it:

    @dataclass(frozen=True)
    class RankOptions:
        alpha: Annotated[float, Option("Significance level.", above=0, below=1)] = 0.05
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, fields
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from assay.errors import ConfigError
from assay.plugins import suggest

__all__ = ["NoOptions", "Option", "OptionField", "make_options", "option_fields"]

Options = TypeVar("Options")


@dataclass(frozen=True)
class Option:
    """What one option means, and which values it takes.

    Attributes:
        help: a noun phrase or an imperative, for `--help` and the docs.
        choices: the only words that are allowed; empty for all.
        above, least, below: bounds of a number; the first and the last are excluded.
        is_dataset: the value is the facts of a data set; the command reads them from a file.
        is_argument: the command takes it by its place, without a flag.
        repeats: the flag of a list is given once for each word; else it is given once, with commas between the words.
        short: a short flag, such as `-m`.
    """

    help: str
    choices: tuple[str, ...] = ()
    above: float | None = None
    least: float | None = None
    below: float | None = None
    is_dataset: bool = False
    is_argument: bool = False
    repeats: bool = False
    short: str = ""

    def problem(self, value: Any) -> str:
        """Return what is wrong with a value, or an empty text."""
        if value is None:
            return ""
        if self.choices and value not in self.choices:
            return f"choose {' or '.join(filter(None, (', '.join(self.choices[:-1]), self.choices[-1])))}."
        limits = {
            f"above {self.above:g}" if self.above is not None else "": self.above is None
            or value > self.above,
            f"{self.least:g} or more" if self.least is not None else "": self.least is None
            or value >= self.least,
            f"below {self.below:g}" if self.below is not None else "": self.below is None
            or value < self.below,
        }
        return "" if all(limits.values()) else f"give a number {' and '.join(filter(None, limits))}."


@dataclass(frozen=True)
class OptionField:
    """One option of an analysis, as its dataclass declares it; `default` is `MISSING` where it must be given."""

    name: str
    type: Any
    option: Option
    default: Any


@dataclass(frozen=True)
class NoOptions:
    """Options of an analysis that has none."""


def option_fields(options: type) -> tuple[OptionField, ...]:
    """Return the options that a dataclass declares, in order."""
    hints = get_type_hints(options, include_extras=True)
    return tuple(_option_field(options, field, hints[field.name]) for field in fields(options))


def make_options(
    options: type[Options], values: Mapping[str, object], spell: Callable[[str], str] = str
) -> Options:
    """Return the options with these values; raises ConfigError for a name or value that does not fit.

    `spell` writes the name of an option in messages: the command line writes a flag.
    """
    declared = {field.name: field for field in option_fields(options)}
    for name, value in values.items():
        if name not in declared:
            raise ConfigError(f"There is no option '{spell(name)}'. {suggest(name, map(spell, declared))}")
        problem = declared[name].option.problem(value)
        if problem:
            raise ConfigError(f"{spell(name)} {value}: {problem}")
    missing = [name for name, field in declared.items() if field.default is MISSING and name not in values]
    if missing:
        raise ConfigError(f"{spell(missing[0])} is needed: {declared[missing[0]].option.help}")
    return options(**values)


def _option_field(options: type, field: Field[object], hint: object) -> OptionField:
    if get_origin(hint) is not Annotated:
        raise TypeError(f"{options.__name__}.{field.name} needs an annotation with an Option")
    kind, *further = get_args(hint)
    option = next(item for item in further if isinstance(item, Option))
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return OptionField(field.name, kind, option, default)
