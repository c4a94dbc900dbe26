from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.errors import ConfigError
from assay.frameworks.find import builtin_names, find_framework, find_frameworks, list_frameworks
from assay.frameworks.spec import FrameworkSpec

Write = Callable[..., Path]
BASELINES = [
    "constant",
    "decision_tree",
    "hist_gradient_boosting",
    "linear",
    "random_forest",
    "tuned_random_forest",
]


def test_baselines_come_with_assay() -> None:
    assert set(BASELINES) <= set(builtin_names())
    assert "estimator" not in builtin_names()


@pytest.mark.parametrize("name", builtin_names())
def test_builtin_is_called_like_its_folder(name: str) -> None:
    spec = find_framework(name)
    assert spec.name == name
    assert spec.description
    assert spec.version
    assert len(spec.digest()) == 64


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("CONSTANT", "constant"),
        ("constantpredictor", "constant"),
        ("ConstantPredictor", "constant"),
        ("RandomForest", "random_forest"),
        ("random-forest", "random_forest"),
        ("TunedRandomForest", "tuned_random_forest"),
        ("DecisionTree", "decision_tree"),
        ("constant:1", "constant"),
    ],
)
def test_name_is_found_in_any_case_and_as_amlb_calls_it(text: str, name: str) -> None:
    assert find_framework(text).name == name


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("random_forrest", "Unknown framework 'random_forrest'. Did you mean 'random_forest'?"),
        ("estimator", "Unknown framework 'estimator'."),
        ("zzz", "Unknown framework 'zzz'. There are: "),
        ("constant:7", "is version '1', not '7'."),
        ("./nowhere", "There is no nowhere/framework.toml."),
        ("/nowhere/x", "There is no /nowhere/x/framework.toml."),
        ("model.py", "'model.py' is a file: name the class in it, for example model.py:MyEstimator."),
        ("nowhere.py:Mine", "There is no file 'nowhere.py'."),
    ],
)
def test_word_that_means_nothing_is_answered(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        find_framework(text)


def test_folder_is_a_framework(write_framework: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_framework('name = "mine"\nversion = "3"')
    assert find_framework(str(folder)).version == "3"
    monkeypatch.chdir(folder.parent)
    assert find_framework("./mine").version == "3"
    assert find_framework("mine").version == "3"
    monkeypatch.chdir(folder)
    assert find_framework(".").version == "3"


def test_builtin_comes_before_a_folder_of_the_same_name(
    write_framework: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_framework('name = "constant"\nversion = "666"', name="constant")
    monkeypatch.chdir(folder.parent)
    assert find_framework("constant").version == "1"
    assert find_framework("./constant").version == "666"


# --- file.py:Class ------------------------------------------------------------------------------------


def test_estimator_of_a_file_is_known_by_its_text(tmp_path: Path) -> None:
    file = tmp_path / "model.py"
    file.write_text("class Mine: ...\n")
    spec = find_framework(f"{file}:Mine")
    assert (spec.name, spec.role, spec.environment) == ("Mine", "model", "assay")
    assert spec.params == {"_file": "model.py", "_class": "Mine"}
    assert spec.files == (file,)
    before = spec.digest()
    file.write_text("class Mine: ...  # changed\n")
    assert find_framework(f"{file}:Mine").version != spec.version
    assert find_framework(f"{file}:Mine").digest() != before


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("model.py", "1x", "'1x' is no class name."),
        ("model.py", "", "'' is no class name."),
        ("model.py", "Other", "does not mention 'Other'. Name a class or function that the file defines."),
        ("model.py", "Min", "does not mention 'Min'"),
        (
            "adapter.py",
            "Mine",
            "has a file 'adapter.py', whose place beside the adapter is taken. Rename it.",
        ),
        ("child.py", "Mine", "has a file 'child.py', whose place beside the adapter is taken. Rename it."),
    ],
)
def test_wrong_class_or_file_is_named(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text("class Mine: ...\n")
    with pytest.raises(ConfigError, match=re.escape(message)):
        find_framework(f"{tmp_path / name}:{text}")


# --- lists --------------------------------------------------------------------------------------------


def test_list_of_frameworks_takes_settings_by_name() -> None:
    specs = find_frameworks(" constant, random_forest ", {"random_forest": {"n_estimators": 5}})
    assert [spec.name for spec in specs] == ["constant", "random_forest"]
    assert specs[1].params["n_estimators"] == 5
    assert specs[1].params["_step"] == 10
    assert find_framework("random_forest").params["n_estimators"] == 2000


@pytest.mark.parametrize(
    ("text", "params", "message"),
    [
        ("", {}, "No framework is named."),
        (" , ", {}, "No framework is named."),
        ("constant,Constant", {}, "Framework 'constant' is named twice. Name it once."),
        (
            "constant",
            {"constnat": {"a": 1}},
            "'constnat', which is not part of this run. Did you mean 'constant'?",
        ),
        ("constant", {"constant": {"a": float("nan")}}, "is not plain JSON"),
        ("constant", {"constant": {"a": {1, 2}}}, "is not plain JSON"),
    ],
)
def test_wrong_list_is_named(text: str, params: dict[str, dict[str, object]], message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        find_frameworks(text, params)


def test_two_versions_of_a_framework_may_run_together(write_framework: Write) -> None:
    locks = {"locks__1_txt": "a==1\n", "locks__2_txt": "a==2\n"}
    one = write_framework('name = "mine"\nversion = "1"\nenvironment = "own"', **locks)
    two = write_framework('name = "mine"\nversion = "2"\nenvironment = "own"', name="again", **locks)
    assert [spec.version for spec in find_frameworks(f"{one},{two}")] == ["1", "2"]


# --- digest -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["adapter.py", "x.txt", "locks/1.txt"])
def test_digest_changes_with_the_text_of(write_framework: Write, file: str) -> None:
    folder = write_framework(
        'name = "mine"\nversion = "1"\nenvironment = "own"\nfiles = ["x.txt"]',
        x_txt="x",
        locks__1_txt="a==1\n",
    )
    before = find_framework(str(folder)).digest()
    assert find_framework(str(folder)).digest() == before
    (folder / file).write_text("changed")
    assert find_framework(str(folder)).digest() != before


@pytest.mark.parametrize("line", ['format = "csv"', 'python = "3.9"', 'command = ["x"]'])
def test_digest_changes_with_how_it_is_run(write_framework: Write, line: str) -> None:
    one = write_framework('name = "mine"\nversion = "1"')
    other = write_framework('name = "mine"\nversion = "1"\n' + line, name="other")
    assert find_framework(str(one)).digest() != find_framework(str(other)).digest()


def test_digest_does_not_know_the_folder_or_the_parameters(write_framework: Write) -> None:
    one = write_framework('name = "mine"\nversion = "1"')
    other = write_framework('name = "mine"\nversion = "1"\n[params]\na = 1', name="other")
    assert find_framework(str(one)).digest() == find_framework(str(other)).digest()


# --- installed packages -------------------------------------------------------------------------------


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, write_framework: Write) -> Callable[..., Path]:
    """Install a package as pip leaves it: a module, its dist-info, an entry point."""

    def make(value: str, module: str = "") -> Path:
        site = tmp_path / "site"
        info = site / "plug-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[assay.frameworks]\nplugged = {value}\n")
        (site / "plug_module.py").write_text(module)
        package = write_framework('name = "plugged"\nversion = "4"', name="site/plug_package")
        (package / "__init__.py").write_text("")
        monkeypatch.syspath_prepend(str(site))
        return package

    return make


@pytest.mark.parametrize("kind", ["path", "package"])
def test_framework_of_an_installed_package_is_found(install: Callable[..., Path], kind: str) -> None:
    module = "import pathlib\nFOLDER = pathlib.Path(__file__).parent / 'plug_package'\n"
    folder = install("plug_module:FOLDER" if kind == "path" else "plug_package", module)
    assert find_framework("Plugged").version == "4"
    assert find_framework("plugged").folder == folder
    assert [spec.name for spec in list_frameworks()] == [*builtin_names(), "plugged"]


@pytest.mark.parametrize("value", ["plug_module:NOTHING", "no_such_module", "plug_module:NUMBER"])
def test_broken_package_is_named(install: Callable[..., Path], value: str) -> None:
    install(value, "NUMBER = 3\n")
    with pytest.raises(
        ConfigError, match=f"'plugged = {value}' of an installed package cannot be used.*Fix or uninstall"
    ):
        find_framework("plugged")


def test_misspelt_plugin_is_suggested(install: Callable[..., Path]) -> None:
    install("plug_package")
    with pytest.raises(ConfigError, match="Did you mean 'plugged'"):
        find_framework("pluged")


def test_spec_is_light_to_import() -> None:
    """Planning needs it, so it must not pull pydantic or pandas."""
    import subprocess
    import sys

    code = "import sys, assay.frameworks.spec; print({'pydantic', 'numpy', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_record_refuses_two_files_of_one_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"has a file 'x.txt', whose place"):
        FrameworkSpec(
            "mine", "1", tmp_path, tmp_path, files=(tmp_path / "a" / "x.txt", tmp_path / "b" / "x.txt")
        )
