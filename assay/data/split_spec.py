"""What a suite file may say about splits: `kind` and its numbers, checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, model_validator

from assay.data.border import validated
from assay.data.digest import digest_json

__all__ = ["SplitKind", "SplitSpec", "parse_split"]

SplitKind = Literal["cv", "repeated", "holdout", "grouped", "temporal", "predefined", "given"]
_USED_BY: Mapping[str, frozenset[str]] = {
    "cv": frozenset({"folds", "seed"}),
    "repeated": frozenset({"folds", "repeats", "seed"}),
    "holdout": frozenset({"test_size", "seed"}),
    "grouped": frozenset({"folds", "group", "seed"}),
    "temporal": frozenset({"folds", "time"}),
    "predefined": frozenset({"column"}),
    "given": frozenset({"folds"}),
}


class SplitSpec(BaseModel):
    """How the rows of a task are split.

    Attributes:
        kind: `cv` (stratified by class), `repeated` (cross-validation, several times), `holdout`,
            `grouped` (a group is never on both sides), `temporal` (training rows are earlier than
            test rows, in a window that grows), `predefined` (a column names the test fold of each row) or
            `given` (the folds that the source has: OpenML's, or those of train and test files).
        folds: number of folds; None takes 10 for cv, repeated and grouped, 5 for temporal, and fewer
            where the smallest class (or the number of rows, groups or times) does not allow as many; of a
            given split, how many of its folds to keep (all).
        test_size: the share of test rows (below 1), or their number.
        group, time, column: the column that says it; for group and time, the column of that role by default.
        seed: fixed by default, so the same data give the same folds.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: SplitKind = "cv"
    folds: StrictInt | None = Field(default=None, ge=1, le=1000)
    repeats: StrictInt = Field(default=10, ge=1, le=1000)
    test_size: float = Field(default=0.2, gt=0)
    seed: StrictInt = Field(default=0, ge=0, le=2**32 - 1)
    group: str = ""
    time: str = ""
    column: str = ""

    @model_validator(mode="after")
    def _check_combination(self) -> SplitSpec:
        for name in self.model_fields_set - {"kind"} - _USED_BY[self.kind]:
            raise ValueError(
                f"A split of kind '{self.kind}' does not use '{name}'. Remove it, or choose another kind"
            )
        if self.folds == 1 and self.kind not in ("given", "temporal"):
            raise ValueError(
                "One fold is no cross-validation. Say 'kind: holdout', or ask for 2 'folds' or more"
            )
        if self.kind == "predefined" and not self.column:
            raise ValueError("A predefined split needs 'column': the column that names each row's test fold")
        if self.test_size >= 1 and self.test_size != int(self.test_size):
            raise ValueError(
                f"test_size {self.test_size} is neither a share below 1 nor a whole number of rows"
            )
        return self

    def digest(self) -> str:
        """Return a digest of everything that the folds depend on."""
        return digest_json(self.model_dump())


def parse_split(value: Mapping[str, object], where: str) -> SplitSpec:
    """Return the split that a mapping describes; an empty one is the default, 10-fold cross-validation."""
    return validated(SplitSpec, value, f"in the split {where}".rstrip())
