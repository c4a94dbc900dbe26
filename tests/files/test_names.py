from __future__ import annotations

import json

import pytest

from assay.files import is_number, visible, visible_json


@pytest.mark.parametrize("text", ["", "٣", "²", "1 ", "-1", "+1", "1_0", "1234567890", "1.0"])
def test_only_ascii_digits_are_numbers(text: str) -> None:
    assert not is_number(text) and is_number("0123456789"[1:])


def test_what_a_terminal_obeys_is_shown() -> None:
    text = "a\x1b[31mb\x9b2J\r\x07\u202e\ud800\tc\nä😀"
    assert visible(text) == "a\\x1b[31mb\\x9b2J\\x0d\\x07\\u202e\\ud800\tc\nä😀"
    dumped = json.dumps({"a": text}, ensure_ascii=False)
    assert visible_json(dumped).isprintable() and json.loads(visible_json(dumped)) == {"a": text}
