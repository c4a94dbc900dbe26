"""Check what people wrote with pydantic, and say in one sentence what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from assay.errors import ConfigError
from assay.plugins import suggest

if TYPE_CHECKING:
    from pydantic import BaseModel, JsonValue, ValidationError

__all__ = ["SECOND_WORD", "validated"]

M = TypeVar("M", bound="BaseModel")
SECOND_WORD: dict[str, JsonValue] = {"second_word": True}


def validated(model: type[M], value: object, where: str) -> M:
    """Return `value` as a record of `model`, or raise a ConfigError that names key, value and remedy.

    `where` is the place, such as "in small.yaml, task adult".
    """
    from pydantic import ValidationError

    if not isinstance(value, Mapping):
        raise ConfigError(f"Expected keys and values {where}, not {_show(value)}. Write 'key: value' lines.")
    try:
        return model.model_validate(dict(value))
    except ValidationError as error:
        raise ConfigError(_sentence(error, model, where)) from error


def _sentence(error: ValidationError, model: type[BaseModel], where: str) -> str:
    problems = error.errors(include_url=False)
    # An unknown key explains a missing one ("targt" for "target"), so it is named first.
    problem = next((item for item in problems if item["type"] == "extra_forbidden"), problems[0])
    key = ".".join(str(part) for part in problem["loc"])
    if problem["type"] == "extra_forbidden":
        # A second word for the same thing is accepted, but not suggested.
        keys = [name for name, field in model.model_fields.items() if field.json_schema_extra != SECOND_WORD]
        hint = suggest(key, keys) if len(problem["loc"]) == 1 else "Remove it."
        return f"Unknown key '{key}' {where}. {hint}"
    if problem["type"] == "missing":
        return f"The key '{key}' is missing {where}. Add it."
    message = str(problem["msg"]).removeprefix("Value error, ")
    if problem["type"] == "string_type":
        message = "it should be text; put it in quotes"
    if not problem["loc"]:
        return f"{message.rstrip('.')} ({where})." if where else message
    return f"Wrong value {_show(problem['input'])} for '{key}' {where}: {message.rstrip('.')}. Fix it."


def _show(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
