"""Runs strategies that were written for other engines, as they are.

Each engine has a package of its own here, which stands for the modules that such a file imports.
They are written from the documentation of those engines and have none of their code. What cannot
be carried over raises `Unsupported` with its name.
"""

from __future__ import annotations

__all__ = ["Unsupported", "order_name"]


def order_name(number: int) -> str:
    """What `assay.Cancel` and `assay.Replace` call the order of an id."""
    return f"o-{number:06d}"


class Unsupported(Exception):
    """Names what a strategy uses and Assay does not have."""
