"""Statistics of the newest values."""

from __future__ import annotations

import math
from bisect import bisect_left, insort

from ._line import NAN, Line, Moments, Rolling, Sum, Track, Window, joint, or_nan, period, width


class ZScore(Line):
    """How many population standard deviations of the last n values the newest is above their
    average; 0 when all are equal."""

    __slots__ = ("_moments",)

    def __init__(self, n: int) -> None:
        super().__init__()
        self._moments = Moments(period(n))

    def add(self, x: float) -> None:
        moments = self._moments
        x, _ = moments.add(x)
        if not moments.full:
            return
        d = math.sqrt(moments.variance())
        self._set(moments.trusted((x - moments.mean()) / d if d > 0 else 0.0))


class LinearRegression(Line):
    """The least-squares line through the last n values: ``value`` is its end at the newest,
    ``slope`` its rise per value, ``r2`` the share of the variance that it explains."""

    __slots__ = ("_moments", "_spread", "_weighted", "_weights", "r2", "slope")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._moments, self._weighted = Moments(period(n, least=2)), Sum()
        x = float(n)
        self._weights, self._spread = x * (x + 1) / 2, x * x * (x * x - 1) / 12
        self.slope, self.r2 = Line(), Line()

    def add(self, x: float) -> None:
        moments = self._moments
        if moments.full:
            self._weighted.add(-moments.sum.hi)
            self._weighted.add(-moments.sum.lo)
        end, _ = moments.add(x)
        self._weighted.add_product(float(moments.filled), end)
        if not moments.full:
            return
        slope = fit = 0.0
        scatter = moments.scatter()
        if scatter > 0:
            weights = Sum()
            weights.hi = self._weights
            both = joint(float(moments.filled), self._weighted, weights, moments.sum)
            slope = both / self._spread
            end = moments.mean() + slope * float(moments.filled - 1) / 2
            fit = min(slope * (both / scatter), 1.0)
        self._set(moments.trusted(end))
        self.slope._set(moments.trusted(slope))
        self.r2._set(moments.trusted(fit))


class _Pair:
    __slots__ = ("products", "x", "y")

    def __init__(self, n: int) -> None:
        self.x, self.y, self.products = Moments(n), Moments(n), Sum()

    def add(self, x: float, y: float) -> None:
        in_x, out_x = self.x.add(x)
        in_y, out_y = self.y.add(y)
        self.products.add_product(-out_x, out_y)
        self.products.add_product(in_x, in_y)

    def joint(self) -> float:
        return joint(float(self.x.filled), self.products, self.x.sum, self.y.sum)

    def trusted(self, x: float) -> float:
        return self.x.trusted(self.y.trusted(x))


class Correlation(Line):
    """Pearson's correlation of the last n pairs of values, 0 where one side does not change."""

    __slots__ = ("_pair",)

    def __init__(self, n: int) -> None:
        super().__init__()
        self._pair = _Pair(period(n, least=2))

    def add(self, x: float, y: float) -> None:
        """Takes the next value of both."""
        self._pair.add(x, y)
        if not self._pair.x.full:
            return
        r, x, y = 0.0, self._pair.x.scatter(), self._pair.y.scatter()
        if x > 0 and y > 0:
            r = self._pair.joint() / math.sqrt(x) / math.sqrt(y)
        self._set(self._pair.trusted(max(-1.0, min(r, 1.0))))


class Beta(Line):
    """The slope of an asset's returns on those of a market over n candles, ready with candle
    n+1. TA-Lib has the market first."""

    __slots__ = ("_asset", "_market", "_pair")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._pair, self._asset, self._market = _Pair(period(n, least=2)), Track(), Track()

    def add(self, asset: float, market: float) -> None:
        """Takes the next price of both."""
        self._asset.add(or_nan(asset))
        self._market.add(or_nan(market))
        if self._asset.count == 1:
            return
        self._pair.add(_change(self._market), _change(self._asset))
        if not self._pair.x.full:
            return
        scatter = self._pair.x.scatter()
        self._set(self._pair.trusted(self._pair.joint() / scatter if scatter > 0 else 0.0))


def _change(price: Track) -> float:
    if price.previous == 0:
        return price.value * 0
    return price.value / price.previous - 1


class Quantile(Line):
    """The value below which a share q of the last n values is, by linear interpolation as in
    NumPy: 0.5 is the median."""

    __slots__ = ("_below", "_part", "_sorted", "_window")

    def __init__(self, n: int, q: float) -> None:
        super().__init__()
        self._window = Window(period(n))
        if not 0 <= q <= 1:
            raise ValueError(f"q is {q!r}, must be 0 to 1")
        place = q * float(n - 1)
        self._below = int(place)
        self._part = place - float(self._below)
        self._sorted: list[float] = []

    def add(self, x: float) -> None:
        window, values = self._window, self._sorted
        was_full = window.full
        value, out = window.push(x)
        if was_full:
            del values[bisect_left(values, out)]
        insort(values, value)
        if not window.full:
            return
        under = values[self._below]
        over = values[self._below + 1] if self._below + 1 < window.n else under
        self._set(window.trusted(under + (over - under) * self._part))


class RealizedVolatility(Line):
    """sqrt(sum(r^2) * per_year / n) of the last n logarithmic returns r, as a fraction; per_year
    is how many candles a year has: 365 for days, 8760 for hours. Ready with value n+1."""

    __slots__ = ("_before", "_per_year", "_seen", "_squares")

    def __init__(self, n: int, per_year: float) -> None:
        super().__init__()
        self._squares, self._per_year = Rolling(period(n)), width(per_year, "per_year")
        self._before, self._seen = 0.0, False

    def add(self, x: float) -> None:
        """Takes the next price. One that is not above 0 is no number here."""
        before, self._before = self._before, _logarithm(or_nan(x))
        if not self._seen:
            self._seen = True
            return
        r = self._before - before
        squares = self._squares
        squares.add(r * r)
        if squares.full:
            total = max(squares.total(), 0.0)
            value = math.sqrt(total / float(squares.filled) * self._per_year)
            self._set(squares.trusted(value))


def _logarithm(x: float) -> float:
    """The natural one, in the operations of the Go SDK: math.log has other last bits."""
    if not x > 0:
        return NAN
    f, exponent = math.frexp(x)
    if f < math.sqrt(2) / 2:
        f *= 2
        exponent -= 1
    f -= 1
    k, s = float(exponent), f / (2 + f)
    s2 = s * s
    s4 = s2 * s2
    odd = s4 * 1.479819860511658591e-01 + 1.818357216161805012e-01
    odd = s4 * odd + 2.857142874366239149e-01
    odd = s4 * odd + 6.666666666666735130e-01
    even = s4 * 1.531383769920937332e-01 + 2.222219843214978396e-01
    even = s4 * even + 3.999999999940941908e-01
    r = s2 * odd + s4 * even
    half = 0.5 * (f * f)
    low = s * (half + r) + k * 1.90821492927058770002e-10
    return k * 6.93147180369123816490e-01 - ((half - low) - f)
