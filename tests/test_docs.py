"""The pages are current, name what there is, and their links lead somewhere."""

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from assay.frameworks.find import builtin_names, find_framework
from assay.frameworks.toml import FrameworkFile
from assay.jobs.constraint import KNOWN
from assay.metrics import BUILTIN
from assay.vocabulary import STATUSES

pytestmark = pytest.mark.checkout
ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), ROOT / "README.md", ROOT / "CHANGELOG.md"])


def load_generator():
    """Return docs/generate.py as a module; it is a script and no part of the package."""
    spec = importlib.util.spec_from_file_location("docs_generate", DOCS / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMMANDS = dict(load_generator().commands())


@pytest.fixture(scope="module")
def generate():
    return load_generator()


def read(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_generated_pages_are_current(generate):
    for name, make in generate.GENERATORS.items():
        assert generate.outdated(make()) == [], f"run: python docs/generate.py {name}"
    done = subprocess.run(
        [sys.executable, str(DOCS / "generate.py"), "--check"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_metrics_page_has_one_row_per_metric():
    rows = [line for line in read("reference/metrics.md").splitlines() if line.startswith("| `")]
    assert [row.split("`")[1] for row in rows] == list(BUILTIN)
    for row, metric in zip(rows, BUILTIN.values(), strict=True):
        assert metric.description in row and f"| {metric.needs} |" in row and f"| {metric.kind} |" in row


def test_frameworks_page_names_every_framework():
    names = re.findall(
        r"^\| `(\w+)`[ †]*\|[^|]*\| (?:constant|baseline|framework|model) \|",
        read("reference/frameworks.md"),
        re.M,
    )
    assert sorted(names) == builtin_names()


def test_out_of_fold_table_was_made_for_the_versions_there_are():
    looked_at = json.loads(read("data/oof.json"))
    specs = {name: find_framework(name, unlocked=True) for name in builtin_names()}
    automl = {name for name, spec in specs.items() if spec.role == "framework" and not spec.extends}
    assert automl <= set(looked_at)
    for name, entry in looked_at.items():
        assert bool(entry["leaves"]) != bool(specs[name].no_oof), name
        assert entry["version"] == specs[name].version or not entry["version"], (
            f"read the source of {name} again"
        )


def test_commands_page_has_every_command_with_its_options():
    page = read("reference/cli.md")
    assert re.findall(r"^## (.+)$", page, re.M) == list(COMMANDS)
    assert len(COMMANDS) > 20
    for option in ("--task, -t TEXT", "--parallel, -p N", "--store DIR", "--missing/--no-missing"):
        assert f"| `{option}` |" in page


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_an_example_of_itself(name):
    from typer.testing import CliRunner

    from assay.cli import app

    shown = CliRunner().invoke(app, [*name.split()[1:], "--help"])
    assert shown.exit_code == 0
    examples = re.split(r"Examples?:", shown.output)[1:]
    assert examples, f"{name} --help has no example"
    assert name in examples[0].partition("Options:")[0] if "Options:" in examples[0] else name in examples[0]


def test_generated_pages_tell_nothing_of_this_machine():
    for page in (DOCS / "reference").glob("*.md"):
        text = page.read_text(encoding="utf-8")
        assert str(ROOT) not in text and str(Path.home()) not in text
        if page.name != "frameworks.md":  # there it is the versions of our own locks
            assert not re.search(r"\b\d+\.\d+\.\d+\b", text), f"{page.name} has a version in it"


def test_every_key_of_a_framework_file_is_explained():
    page = read("howto/add-a-framework.md")
    for key in FrameworkFile.model_fields:
        assert f"| `{key}` |" in page or f"| `[{key}]` |" in page, key


def test_every_key_of_a_suite_file_is_explained():
    from assay.data.split_spec import SplitSpec
    from assay.suites.read import _Column, _Entry, _File

    page = read("howto/add-a-task-or-suite.md")
    keys = {*_File.model_fields, *_Entry.model_fields, *_Column.model_fields, *SplitSpec.model_fields}
    assert {key for key in keys if f"`{key}`" not in page and f"`{key}:" not in page} == set()


def test_every_status_and_known_constraint_is_explained():
    page = read("howto/read-results.md")
    table = page.partition("## Statuses")[2].partition("\n## ")[0]
    assert tuple(re.findall(r"^\| `(\w+)` \|", table, re.M)) == STATUSES
    assert [name for name in KNOWN if f"`{name}`" not in read("howto/constraints.md")] == []


def test_every_page_is_on_the_map():
    found = {(DOCS / link).resolve() for link in re.findall(r"\]\(([^)#]+)", read("index.md"))}
    assert [page for page in PAGES if page.resolve() not in found and page.name != "index.md"] == []


def anchors(page):
    """Return the anchors of a page's headings, as code hosts make them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link} has no such heading"


def test_check_writes_nothing_and_fails_on_an_old_page(generate, tmp_path, capsys):
    assert generate.main(["--check", "metrics"], docs=tmp_path) == 1
    assert "out of date: reference/metrics.md" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
    assert generate.main(["metrics"], docs=tmp_path) == 0
    assert generate.main(["--check", "metrics"], docs=tmp_path) == 0
    (tmp_path / "reference/metrics.md").write_text("old\n")
    assert generate.main(["--check", "metrics"], docs=tmp_path) == 1


def test_unknown_reference_is_refused(generate, capsys):
    with pytest.raises(SystemExit):
        generate.main(["metricks"])
    assert "there are metrics" in capsys.readouterr().err


def test_the_tables_of_the_page_on_search_spaces_are_read():
    import tomllib

    from assay.frameworks.read_space import read_space

    blocks = re.findall(r"```toml\n(.*?)```", read("howto/search-spaces.md"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        assert read_space(tomllib.loads(block)["space"], "in the page").parameters


def test_the_page_on_search_spaces_lists_every_step():
    from assay.searches.configurations import LEARNERS, SELECTORS

    page = read("howto/search-spaces.md")
    for step, kinds in (("selector", SELECTORS), ("learner", LEARNERS)):
        for kind, names in kinds.items():
            row = next(line for line in page.splitlines() if line.startswith(f'| `{step} = "{kind}"`'))
            assert all(f"`{kind}_{name}`" in row for name in names)
