"""Streaming indicators: one ``add`` per candle, constant work, the same bits as the Go SDK's.

``value`` is NaN-free until ``ready``: 0. Feed two lines with the same candle before asking
whether they crossed. A value that is not finite, or beyond 1e140, makes the indicator NaN
until it has left the window, and for good in EMA, MACD, RSI and ATR, which remember all
their past.

Sums over a window are kept in double-double, so that an indicator that has seen a million
candles agrees with one that has seen only the last window.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Protocol

__all__ = [
    "ATR",
    "EMA",
    "MACD",
    "ROC",
    "RSI",
    "SMA",
    "WMA",
    "Bollinger",
    "Donchian",
    "Highest",
    "Line",
    "Lowest",
    "StdDev",
    "Track",
]

MAX_PERIOD = 10_000_000
_NAN = float("nan")
_LIMIT = 1e140


class Bar(Protocol):
    """What has a high, a low and a close: a view or a candle."""

    @property
    def high(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def close(self) -> float: ...


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
            return (
                self.count > 1
                and other.count > 1
                and self.previous <= other.previous
                and self.value > other.value
            )
        return self.count > 1 and self.previous <= other and self.value > other

    def crossed_below(self, other: Line | float) -> bool:
        """Whether this line was at or above the other one, or the level, one candle ago and
        is below it now."""
        if isinstance(other, Line):
            return (
                self.count > 1
                and other.count > 1
                and self.previous >= other.previous
                and self.value < other.value
            )
        return self.count > 1 and self.previous >= other and self.value < other


class Track(Line):
    """A line of whatever is added to it, so that a price can cross an indicator."""

    __slots__ = ()

    def add(self, x: float) -> None:
        self._set(x)


def _usable(x: float) -> bool:
    return abs(x) <= _LIMIT


def _or_nan(x: float) -> float:
    return x if abs(x) <= _LIMIT else _NAN


def _period(n: int, name: str = "n") -> int:
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MAX_PERIOD:
        raise ValueError(f"{name} is {n!r}, must be a whole number from 1 to {MAX_PERIOD}")
    return n


class _Window:
    """The last n values, in a ring."""

    __slots__ = ("buf", "filled", "n", "next", "tainted")

    def __init__(self, n: int) -> None:
        self.buf = [0.0] * n
        self.n, self.next, self.filled, self.tainted = n, 0, 0, 0

    def push(self, x: float) -> tuple[float, float]:
        """Takes x in and returns it with the value that x pushed out."""
        if not abs(x) <= _LIMIT:
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
        return _NAN if self.tainted else x


class _Sum:
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


class SMA(Line):
    """The simple moving average of the last n values, ready with the n-th."""

    __slots__ = ("_total", "_window")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._window, self._total = _Window(_period(n)), _Sum()

    def add(self, x: float) -> None:
        value, out = self._window.push(x)
        self._total.add(-out)
        self._total.add(value)
        if self._window.filled == self._window.n:
            self._set(self._window.trusted(self._total.hi / self._window.n))


class WMA(Line):
    """The linearly weighted moving average: the newest counts n times, the oldest once."""

    __slots__ = ("_divisor", "_total", "_weighted", "_window")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._window, self._total, self._weighted = _Window(_period(n)), _Sum(), _Sum()
        self._divisor = float(n) * float(n + 1) / 2

    def add(self, x: float) -> None:
        if self._window.full:
            self._weighted.add(-self._total.hi)
            self._weighted.add(-self._total.lo)
        value, out = self._window.push(x)
        self._total.add(-out)
        self._total.add(value)
        self._weighted.add_product(float(self._window.filled), value)
        if self._window.full:
            self._set(self._window.trusted(self._weighted.hi / self._divisor))


class _Ema:
    __slots__ = ("period", "seen", "value", "weight")

    def __init__(self, n: int) -> None:
        self.value, self.weight, self.period, self.seen = 0.0, 2 / float(n + 1), n, 0

    def add(self, x: float) -> bool:
        x = _or_nan(x)
        if self.period == 1:
            self.value = x
            return True
        if self.seen == self.period:
            self.value += (x - self.value) * self.weight
            return True
        self.seen += 1
        self.value += x
        if self.seen < self.period:
            return False
        self.value /= float(self.period)
        return True


class EMA(Line):
    """The exponential moving average with weight 2/(n+1). As in TA-Lib the first value comes
    with the n-th and is the simple average of the first n."""

    __slots__ = ("_average",)

    def __init__(self, n: int) -> None:
        super().__init__()
        self._average = _Ema(_period(n))

    def add(self, x: float) -> None:
        if self._average.add(x):
            self._set(self._average.value)


class MACD(Line):
    """The difference of a fast and a slow EMA, the EMA of that difference (``signal``) and
    the distance of the two (``histogram``); all three are ready at once."""

    __slots__ = ("_average", "_fast", "_slow", "histogram", "signal")

    def __init__(self, fast: int = 12, slow: int = 26, signal: int = 9) -> None:
        super().__init__()
        if _period(fast, "fast") >= _period(slow, "slow"):
            raise ValueError(f"fast is {fast}, must be below slow ({slow})")
        self._fast, self._slow = _Ema(fast), _Ema(slow)
        self._average = _Ema(_period(signal, "signal"))
        self.signal, self.histogram = Line(), Line()

    def add(self, x: float) -> None:
        self._fast.add(x)
        if not self._slow.add(x):
            return
        difference = self._fast.value - self._slow.value
        if not self._average.add(difference):
            return
        self._set(difference)
        self.signal._set(self._average.value)
        self.histogram._set(difference - self._average.value)


class _Wilder:
    __slots__ = ("period", "seen", "value")

    def __init__(self, n: int) -> None:
        self.value, self.period, self.seen = 0.0, float(n), 0

    def add(self, x: float) -> bool:
        if self.seen < self.period:
            self.value += x / self.period
            self.seen += 1
            return self.seen == self.period
        self.value = (self.value * (self.period - 1) + x) / self.period
        return True


def _greater(a: float, b: float) -> float:
    """The larger one; NaN if one of them is NaN, as Go's max has it."""
    return _NAN if a != a or b != b else max(a, b)


class RSI(Line):
    """Wilder's relative strength index over n changes, 0 to 100, ready with value n+1."""

    __slots__ = ("_gain", "_last", "_loss")

    def __init__(self, n: int = 14) -> None:
        super().__init__()
        self._gain, self._loss, self._last = _Wilder(_period(n)), _Wilder(n), Track()

    def add(self, x: float) -> None:
        x = _or_nan(x)
        self._last.add(x)
        if self._last.count == 1:
            return
        change = x - self._last.previous
        self._gain.add(_greater(change, 0.0))
        if not self._loss.add(_greater(-change, 0.0)):
            return
        if self._loss.value == 0:
            self._set(100.0)
            return
        self._set(100 - 100 / (1 + self._gain.value / self._loss.value))


class ATR(Line):
    """Wilder's average true range over n candles, in quote currency."""

    __slots__ = ("_average", "_close", "_started")

    def __init__(self, n: int = 14) -> None:
        super().__init__()
        self._average, self._close, self._started = _Wilder(_period(n)), 0.0, False

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high, low and close."""
        before, self._close = self._close, bar.close
        if not self._started:
            self._started = True
            return
        high, low = bar.high, bar.low
        reach = _greater(_greater(high - low, abs(high - before)), abs(low - before))
        if self._average.add(_or_nan(reach)):
            self._set(self._average.value)


class ROC(Line):
    """The change over n candles, in percent, ready with value n+1."""

    __slots__ = ("_window",)

    def __init__(self, n: int) -> None:
        super().__init__()
        self._window = _Window(_period(n) + 1)

    def add(self, x: float) -> None:
        now, _ = self._window.push(x)
        if not self._window.full:
            return
        then = self._window.oldest()
        self._set(self._window.trusted((now / then - 1) * 100 if then else 0.0))


class StdDev(Line):
    """The population standard deviation of the last n values, exactly 0 when all are equal."""

    __slots__ = ("_equal", "_last", "_squares", "_total", "_window")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._window, self._total, self._squares = _Window(_period(n)), _Sum(), _Sum()
        self._last, self._equal = 0.0, 0

    def add(self, x: float) -> None:
        value, out = self._window.push(x)
        self._total.add(-out)
        self._total.add(value)
        self._squares.add_product(-out, out)
        self._squares.add_product(value, value)
        if value != self._last:
            self._last, self._equal = value, 0
        if self._equal < self._window.filled:
            self._equal += 1
        if self._window.full:
            self._set(self._window.trusted(math.sqrt(self._variance())))

    def _mean(self) -> float:
        return self._total.hi / float(self._window.filled)

    def _variance(self) -> float:
        if self._equal >= self._window.filled:
            return 0.0
        n = float(self._window.filled)
        d = _Sum()
        d.add_product(n, self._squares.hi)
        d.add_product(-self._total.hi, self._total.hi)
        d.add_product(n, self._squares.lo)
        d.add_product(-2 * self._total.hi, self._total.lo)
        d.add_product(-self._total.lo, self._total.lo)
        return max(d.hi, 0.0) / (n * n)


class Bollinger(Line):
    """A band of k population standard deviations around the simple average (``value``), with
    ``upper`` and ``lower``."""

    __slots__ = ("_deviation", "_k", "lower", "upper")

    def __init__(self, n: int = 20, k: float = 2.0) -> None:
        super().__init__()
        if not 0 < k < math.inf:
            raise ValueError(f"k is {k!r}, must be a finite number above 0")
        self._deviation, self._k = StdDev(n), k
        self.upper, self.lower = Line(), Line()

    def add(self, x: float) -> None:
        self._deviation.add(x)
        if not self._deviation.ready:
            return
        middle = self._deviation._window.trusted(self._deviation._mean())
        reach = self._k * self._deviation.value
        self._set(middle)
        self.upper._set(middle + reach)
        self.lower._set(middle - reach)


class _Extreme(Line):
    """The largest or smallest of the last n values, by a queue of candidates."""

    __slots__ = ("_n", "_queue", "_seen", "_sign", "_tainted")

    def __init__(self, n: int, sign: float) -> None:
        super().__init__()
        self._n, self._sign, self._seen, self._tainted = _period(n), sign, 0, 0
        self._queue: deque[tuple[int, float]] = deque()

    def add(self, x: float) -> None:
        if not _usable(x):
            self._tainted = self._n
        elif self._tainted:
            self._tainted -= 1
        if _usable(x):
            signed = self._sign * x
            while self._queue and self._queue[-1][1] <= signed:
                self._queue.pop()
            self._queue.append((self._seen, signed))
        self._seen += 1
        while self._queue and self._queue[0][0] <= self._seen - 1 - self._n:
            self._queue.popleft()
        if self._seen >= self._n:
            self._set(_NAN if self._tainted else self._sign * self._queue[0][1])


class Highest(_Extreme):
    """The largest of the last n values, the newest included."""

    __slots__ = ()

    def __init__(self, n: int) -> None:
        super().__init__(n, 1.0)


class Lowest(_Extreme):
    """The smallest of the last n values, the newest included."""

    __slots__ = ()

    def __init__(self, n: int) -> None:
        super().__init__(n, -1.0)


class Donchian(Line):
    """The channel of the last n candles: ``upper`` is the highest high, ``lower`` the lowest
    low, ``value`` halfway between."""

    __slots__ = ("_high", "_low", "lower", "upper")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._high, self._low = Highest(n), Lowest(n)
        self.upper, self.lower = Line(), Line()

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high and low."""
        self._high.add(bar.high)
        self._low.add(bar.low)
        if self._high.ready:
            self.upper._set(self._high.value)
            self.lower._set(self._low.value)
            self._set((self._high.value + self._low.value) / 2)
