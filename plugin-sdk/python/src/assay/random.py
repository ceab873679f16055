"""The random source of a run: PCG-DXSM as Go's math/rand/v2 has it.

The same run draws the same numbers as a strategy in Go would. NumPy's PCG64DXSM is another
generator.
"""

from __future__ import annotations

import hashlib
from collections.abc import MutableSequence, Sequence
from typing import Any, TypeVar

__all__ = ["Random"]

_T = TypeVar("_T")
_M64 = (1 << 64) - 1
_M128 = (1 << 128) - 1
_MUL = (2549297995355413924 << 64) | 4865540595714422341
_INC = (6364136223846793005 << 64) | 1442695040888963407
_CHEAP = 0xDA942042E4DD58B5


class Random:
    """Uniform random numbers, seeded from the run's root seed."""

    __slots__ = ("_state",)

    def __init__(self, root_seed: int, purpose: str = "strategy", index: int = 0) -> None:
        text = f"assay/rng/v1\0{root_seed}\0{purpose}\0{index}".encode()
        self._state = int.from_bytes(hashlib.sha256(text).digest()[:16], "big")

    def uint64(self) -> int:
        """An integer in [0, 2**64)."""
        s = self._state = (self._state * _MUL + _INC) & _M128
        hi, lo = s >> 64, s & _M64
        hi ^= hi >> 32
        hi = (hi * _CHEAP) & _M64
        hi ^= hi >> 48
        return (hi * (lo | 1)) & _M64

    def random(self) -> float:
        """A float in [0, 1)."""
        return (self.uint64() & ((1 << 53) - 1)) / (1 << 53)

    def integer(self, n: int) -> int:
        """An integer in [0, n)."""
        if n <= 0:
            raise ValueError("n must be positive")
        if n & (n - 1) == 0:
            return self.uint64() & (n - 1)
        bits = 32 if n < 1 << 32 else 64
        mask = (1 << bits) - 1
        product = (self.uint64() >> (64 - bits)) * n
        if product & mask < n:
            threshold = ((1 << bits) - n) % n
            while product & mask < threshold:
                product = (self.uint64() >> (64 - bits)) * n
        return product >> bits

    def choice(self, items: Sequence[_T]) -> _T:
        """One of the items."""
        return items[self.integer(len(items))]

    def shuffle(self, items: MutableSequence[Any]) -> None:
        """Brings the items into a random order, in place."""
        for i in range(len(items) - 1, 0, -1):
            j = self.integer(i + 1)
            items[i], items[j] = items[j], items[i]
