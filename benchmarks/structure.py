"""Measure the structure of the code: types, cycles, sizes, tests, duplicates. `python -m benchmarks.structure`.

Adapters are left out of the types, because they are written against foreign libraries. The exit code is 1 if a
target is missed.
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "assay"
DUPLICATE_LINES = 6
TESTED = ("uncertainty", "report", "studies")


@dataclass(frozen=True)
class Measure:
    """One figure and its target: at most, or with `is_least` at least, so much. Without a target it is only shown."""

    name: str
    value: float
    target: float | None = None
    is_least: bool = False

    @property
    def is_met(self) -> bool:
        if self.target is None:
            return True
        return self.value >= self.target if self.is_least else self.value <= self.target

    def __str__(self) -> str:
        wanted = (
            "" if self.target is None else f"  ({'at least' if self.is_least else 'at most'} {self.target:g})"
        )
        return f"{'  ' if self.is_met else '! '}{self.name}: {self.value:.4g}{wanted}"


def modules(folder: Path = PACKAGE) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if path.name != "adapter.py")


def annotations(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield every annotation of a module: of arguments, results and variables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.AnnAssign):
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.returns is not None:
                yield node.returns
            every = [
                *node.args.posonlyargs,
                *node.args.args,
                *node.args.kwonlyargs,
                node.args.vararg,
                node.args.kwarg,
            ]
            yield from (item.annotation for item in every if item is not None and item.annotation is not None)


def has_any(annotation: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id == "Any" for node in ast.walk(annotation))


def share_of_any(paths: list[Path]) -> float:
    """Return which share of annotations has `Any` in it, in per cent."""
    found = [has_any(item) for path in paths for item in annotations(ast.parse(path.read_text()))]
    return 100 * sum(found) / max(1, len(found))


def imports(path: Path) -> set[str]:
    """Return the modules of ours that a module imports, those inside functions too, but not those for types alone."""
    tree, names = ast.parse(path.read_text()), set()
    only_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").startswith("assay")
            and id(node) not in only_types
        ):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                names.add(inner if is_module(inner) else node.module or "")
        elif isinstance(node, ast.Import) and id(node) not in only_types:
            names |= {alias.name for alias in node.names if alias.name.startswith("assay")}
    return names


def is_module(name: str) -> bool:
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def cycles(paths: list[Path]) -> list[list[str]]:
    """Return groups of modules that import each other, by Tarjan's algorithm."""
    names = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }
    graph = {
        name: {other for other in imports(path) if other in names and other != name}
        for name, path in names.items()
    }
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    groups: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        for other in graph[name]:
            if other not in order:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], order[other])
        if low[name] == order[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                groups.append(sorted(stack[at:]))
            del stack[at:]

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(10_000)
    try:
        for name in graph:
            if name not in order:
                visit(name)
    finally:
        sys.setrecursionlimit(limit)
    return groups


def function_lines(paths: list[Path]) -> list[int]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return sorted(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for path in paths
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, kinds)
    )


def lines_of(folder: Path) -> int:
    """Return the lines that are neither empty nor comments."""
    texts = (path.read_text() for path in folder.rglob("*.py"))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#")
        for text in texts
        for line in text.splitlines()
    )


def duplicates(paths: list[Path]) -> list[tuple[str, ...]]:
    """Return places that share so many lines of code; imports, brackets and lists of names are boilerplate."""
    boilerplate = re.compile(r'^(from |import |[\])}],?$|"\w+",$|"""|@|__all__|\w+,$)')
    seen: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for path in paths:
        lines = [line.strip() for line in path.read_text().splitlines()]
        lines = [line for line in lines if line and not line.startswith("#") and not boilerplate.match(line)]
        for at in range(len(lines) - DUPLICATE_LINES + 1):
            seen[tuple(lines[at : at + DUPLICATE_LINES])].add(f"{path.relative_to(ROOT)}")
    return sorted({tuple(sorted(places)) for places in seen.values() if len(places) > 1})


def shared_names(paths: list[Path]) -> dict[str, int]:
    """Return class names that several modules define."""
    names = Counter(
        node.name
        for path in paths
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    return {name: count for name, count in names.items() if count > 1}


def percentile(values: list[int], share: float) -> float:
    return float(values[min(len(values) - 1, int(share * len(values)))])


def measure() -> list[Measure]:
    paths = modules()
    functions = function_lines(paths)
    sizes = sorted(len(path.read_text().splitlines()) for path in paths)
    figures = [
        Measure("annotations with Any, %", share_of_any(paths), 5),
        *(
            Measure(f"… in {name}, %", share_of_any(modules(PACKAGE / name)))
            for name in ("analysis", "uncertainty")
        ),
        Measure("groups of modules that import each other", len(cycles(paths)), 0),
        Measure("lines of a function, 95th percentile", percentile(functions, 0.95), 29),
        Measure("lines of a module, 95th percentile", percentile(sizes, 0.95), 303),
        Measure("pairs of modules that share six lines", len(duplicates(paths)), 0),
        Measure("class names that two modules share", len(shared_names(paths)), 0),
    ]
    for name in TESTED:
        share = lines_of(ROOT / "tests" / name) / max(1, lines_of(PACKAGE / name))
        figures.append(Measure(f"test lines per line of {name}", share, 0.8, is_least=True))
    return figures


def main() -> int:
    """Print the figures and what is behind those that miss their target."""
    figures = measure()
    print(*figures, sep="\n")
    paths = modules()
    for group in cycles(paths):
        print("cycle:", ", ".join(group))
    for places in duplicates(paths):
        print("six lines:", ", ".join(places))
    for name, count in shared_names(paths).items():
        print(f"class {name}: {count} modules")
    return 0 if all(figure.is_met for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
