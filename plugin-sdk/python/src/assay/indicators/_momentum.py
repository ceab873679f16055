"""How fast and how far prices move."""

from __future__ import annotations

from ._average import SMA
from ._line import (
    Bar,
    Extreme,
    Line,
    Rolling,
    Run,
    Track,
    Window,
    greater,
    or_nan,
    percent,
    period,
    typical,
)


class Wilder:
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


class RSI(Line):
    """Wilder's relative strength index over n changes, 0 to 100, ready with value n+1."""

    __slots__ = ("_gain", "_last", "_loss")

    def __init__(self, n: int = 14) -> None:
        super().__init__()
        self._gain, self._loss, self._last = Wilder(period(n)), Wilder(n), Track()

    def add(self, x: float) -> None:
        x = or_nan(x)
        self._last.add(x)
        if self._last.count == 1:
            return
        change = x - self._last.previous
        self._gain.add(greater(change, 0.0))
        if not self._loss.add(greater(-change, 0.0)):
            return
        if self._loss.value == 0:
            self._set(100.0)
            return
        self._set(100 - 100 / (1 + self._gain.value / self._loss.value))


def true_range(bar: Bar, before: float) -> float:
    """The largest of high - low and their distances from the close before."""
    high, low = bar.high, bar.low
    return or_nan(greater(greater(high - low, abs(high - before)), abs(low - before)))


class ATR(Line):
    """Wilder's average true range over n candles, in quote currency."""

    __slots__ = ("_average", "_close", "_started")

    def __init__(self, n: int = 14) -> None:
        super().__init__()
        self._average, self._close, self._started = Wilder(period(n)), 0.0, False

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high, low and close."""
        before, self._close = self._close, bar.close
        if not self._started:
            self._started = True
            return
        if self._average.add(true_range(bar, before)):
            self._set(self._average.value)


class ROC(Line):
    """The change over n candles, in percent, ready with value n+1."""

    __slots__ = ("_window",)

    def __init__(self, n: int) -> None:
        super().__init__()
        self._window = Window(period(n) + 1)

    def add(self, x: float) -> None:
        now, _ = self._window.push(x)
        if not self._window.full:
            return
        then = self._window.oldest()
        self._set(self._window.trusted((now / then - 1) * 100 if then else 0.0))


class _Stochastic(Line):
    """The place of a value in the range of the last n, averaged: K, and its average D."""

    __slots__ = ("_average", "_high", "_low", "_smooth", "d")

    def __init__(self, n: int, smooth: int, d: int) -> None:
        super().__init__()
        self._high, self._low = Extreme(period(n), 1.0), Extreme(n, -1.0)
        self._smooth, self._average = SMA(period(smooth, "smooth")), SMA(period(d, "d"))
        self.d = Line()

    def _place(self, high: float, low: float, x: float) -> None:
        self._high.add(high)
        self._low.add(low)
        if not self._high.ready:
            return
        bottom = self._low.value
        self._smooth.add(percent(x - bottom, self._high.value - bottom))
        if not self._smooth.ready:
            return
        self._average.add(self._smooth.value)
        if self._average.ready:
            self._set(self._smooth.value)
            self.d._set(self._average.value)


class Stochastic(_Stochastic):
    """Lane's oscillator, 0 to 100: the place of the close in the range of the last n candles,
    averaged over ``smooth`` of them (``value``, K), and its average over d (``d``). 14, 3, 3 is
    the slow stochastic, 14, 1, 3 the fast one; ready with candle n+smooth+d-2."""

    __slots__ = ()

    def __init__(self, n: int = 14, smooth: int = 3, d: int = 3) -> None:
        super().__init__(n, smooth, d)

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high, low and close."""
        self._place(bar.high, bar.low, or_nan(bar.close))


class StochRSI(_Stochastic):
    """The stochastic of ``RSI(period)``, with K (``value``) and ``d``; TA-Lib's has smooth 1."""

    __slots__ = ("_rsi",)

    def __init__(self, period: int = 14, n: int = 14, smooth: int = 3, d: int = 3) -> None:
        super().__init__(n, smooth, d)
        self._rsi = RSI(period)

    def add(self, x: float) -> None:
        self._rsi.add(x)
        if self._rsi.ready:
            x = self._rsi.value
            self._place(x, x, x)


class WilliamsR(Line):
    """Williams' percent range, -100 to 0: how far the close is below the highest high of the last
    n candles, in percent of their range."""

    __slots__ = ("_high", "_low")

    def __init__(self, n: int = 14) -> None:
        super().__init__()
        self._high, self._low = Extreme(period(n), 1.0), Extreme(n, -1.0)

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high, low and close."""
        self._high.add(bar.high)
        self._low.add(bar.low)
        if self._high.ready:
            top = self._high.value
            self._set(percent(or_nan(bar.close) - top, top - self._low.value))


class CCI(Line):
    """Lambert's commodity channel index: the typical price's distance from its mean over n
    candles, in 0.015 mean absolute deviations. The work per candle grows with n."""

    __slots__ = ("_prices", "_run")

    def __init__(self, n: int = 20) -> None:
        super().__init__()
        self._prices, self._run = Rolling(period(n)), Run()

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high, low and close."""
        prices = self._prices
        price, _ = prices.add(typical(bar))
        self._run.add(price)
        if not prices.full:
            return
        mean, apart, value = prices.mean(), 0.0, 0.0
        for x in prices.buf[prices.next :]:
            apart += abs(x - mean)
        for x in prices.buf[: prices.next]:
            apart += abs(x - mean)
        if self._run.length < prices.filled and apart > 0:
            value = (price - mean) / (0.015 * (apart / float(prices.filled)))
        self._set(prices.trusted(value))
