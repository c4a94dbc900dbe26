"""Records that are made in bulk are not looked through by the garbage collector; what is garbage is still collected."""

from __future__ import annotations

import gc
import weakref

from assay.memory import MANY, no_collection


class Node:
    """Something that refers to itself, so that only the collector can free it."""

    def __init__(self) -> None:
        self.own = self


def test_many_records_count_as_old_and_the_collector_is_on_again() -> None:
    with no_collection():
        assert not gc.isenabled()
        records = [[number] for number in range(2 * MANY)]
    assert gc.isenabled() and gc.get_count()[0] < MANY and gc.get_freeze_count() == 0
    assert len(records) == 2 * MANY


def test_garbage_of_frequent_calls_is_collected() -> None:
    nodes: list[weakref.ref[Node]] = []
    for _ in range(20_000):
        with no_collection():
            nodes.append(weakref.ref(Node()))
    assert sum(node() is not None for node in nodes) < 10_000


def test_a_collector_that_was_off_stays_off_and_what_was_frozen_stays_frozen() -> None:
    gc.disable()
    try:
        with no_collection():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with no_collection():
            records = [[number] for number in range(2 * MANY)]
        assert gc.get_freeze_count() >= frozen > 0 and records
    finally:
        gc.unfreeze()
