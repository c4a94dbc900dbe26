"""`assay store prune|migrate` and the size in `assay status`, as a user sees them."""

from __future__ import annotations

import json
from pathlib import Path

from assay.store.store import Store

from .conftest import Assay


def logs(root: Path) -> int:
    return len(list(root.rglob("log.txt")))


def test_prune_without_a_rule_explains_the_rules_and_removes_nothing(assay: Assay, copied: Path) -> None:
    said = assay("store", "prune")
    assert (said.code, said.err) == (2, "") and logs(copied) == 10
    for word in ("--models", "--logs", "--failed-logs", "--attempts", "--dry-run", "Nothing was removed"):
        assert word in said.out, word


def test_prune_says_what_was_removed_and_how_much_space_it_freed(assay: Assay, copied: Path) -> None:
    dry = assay("store", "prune", "--logs", "--failed-logs", "--dry-run")
    assert dry.code == 0 and "would be freed" in dry.out and "attempts/001/log.txt" in dry.out
    assert logs(copied) == 10
    said = assay("store", "prune", "--failed-logs")
    assert (said.code, said.err) == (0, "") and logs(copied) == 8
    assert "logs of jobs that failed" in said.out and "freed, 2 attempt(s)" in said.out
    again = assay("store", "prune", "--failed-logs")
    assert again.code == 0 and "nothing to remove" in again.out
    assert assay("store", "verify").code == 0


def test_prune_as_json_lists_every_path(assay: Assay, copied: Path) -> None:
    told = json.loads(assay("store", "prune", "--logs", "--dry-run", "--json").out)
    assert len(told["removals"]) == 8 and told["in_use"] == 0 and told["problems"] == []
    assert all(Path(path).is_file() for removal in told["removals"] for path in removal["paths"])


def test_prune_refuses_an_age_that_is_not_a_time(assay: Assay, copied: Path) -> None:
    said = assay("store", "prune", "--logs", "--older-than", "a while")
    assert said.code == 2 and "--older-than" in said.err and logs(copied) == 10
    assert "nothing to remove" in assay("store", "prune", "--logs", "--older-than", "1d").out


def test_prune_names_a_damaged_row_with_exit_code_1(assay: Assay, copied: Path) -> None:
    store = Store(copied)
    key = sorted(store.states())[0]
    with store.transaction() as db:
        db.execute("UPDATE jobs SET row = '{' WHERE key = ?", (key,))
    store.close()
    said = assay("store", "prune", "--logs", "--failed-logs")
    assert said.code == 1 and key in said.out and logs(copied) == 1


def test_explain_and_pack_do_without_a_log_that_was_pruned(assay: Assay, copied: Path) -> None:
    key = next(row.key for row in Store(copied).rows() if row.status != "ok")
    assay("store", "prune", "--failed-logs")
    said = assay("explain", key)
    assert said.code == 0 and "was removed, for example by `assay store prune`" in " ".join(said.out.split())
    assert json.loads(assay("explain", key, "--json").out)["removed"]
    assert assay("job", "pack", key, "-o", "bug.tar.gz").code == 0


def test_migrate_says_how_many_rows_it_rewrote(assay: Assay, copied: Path) -> None:
    said = assay("store", "migrate")
    assert (said.code, said.out) == (0, "0 of 10 rows rewritten, 0 problem(s).\n")
    (copied / "assay-store.json").write_text('{"format": 7}')
    said = assay("store", "migrate")
    assert said.code == 2 and "later version of Assay" in said.err and "format 7" in said.err


def test_migrate_names_what_it_could_not_rewrite_with_exit_code_1(assay: Assay, copied: Path) -> None:
    store = Store(copied)
    key = sorted(store.states())[0]
    with store.transaction() as db:
        db.execute("UPDATE jobs SET row = '{}' WHERE key = ?", (key,))
    store.close()
    said = assay("store", "migrate")
    assert said.code == 1 and key in said.out and "0 of 10 rows rewritten, 1 problem(s)." in said.out
