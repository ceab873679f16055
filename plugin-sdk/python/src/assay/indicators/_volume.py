"""Prices weighed by volume."""

from __future__ import annotations

from datetime import timedelta

from ._line import (
    NAN,
    FullBar,
    Line,
    Rolling,
    Sum,
    TimedBar,
    Track,
    or_nan,
    percent,
    period,
    session_length,
    session_of,
    typical,
)


class VWAP(Line):
    """The volume-weighted average of the typical price over the last n candles; the newest one
    while none of them has volume."""

    __slots__ = ("_turnover", "_volume")

    def __init__(self, n: int) -> None:
        super().__init__()
        self._turnover, self._volume = Rolling(period(n)), Rolling(n)

    def add(self, bar: FullBar) -> None:
        """Takes the next candle: the view, or what has high, low, close and volume."""
        price = typical(bar)
        self._turnover.add(price * bar.volume)
        self._volume.add(bar.volume)
        if not self._volume.full:
            return
        if self._volume.nonzero:
            price = self._turnover.sum.hi / self._volume.sum.hi
        self._set(self._turnover.trusted(price))


class SessionVWAP(Line):
    """The volume-weighted average of the typical price since the session began: sessions of the
    given length since 1970, ``timedelta(days=1)`` for UTC days, or one without end."""

    __slots__ = ("_length", "_session", "_turnover", "_volume")

    def __init__(self, length: timedelta | None = None) -> None:
        super().__init__()
        self._length = session_length(length) if length is not None else 0
        self._session = 0
        self._begin()

    def reset(self) -> None:
        """Begins a new session with the next candle."""
        self._begin()

    def _begin(self) -> None:
        self._turnover, self._volume = Sum(), Sum()

    def add(self, bar: TimedBar) -> None:
        """Takes the next candle, ``v.candle``."""
        if self._length:
            session = session_of(bar.open_time, self._length)
            if session != self._session:
                self._session = session
                self._begin()
        price = typical(bar)
        self._turnover.add(or_nan(price * bar.volume))
        self._volume.add(or_nan(bar.volume))
        if self._volume.hi != 0:
            price = self._turnover.hi / self._volume.hi
        elif self._turnover.hi != 0:
            price = NAN
        self._set(price)


class OBV(Line):
    """Granville's on-balance volume: volume of candles that close higher is added, of those that
    close lower subtracted. Ready with the first candle."""

    __slots__ = ("_close", "_total")

    def __init__(self) -> None:
        super().__init__()
        self._total, self._close = Sum(), 0.0

    def add(self, bar: FullBar) -> None:
        """Takes the next candle: the view, or what has close and volume."""
        volume, price = or_nan(bar.volume), or_nan(bar.close)
        if price != price:
            volume = price
        elif self.count and price < self._close:
            volume = -volume
        elif self.count and not price > self._close:
            volume = volume * 0
        self._close = bar.close
        self._total.add(volume)
        self._set(self._total.hi)


class MFI(Line):
    """The money flow index, 0 to 100: the share of turnover, over n candles, in which the typical
    price rose. Ready with candle n+1."""

    __slots__ = ("_gained", "_lost", "_price")

    def __init__(self, n: int = 14) -> None:
        super().__init__()
        self._gained, self._lost, self._price = Rolling(period(n)), Rolling(n), Track()

    def add(self, bar: FullBar) -> None:
        """Takes the next candle: the view, or what has high, low, close and volume."""
        price = self._price
        price.add(or_nan(typical(bar)))
        if price.count == 1:
            return
        gained = lost = 0.0
        flow = price.value * bar.volume
        if price.value > price.previous:
            gained = flow
        elif price.value < price.previous:
            lost = flow
        elif price.value != price.previous:
            gained = NAN
        self._gained.add(gained)
        self._lost.add(lost)
        if self._gained.full:
            share = percent(self._gained.total(), self._gained.total() + self._lost.total())
            self._set(self._lost.trusted(self._gained.trusted(share)))


class CMF(Line):
    """Chaikin's money flow, -1 to 1: where in their ranges the last n candles closed, weighted by
    their volume."""

    __slots__ = ("_flow", "_volume")

    def __init__(self, n: int = 20) -> None:
        super().__init__()
        self._flow, self._volume = Rolling(period(n)), Rolling(n)

    def add(self, bar: FullBar) -> None:
        """Takes the next candle: the view, or what has high, low, close and volume."""
        high, low, price = or_nan(bar.high), or_nan(bar.low), or_nan(bar.close)
        place = ((price - low) - (high - price)) / (high - low) if high != low else 0.0
        self._flow.add(place * bar.volume)
        self._volume.add(bar.volume)
        if not self._flow.full:
            return
        share = self._flow.total() / self._volume.sum.hi if self._volume.nonzero else 0.0
        self._set(self._flow.trusted(share))
