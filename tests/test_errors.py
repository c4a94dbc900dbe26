"""The tree of exceptions is the one drawn in its module's docstring."""

import re

import pytest

from assay import errors


def test_docstring_draws_the_tree():
    drawn = {}
    above = {}
    for line in errors.__doc__.splitlines():
        found = re.match(r"^( {4}[│├└─ ]*)([A-Z]\w+Error|NotInstalled)\b", line)
        if found:
            depth = len(found[1])
            parents = [name for level, name in above.items() if level < depth]
            drawn[found[2]] = parents[-1] if parents else "Exception"
            above = {level: name for level, name in above.items() if level < depth} | {depth: found[2]}
    real = {name: getattr(errors, name).__bases__[0].__name__ for name in errors.__all__}
    assert drawn == real


@pytest.mark.parametrize(
    "name", [name for name in errors.__all__ if name not in ("AssayError", "InternalError")]
)
def test_what_a_user_can_mend_is_a_user_error(name):
    assert issubclass(getattr(errors, name), errors.UserError)


def test_broken_promise_is_not_shown_as_the_users_fault():
    assert not issubclass(errors.InternalError, errors.UserError)
    assert issubclass(errors.InternalError, errors.AssayError)
