"""How the columns of one file are written: its decimal mark, its order of dates, its markers of missing values.

A file is usually written by one program in one country. So a column that shows a decimal comma beyond doubt decides
for the columns that can be read in two ways; where no column decides, or columns contradict each other, the user does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.data.csv_options import CsvOptions, DateOrder, Decimal, csv_argument
from assay.data.dates import DateColumn, study_dates
from assay.data.numbers import NumberColumn, study_numbers
from assay.errors import DataError

__all__ = ["MISSING", "MISSING_IN_LABELS", "MISSING_IN_NUMBERS", "FileStyle", "LabelStudy", "study_labels"]

# Always missing in files without types.
MISSING = frozenset(
    {
        "",
        "NA",
        "N/A",
        "na",
        "n/a",
        "NaN",
        "nan",
        "NAN",
        "null",
        "NULL",
        "None",
        "?",
        "<NA>",
        "#N/A",
        "#NA",
        "#NULL!",
    }
)
# Missing where all other values are numbers or dates; elsewhere they may well be labels.
MISSING_IN_NUMBERS = frozenset(
    {"-", "--", "–", "—", ".", "none", "NONE"}
    | {word for stem in ("missing", "unknown") for word in (stem, stem.capitalize(), stem.upper())}
)
# Missing among labels too, but not in the target, whose classes may be + and -.
MISSING_IN_LABELS = frozenset({"-", "--", "missing", "Missing", "MISSING"})

_MARK_NAMES = {"point": "a decimal point", "comma": "a decimal comma"}


@dataclass(frozen=True)
class LabelStudy:
    """What the labels of one column could be: numbers, dates, both (never), or neither."""

    numbers: NumberColumn | None = None
    dates: DateColumn | None = None


def study_labels(labels: Sequence[str]) -> LabelStudy:
    """Return what labels could be, apart from the markers that are missing values among numbers and dates."""
    values = [label for label in labels if label.strip() not in MISSING_IN_NUMBERS]
    if not values:
        return LabelStudy()
    numbers = study_numbers(values)
    return LabelStudy(numbers, None if numbers else study_dates(values))


@dataclass(frozen=True)
class FileStyle:
    """The decimal marks and date orders that columns of a file show beyond doubt, and what the user said.

    `has_semicolons`: such files often come from where the comma is decimal, so that 1.234 may well be 1234.
    """

    decimals: frozenset[str]
    orders: frozenset[str]
    options: CsvOptions
    has_semicolons: bool = False

    @classmethod
    def from_columns(
        cls, columns: Iterable[LabelStudy], options: CsvOptions, delimiter: str = ""
    ) -> FileStyle:
        """Collect what the columns show."""
        studies = list(columns)
        decimals = {study.numbers.decided for study in studies if study.numbers}
        orders = {study.dates.orders[0] for study in studies if study.dates and len(study.dates.orders) == 1}
        return cls(frozenset(decimals & {"point", "comma"}), frozenset(orders), options, delimiter == ";")

    def decimal_for(self, column: NumberColumn, place: str) -> Decimal:
        """Return the decimal mark of a column.

        Raises:
            DataError: if its values, or the columns of the file, leave it open or contradict each other.
        """
        if self.options.decimal:
            return self.options.decimal
        if column.decided == "mixed":
            raise DataError(
                f"{place} has numbers with a decimal point and others with a decimal comma. Write all of them in one "
                "way, or declare the column with 'kind: categorical'."
            )
        if column.decided:
            return "comma" if column.decided == "comma" else "point"
        if not column.open:
            return "point"
        if len(self.decimals) == 1:
            mark: Decimal = "comma" if "comma" in self.decimals else "point"
            is_grouped = ("," in column.open) == (mark == "point")
            # 1.234 beside 1500 does not mark thousands.
            if not (is_grouped and column.long_plain):
                return mark
        elif not self.decimals and "," not in column.open and not self.has_semicolons:
            return "point"
        raise DataError(_open_number(column.open, place), ["csv"])

    def order_for(self, column: DateColumn, place: str) -> DateOrder:
        """Return the order of day, month and year in a column.

        Raises:
            DataError: if its values and the other columns leave it open.
        """
        requested = self.options.dates
        if len(column.orders) == 1 and (requested is None or requested == column.orders[0]):
            return column.orders[0]
        others = [order for order in column.orders if order in self.orders]
        if requested in column.orders:
            return requested
        if requested is None and len(others) == 1:
            return others[0]
        if requested is not None:
            raise DataError(
                f"{place}: '{column.example}' is one of the dates that cannot be read in the order {requested}. Choose "
                "another order with the csv option 'dates', or declare the column with 'kind: text'."
            )
        orders = ", ".join(csv_argument("dates", order) for order in column.orders)
        raise DataError(
            f"{place} has dates such as '{column.example}', in which day, month and year may stand in several orders. "
            f"Say which: {orders} (in a suite file `csv: {{dates: {column.orders[0]}}}`), or declare the column with "
            "'kind: categorical'.",
            ["csv"],
        )


def _open_number(label: str, place: str) -> str:
    whole = label.replace(",", "").replace(".", "").strip()
    fraction = label.replace(",", ".").strip()
    as_fraction = "comma" if "," in label else "point"
    as_whole = "point" if "," in label else "comma"
    return (
        f"{place} has numbers such as '{label}', which may be {fraction} or {whole}. Say which: "
        f"{csv_argument('decimal', as_fraction)} ({_MARK_NAMES[as_fraction]}) or {csv_argument('decimal', as_whole)} "
        f"(marked thousands); in a suite file `csv: {{decimal: {as_fraction}}}`. Or declare the column "
        "with 'kind: categorical'."
    )
