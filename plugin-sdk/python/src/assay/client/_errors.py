"""Errors of the client."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any


class AssayError(Exception):
    """What was refused or cannot be read: the code that the API gives it, and what to do.

    Attributes:
        code: such as RUN_NOT_FOUND, SPLIT_LOCKED or ARTIFACT_MISMATCH.
        message: one sentence for people.
        details: what the API says besides, such as the fields of a request that are wrong.
    """

    def __init__(self, code: str, message: str, details: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details: dict[str, Any] = dict(details or {})


def need(module: str, extra: str) -> Any:
    """Imports a package that is an optional extra of the SDK."""
    try:
        return import_module(module)
    except ImportError as e:
        package = module.partition(".")[0]
        raise AssayError(
            "PACKAGE_MISSING",
            f"this needs {package}: pip install {package}, or 'assay-sdk[{extra}]'",
        ) from e
