from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import NotInstalled
from assay.frameworks.envs import environment_folder, environment_of, lock_digest
from assay.frameworks.find import find_framework
from assay.settings import Settings


def test_baseline_runs_on_assays_own_interpreter(settings: Settings) -> None:
    found = environment_of(find_framework("constant"), settings)
    assert found.python == Path(sys.executable)
    assert "scikit-learn==" in found.lock and "numpy==" in found.lock
    assert len(found.digest) == 64
    outside = [Path(sys.prefix), Path(sys.base_prefix)]
    assert set(found.readable) >= {path for path in outside if not path.is_relative_to("/usr")}


def test_framework_that_is_not_installed_is_answered_with_the_command(make_own, settings: Settings) -> None:
    spec = make_own("six==1.0\n")
    with pytest.raises(NotInstalled, match=r"mine 1\.0 is not installed here") as caught:
        environment_of(spec, settings)
    assert f"`assay framework install {spec.folder}:1.0`" in str(caught.value)


def test_environment_is_kept_by_the_text_of_its_lock(make_own, settings: Settings) -> None:
    one, other = make_own("six==1.0\n"), make_own("six==1.1\n", name="changed")
    same = make_own("six==1.0\n", name="same")
    assert environment_folder(one, settings).parent == settings.cache / "environments"
    assert environment_folder(one, settings).name == f"lock-1.0-{lock_digest(one)[:12]}"
    assert environment_folder(one, settings) == environment_folder(same, settings)
    assert environment_folder(one, settings) != environment_folder(other, settings)


def test_program_must_be_on_the_path(write_framework, settings: Settings) -> None:
    toml = 'name = "mine"\nenvironment = "none"\ncommand = ["{}", "x"]\n'
    here = find_framework(str(write_framework(toml.format("sh"))))
    assert environment_of(here, settings).python.name == "sh"
    inside = find_framework(str(write_framework(toml.format("{framework}/run"), name="inside")))
    assert environment_of(inside, settings).python == Path("{framework}/run")
    gone = find_framework(str(write_framework(toml.format("no-such-program"), name="gone")))
    with pytest.raises(NotInstalled, match=r"needs the program 'no-such-program', which is not on the PATH"):
        environment_of(gone, settings)


def test_comments_in_a_lock_make_no_other_environment(make_own, settings: Settings) -> None:
    one, commented = make_own("six==1.0\n"), make_own("# why\nsix==1.0  # because\n\n", name="commented")
    assert lock_digest(one) == lock_digest(commented)


def test_everything_an_environment_is_made_from_makes_another(make_own, settings: Settings, tmp_path) -> None:
    one = make_own("six==1.0\n")
    script = tmp_path / "prepare.py"
    script.write_text("print()")
    others = [
        replace(one, python="3.9"),
        replace(one, recipe=replace(one.recipe, build=("cython<3",))),
        replace(one, recipe=replace(one.recipe, tools=("swig",))),
        replace(one, recipe=replace(one.recipe, prepare=script)),
    ]
    assert len({lock_digest(spec) for spec in (one, *others)}) == 5


def test_variants_share_the_environment_of_what_they_extend(settings: Settings) -> None:
    first, second = find_framework("autosklearn"), find_framework("autosklearn2")
    assert environment_folder(first, settings) == environment_folder(second, settings)
    assert environment_folder(first, settings).name.startswith("auto-sklearn-0.15.0-")


def test_program_beside_the_environment_is_named_with_its_remedy(write_framework, settings: Settings) -> None:
    toml = 'name = "mine"\n[programs]\nno-such-java = "Install Java 17"\n'
    spec = find_framework(str(write_framework(toml)))
    with pytest.raises(NotInstalled, match=r"needs the program 'no-such-java', .* Install Java 17"):
        environment_of(spec, settings)


@pytest.fixture
def make_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def make(folder: str, name: str = "my-java") -> Path:
        program = tmp_path / folder / name
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin")
        return program

    return make


def test_program_outside_the_system_is_shown_to_the_child(write_framework, settings, make_program) -> None:
    spec = find_framework(str(write_framework('name = "mine"\n[programs]\nmy-java = ""\nsh = ""\n')))
    program = make_program("jdk/bin")
    own = environment_of(find_framework("constant"), settings).readable
    assert environment_of(spec, settings).readable == (*own, program.parent.parent)


def test_program_that_cannot_be_shown_alone_is_a_problem_of_the_setup(
    write_framework, settings, make_program, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = find_framework(str(write_framework('name = "mine"\n[programs]\nmy-java = "Install it"\n')))
    make_program("home/bin")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    with pytest.raises(NotInstalled, match=r"is not in a folder of its own .* Install it\."):
        environment_of(spec, settings)
