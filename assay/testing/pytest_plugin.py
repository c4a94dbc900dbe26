"""A pytest plug-in that makes a test of every claim of a framework; name it in your `conftest.py` to use it.

    pytest_plugins = ["assay.testing.pytest_plugin"]

A test that takes `assay_claim` then runs once for every claim of the framework that
`pytest --assay-framework path/to/my_framework` names. A claim that only should hold is expected to fail where it
does not. The plug-in is not registered for every pytest: it would slow down those that do not use it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assay.testing.check import Check, check_framework
from assay.testing.claims import Promise

if TYPE_CHECKING:
    import pytest

__all__ = ["pytest_addoption", "pytest_generate_tests"]


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--assay-framework`."""
    parser.addoption(
        "--assay-framework", action="append", default=[], help="check this framework (name or folder)"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each claim of each framework its own test, for tests that take `assay_claim`."""
    if "assay_claim" in metafunc.fixturenames:
        names = metafunc.config.getoption("--assay-framework")
        checks = [check_framework(name) for name in names]
        cases = [_case(check, claim, len(names) > 1) for check in checks for claim in check.claims]
        metafunc.parametrize("assay_claim", cases)


def _case(check: Check, claim: Promise, is_one_of_many: bool) -> object:
    import pytest

    is_known = bool(claim.problem) and not claim.is_broken
    marks = [pytest.mark.xfail(reason=claim.problem)] if is_known else []
    name = f"{check.framework}: {claim.claim}" if is_one_of_many else claim.claim
    return pytest.param(claim, marks=marks, id=name)
