"""Candles: smoothed ones, the levels of those before, and their shapes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Literal, NamedTuple, get_args

from ._line import (
    NAN,
    FullBar,
    Line,
    Rolling,
    TimedBar,
    greater,
    or_nan,
    session_length,
    session_of,
    smaller,
    usable,
)


class SmoothedBar(NamedTuple):
    """A candle of `HeikinAshi`, with the volume of the real one."""

    open: float
    high: float
    low: float
    close: float
    volume: float


class HeikinAshi(Line):
    """Smoothed candles: ``value`` is the close, ``open``, ``high`` and ``low`` are lines, ``bar``
    is what other indicators take. Ready with the first candle."""

    __slots__ = ("_volume", "high", "low", "open")

    def __init__(self) -> None:
        super().__init__()
        self.open, self.high, self.low, self._volume = Line(), Line(), Line(), Line()

    @property
    def bar(self) -> SmoothedBar:
        """The newest candle."""
        prices = self.open.value, self.high.value, self.low.value, self.value
        return SmoothedBar(*prices, self._volume.value)

    def add(self, bar: FullBar) -> None:
        """Takes the next candle: the view, or what has open, high, low, close and volume."""
        start = (bar.open + bar.close) / 2
        if self.count:
            start = (self.open.value + self.value) / 2
        price = or_nan((bar.open + bar.high + bar.low + bar.close) / 4)
        if price != price or start != start:
            start = price = NAN
        high = greater(greater(bar.high, start), price)
        low = smaller(smaller(bar.low, start), price)
        self._set(price)
        self.open._set(start)
        self.high._set(high)
        self.low._set(low)
        self._volume._set(bar.volume)


class Pivots(Line):
    """The classic pivot points of the session before: ``value``, ``r1`` to ``r3`` above it and
    ``s1`` to ``s3`` below. Sessions of the given length follow each other since 1970; ready with
    the second one."""

    __slots__ = ("_bar", "_length", "_levels", "_session", "r1", "r2", "r3", "s1", "s2", "s3")

    def __init__(self, length: timedelta = timedelta(days=1)) -> None:  # noqa: B008
        super().__init__()
        self._length = session_length(length)
        self._session: int | None = None
        self._bar = (0.0, 0.0, 0.0)
        self._levels: tuple[float, ...] = ()
        self.r1, self.r2, self.r3 = Line(), Line(), Line()
        self.s1, self.s2, self.s3 = Line(), Line(), Line()

    def add(self, bar: TimedBar) -> None:
        """Takes the next candle, ``v.candle``."""
        high, low, price = or_nan(bar.high), or_nan(bar.low), or_nan(bar.close)
        session = session_of(bar.open_time, self._length)
        top, bottom, last = self._bar
        if session != self._session:
            if self._session is not None:
                self._levels = _levels(top, bottom, last)
            self._session, top, bottom = session, high, low
        self._bar = greater(top, high), smaller(bottom, low), price
        if not self._levels:
            return
        lines = (self, self.r1, self.r2, self.r3, self.s1, self.s2, self.s3)
        for line, level in zip(lines, self._levels, strict=True):
            line._set(level)


def _levels(high: float, low: float, price: float) -> tuple[float, ...]:
    middle, reach = (high + low + price) / 3, high - low
    return (
        middle,
        2 * middle - low,
        middle + reach,
        high + 2 * (middle - low),
        2 * middle - high,
        middle - reach,
        low - 2 * (high - middle),
    )


#: What `Pattern` looks for: the shapes of TA-Lib, with its default settings.
Shape = Literal[
    "doji",
    "hammer",
    "hanging_man",
    "shooting_star",
    "engulfing",
    "harami",
    "piercing",
    "dark_cloud_cover",
    "morning_star",
    "evening_star",
]


class _Figure:
    """A candle with the means of those before it."""

    __slots__ = (
        "body",
        "bottom",
        "close",
        "high",
        "long",
        "low",
        "lower",
        "near",
        "open",
        "tiny",
        "top",
        "upper",
        "white",
    )

    def __init__(self, bar: FullBar, long: float, tiny: float, near: float) -> None:
        self.open, self.high, self.low, self.close = bar.open, bar.high, bar.low, bar.close
        self.body, self.white = abs(bar.close - bar.open), bar.close >= bar.open
        self.top, self.bottom = max(bar.open, bar.close), min(bar.open, bar.close)
        self.upper, self.lower = bar.high - self.top, self.bottom - bar.low
        self.long, self.tiny, self.near = long, tiny, near

    def dropped(self) -> bool:
        """A short body with a long lower shadow and hardly an upper one."""
        return self.body < self.long and self.lower > self.body and self.upper < self.tiny


class Pattern(Line):
    """Tells a shape of one to three candles: ``value`` is 1 at a candle that completes a bullish
    one, -1 at a bearish one (doji: 1), else 0. Ready with candle 13."""

    __slots__ = ("_bodies", "_find", "_near", "_newest", "_ranges", "_seen", "_spoilt")

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        if shape not in _FIND:
            raise ValueError(f"there is no shape {shape!r}, only {', '.join(get_args(Shape))}")
        self._find = _FIND[shape]
        self._bodies, self._ranges, self._near = Rolling(10), Rolling(10), Rolling(5)
        self._newest: list[_Figure] = []
        self._seen = self._spoilt = 0

    def add(self, bar: FullBar) -> None:
        """Takes the next candle: the view, or what has open, high, low and close."""
        long, tiny, near = NAN, NAN, NAN
        if self._seen:
            long, tiny = self._bodies.mean(), 0.1 * self._ranges.mean()
            near = 0.2 * self._near.mean()
        self._newest = [_Figure(bar, long, tiny, near), *self._newest[:2]]
        self._bodies.add(self._newest[0].body)
        self._ranges.add(bar.high - bar.low)
        self._near.add(bar.high - bar.low)
        if self._spoilt:
            self._spoilt -= 1
        if not (usable(bar.open) and usable(bar.high) and usable(bar.low) and usable(bar.close)):
            self._spoilt = _CANDLES
        self._seen += 1
        if self._seen >= _CANDLES:
            self._set(NAN if self._spoilt else float(self._find(*self._newest)))


_CANDLES = 13


def _doji(c: _Figure, b: _Figure, a: _Figure) -> int:
    return int(c.body <= c.tiny)


def _hammer(c: _Figure, b: _Figure, a: _Figure) -> int:
    return int(c.dropped() and c.bottom <= b.low + b.near)


def _hanging_man(c: _Figure, b: _Figure, a: _Figure) -> int:
    return -int(c.dropped() and c.bottom >= b.high - b.near)


def _shooting_star(c: _Figure, b: _Figure, a: _Figure) -> int:
    small = c.body < c.long and c.upper > c.body and c.lower < c.tiny
    return -int(small and c.bottom > b.top)


def _engulfing(c: _Figure, b: _Figure, a: _Figure) -> int:
    covers = c.top >= b.top and c.bottom <= b.bottom and (c.top > b.top or c.bottom < b.bottom)
    if not covers or c.white == b.white:
        return 0
    return 1 if c.white else -1


def _harami(c: _Figure, b: _Figure, a: _Figure) -> int:
    within = b.body > b.long and c.body <= c.long and c.top <= b.top and c.bottom >= b.bottom
    if not within:
        return 0
    return -1 if b.white else 1


def _piercing(c: _Figure, b: _Figure, a: _Figure) -> int:
    found = b.body > b.long and not b.white and c.body > c.long and c.white
    return int(found and c.open < b.low and c.close < b.open and c.close > b.close + b.body * 0.5)


def _dark_cloud_cover(c: _Figure, b: _Figure, a: _Figure) -> int:
    found = b.body > b.long and b.white and not c.white
    return -int(found and c.open > b.high and c.close > b.open and c.close < b.close - b.body * 0.5)


def _morning_star(c: _Figure, b: _Figure, a: _Figure) -> int:
    star = a.body > a.long and not a.white and b.body <= b.long and b.top < a.bottom
    return int(star and c.body > c.long and c.white and c.close > a.close + a.body * 0.3)


def _evening_star(c: _Figure, b: _Figure, a: _Figure) -> int:
    star = a.body > a.long and a.white and b.body <= b.long and b.bottom > a.top
    return -int(star and c.body > c.long and not c.white and c.close < a.close - a.body * 0.3)


_FIND: dict[str, Callable[[_Figure, _Figure, _Figure], int]] = {
    "doji": _doji,
    "hammer": _hammer,
    "hanging_man": _hanging_man,
    "shooting_star": _shooting_star,
    "engulfing": _engulfing,
    "harami": _harami,
    "piercing": _piercing,
    "dark_cloud_cover": _dark_cloud_cover,
    "morning_star": _morning_star,
    "evening_star": _evening_star,
}
