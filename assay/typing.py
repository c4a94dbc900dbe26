"""Names for the arrays, tables and JSON values that annotations use.

They are text until a type checker reads them, so that importing this module imports neither numpy nor pandas.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["Array", "Bools", "Floats", "Frame", "Ints", "Json", "JsonObject", "Series", "Texts"]

Floats: TypeAlias = "NDArray[np.float64]"
Ints: TypeAlias = "NDArray[np.integer[Any]]"
Bools: TypeAlias = "NDArray[np.bool_]"
Texts: TypeAlias = "NDArray[np.str_]"
# Where the kind of the values depends on the data: a target is numbers or classes.
Array: TypeAlias = "NDArray[Any]"
Frame: TypeAlias = "pd.DataFrame"
Series: TypeAlias = "pd.Series[Any]"
# What a JSON document holds. Parsed documents are checked before they are called this.
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
JsonObject: TypeAlias = "dict[str, Json]"
