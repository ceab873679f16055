"""Averages of a price."""

from __future__ import annotations

import math

from ._line import LIMIT, NAN, Line, Rolling, Sum, Window, or_nan, period

_LOW = -LIMIT


class SMA(Line):
    """The simple moving average of the last n values, ready with the n-th."""

    __slots__ = ("_buf", "_filled", "_hi", "_lo", "_n", "_next", "_tainted")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._buf, self._n = [0.0] * period(n), n
        self._next = self._filled = self._tainted = 0
        self._hi = self._lo = 0.0

    def add(self, x: float) -> None:
        # Window.push, Sum.add of -out and of x, and _set in one piece: calls cost more than sums.
        if not _LOW <= x <= LIMIT:
            x, self._tainted = 0.0, self._n
        elif self._tainted:
            self._tainted -= 1
        buf, at, hi = self._buf, self._next, self._hi
        out, buf[at] = buf[at], x
        s = hi - out
        t = s - hi
        low = self._lo + ((hi - (s - t)) + (-out - t))
        hi = s + low
        t = hi - s
        lo = (s - (hi - t)) + (low - t)
        s = hi + x
        t = s - hi
        low = lo + ((hi - (s - t)) + (x - t))
        self._hi = hi = s + low
        t = hi - s
        self._lo = (s - (hi - t)) + (low - t)
        n = self._n
        at += 1
        self._next = at if at < n else 0
        if self._filled < n:
            self._filled += 1
            if self._filled < n:
                return
        self.previous = self.value
        self.value = NAN if self._tainted else hi / n
        self.count += 1


class WMA(Line):
    """The linearly weighted moving average: the newest counts n times, the oldest once."""

    __slots__ = ("_divisor", "_total", "_weighted", "_window")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._window, self._total, self._weighted = Window(period(n)), Sum(), Sum()
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


class Ema:
    __slots__ = ("period", "seen", "value", "weight")

    def __init__(self, n: int) -> None:
        self.value, self.weight, self.period, self.seen = 0.0, 2 / float(n + 1), n, 0

    def add(self, x: float) -> bool:
        x = or_nan(x)
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
        self._average = Ema(period(n))

    def add(self, x: float) -> None:
        if self._average.add(x):
            self._set(self._average.value)


class DEMA(Line):
    """The double exponential average 2*EMA - EMA(EMA), ready with value 2n-1."""

    __slots__ = ("_first", "_second")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._first, self._second = Ema(period(n)), Ema(n)

    def add(self, x: float) -> None:
        if self._first.add(x) and self._second.add(self._first.value):
            self._set(2 * self._first.value - self._second.value)


class TEMA(Line):
    """The triple exponential average 3*EMA - 3*EMA(EMA) + EMA(EMA(EMA)), ready with value 3n-2."""

    __slots__ = ("_first", "_second", "_third")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._first, self._second, self._third = Ema(period(n)), Ema(n), Ema(n)

    def add(self, x: float) -> None:
        first, second, third = self._first, self._second, self._third
        if first.add(x) and second.add(first.value) and third.add(second.value):
            self._set(third.value + (3 * first.value - 3 * second.value))


class KAMA(Line):
    """Kaufman's adaptive average: the more the last n changes go one way, the nearer its weight
    is to that of EMA(fast) instead of EMA(slow). Ready with value n+1."""

    __slots__ = ("_average", "_before", "_changes", "_low", "_spread", "_values")

    def __init__(self, n: int = 10, fast: int = 2, slow: int = 30) -> None:
        super().__init__()
        self._values, self._changes = Window(period(n) + 1), Rolling(n)
        if period(fast, "fast") >= period(slow, "slow"):
            raise ValueError(f"fast is {fast}, must be below slow ({slow})")
        self._low = 2 / float(slow + 1)
        self._spread = 2 / float(fast + 1) - self._low
        self._average, self._before = 0.0, 0.0

    def add(self, x: float) -> None:
        x = or_nan(x)
        values = self._values
        if values.filled:
            self._changes.add(abs(x - self._before))
        self._before, _ = values.push(x)
        if not values.full:
            self._average = x + self._average * 0
            return
        moved, path, efficiency = abs(x - values.oldest()), self._changes.total(), 1.0
        if moved < path:
            efficiency = moved / path
        weight = efficiency * self._spread + self._low
        self._average += (x - self._average) * (weight * weight)
        self._set(self._average)


class HMA(Line):
    """Hull's moving average: WMA over sqrt(n) values of 2*WMA(n/2) - WMA(n), both rounded down,
    ready with value n+sqrt(n)-1."""

    __slots__ = ("_half", "_smooth", "_whole")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._half, self._whole = WMA(max(1, period(n) // 2)), WMA(n)
        self._smooth = WMA(math.isqrt(n))

    def add(self, x: float) -> None:
        self._half.add(x)
        self._whole.add(x)
        if not self._whole.ready:
            return
        self._smooth.add(2 * self._half.value - self._whole.value)
        if self._smooth.ready:
            self._set(self._smooth.value)


class MACD(Line):
    """The difference of a fast and a slow EMA, the EMA of that difference (``signal``) and
    the distance of the two (``histogram``); all three are ready at once."""

    __slots__ = ("_average", "_fast", "_slow", "histogram", "signal")

    def __init__(self, fast: int = 12, slow: int = 26, signal: int = 9) -> None:
        super().__init__()
        if period(fast, "fast") >= period(slow, "slow"):
            raise ValueError(f"fast is {fast}, must be below slow ({slow})")
        self._fast, self._slow = Ema(fast), Ema(slow)
        self._average = Ema(period(signal, "signal"))
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
