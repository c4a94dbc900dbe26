import re

import pytest

from assay.errors import ConfigError
from assay.plugins import entry_point_names, lookup, suggest


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package as pip leaves it: a module, its dist-info, an entry point of group assay.things."""
    info = tmp_path / "plugged_things-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged-things\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[assay.things]\nplugged = plugged_things:THING\none = plugged_things:OTHER\n"
    )
    (tmp_path / "plugged_things.py").write_text("THING = 42\nOTHER = 43\n")
    monkeypatch.syspath_prepend(str(tmp_path))


def test_builtin_is_found_first(installed):
    assert lookup("things", "one", {"one": 1}) == 1


def test_thing_of_an_installed_package_is_found(installed):
    assert lookup("things", "plugged", {"one": 1}) == 42
    assert set(entry_point_names("things")) == {"plugged", "one"}


def test_listing_loads_nothing(installed, monkeypatch):
    import sys

    monkeypatch.delitem(sys.modules, "plugged_things", raising=False)
    assert list(entry_point_names("things"))
    assert "plugged_things" not in sys.modules


def test_group_without_packages_is_empty():
    assert entry_point_names("no-such-kind") == {}


@pytest.mark.parametrize(
    ("name", "where", "message"),
    [
        ("plugd", "", "Unknown thing 'plugd'. Did you mean 'plugged'?"),
        (
            "On",
            "in suite small.yaml, task adult",
            "Unknown thing 'On' in suite small.yaml, task adult. Did you mean 'one'?",
        ),
        ("xyz", "", "Unknown thing 'xyz'. There are: one, plugged."),
    ],
)
def test_unknown_name_is_answered(installed, name, where, message):
    with pytest.raises(ConfigError, match=f"^{re.escape(message)}$"):
        lookup("things", name, {"one": 1}, where)


@pytest.mark.parametrize(
    ("name", "known", "answer"),
    [
        ("logloss2", ["logloss", "auc"], "Did you mean 'logloss'?"),
        ("RMSE", ["rmse", "auc"], "Did you mean 'rmse'?"),
        ("randomforest", ["RandomForest", "constant"], "Did you mean 'RandomForest'?"),
        ("zzz", ["b", "a", "a"], "There are: a, b."),
        ("zzz", [], "There are none."),
    ],
)
def test_suggestion_is_the_closest_name_or_all(name, known, answer):
    assert suggest(name, known) == answer
