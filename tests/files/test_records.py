"""A record is made of JSON only where every field has its type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from assay.files import make_record


@dataclass(frozen=True)
class Inner:
    number: float


@dataclass(frozen=True)
class Outer:
    text: str
    kind: Literal["a", "b"]
    inner: Inner
    pairs: tuple[tuple[float, int], ...] = ()
    perhaps: int | None = None
    by_name: Mapping[str, bool] = field(default_factory=dict)
    anything: Any = None


GOOD = {
    "text": "x", "kind": "a", "inner": {"number": 1}, "pairs": [[0.5, 2]], "perhaps": None, "by_name": {"z": True},
    "anything": [1, {}], "later": "is ignored",
}  # fmt: skip


def test_lists_become_tuples_and_objects_become_records() -> None:
    record = make_record(Outer, GOOD)
    assert record == Outer("x", "a", Inner(1), ((0.5, 2),), None, {"z": True}, [1, {}])
    assert make_record(Outer, {**GOOD, "perhaps": 3}).perhaps == 3


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"text": 1}, "text is int"), ({"text": None}, "text is NoneType"), ({"kind": "c"}, "kind is str"),
        ({"kind": []}, "kind is list"), ({"inner": 1}, "inner is int"), ({"inner": {}}, "inner number is missing"),
        ({"inner": {"number": True}}, "inner number is bool"), ({"pairs": [[1]]}, "pairs has 1 entries, not 2"),
        ({"pairs": {}}, "pairs is dict"), ({"pairs": [[1, 2.5]]}, "pairs is float"),
        ({"perhaps": "1"}, "perhaps is str"),
        ({"perhaps": True}, "perhaps is bool"), ({"by_name": {"z": 1}}, "by_name is int"),
        ({"by_name": []}, "by_name is list"),
    ],
)  # fmt: skip
def test_a_field_of_another_type_is_named(changed: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        make_record(Outer, {**GOOD, **changed})


def test_a_missing_field_is_named() -> None:
    with pytest.raises(ValueError, match="kind is missing"):
        make_record(Outer, {name: value for name, value in GOOD.items() if name != "kind"})
