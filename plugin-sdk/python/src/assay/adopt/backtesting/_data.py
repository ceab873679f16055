"""Columns: NumPy arrays that know their name and their times, and grow by a candle a step."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import Unsupported

COLUMNS = ("Open", "High", "Low", "Close", "Volume")
_NO_TIMES = np.empty(0, "datetime64[ms]")


def frames() -> Any:
    """The module pandas, which is imported when it is needed: that takes a while."""
    try:
        import pandas
    except ImportError:
        raise Unsupported(
            "data.index, .s, .df and resample_apply need pandas: list it in pyproject.toml under "
            "dependencies and install it"
        ) from None
    return pandas


class Column(np.ndarray[Any, Any]):
    """An array whose truth and number are those of its last value."""

    name: str
    times: np.ndarray[Any, Any]

    def __array_finalize__(self, parent: Any) -> None:
        self.name = getattr(parent, "name", "")
        self.times = getattr(parent, "times", _NO_TIMES)

    def __bool__(self) -> bool:
        return bool(np.asarray(self).flat[-1])

    def __float__(self) -> float:
        return float(np.asarray(self).flat[-1])

    @property
    def s(self) -> Any:
        """A pandas Series of it, by the open times of the candles."""
        if self.ndim != 1:
            raise Unsupported(f".s of {self.name}, which is a table of {len(self)} lines: take one")
        return frames().Series(np.asarray(self), index=index(self.times), name=self.name)

    @property
    def df(self) -> Any:
        """A pandas DataFrame of it."""
        values = np.atleast_2d(np.asarray(self)).T
        return frames().DataFrame(values, index=index(self.times))


class Indicator(Column):
    """What `Strategy.I` made."""


def column(kind: type[Column], values: Any, name: str, times: Any) -> Any:
    """An array as a column of a kind."""
    made = np.asarray(values).view(kind)
    made.name, made.times = name, times
    return made


def index(times: Any) -> Any:
    """Times as pandas has them, without a time zone: they are UTC."""
    return frames().DatetimeIndex(times)


class NoColumn(Unsupported, AttributeError):
    """Names a column that runs do not have."""


class Data:
    """The candles so far: ``Open``, ``High``, ``Low``, ``Close``, ``Volume``, ``index``, ``df``."""

    def __init__(self) -> None:
        self._size = self._added = 0
        self._rows = np.empty((5, 1024))
        self._times = np.empty(1024, "datetime64[ms]")
        self._cached: dict[str, Any] = {}

    def _add(self, time: int, row: tuple[float, ...]) -> None:
        self._cached = {}
        if self._size < self._added:  # it was added as a later candle
            self._size += 1
            return
        if self._size == self._times.size:
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)], axis=1)
            self._times = np.concatenate([self._times, np.empty_like(self._times)])
        self._rows[:, self._size] = row
        self._times[self._size] = np.datetime64(time, "ms")
        self._size = self._added = self._size + 1

    def _show(self, size: int) -> None:
        """Shows so many of the candles that were added."""
        self._size, self._cached = size, {}

    def __len__(self) -> int:
        return self._size

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in COLUMNS:
            raise NoColumn(f"data.{name}: a run has the columns {', '.join(COLUMNS)}")
        return self[name]

    def __getitem__(self, name: str) -> Any:
        if name not in COLUMNS:
            raise NoColumn(f"data[{name!r}]: a run has the columns {', '.join(COLUMNS)}")
        if name not in self._cached:
            values = self._rows[COLUMNS.index(name), : self._size]
            made = column(Column, values, name, self._times[: self._size])
            made.flags.writeable = False
            self._cached[name] = made
        return self._cached[name]

    @property
    def index(self) -> Any:
        """The open times of the candles, as pandas has them."""
        if "index" not in self._cached:
            self._cached["index"] = index(self._times[: self._size])
        return self._cached["index"]

    @property
    def df(self) -> Any:
        """All columns as a pandas DataFrame, a copy."""
        if "df" not in self._cached:
            rows = self._rows[:, : self._size].T.copy()
            self._cached["df"] = frames().DataFrame(rows, index=self.index, columns=list(COLUMNS))
        return self._cached["df"]
