"""Bands and channels around a price."""

from __future__ import annotations

import math

from ._average import Ema
from ._line import Bar, Extreme, Line, Moments, period, width
from ._momentum import ATR


class StdDev(Line):
    """The population standard deviation of the last n values, exactly 0 when all are equal."""

    __slots__ = ("_moments",)

    def __init__(self, n: int) -> None:
        super().__init__()
        self._moments = Moments(period(n))

    def add(self, x: float) -> None:
        moments = self._moments
        moments.add(x)
        if moments.full:
            self._set(moments.trusted(math.sqrt(moments.variance())))


class Bollinger(Line):
    """A band of k population standard deviations around the simple average (``value``), with
    ``upper`` and ``lower``."""

    __slots__ = ("_deviation", "_k", "lower", "upper")

    def __init__(self, n: int = 20, k: float = 2.0) -> None:
        super().__init__()
        self._deviation, self._k = StdDev(n), width(k)
        self.upper, self.lower = Line(), Line()

    def add(self, x: float) -> None:
        self._deviation.add(x)
        if not self._deviation.ready:
            return
        moments = self._deviation._moments
        middle = moments.trusted(moments.mean())
        reach = self._k * self._deviation.value
        self._set(middle)
        self.upper._set(middle + reach)
        self.lower._set(middle - reach)


class Highest(Extreme):
    """The largest of the last n values, the newest included."""

    __slots__ = ()

    def __init__(self, n: int) -> None:
        super().__init__(n, 1.0)


class Lowest(Extreme):
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


class Keltner(Line):
    """A band of k ``ATR(ranges)`` around ``EMA(n)`` of the close (``value``), with ``upper`` and
    ``lower``."""

    __slots__ = ("_k", "_middle", "_reach", "lower", "upper")

    def __init__(self, n: int = 20, ranges: int = 10, k: float = 2.0) -> None:
        super().__init__()
        self._middle, self._reach, self._k = Ema(period(n)), ATR(period(ranges, "ranges")), width(k)
        self.upper, self.lower = Line(), Line()

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high, low and close."""
        self._reach.add(bar)
        if not self._middle.add(bar.close) or not self._reach.ready:
            return
        middle, reach = self._middle.value, self._k * self._reach.value
        self._set(middle)
        self.upper._set(middle + reach)
        self.lower._set(middle - reach)
