from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import NotInstalled
from assay.frameworks.envs import (
    Environment,
    build_environment,
    environment_folder,
    environment_of,
    find_python,
    interpreters,
    lock_digest,
)
from assay.frameworks.spec import FrameworkSpec, find_framework
from assay.settings import Settings

OWN = 'name = "mine"\nversion = "1.0"\nenvironment = "own"\n'


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path / "cache", state=tmp_path / "state")


@pytest.fixture
def make_own(write_framework: Callable[..., Path]) -> Callable[..., FrameworkSpec]:
    def make(lock: str, name: str = "mine") -> FrameworkSpec:
        return find_framework(str(write_framework(OWN, name=name, **{"locks__1.0_txt": lock})))

    return make


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
    assert f"`assay framework install {spec.folder}`" in str(caught.value)


def test_environment_is_kept_by_the_text_of_its_lock(make_own, settings: Settings) -> None:
    one, other = make_own("six==1.0\n"), make_own("six==1.1\n", name="changed")
    same = make_own("six==1.0\n", name="same")
    assert environment_folder(one, settings).parent == settings.cache / "environments"
    assert environment_folder(one, settings).name == f"mine-1.0-{lock_digest(one)[:12]}"
    assert environment_folder(one, settings) == environment_folder(same, settings)
    assert environment_folder(one, settings) != environment_folder(other, settings)


def test_program_must_be_on_the_path(write_framework, settings: Settings) -> None:
    toml = 'name = "mine"\nenvironment = "none"\ncommand = ["{}", "x"]\n'
    here = find_framework(str(write_framework(toml.format("sh"))))
    assert environment_of(here, settings).python.name == "sh"
    inside = find_framework(str(write_framework(toml.format("{framework}/run"), name="inside")))
    assert environment_of(inside, settings).python == Path("{framework}/run")
    gone = find_framework(str(write_framework(toml.format("no-such-program"), name="gone")))
    with pytest.raises(NotInstalled, match="needs the program 'no-such-program', which is not on the PATH"):
        environment_of(gone, settings)


def test_own_interpreter_is_among_those_found_and_is_the_default() -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert interpreters()[version] == Path(sys.executable)
    assert find_python("") == find_python(version) == Path(sys.executable)
    numbers = [tuple(map(int, name.split("."))) for name in interpreters()]
    assert numbers == sorted(numbers)


def test_interpreters_of_the_path_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("python3.5", "python3.5-config", "python3.x", "python3.4"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755 if name != "python3.4" else 0o644)
    monkeypatch.setenv("PATH", f"{tmp_path}:{tmp_path / 'no such folder'}:")
    monkeypatch.setenv("PYENV_ROOT", str(tmp_path / "pyenv"))
    assert set(interpreters()) == {"3.5", f"{sys.version_info[0]}.{sys.version_info[1]}"}
    assert find_python("3.5") == tmp_path / "python3.5"


def test_missing_interpreter_is_named_with_those_there_are() -> None:
    with pytest.raises(
        NotInstalled, match=r"Python 3.1 is not on this machine \(there are .*3\.\d+.*\). Install it"
    ):
        find_python("3.1")


def test_interpreter_that_no_longer_starts_is_named(make_own, settings: Settings) -> None:
    spec = make_own("six==1.0\n")
    folder = environment_folder(spec, settings)
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to("gone")
    (folder / "assay-ready").touch()
    with pytest.raises(NotInstalled, match=r"does not start .* Remove .* and install again"):
        environment_of(spec, settings)


def test_nothing_is_built_for_the_baselines(settings: Settings) -> None:
    assert build_environment(find_framework("constant"), settings).python == Path(sys.executable)
    assert not settings.cache.exists()


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one small package, made by hand: building from a lock needs no index then."""
    import zipfile

    folder = tmp_path / "wheels"
    folder.mkdir()
    info = "tiny_thing-1.0.dist-info"
    with zipfile.ZipFile(folder / "tiny_thing-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_thing.py", "VALUE = 42\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-thing\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(
            f"{info}/RECORD", f"tiny_thing.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n"
        )
    monkeypatch.setenv("UV_FIND_LINKS", str(folder))
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    return folder


def test_environment_is_built_from_its_lock_offline(make_own, settings: Settings, wheels: Path) -> None:
    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    found = build_environment(spec, offline)
    assert found == environment_of(spec, offline)
    assert found.digest == lock_digest(spec)
    code = "import tiny_thing, sys; print(tiny_thing.VALUE, tiny_thing.__cached__, sys.prefix)"
    done = subprocess.run([found.python, "-I", "-c", code], capture_output=True, text=True, check=True)
    value, cached, prefix = done.stdout.split()
    assert (value, Path(prefix)) == ("42", environment_folder(spec, offline))
    assert Path(cached).exists(), "it is compiled when it is built"
    missing = subprocess.run([found.python, "-I", "-c", "import assay"], capture_output=True, check=False)
    assert missing.returncode == 1, "nothing of ours is in it"


def test_environment_that_is_there_is_not_built_again(make_own, settings: Settings, wheels: Path) -> None:
    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    build_environment(spec, offline)
    (environment_folder(spec, offline) / "mark").touch()
    build_environment(spec, offline)
    assert (environment_folder(spec, offline) / "mark").exists()


def test_interrupted_build_is_made_anew(make_own, settings: Settings, wheels: Path) -> None:
    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    folder = environment_folder(spec, offline)
    (folder / "bin").mkdir(parents=True)
    (folder / "half").touch()
    assert isinstance(build_environment(spec, offline), Environment)
    assert not (folder / "half").exists()


def test_lock_that_cannot_be_installed_leaves_no_environment(
    make_own, settings: Settings, wheels: Path
) -> None:
    spec, offline = make_own("tiny-thing==9.9\n"), replace(settings, offline=True)
    with pytest.raises(
        NotInstalled, match=r"(?s)environment of mine 1.0 could not be built:.*tiny-thing==9.9"
    ):
        build_environment(spec, offline)
    with pytest.raises(NotInstalled, match="is not installed here"):
        environment_of(spec, offline)


@pytest.mark.slow
def test_environment_is_built_from_the_package_index(make_own, settings: Settings) -> None:
    spec = make_own("six==1.16.0\n")
    found = build_environment(spec, settings)
    done = subprocess.run(
        [found.python, "-I", "-c", "import six; print(six.__version__)"], capture_output=True, text=True
    )
    assert done.stdout.strip() == "1.16.0"


@pytest.mark.slow
def test_child_runs_on_the_oldest_python(make_own, settings: Settings, samples, build_job, run_child) -> None:
    if "3.8" not in interpreters():
        pytest.skip("no Python 3.8 on this machine")
    spec = replace(make_own("numpy==1.24.4\n"), python="3.8")
    python = build_environment(spec, settings).python
    for form in ("npz", "csv"):
        adapter = find_framework("constant").adapter
        ended = run_child(build_job(samples["multiclass"], form, name=form), adapter, str(python))
        assert ended.code == 0, ended.log
        assert ended.report["python"].startswith("3.8.")
        assert ended.predictions["probabilities"].shape == (20, 3)
