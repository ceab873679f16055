"""Runs strategies that were written for other engines, as they are.

Each engine has a package of its own here, which stands for the modules that such a file imports.
They are written from the documentation of those engines and have none of their code. What cannot
be carried over raises `Unsupported` with its name.
"""

from __future__ import annotations

import random
from typing import Any

__all__ = ["LookedAhead", "Unsupported", "drawn", "order_name", "same"]


def order_name(number: int) -> str:
    """What `assay.Cancel` and `assay.Replace` call the order of an id."""
    return f"o-{number:06d}"


def drawn(first: int, last: int, count: int) -> list[int]:
    """So many of the numbers from first to before last, always the same."""
    return sorted(random.Random(first).sample(range(first, last), min(count, last - first)))


def same(a: Any, b: Any) -> bool:
    """Whether two columns have the same values; a missing one is like another."""
    import numpy as np

    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape:
        return False
    if a.dtype.kind in "biuf" and b.dtype.kind in "biuf":
        return bool(np.array_equal(a.astype(float), b.astype(float), equal_nan=True))
    return all(x == y or (x != x and y != y) for x, y in zip(a.flat, b.flat, strict=True))


class LookedAhead(Exception):
    """Names a column that has other values where the candles after it are not there."""


class Unsupported(Exception):
    """Names what a strategy uses and Assay does not have."""
