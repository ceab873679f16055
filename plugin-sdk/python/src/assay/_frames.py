"""Keeps earlier candles, and builds larger timeframes by the rules resample-v1, as in Go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

_FORM = re.compile(r"([1-9][0-9]{0,3})([smhdwM])")
_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
_DAY = _MS["d"]
_MONDAY = 4 * _DAY  # 1970-01-05
_CAP = 100_000_000  # candles of the run's own timeframe that a warm-up may take


class Timeframe(NamedTuple):
    """The length of a candle."""

    number: int
    unit: str  #: s, m, h, d, w, M

    def __str__(self) -> str:
        return f"{self.number}{self.unit}"

    @property
    def length(self) -> int:
        """Milliseconds; 0 for months, which have no fixed length."""
        return self.number * _MS.get(self.unit, 0)

    @property
    def longest(self) -> int:
        """Milliseconds of the longest candle."""
        return self.length or self.number * 31 * _DAY

    def same(self, other: Timeframe) -> bool:
        """Whether candles of both are equally long, as those of 60m and 1h."""
        return self == other or 0 != self.length == other.length

    def divides(self, larger: Timeframe) -> bool:
        """Whether candles of it can be put together to the larger timeframe."""
        if larger.unit == "M":
            if self.unit == "M":
                return larger.number > self.number and larger.number % self.number == 0
            return _DAY % self.length == 0
        return 0 < self.length < larger.length and larger.length % self.length == 0

    def opening(self, at: int) -> int:
        """When a candle with this open time begins: of a daily one, stamped with the opening of a
        session, the day counts."""
        return at - at % _DAY if self.unit == "d" else at

    def bucket(self, at: int) -> tuple[int, int]:
        """Open and close of the candle in which a moment falls: counted from the epoch, weeks from
        Mondays, months by the calendar."""
        if self.unit == "M":
            day = datetime.fromtimestamp(at // 1000, UTC)
            first = ((day.year - 1970) * 12 + day.month - 1) // self.number * self.number
            return _month(first), _month(first + self.number)
        anchor = _MONDAY if self.unit == "w" else 0
        start = (at - anchor) // self.length * self.length + anchor
        return start, start + self.length


def _month(n: int) -> int:
    return int(datetime(1970 + n // 12, n % 12 + 1, 1, tzinfo=UTC).timestamp()) * 1000


def timeframe(name: str) -> Timeframe:
    """Reads a name such as 1h."""
    m = _FORM.fullmatch(name)
    if m is None:
        raise ValueError(
            f"{name!r} is not a timeframe: write a count and one of s, m, h, d, w, M, such as 1h"
        )
    return Timeframe(int(m[1]), m[2])


class Row(NamedTuple):
    """A finished candle, with times in Unix milliseconds."""

    open_time: int
    close_time: int
    open: float
    high: float
    low: float
    close: float
    volume: float


class Past:
    """The newest candles of one symbol and timeframe."""

    __slots__ = ("keep", "rows")

    def __init__(self, keep: int) -> None:
        self.keep = keep
        self.rows: list[Row] = []

    def add(self, row: Row) -> None:
        """Takes the next candle."""
        if self.keep == 0:
            return
        if len(self.rows) >= 2 * self.keep:
            del self.rows[: len(self.rows) - self.keep + 1]
        self.rows.append(row)

    def last(self, n: int) -> list[Row]:
        """The newest n candles, or all that are kept."""
        n = min(n, self.keep, len(self.rows))
        return self.rows[len(self.rows) - n :]


class Frame:
    """One symbol on a timeframe above the run's own."""

    __slots__ = ("base", "bucket", "closed", "cut", "done", "newest", "past", "timeframe")

    def __init__(self, base: Timeframe, larger: Timeframe, keep: int) -> None:
        self.base, self.timeframe, self.past = base, larger, Past(keep)
        self.newest: Row | None = None
        self.closed = False
        self.bucket: list[Any] | None = None  # a Row in the making
        self.cut = False
        self.done: int | None = None  # None: not begun

    def advance(self, now: int, c: Any) -> None:
        """Goes on to a step with the candle that closed then, None if none did."""
        self.closed = False
        b = self.bucket
        if c is not None and (self.done is None or c.open_time >= self.done):
            if b is not None and c.open_time >= b[1]:
                self._complete(b)
                b = None
            if b is None:
                opens, closes = self.timeframe.bucket(c.open_time)
                self.cut = self.done is None and self.base.opening(c.open_time) > opens
                if self.done is None:
                    self.done = opens
                b = self.bucket = [opens, closes, c.open, c.high, c.low, c.close, 0.0]
            b[3], b[4], b[5] = max(b[3], c.high), min(b[4], c.low), c.close
            b[6] += c.volume
        if b is not None and b[1] <= now:
            self._complete(b)

    def _complete(self, b: list[Any]) -> None:
        self.done, self.bucket = b[1], None
        if not self.cut:
            self.newest, self.closed = Row(*b), True
            self.past.add(self.newest)


class Kept(NamedTuple):
    """What a strategy looks back on."""

    warmup: int  #: candles of the run's own timeframe before the window
    own: int  #: of which so many are kept
    larger: dict[str, int]  #: candles of each timeframe of `extra`

    def check(self, run: str) -> None:
        """Raises ValueError if a timeframe cannot be built from the run's."""
        if not self.larger:
            return
        base = timeframe(run)
        for name, n in self.larger.items():
            larger = timeframe(name)
            if not base.same(larger) and not base.divides(larger):
                raise ValueError(f"{name} is no exact multiple of the run's timeframe {run}")
            if n * -(-larger.longest // base.longest) > _CAP:
                raise ValueError(f"{n} candles of {name} are more than {_CAP} of {run}")


def kept(warmup: int, lookback: Mapping[str, int], extra: tuple[str, ...]) -> Kept:
    """Reads what a strategy answers. Raises ValueError if it cannot be."""
    for name, n in lookback.items():
        if not isinstance(n, int) or not 0 <= n <= _CAP:
            raise ValueError(f"lookback() of {name!r} is {n!r}, must be 0 to {_CAP}")
        if name not in extra and name != "":
            raise ValueError(f"lookback() names {name}, which extra does not list")
    own = lookback.get("", 0)
    return Kept(max(warmup, own), own, {name: lookback.get(name, 0) for name in extra})
