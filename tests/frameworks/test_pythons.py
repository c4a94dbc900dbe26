"""Which interpreters are found, and what is said where the right one is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from assay.errors import NotInstalled
from assay.frameworks.pythons import find_python, interpreters


def script(path: Path, prints: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{prints}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder as the whole PATH, and no interpreters of pyenv or uv."""
    for name, place in (("PATH", "bin"), ("PYENV_ROOT", "pyenv"), ("UV_PYTHON_INSTALL_DIR", "uv")):
        monkeypatch.setenv(name, str(tmp_path / place))
    (tmp_path / "bin").mkdir()
    return tmp_path


def test_own_interpreter_is_among_those_found_and_is_the_default() -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert interpreters()[version] == Path(sys.executable)
    assert find_python("") == find_python(version) == Path(sys.executable)
    numbers = [tuple(map(int, name.split("."))) for name in interpreters()]
    assert numbers == sorted(numbers)


def test_interpreters_of_path_pyenv_and_uv_are_found(only_here: Path) -> None:
    for name in ("bin/python3.5", "bin/python3.5-config", "bin/python3.x", "bin/python3.4",
                 "pyenv/versions/3.6.15/bin/python3.6", "uv/cpython-3.7.1-linux/bin/python3.7"):  # fmt: skip
        script(only_here / name, "echo " + name[-3:])
    (only_here / "bin/python3.4").chmod(0o644)
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert set(interpreters()) == {"3.5", "3.6", "3.7", own}
    assert find_python("3.5") == only_here / "bin/python3.5"
    assert find_python("3.7") == only_here / "uv/cpython-3.7.1-linux/bin/python3.7"


def test_interpreter_that_is_not_what_its_name_says_is_passed_over(only_here: Path) -> None:
    script(only_here / "bin/python3.6", "echo 3.12")
    right = script(only_here / "pyenv/versions/3.6.1/bin/python3.6", "echo 3.6")
    assert find_python("3.6") == right


def test_wrong_and_broken_interpreters_are_named_when_there_is_no_other(only_here: Path) -> None:
    script(only_here / "bin/python3.6", "echo 3.12")
    script(only_here / "pyenv/versions/3.6.1/bin/python3.6", "exit 127")
    with pytest.raises(NotInstalled) as caught:
        find_python("3.6")
    assert f"{only_here}/bin/python3.6 is Python 3.12" in str(caught.value)
    assert f"{only_here}/pyenv/versions/3.6.1/bin/python3.6 does not start" in str(caught.value)


def test_missing_interpreter_is_named_with_those_there_are_and_the_remedy() -> None:
    with pytest.raises(
        NotInstalled, match=r"Python 3.1 is not on this machine \(there are .*3\.\d+.*\). Install it"
    ):
        find_python("3.1")
