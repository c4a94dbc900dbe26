from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.frameworks.find import find_framework
from assay.frameworks.spec import FrameworkSpec, Recipe
from assay.frameworks.template import write_lock
from assay.frameworks.toml import FrameworkFile, read_folder

Write = Callable[..., Path]
SMALL = 'name = "mine"\nversion = "1"\n'


def read(folder: Path, version: str = "") -> FrameworkSpec:
    return read_folder(folder, find_framework, version)


def test_every_key_is_read(write_framework: Write) -> None:
    folder = write_framework(
        """
name = "mine"
description = "Does it."
version = "2.1"
role = "model"
environment = "own"
python = "3.9"
format = "csv"
types = ["binary", "regression"]
stops_by = "count"
network = true
loopback = true
files = ["weights.txt"]
project = "https://example.org"
requires = ["mine=={version}"]
without = ["huge"]
build = ["cython<3"]
tools = ["swig"]
installer = "pip"
prepare = "warm.py"
meta_learning = "marked"
no_oof = "It keeps none."
cold = "It starts a JVM."
programs = { java = "Install Java" }
environ = { MODE = "x" }
versions = { "1" = { python = "3.8" } }
[params]
depth = 3
nested = { a = [1, 2.5, "x", true] }
""",
        weights_txt="w",
        warm_py="",
        **{"locks__2.1_txt": "six==1.16.0\n"},
    )
    assert read(folder) == FrameworkSpec(
        name="mine",
        version="2.1",
        folder=folder,
        home=folder,
        description="Does it.",
        role="model",
        environment="own",
        lock=folder / "locks" / "2.1.txt",
        python="3.9",
        adapter=folder / "adapter.py",
        format="csv",
        types=("binary", "regression"),
        stops_by="count",
        network=True,
        loopback=True,
        recipe=Recipe(
            requires=("mine=={version}",),
            without=("huge",),
            build=("cython<3",),
            tools=("swig",),
            installer="pip",
            prepare=folder / "warm.py",
        ),
        meta_learning="marked",
        no_oof="It keeps none.",
        cold="It starts a JVM.",
        programs={"java": "Install Java"},
        environ={"MODE": "x"},
        params={"depth": 3, "nested": {"a": [1, 2.5, "x", True]}},
        files=(folder / "weights.txt",),
        project="https://example.org",
    )


def test_little_is_enough(write_framework: Write) -> None:
    spec = read(write_framework('name = "mine"'))
    assert (spec.version, spec.role, spec.format, spec.environment, spec.stops_by) == (
        "0",
        "framework",
        "npz",
        "assay",
        "time",
    )
    assert spec.types == ("binary", "multiclass", "regression")


def test_version_can_be_that_of_a_package(write_framework: Write) -> None:
    import numpy

    assert read(write_framework('name = "mine"\nversion_of = "numpy"')).version == numpy.__version__


def test_program_without_python_needs_no_adapter(write_framework: Write) -> None:
    folder = write_framework(
        SMALL + 'environment = "none"\ncommand = ["Rscript", "{framework}/child.R", "{job}"]'
    )
    (folder / "adapter.py").unlink()
    spec = read(folder)
    assert (spec.adapter, spec.command) == (None, ("Rscript", "{framework}/child.R", "{job}"))


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        (SMALL + 'verison = "2"', "Unknown key 'verison' in {path}. Did you mean 'version'?"),
        ('nmae = "x"', "Unknown key 'nmae' in {path}. Did you mean 'name'?"),
        ('version = "1"', "'name' is missing in {path}"),
        ('name = "mine"\nversion = 1', "Wrong value 1 for 'version' in {path}"),
        ('name = "my framework"', "Wrong value 'my framework' for 'name' in {path}"),
        ('name = "../x"', "Wrong value '../x' for 'name' in {path}"),
        (SMALL + 'role = "boss"', "Wrong value 'boss' for 'role' in {path}"),
        (SMALL + 'types = ["binary", "ranking"]', "Wrong value 'ranking' for 'types.1' in {path}"),
        (SMALL + 'types = "binary"', "Wrong value 'binary' for 'types' in {path}"),
        (SMALL + 'network = "no"', "Wrong value 'no' for 'network' in {path}"),
        (SMALL + 'format = "arff"', "Wrong value 'arff' for 'format' in {path}"),
        (SMALL + "extends = 3", "Wrong value 3 for 'extends' in {path}"),
        (SMALL + "params = 3", "Wrong value 3 for 'params' in {path}"),
        (SMALL + 'adapter = "adaptor.py"', "{path} names the adapter adaptor.py, which is not in that folder."),
        (SMALL + 'environment = "none"', "{path}: environment 'none' needs the key 'command'"),
        (SMALL + 'environment = "own"', "{path}: version '1' has no lock file locks/1.txt. There are: none."),
        (SMALL + 'files = ["no.txt"]', "{path} lists the file no.txt, which is not directly in that folder."),
        (SMALL + 'files = ["../mine/adapter.py"]', "lists the file ../mine/adapter.py, which is not directly"),
        (SMALL + 'files = ["sub/data.txt"]', "lists the file sub/data.txt, which is not directly"),
        (SMALL + 'files = ["adapter.py"]', "has a file 'adapter.py', whose place beside the adapter is taken."),
        (SMALL + "[params]\nday = 2020-01-01", "A parameter of framework 'mine' is not plain JSON"),
        (SMALL + "[params]\nrate = nan", "A parameter of framework 'mine' is not plain JSON"),
        ('name = "mine"\nversion_of = "no-such-package"', "the package 'no-such-package', which is not installed."),
        (SMALL + 'extends = "random_forst"', "Unknown framework 'random_forst'. Did you mean 'random_forest'?"),
        ("name = ", "{path} is not valid TOML"),
        ("name = 'a'\nname = 'b'", "{path} is not valid TOML"),
    ],
)  # fmt: skip
def test_mistake_is_named(write_framework: Write, toml: str, message: str) -> None:
    folder = write_framework(toml, sub__data_txt="x")
    with pytest.raises(ConfigError, match=re.escape(message.format(path=folder / "framework.toml"))):
        read(folder)


def test_file_that_is_no_text_is_named(write_framework: Write) -> None:
    folder = write_framework(SMALL)
    (folder / "framework.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(ConfigError, match="is not UTF-8"):
        read(folder)


def test_folder_without_toml_is_answered_with_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(
        ConfigError, match=r"There is no .*framework.toml. .* `assay framework new NAME` makes one"
    ):
        read(tmp_path)


# --- versions -----------------------------------------------------------------------------------------

LOCKS = {"locks__1.0_txt": "a==1.0\n", "locks__2.0_txt": "a==2.0\n"}
OWN = 'name = "mine"\nversion = "2.0"\nenvironment = "own"\n'


def test_version_asked_for_chooses_its_lock(write_framework: Write) -> None:
    folder = write_framework(OWN, **LOCKS)
    assert (read(folder).version, read(folder).lock) == ("2.0", folder / "locks" / "2.0.txt")
    assert (read(folder, "1.0").version, read(folder, "1.0").lock) == ("1.0", folder / "locks" / "1.0.txt")


def test_version_without_a_lock_is_answered_with_those_there_are(write_framework: Write) -> None:
    folder = write_framework(OWN, **LOCKS)
    with pytest.raises(
        ConfigError, match=r"version '3.0' has no lock file locks/3.0.txt. There are: 1.0, 2.0."
    ):
        read(folder, "3.0")


def test_version_of_assays_own_interpreter_cannot_be_chosen(write_framework: Write) -> None:
    """A row that says version 9 must not come from version 1."""
    folder = write_framework(SMALL)
    assert read(folder, "1").version == "1"
    with pytest.raises(ConfigError, match=r"is version '1', not '9'. Ask for mine alone."):
        read(folder, "9")


# --- extends ------------------------------------------------------------------------------------------


def extend(write: Write, text: str, name: str = "variant", **files: str) -> FrameworkSpec:
    return read(write(f'name = "{name}"\nextends = "../mine"\n' + text, name=name, **files))


def test_variant_merges_params_over_those_of_its_base(write_framework: Write) -> None:
    write_framework(SMALL + 'role = "model"\n[params]\na = 1\nb = 2')
    spec = extend(write_framework, "[params]\nb = 3\nc = 4")
    assert spec.params == {"a": 1, "b": 3, "c": 4}
    assert (spec.name, spec.version, spec.role, spec.extends) == ("variant", "1", "model", "../mine")
    assert spec.adapter is not None
    assert spec.adapter.parent.name == "mine"


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ('description = "other"', "description", "other"),
        ('role = "constant"', "role", "constant"),
        ('types = ["binary"]', "types", ("binary",)),
        ('stops_by = "count"', "stops_by", "count"),
        ("network = true", "network", True),
        ('format = "csv"', "format", "csv"),
        ('python = "3.9"', "python", "3.9"),
        ('version = "7"', "version", "7"),
    ],
)
def test_variant_says_otherwise(write_framework: Write, text: str, field: str, value: Any) -> None:
    base = read(write_framework(SMALL + 'description = "one"'))
    assert getattr(extend(write_framework, text), field) == value != getattr(base, field)


def test_variant_may_bring_its_own_adapter_and_files(write_framework: Write) -> None:
    write_framework(SMALL)
    spec = extend(write_framework, 'adapter = "adapter.py"\nfiles = ["x.txt"]', x_txt="x")
    assert spec.adapter is not None
    assert (spec.adapter.parent.name, spec.folder.name) == ("variant", "variant")
    assert [file.parent.name for file in spec.files] == ["variant"]


def test_variant_of_a_variant_is_merged_from_both(write_framework: Write) -> None:
    write_framework(SMALL + "[params]\na = 1\nb = 1\nc = 1")
    extend(write_framework, "[params]\nb = 2\nc = 2")
    folder = write_framework('name = "third"\nextends = "../variant"\n[params]\nc = 3', name="third")
    assert read(folder).params == {"a": 1, "b": 2, "c": 3}


def test_version_asked_of_a_variant_is_that_of_its_base(write_framework: Write) -> None:
    assert find_framework("tuned_random_forest").version == find_framework("random_forest").version
    with pytest.raises(ConfigError, match=r"not '0\.0\.1'"):
        find_framework("tuned_random_forest:0.0.1")


def test_framework_that_extends_itself_is_refused(write_framework: Write) -> None:
    folder = write_framework('name = "mine"\nextends = "../mine"')
    with pytest.raises(ConfigError, match="extends itself"):
        read(folder)


def test_variant_in_an_environment_of_its_own_needs_a_lock(write_framework: Write) -> None:
    write_framework(SMALL)
    spec = extend(write_framework, 'environment = "own"', **{"locks__1_txt": "a==1\n"})
    assert spec.lock is not None
    assert spec.lock.parent.parent.name == "variant"
    with pytest.raises(ConfigError, match="has no lock file"):
        extend(write_framework, 'environment = "own"', name="other")


def test_every_key_of_the_file_is_tested_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    text += (Path(__file__).parent / "test_space.py").read_text(encoding="utf-8")
    tables = {"params": "[params]", "space": "[space]"}
    assert [key for key in FrameworkFile.model_fields if tables.get(key, f"{key} = ") not in text] == []


def test_variant_takes_the_recipe_and_replaces_what_it_says_itself(write_framework: Write) -> None:
    base = write_framework(
        'name = "base"\nversion = "1"\nenvironment = "own"\nrequires = ["a=={version}"]\nwithout = ["b"]\n'
        'loopback = true\nmeta_learning = "marked"\n[environ]\nX = "1"\n',
        name="base",
        **{"locks__1_txt": "a==1\n"},
    )
    folder = write_framework(
        f'name = "mine"\nextends = "{base}"\nwithout = ["c"]\nmeta_learning = "excluded"\n'
    )
    spec = read(folder)
    assert (spec.recipe.requires, spec.recipe.without) == (("a=={version}",), ("c",))
    assert (spec.loopback, spec.meta_learning, spec.environ) == (True, "excluded", {"X": "1"})
    assert spec.lock == base / "locks" / "1.txt"


def test_prepare_script_must_be_there(write_framework: Write) -> None:
    with pytest.raises(ConfigError, match=r"names the script warm\.py, which is not in that folder"):
        read(write_framework(SMALL + 'prepare = "warm.py"\n'))


def test_variant_has_a_home_and_locks_of_its_own(write_framework: Write) -> None:
    base = write_framework(
        'name = "base"\nversion = "1"\nenvironment = "own"\npython = "3.11"\nrequires = ["a=={version}"]\n'
        '[versions."2"]\npython = "3.9"\n',
        name="base",
        **{"locks__1_txt": "a==1\n"},
    )
    plain = write_framework(f'name = "plain"\nextends = "{base}"\n', name="plain")
    spec = read(plain)
    assert (spec.folder, spec.home, spec.is_builtin) == (base, plain, False)
    assert (spec.address, spec.lock) == (f"{plain}:1", base / "locks" / "1.txt")
    mine = write_framework(
        f'name = "mine"\nextends = "{base}"\nversion = "2.0"\n',
        **{"locks__2.0_txt": "a==2.0\n", "locks__2.1_txt": "a==2.1\n"},
    )
    for asked, version in (("", "2.0"), ("2.1", "2.1"), ("latest", "2.1")):
        spec = read_folder(mine, find_framework, asked)
        assert (spec.version, spec.lock, spec.python) == (version, mine / "locks" / f"{version}.txt", "3.9")
    assert read_folder(mine, find_framework, "2.2", unlocked=True).version == "2.2"
    with pytest.raises(ConfigError, match=r"is version '2\.0', not '2\.2'"):
        read_folder(mine, find_framework, "2.2")


def test_lock_of_a_variant_of_ours_does_not_touch_ours(write_framework: Write) -> None:
    folder = write_framework('name = "my_flaml"\nextends = "flaml"\n', name="my_flaml")
    spec = find_framework(str(folder), unlocked=True)
    assert not spec.is_builtin
    path, before = write_lock(spec, "9.9", "flaml==9.9\n", None)
    assert (path, before) == (folder / "locks" / "9.9.txt", "")
    assert find_framework(f"{folder}:9.9").lock == path
    assert find_framework(str(folder)).version == find_framework("flaml").version
