"""What runs in foreign environments is written in Python 3.8's language."""

import ast
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
FRAMEWORKS = Path(__file__).parents[1] / "assay" / "frameworks"
NAMED = [FRAMEWORKS / f"{name}.py" for name in ("contract", "child", "tables", "encode")]
FILES = [file for file in NAMED if file.is_file()] + sorted(FRAMEWORKS.glob("*/adapter.py"))
IDS = [str(file.relative_to(FRAMEWORKS)) for file in FILES]
# The source is compiled in memory, so that no bytecode of another version is left in the tree.
COMPILE = "import sys; compile(open(sys.argv[1], 'rb').read(), sys.argv[1], 'exec', dont_inherit=True)"


@pytest.fixture(scope="module")
def python38():
    """Return a Python 3.8 that starts; a pyenv shim on the PATH may not."""
    on_path = shutil.which("python3.8")
    candidates = [on_path] if on_path else []
    candidates += [str(path) for path in sorted(Path.home().glob(".pyenv/versions/3.8*/bin/python"))]
    for candidate in candidates:
        if run(candidate, "import sys; sys.exit(sys.version_info[:2] != (3, 8))").returncode == 0:
            return candidate
    pytest.skip("no Python 3.8: neither python3.8 on the PATH nor one of pyenv's")


def run(python, code, *args):
    return subprocess.run(
        [python, "-I", "-c", code, *map(str, args)], capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_python38_compiles(python38, file):
    result = run(python38, COMPILE, file)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_grammar_is_that_of_python38(file):
    ast.parse(file.read_text(), str(file), feature_version=(3, 8))


def test_newer_grammar_is_caught():
    with pytest.raises(SyntaxError):
        ast.parse("match 1:\n    case 1: pass\n", feature_version=(3, 8))


def test_newer_grammar_is_caught_by_python38(python38, tmp_path):
    file = tmp_path / "new.py"
    file.write_text("with (open('a') as a, open('b') as b):\n    pass\n")
    assert "SyntaxError" in run(python38, COMPILE, file).stderr
    assert list(tmp_path.iterdir()) == [file]
