"""Conformance tests that anyone can run against a framework or an executor of their own."""

from __future__ import annotations

from assay.testing.check import Check, TaskCheck, check_framework
from assay.testing.claims import Promise

__all__ = ["Check", "Promise", "TaskCheck", "check_framework"]
