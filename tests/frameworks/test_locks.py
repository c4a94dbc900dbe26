"""Versions by lock, by named set and by `latest`; and locks made from a package index (a folder of wheels here)."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.errors import ConfigError, NotInstalled
from assay.frameworks import locks
from assay.frameworks.find import builtin_names, find_framework, find_frameworks
from assay.frameworks.locks import find_set, find_version, locked_versions, set_names
from assay.frameworks.make_lock import make_lock
from assay.settings import Settings

OWN = 'name = "mine"\nversion = "1.9"\nenvironment = "own"\nrequires = ["tiny-thing=={version}"]\n'


@pytest.fixture
def folder(write_framework) -> Path:
    made = {
        f"locks__{version}_txt": f"tiny-thing=={version}\n"
        for version in ("1.9", "1.10.post1", "1.10", "1.10rc1")
    }
    return write_framework(OWN, **made)


def test_versions_stand_in_their_order(folder: Path) -> None:
    assert locked_versions(folder) == ["1.9", "1.10rc1", "1.10", "1.10.post1"]


def test_version_may_be_named_or_be_the_latest(folder: Path) -> None:
    assert find_framework(str(folder)).version == "1.9"
    assert find_framework(f"{folder}:1.10").version == "1.10"
    assert find_framework(f"{folder}:latest").version == "1.10.post1"
    with pytest.raises(ConfigError, match=r"'3' has no lock file locks/3.txt. There are: 1.9, 1.10rc1"):
        find_framework(f"{folder}:3")


def test_folder_without_a_version_has_its_newest_lock(write_framework) -> None:
    toml = 'name = "mine"\nenvironment = "own"\n'
    assert find_framework(str(write_framework(toml, **{"locks__0.3_txt": "x==1\n"}))).version == "0.3"


def test_keys_of_one_version_replace_the_others(write_framework) -> None:
    toml = (
        OWN
        + 'python = "3.11"\n[versions."1.1"]\npython = "3.9"\nrequires = ["tiny-thing=={version}", "numpy<2"]\n'
    )
    made = {f"locks__{version}_txt": "x==1\n" for version in ("1.9", "1.1.4", "1.10")}
    folder = write_framework(toml, **made)
    assert find_framework(str(folder)).python == "3.11"
    assert find_framework(f"{folder}:1.1.4").python == "3.9"
    assert find_framework(f"{folder}:1.1.4").recipe.requires[1] == "numpy<2"
    assert find_framework(f"{folder}:1.10").python == "3.11", "1.10 is not a 1.1"


def test_sets_name_versions_that_have_locks() -> None:
    assert set_names()
    for name in set_names():
        for framework, version in find_set(name).items():
            assert framework in builtin_names()
            assert find_framework(f"{framework}:{name}").version == version


def test_name_of_a_set_stands_for_all_its_frameworks() -> None:
    name = set_names()[-1]
    specs = find_frameworks(name)
    assert {spec.name: spec.version for spec in specs} == find_set(name)


def test_set_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[frameworks]\nflaml = "2.7.0"\n')
    assert [spec.name for spec in find_frameworks(f"constant,{path}")] == ["constant", "flaml"]
    path.write_text("[frameworks]\nflaml = 2\n")
    with pytest.raises(ConfigError, match=r"needs a table \[frameworks\]"):
        find_frameworks(str(path))
    path.write_text("[")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        find_set(str(path))


def test_set_without_the_framework_says_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "set_names", lambda: ["2020Q1"])
    monkeypatch.setattr(locks, "find_set", lambda name: {"flaml": "1"})
    with pytest.raises(ConfigError, match=r"set 2020Q1 has no version of 'h2o'. It has: flaml"):
        find_version("h2o", "2020Q1", Path())


def test_lock_is_complete_plain_and_without_what_is_unwanted(
    write_framework, settings: Settings, wheels: Path
) -> None:
    spec = find_framework(str(write_framework(OWN + 'without = ["huge-thing"]\n')), unlocked=True)
    version, text = make_lock(spec, "", settings, lambda line: None)
    assert version == "2.0"
    assert text.splitlines()[1:] == ["other-thing==0.1", "tiny-thing==2.0"]
    assert text.startswith("# mine 2.0, ") and "without huge-thing" in text
    assert str(wheels) not in text
    version, text = make_lock(spec, "1.9", settings, lambda line: None)
    assert (version, text.splitlines()[1:]) == ("1.9", ["tiny-thing==1.9"])


def test_lock_that_cannot_be_made_says_why(write_framework, settings: Settings, wheels: Path) -> None:
    spec = find_framework(str(write_framework(OWN)), unlocked=True)
    with pytest.raises(NotInstalled, match=r"(?s)lock of mine could not be made:.*huge-thing"):
        make_lock(spec, "2.0", settings, lambda line: None)
    bare = find_framework(
        str(write_framework('name = "bare"\nenvironment = "own"\n', name="bare")), unlocked=True
    )
    with pytest.raises(ConfigError, match="has no key 'requires'"):
        make_lock(bare, "", settings, lambda line: None)


def test_locks_of_ours_are_plain_and_complete() -> None:
    """No hosts, no hashes, no CUDA, every line pinned, and every torch is the build for CPUs."""
    found = sorted(Path(locks.__file__).parent.glob("*/locks/*.txt"))
    assert len(found) >= 10
    for path in found:
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("#"):
                continue
            name, _, version = line.partition("==")
            assert version and "/" not in line and "--" not in line and "@" not in line, f"{path}: {line}"
            assert not name.startswith(("nvidia", "triton", "cuda")), f"{path}: {line}"
            assert name != "torch" or version.endswith("+cpu"), f"{path}: {line}"
