"""Environments are built from locks by real installs: whole, once, and anew when something is missing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import NotInstalled
from assay.frameworks.envs import Environment, environment_folder, environment_of, read_ready
from assay.frameworks.find import find_framework
from assay.frameworks.install import build_environment, hold_environment, install_environ
from assay.frameworks.pythons import interpreters
from assay.frameworks.spec import FrameworkSpec
from assay.settings import Settings


def test_nothing_is_built_for_the_baselines(settings: Settings) -> None:
    assert build_environment(find_framework("constant"), settings).python == Path(sys.executable)
    assert not settings.cache.exists()


def test_environment_is_built_from_its_lock_offline(make_own, settings: Settings, wheels: Path) -> None:
    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    found = build_environment(spec, offline)
    assert found == environment_of(spec, offline)
    assert found.lock == "tiny-thing==1.0\n"
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
    assert not environment_folder(spec, offline).exists()
    with pytest.raises(NotInstalled, match="is not installed here"):
        environment_of(spec, offline)


def test_install_notes_what_it_did(make_own, settings: Settings, wheels: Path) -> None:
    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    lines: list[str] = []
    build_environment(spec, offline, lines.append)
    ready = read_ready(environment_folder(spec, offline))
    assert ready["packages"] == ["tiny_thing-1.0.dist-info"]
    assert Path(ready["base"]).is_dir() and ready["seconds"] > 0 and ready["size_mb"] >= 0
    assert any("making an environment with" in line for line in lines)
    assert "installing 1 packages" in lines


@pytest.mark.parametrize("loss", ["package", "interpreter", "note"])
def test_environment_that_lost_something_is_said_to_and_rebuilt(
    make_own, settings: Settings, wheels: Path, loss: str
) -> None:
    import shutil

    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    build_environment(spec, offline)
    folder = environment_folder(spec, offline)
    if loss == "package":
        shutil.rmtree(next(folder.glob("lib/*/site-packages/tiny_thing-1.0.dist-info")))
    elif loss == "interpreter":
        (folder / "bin" / "python").unlink()
    else:
        (folder / "assay-ready").write_text("{")
    with pytest.raises(NotInstalled, match=r"has lost tiny_thing|is gone|is unfinished"):
        environment_of(spec, offline)
    build_environment(spec, offline)
    assert environment_of(spec, offline).python.exists()


def test_rebuild_makes_anew_what_is_whole(make_own, settings: Settings, wheels: Path) -> None:
    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    build_environment(spec, offline)
    (environment_folder(spec, offline) / "mark").touch()
    build_environment(spec, offline, rebuild=True)
    assert not (environment_folder(spec, offline) / "mark").exists()


def test_environment_in_use_is_not_rebuilt(make_own, settings: Settings, wheels: Path) -> None:
    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    build_environment(spec, offline)
    mark = environment_folder(spec, offline) / "mark"
    mark.touch()
    said: list[str] = []
    with ThreadPoolExecutor(1) as pool:
        with hold_environment(spec, offline), hold_environment(spec, offline):
            building = pool.submit(build_environment, spec, offline, said.append, True)
            with pytest.raises(TimeoutError):
                building.result(timeout=1)
            assert mark.exists() and said == ["waiting: somebody is building it, or runs jobs in it"]
        building.result(timeout=60)
    assert not mark.exists()


def test_environment_in_use_can_be_used_by_others_at_once(make_own, settings: Settings, wheels: Path) -> None:
    spec, offline = make_own("tiny-thing==1.0\n"), replace(settings, offline=True)
    build_environment(spec, offline)
    with ThreadPoolExecutor(1) as pool, hold_environment(spec, offline):
        found = pool.submit(build_environment, spec, offline).result(timeout=30)
    assert found == environment_of(spec, offline)


def test_pip_builds_it_where_the_recipe_says_so(
    make_own, settings: Settings, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    spec = make_own("tiny-thing==1.0\n", toml='installer = "pip"\n')
    found = build_environment(spec, replace(settings, offline=True))
    done = subprocess.run([found.python, "-I", "-c", "import tiny_thing"], capture_output=True)
    assert done.returncode == 0, done.stderr


def test_prepare_fills_a_cache_that_children_are_told_of(make_own, settings: Settings, wheels: Path) -> None:
    toml = 'prepare = "warm.py"\n[environ]\nMY_CACHE = "{cache}/warm"\nMODE = "fast"\n'
    script = "import sys, tiny_thing\nopen(sys.argv[1] + '/warm', 'w').write(str(tiny_thing.VALUE))\n"
    spec = make_own("tiny-thing==1.0\n", toml=toml, warm_py=script)
    found = build_environment(spec, replace(settings, offline=True))
    assert found.environ["MODE"] == "fast"
    assert Path(found.environ["MY_CACHE"]).read_text() == "42"
    assert Path(found.environ["MY_CACHE"]).is_relative_to(found.readable[0]), "it is mounted with the rest"


def test_prepare_that_fails_is_no_install(make_own, settings: Settings, wheels: Path) -> None:
    spec = make_own("tiny-thing==1.0\n", toml='prepare = "warm.py"\n', warm_py="raise ValueError('cold')\n")
    with pytest.raises(NotInstalled, match=r"(?s)could not be built:.*ValueError: cold"):
        build_environment(spec, replace(settings, offline=True))


INSTALL = """
import signal
import sys
from pathlib import Path
from assay.frameworks.install import build_environment
from assay.frameworks.find import find_framework
from assay.settings import Settings
signal.signal(signal.SIGINT, signal.default_int_handler)  # where tests run in the background it is ignored
settings = Settings(cache=Path(sys.argv[2]), state=Path(sys.argv[2]), offline=True)
print(build_environment(find_framework(sys.argv[1]), settings, lambda line: print(line, flush=True)).python)
"""
SLOW = "import sys, time\nprint('warming', flush=True)\ntime.sleep(1.5)\nopen(sys.argv[1] + '/n', 'a').write('x')\n"


def start_install(spec: FrameworkSpec, settings: Settings) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", INSTALL, str(spec.folder), str(settings.cache)],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stdout is not None
    assert any(text in line for line in iter(process.stdout.readline, ""))


def test_two_installs_at_the_same_time_build_it_once(make_own, settings: Settings, wheels: Path) -> None:
    spec = make_own("tiny-thing==1.0\n", toml='prepare = "warm.py"\n', warm_py=SLOW)
    running = [start_install(spec, settings) for _ in range(3)]
    said = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0], said
    assert sum("warming" in text for text in said) == 1
    assert sum("somebody is building it" in text for text in said) == 2
    cache = environment_folder(spec, settings) / "assay-cache"
    assert (cache / "n").read_text() == "x"


def test_install_killed_halfway_is_seen_and_built_anew(make_own, settings: Settings, wheels: Path) -> None:
    spec = make_own("tiny-thing==1.0\n", toml='prepare = "warm.py"\n', warm_py=SLOW)
    process = start_install(spec, settings)
    wait_for(process, "warming")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    with pytest.raises(NotInstalled, match="is unfinished"):
        environment_of(spec, settings)
    again = start_install(spec, settings)
    assert again.communicate(timeout=120)[0] and again.returncode == 0
    assert environment_of(spec, settings).python.exists()


def test_interrupted_install_leaves_no_half_environment(make_own, settings: Settings, wheels: Path) -> None:
    spec = make_own("tiny-thing==1.0\n", toml='prepare = "warm.py"\n', warm_py=SLOW)
    process = start_install(spec, settings)
    wait_for(process, "warming")
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert not environment_folder(spec, settings).exists()


def test_settings_of_pip_reach_uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PIP_FIND_LINKS", "UV_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_DEFAULT_INDEX",
                 "PIP_INDEX_URL", "UV_INDEX_STRATEGY"):  # fmt: skip
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (tmp_path / "pip").mkdir()
    (tmp_path / "pip" / "pip.conf").write_text(
        "[global]\nfind-links = /a /b\nextra-index-url = file:///x\nindex-url = file:///y\n"
    )
    found = install_environ()
    assert found["UV_FIND_LINKS"] == "/a,/b"
    assert (found["UV_EXTRA_INDEX_URL"], found["UV_DEFAULT_INDEX"]) == ("file:///x", "file:///y")
    assert found["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert "PYTHONDONTWRITEBYTECODE" not in found
    monkeypatch.setenv("UV_FIND_LINKS", "/mine")
    assert install_environ()["UV_FIND_LINKS"] == "/mine", "what uv is told itself comes first"
    monkeypatch.delenv("UV_FIND_LINKS")
    monkeypatch.setenv("PIP_FIND_LINKS", "/variable")
    assert install_environ()["UV_FIND_LINKS"] == "/variable", "a variable comes before a file"


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
