"""The one line that says how values were written, where that is not the usual way."""

from __future__ import annotations

from collections.abc import Sequence

from assay.data.numbers import NumberColumn

__all__ = ["Written"]


class Written:
    """Collects how values were written, where that is not the usual way, for the one line that says so."""

    def __init__(self) -> None:
        self.missing: list[tuple[str, str]] = []
        self.dates: list[tuple[str, str]] = []
        self._numbers: dict[str, list[str]] = {}

    def add_numbers(self, name: str, labels: Sequence[str], decimal: str, study: NumberColumn) -> None:
        """Note a decimal comma, marked thousands and units of a column."""
        joined = "".join(labels)
        if decimal == "comma" and "," in joined:
            self._numbers.setdefault("decimal commas", []).append(name)
        groups = "." if decimal == "comma" else ","
        if groups in joined or study.has_separators:
            self._numbers.setdefault("marked thousands", []).append(name)
        for unit in study.units:
            self._numbers.setdefault(f"{unit} signs", []).append(name)

    def notes(self) -> tuple[str, ...]:
        """Return a phrase for each way of writing, with the columns."""
        notes = [f"{what} in {_names(columns)}" for what, columns in self._numbers.items()]
        for order in dict.fromkeys(order for _, order in self.dates):
            notes.append(
                f"dates as {order} in {_names([name for name, written in self.dates if written == order])}"
            )
        for label in dict.fromkeys(label for _, label in self.missing):
            notes.append(
                f"'{label}' as missing in {_names([name for name, written in self.missing if written == label])}"
            )
        return tuple(notes)


def _names(columns: Sequence[str]) -> str:
    if len(columns) > 3:
        return f"{len(columns)} columns"
    return ", ".join(f"'{name}'" for name in columns)
