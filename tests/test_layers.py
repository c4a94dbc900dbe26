"""Imports point left: the order of the stages, and who may import what (CONVENTIONS, "Import rules")."""

import ast
import re
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
ORDER = """errors vocabulary typing memory < settings plugins files < metrics < data < suites < frameworks < jobs
           < store < runs < results < drawing < analysis uncertainty < report < api < searches
           < studies server testing < cli"""
RANK = {stage: rank for rank, stages in enumerate(ORDER.split("<")) for stage in stages.split()}
PURE = {"analysis", "uncertainty"}
PURE_MAY_KNOW = (
    "assay.errors",
    "assay.vocabulary",
    "assay.typing",
    "assay.plugins",
    "assay.metrics",
    "assay.jobs.row",
    "assay.results.prediction_matrix",
    "assay.results.roles",
    "assay.results.scored",
    "assay.results.scores",
    "assay.drawing",
)
IO_NAMES = """glob http io matplotlib openml os pathlib psutil pyarrow requests shutil socket sqlite3
              subprocess tempfile urllib"""
BORDER = "assay_border"
HEAVY = {"numpy", "pandas", "pydantic", "scipy", "sklearn", "yaml"}
LIGHT_NAMES = (
    "cli jobs store errors settings plugins files suites/__init__ data/__init__ data/task frameworks/spec api"
)


def imports(path, root, top_level=False, skip_types=False):
    """Yield (line, name) of each import, `a.b` for `from a import b`.

    `top_level`: only those that run at once; `skip_types`: without those that only a type checker sees.
    """
    package = list(path.relative_to(root).parts[:-1])
    waiting = list(ast.parse(path.read_text()).body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            origin = ".".join([*above, *([node.module] if node.module else [])])
            own = path.parent.name == "border" and node.level == 1  # imported as another package
            origin = origin.replace("assay.frameworks.border", BORDER) if own else origin
            yield from ((node.lineno, f"{origin}.{alias.name}") for alias in node.names)
        elif top_level and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        elif (
            (top_level or skip_types)
            and isinstance(node, ast.If)
            and "TYPE_CHECKING" in ast.unparse(node.test)
        ):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def dotted(path, root):
    """Return the name by which a file is imported."""
    return ".".join(path.relative_to(root).with_suffix("").parts)


def stage_of(name):
    """Return the stage of `assay.data.task.Task`; public names of `assay` itself belong to its facade."""
    part = name.partition(".")[2].partition(".")[0]
    return part if part in RANK else "assay"


def is_foreign(path, root):
    """Return whether a file runs where `assay` is not installed."""
    inside = path.relative_to(root / "assay").parts
    return inside[0] == "frameworks" and (inside[1] == "border" or path.name == "adapter.py")


def check_arrow(path, root, name, is_run=True):
    """Return what is wrong with an import of `name` anywhere in a file, or an empty text.

    `is_run`: whether the import is ever run, or only a type checker sees it.
    """
    own = stage_of(dotted(path, root))
    is_ours = name.split(".")[0] == "assay"
    if is_foreign(path, root):
        return "runs where assay is not installed" if is_ours else ""
    if own in PURE and is_run and name.split(".")[0] in IO_NAMES.split():
        return f"{own} does no I/O"
    if not is_ours or own == "assay" or name == "assay.__version__":
        return ""
    other = stage_of(name)
    if own == other:
        return ""
    if RANK.get(other, len(RANK)) >= RANK[own]:
        return f"{own} is not right of {other}"
    if own in PURE and not f"{name}.".startswith(tuple(f"{known}." for known in PURE_MAY_KNOW)):
        return f"{own} knows only {', '.join(PURE_MAY_KNOW)}"
    return ""


def check_foreign(path, root):
    """Yield what the border imports beyond the standard library, numpy and, late, what a framework may have."""
    if path.name != "adapter.py" and is_foreign(path, root):
        at_once = set(imports(path, root, top_level=True))
        for line, name in imports(path, root):
            first = name.split(".")[0]
            is_late = first in ("pandas", "sklearn") and (line, name) not in at_once
            if first not in sys.stdlib_module_names | {"numpy", BORDER} and not is_late:
                yield (
                    line,
                    name,
                    "only the standard library and numpy; pandas and scikit-learn inside functions",
                )


def files_run_by(name, root):
    """Return our files that importing `assay.data.task.Task` runs: the packages' and the module's."""
    parts = name.split(".")
    steps = [root.joinpath(*parts[:length]) for length in range(1, len(parts) + 1)]
    found = [
        file for step in steps for file in (step.with_suffix(".py"), step / "__init__.py") if file.is_file()
    ]
    return found if parts[0] == "assay" else []


def check_light(root):
    """Yield heavy imports that planning or `--help` would run, also through other modules of ours."""
    base = root / "assay"
    waiting, seen = [], set()
    for light in LIGHT_NAMES.split():
        for path in [base / f"{light}.py", *(base / light).rglob("*.py")]:
            waiting += files_run_by(dotted(path, root), root)
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for line, name in imports(path, root, top_level=True):
            if name.split(".")[0] in HEAVY:
                yield path, line, name, "is on the way to --help or planning: import it inside the function"
            waiting += files_run_by(name, root)


def module_graph(root):
    """Return which modules of ours each one imports, also inside functions; imports for types alone are not run."""
    paths = {dotted(path, root): path for path in (root / "assay").rglob("*.py")}
    graph = {}
    for name, path in paths.items():
        graph[name.removesuffix(".__init__")] = {
            found
            for _, imported in imports(path, root, skip_types=True)
            for found in [module_of(imported, paths)]
            if found and found != name.removesuffix(".__init__")
        }
    return graph


def module_of(imported, paths):
    """Return the module that `assay.data.task.Task` is a name in, or an empty text."""
    for candidate in (imported, imported.rpartition(".")[0]):
        if candidate in paths or f"{candidate}.__init__" in paths:
            return candidate
    return ""


def cycles(root):
    """Return groups of modules that import each other, each as a sorted tuple (Tarjan's algorithm)."""
    graph = module_graph(root)
    index, low, stack, found = {}, {}, [], []

    def visit(name):
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in graph.get(name, ()):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(tuple(sorted(group)))

    for name in graph:
        if name not in index:
            visit(name)
    return sorted(found)


def violations(root):
    """Return one line per import that breaks a rule."""
    found = list(check_light(root))
    for path in sorted((root / "assay").rglob("*.py")):
        if stage_of(dotted(path, root)) == "assay" and path.stem not in ("__init__", "__main__"):
            found.append((path, 1, path.stem, "is in no stage: give it a place in ORDER"))
        run = set(imports(path, root, skip_types=True))
        found += [
            (path, line, name, check_arrow(path, root, name, (line, name) in run))
            for line, name in imports(path, root)
        ]
        found += [(path, *broken) for broken in check_foreign(path, root)]
    return [f"{path.relative_to(root)}:{line}: {name}: {why}" for path, line, name, why in found if why]


def flags_in_errors(root):
    """Return one line per `raise` outside the command line whose text names an option; whole commands may."""
    found = []
    for path in sorted((root / "assay").rglob("*.py")):
        if stage_of(dotted(path, root)) == "cli":
            continue
        raised = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Raise)]
        for text, line in (pair for node in raised for pair in texts_in(node)):
            flags = re.findall(r"(?<!\S)[`(]*(--?[a-z][a-z-]*)", re.sub(r"`assay [^`]*`", "", text))
            found += [f"{path.relative_to(root)}:{line}: {flag}" for flag in flags]
    return found


def texts_in(node):
    """Yield (text, line) of each string in a statement; what is filled in is an ellipsis."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "…" for part in node.values]
        yield "".join(parts), node.lineno
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value, node.lineno
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts_in(child)


def test_errors_below_the_command_line_name_arguments():
    assert flags_in_errors(ROOT) == []


@pytest.mark.parametrize(
    ("code", "flags"),
    [
        ('raise ConfigError(f"--rope {rope}: too low.")', ["--rope"]),
        ('raise UserError("Take bbc, or insist "\n    f"with --allow-few-folds.")', ["--allow-few-folds"]),
        ('def f():\n    raise E("Say `--csv header=yes`, or write it (-o).")', ["--csv", "-o"]),
        ('raise E(f"{a}: ask `assay interval --method {b}`, from -1 to 3 - x or a--b.", ["a"])', []),
        ('words = ["--unshare-net", "bwrap --args"]', []),
    ],
)
def test_a_planted_flag_is_caught(tmp_path, code, flags):
    plant(tmp_path, {"data/task.py": code, "cli/run.py": 'raise E("Give --task.")'})
    assert [line.rpartition(" ")[2] for line in flags_in_errors(tmp_path)] == flags


def test_imports_point_left():
    assert violations(ROOT) == []


def test_no_modules_import_each_other():
    assert cycles(ROOT) == []


def test_a_planted_cycle_is_caught_also_inside_functions(tmp_path):
    plant(
        tmp_path,
        {"data/a.py": "from assay.data.b import x", "data/b.py": "def f():\n    import assay.data.c"},
    )
    plant(tmp_path, {"data/c.py": "", "data/__init__.py": "from assay.data.a import y"})
    assert cycles(tmp_path) == []
    plant(tmp_path, {"data/c.py": "def g():\n    from assay.data.a import y"})
    assert cycles(tmp_path) == [("assay.data.a", "assay.data.b", "assay.data.c")]
    plant(tmp_path, {"data/c.py": "if TYPE_CHECKING:\n    from assay.data.a import y"})
    assert cycles(tmp_path) == []


@pytest.mark.parametrize(
    ("file", "code", "why"),
    [
        ("data/task.py", "from assay.jobs import Job", "data is not right of jobs"),
        ("data/task.py", "def f():\n    import assay.api", "data is not right of api"),
        ("data/task.py", "from ..report import page", "data is not right of report"),
        ("data/task.py", "from assay import run", "data is not right of assay"),
        ("data/task.py", "import assay", "data is not right of assay"),
        ("settings.py", "import assay.plugins", "settings is not right of plugins"),
        ("analysis/ranks.py", "import assay.uncertainty.bbc", "analysis is not right of uncertainty"),
        ("analysis/ranks.py", "from assay.data.task import Task", "analysis knows only"),
        ("analysis/ranks.py", "from assay.results import formats", "analysis knows only"),
        ("uncertainty/bbc.py", "from pathlib import Path", "uncertainty does no I/O"),
        (
            "frameworks/border/contract.py",
            "from assay.errors import ConfigError",
            "runs where assay is not installed",
        ),
        (
            "frameworks/border/contract.py",
            "from assay.frameworks.border.rows import Rows",
            "runs where assay is not installed",
        ),
        ("frameworks/border/child.py", "import pandas", "only the standard library and numpy"),
        (
            "frameworks/border/encode.py",
            "def f():\n    import pyarrow",
            "only the standard library and numpy",
        ),
        ("frameworks/flaml/adapter.py", "def f():\n    import assay", "runs where assay is not installed"),
        ("jobs/plan.py", "try:\n    import numpy as np\nexcept ImportError:\n    pass", "--help or planning"),
        ("cli/main.py", "import yaml", "--help or planning"),
        ("leftovers.py", "", "is in no stage"),
        ("api/flow.py", "from assay.results.scores import score", "--help or planning"),
    ],
)
def test_planted_violation_is_caught(tmp_path, file, code, why):
    plant(tmp_path, {"results/scores.py": "import pandas", "results/__init__.py": ""})
    assert violations(tmp_path) == []
    plant(tmp_path, {file: code})
    assert any(why in line for line in violations(tmp_path))


@pytest.mark.parametrize(
    ("file", "code"),
    [
        (
            "jobs/plan.py",
            "from assay.data.task import Task\nfrom . import job\nfrom assay import __version__",
        ),
        ("api/flow.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas"),
        ("store/store.py", "def read():\n    import pandas"),
        ("uncertainty/bbc.py", "import numpy\nfrom assay.metrics import Metric\nfrom .kernels import auc"),
        ("analysis/ranks.py", "import pandas\nfrom assay.results.scores import COLUMNS"),
        (
            "frameworks/border/child.py",
            "import json\nimport numpy\nfrom . import rows\ndef f():\n    import pandas",
        ),
        ("frameworks/flaml/adapter.py", "import flaml"),
        ("__init__.py", "def __getattr__(name):\n    from assay.api import run"),
    ],
)
def test_what_the_rules_allow_passes(tmp_path, file, code):
    plant(tmp_path, {file: code})
    assert violations(tmp_path) == []


def plant(root, files):
    for name, code in files.items():
        (root / "assay" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "assay" / name).write_text(code)
