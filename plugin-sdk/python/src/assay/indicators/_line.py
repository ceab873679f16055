"""What the indicators are made of."""

from __future__ import annotations

import math
from collections import deque
from datetime import UTC, datetime, timedelta
from typing import Protocol

MAX_PERIOD = 10_000_000
NAN = float("nan")
LIMIT = 1e140


class Bar(Protocol):
    """What has a high, a low and a close: a view or a candle."""

    @property
    def high(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def close(self) -> float: ...


class FullBar(Bar, Protocol):
    """A bar with its open and volume: a view or a candle."""

    @property
    def open(self) -> float: ...
    @property
    def volume(self) -> float: ...


class TimedBar(FullBar, Protocol):
    """A bar that knows when it opened: a candle, ``v.candle``."""

    @property
    def open_time(self) -> datetime: ...


class Line:
    """A series of values of which the newest two are known."""

    __slots__ = ("count", "previous", "value")

    def __init__(self) -> None:
        self.value = 0.0  #: the newest value, 0 until `ready`
        self.previous = 0.0  #: the value before it
        self.count = 0  #: how many values there were so far

    @property
    def ready(self) -> bool:
        """Whether there is a value."""
        return self.count > 0

    def _set(self, x: float) -> None:
        self.previous, self.value = self.value, x
        self.count += 1

    def crossed_above(self, other: Line | float) -> bool:
        """Whether this line was at or below the other one, or the level, one candle ago and
        is above it now."""
        if isinstance(other, Line):
            return (  # what is seldom true first
                self.value > other.value
                and self.previous <= other.previous
                and self.count > 1
                and other.count > 1
            )
        return self.value > other and self.previous <= other and self.count > 1

    def crossed_below(self, other: Line | float) -> bool:
        """Whether this line was at or above the other one, or the level, one candle ago and
        is below it now."""
        if isinstance(other, Line):
            return (
                self.value < other.value
                and self.previous >= other.previous
                and self.count > 1
                and other.count > 1
            )
        return self.value < other and self.previous >= other and self.count > 1


class Track(Line):
    """A line of whatever is added to it, so that a price can cross an indicator."""

    __slots__ = ()

    def add(self, x: float) -> None:
        self._set(x)


def usable(x: float) -> bool:
    return abs(x) <= LIMIT


def or_nan(x: float) -> float:
    return x if abs(x) <= LIMIT else NAN


def period(n: int, name: str = "n", least: int = 1) -> int:
    if not isinstance(n, int) or isinstance(n, bool) or not least <= n <= MAX_PERIOD:
        raise ValueError(f"{name} is {n!r}, must be a whole number from {least} to {MAX_PERIOD}")
    return n


def width(k: float, name: str = "k") -> float:
    if not 0 < k < math.inf:
        raise ValueError(f"{name} is {k!r}, must be a finite number above 0")
    return k


def percent(part: float, whole: float) -> float:
    return 0.0 if whole == 0 else 100 * part / whole


def typical(bar: Bar) -> float:
    return (bar.high + bar.low + bar.close) / 3


class Window:
    """The last n values, in a ring."""

    __slots__ = ("buf", "filled", "n", "next", "tainted")

    def __init__(self, n: int) -> None:
        self.buf = [0.0] * n
        self.n, self.next, self.filled, self.tainted = n, 0, 0, 0

    def push(self, x: float) -> tuple[float, float]:
        """Takes x in and returns it with the value that x pushed out."""
        if not abs(x) <= LIMIT:
            x, self.tainted = 0.0, self.n
        elif self.tainted:
            self.tainted -= 1
        out = self.buf[self.next]
        self.buf[self.next] = x
        self.next += 1
        if self.next == self.n:
            self.next = 0
        if self.filled < self.n:
            self.filled += 1
        return x, out

    @property
    def full(self) -> bool:
        return self.filled == self.n

    def oldest(self) -> float:
        return self.buf[self.next]

    def trusted(self, x: float) -> float:
        return NAN if self.tainted else x


class Sum:
    """Adds up in double-double: hi is the total, lo what its rounding left out."""

    __slots__ = ("hi", "lo")

    def __init__(self) -> None:
        self.hi = self.lo = 0.0

    def add(self, x: float) -> None:
        hi = self.hi
        s = hi + x
        t = s - hi
        e = (hi - (s - t)) + (x - t)
        low = self.lo + e
        total = s + low
        t = total - s
        self.lo = (s - (total - t)) + (low - t)
        self.hi = total

    def add_product(self, a: float, b: float) -> None:
        """Adds a*b without rounding the product (Dekker 1971, as a fused multiply-add does)."""
        p = a * b
        c = 134217729.0 * a
        ah = c - (c - a)
        al = a - ah
        c = 134217729.0 * b
        bh = c - (c - b)
        bl = b - bh
        self.add(((ah * bh - p) + ah * bl + al * bh) + al * bl)
        self.add(p)


def greater(a: float, b: float) -> float:
    """The larger one; NaN if one of them is NaN, as Go's max has it."""
    return NAN if a != a or b != b else max(a, b)


def smaller(a: float, b: float) -> float:
    """The smaller one; NaN if one of them is NaN."""
    return NAN if a != a or b != b else min(a, b)


class Rolling(Window):
    """A window with the sum of its values."""

    __slots__ = ("nonzero", "sum")

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.sum, self.nonzero = Sum(), 0

    def add(self, x: float) -> tuple[float, float]:
        """Takes x in and returns it with the value that x pushed out."""
        value, out = self.push(x)
        self.sum.add(-out)
        self.sum.add(value)
        self.nonzero += (value != 0) - (out != 0)
        return value, out

    def total(self) -> float:
        """The sum, exactly 0 while every value is."""
        return self.sum.hi if self.nonzero else 0.0

    def mean(self) -> float:
        return self.sum.hi / float(self.filled)


class Run:
    """Counts how many of the newest values are the same."""

    __slots__ = ("last", "length")

    def __init__(self) -> None:
        self.last, self.length = 0.0, 0

    def add(self, x: float) -> None:
        if x != self.last:
            self.last, self.length = x, 0
        self.length += 1


class Moments(Rolling):
    """A window with the sums of its values and of their squares."""

    __slots__ = ("run", "squares")

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.squares, self.run = Sum(), Run()

    def add(self, x: float) -> tuple[float, float]:
        value, out = super().add(x)
        self.squares.add_product(-out, out)
        self.squares.add_product(value, value)
        self.run.add(value)
        return value, out

    def scatter(self) -> float:
        """n*sum(x^2) - sum(x)^2, exactly 0 when all values are equal."""
        if self.run.length >= self.filled:
            return 0.0
        d = joint(float(self.filled), self.squares, self.sum, self.sum)
        return d if d > 0 else 0.0

    def variance(self) -> float:
        n = float(self.filled)
        return self.scatter() / (n * n)


def joint(n: float, products: Sum, x: Sum, y: Sum) -> float:
    """n*products - x*y in double-double."""
    d = Sum()
    d.add_product(n, products.hi)
    d.add_product(-x.hi, y.hi)
    d.add_product(n, products.lo)
    d.add_product(-x.hi, y.lo)
    d.add_product(-x.lo, y.hi)
    d.add_product(-x.lo, y.lo)
    return d.hi


class Extreme(Line):
    """The largest or smallest of the last n values, by a queue of candidates."""

    __slots__ = ("_n", "_queue", "_seen", "_sign", "_tainted")

    def __init__(self, n: int, sign: float) -> None:
        super().__init__()
        self._n, self._sign, self._seen, self._tainted = period(n), sign, 0, 0
        self._queue: deque[tuple[int, float]] = deque()

    def add(self, x: float) -> None:
        if not usable(x):
            self._tainted = self._n
        elif self._tainted:
            self._tainted -= 1
        if usable(x):
            signed = self._sign * x
            while self._queue and self._queue[-1][1] <= signed:
                self._queue.pop()
            self._queue.append((self._seen, signed))
        self._seen += 1
        while self._queue and self._queue[0][0] <= self._seen - 1 - self._n:
            self._queue.popleft()
        if self._seen >= self._n:
            self._set(NAN if self._tainted else self._sign * self._queue[0][1])

    def age(self) -> int:
        """How many values ago the newest of the extremes was."""
        return self._seen - 1 - self._queue[0][0]


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MS = timedelta(milliseconds=1)


def session_length(length: timedelta) -> int:
    """Milliseconds of a session."""
    if length < _MS:
        raise ValueError(f"length is {length}, must be at least 1 ms")
    return length // _MS


def session_of(t: datetime, length: int) -> int:
    """When the session of t began."""
    ms = (t - _EPOCH) // _MS
    return ms - ms % length
