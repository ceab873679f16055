"""Which way prices go, and since when."""

from __future__ import annotations

from ._band import Donchian
from ._line import (
    NAN,
    Bar,
    Extreme,
    Line,
    Window,
    greater,
    or_nan,
    percent,
    period,
    smaller,
    width,
)
from ._momentum import ATR, Wilder, true_range


class ADX(Line):
    """Wilder's average directional index, 0 to 100, with the indicators ``plus`` (+DI) and
    ``minus`` (-DI); all three are ready with candle 2n."""

    __slots__ = ("_average", "_before", "_down", "_n", "_path", "_seen", "_up", "minus", "plus")

    def __init__(self, n: int = 14) -> None:
        super().__init__()
        self._n, self._average, self._seen = period(n), Wilder(n), 0
        self._before = (0.0, 0.0, 0.0)
        self._up = self._down = self._path = 0.0
        self.plus, self.minus = Line(), Line()

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high, low and close."""
        high, low, close = self._before
        self._before = bar.high, bar.low, bar.close
        self._seen += 1
        if self._seen == 1:
            return
        up, down = bar.high - high, low - bar.low
        if up > down and up > 0:
            down = 0.0
        elif down > up and down > 0:
            up = 0.0
        else:
            up = down = 0.0
        path = true_range(bar, close)
        if self._seen > self._n:
            n = float(self._n)
            up, down, path = up - self._up / n, down - self._down / n, path - self._path / n
        self._up, self._down, self._path = self._up + up, self._down + down, self._path + path
        if self._seen <= self._n:
            return
        plus, minus = percent(self._up, self._path), percent(self._down, self._path)
        if self._average.add(percent(abs(plus - minus), plus + minus)):
            self._set(self._average.value)
            self.plus._set(plus)
            self.minus._set(minus)


class Aroon(Line):
    """Chande's oscillator (``value``): ``up`` minus ``down``, which tell how long ago the highest
    high and the lowest low of the last n+1 candles were: 100 now, 0 n candles ago."""

    __slots__ = ("_high", "_low", "_n", "down", "up")

    def __init__(self, n: int = 14) -> None:
        super().__init__()
        self._n = period(n)
        self._high, self._low = Extreme(n + 1, 1.0), Extreme(n + 1, -1.0)
        self.up, self.down = Line(), Line()

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high and low."""
        self._high.add(bar.high)
        self._low.add(bar.low)
        if not self._high.ready:
            return
        up = down = NAN
        if self._high.value == self._high.value and self._low.value == self._low.value:
            up = float(100 * (self._n - self._high.age())) / float(self._n)
            down = float(100 * (self._n - self._low.age())) / float(self._n)
        self._set(up - down)
        self.up._set(up)
        self.down._set(down)


class ParabolicSAR(Line):
    """Wilder's stop and reverse: follows a rise from below and a fall from above by a growing
    share of its distance to the extreme. ``long`` tells which. Ready with the second candle."""

    __slots__ = ("_before", "_extreme", "_limit", "_next", "_pace", "_seen", "_step", "long")

    def __init__(self, step: float = 0.02, limit: float = 0.2) -> None:
        super().__init__()
        if width(step, "step") > width(limit, "limit"):
            raise ValueError(f"step is {step!r}, must be at most limit ({limit!r})")
        self._step, self._limit, self._pace, self._seen = step, limit, step, 0
        self._before = (0.0, 0.0)
        self._next = self._extreme = 0.0
        self.long = False  #: whether the line follows a rise from below

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high and low."""
        high, low = self._before
        new_high, new_low = self._before = or_nan(bar.high), or_nan(bar.low)
        self._seen += 1
        if self._seen == 1:
            return
        if self._seen == 2:
            self.long = not (low - new_low > 0 and low - new_low > new_high - high)
            self._next, self._extreme = (low, new_high) if self.long else (high, new_low)
            high, low = new_high, new_low
        side, top, bottom = 1.0, new_high, new_low
        if not self.long:  # a fall is a rise upside down
            side, top, bottom, high, low = -1.0, -new_low, -new_high, -low, -high
        stop, extreme = side * self._next, side * self._extreme
        if top != top or bottom != bottom:
            stop = NAN
        if bottom <= stop:
            stop = greater(greater(extreme, high), top)
            self._set(side * stop)
            self.long, self._pace, extreme = not self.long, self._step, bottom
            stop = greater(greater(stop + self._pace * (extreme - stop), high), top)
        else:
            self._set(side * stop)
            if top > extreme:
                extreme, self._pace = top, min(self._pace + self._step, self._limit)
            stop = smaller(smaller(stop + self._pace * (extreme - stop), low), bottom)
        self._next, self._extreme = side * stop, side * extreme


class SuperTrend(Line):
    """A stop k ``ATR(n)`` from the middle of the candle, below the price in a rise (``long``),
    above it in a fall; changes sides when a close is beyond it. Ready with candle n+1."""

    __slots__ = ("_close", "_k", "_lower", "_reach", "_upper", "long")

    def __init__(self, n: int = 10, k: float = 3.0) -> None:
        super().__init__()
        self._reach, self._k = ATR(n), width(k)
        self._upper = self._lower = self._close = 0.0
        self.long = False  #: whether the line follows a rise from below

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high, low and close."""
        before, self._close = self._close, bar.close
        self._reach.add(bar)
        if not self._reach.ready:
            return
        middle, reach = (bar.high + bar.low) / 2, self._k * self._reach.value
        upper, lower = middle + reach, middle - reach
        if not self.count:
            self.long = True
        else:
            if upper >= self._upper and before <= self._upper:
                upper = self._upper
            if lower <= self._lower and before >= self._lower:
                lower = self._lower
            self.long = not bar.close < lower if self.long else bar.close > upper
        self._upper, self._lower = upper, lower
        self._set(lower if self.long else upper)


class Ichimoku(Line):
    """Hosoda's cloud: the conversion line (``value``), the ``base`` line, and the edges of the
    cloud at this candle, ``span_a`` and ``span_b``, which are those of base candles ago. Compare
    the close with that of base candles ago for the lagging span. Ready with candle span+base."""

    __slots__ = ("_base", "_conversion", "_past_a", "_past_b", "_span", "base", "span_a", "span_b")

    def __init__(self, conversion: int = 9, base: int = 26, span: int = 52) -> None:
        super().__init__()
        if max(period(conversion, "conversion"), period(base, "base")) > period(span, "span"):
            raise ValueError(
                f"conversion is {conversion} and base {base}, must be at most span ({span})"
            )
        self._conversion, self._base, self._span = (
            Donchian(conversion),
            Donchian(base),
            Donchian(span),
        )
        self._past_a, self._past_b = Window(base + 1), Window(base + 1)
        self.base, self.span_a, self.span_b = Line(), Line(), Line()

    def add(self, bar: Bar) -> None:
        """Takes the next candle: the view, or what has high and low."""
        for part in (self._conversion, self._base, self._span):
            part.add(bar)
        if not self._span.ready:
            return
        self._past_a.push((self._conversion.value + self._base.value) / 2)
        self._past_b.push(self._span.value)
        if not self._past_a.full:
            return
        self._set(self._conversion.value)
        self.base._set(self._base.value)
        self.span_a._set(self._past_a.trusted(self._past_a.oldest()))
        self.span_b._set(self._past_b.trusted(self._past_b.oldest()))
