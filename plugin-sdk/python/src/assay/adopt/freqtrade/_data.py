"""Candles as pandas DataFrames, and the data provider that hands them out."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from .. import Unsupported

COLUMNS = ("open", "high", "low", "close", "volume")


class Candles:
    """The candles of one pair and timeframe that a strategy sees, oldest first."""

    def __init__(self, keep: int) -> None:
        self._keep = keep  #: how many; 0: all
        self._size = 0
        self._rows = np.empty((5, 1024))
        self._times = np.empty(1024, "int64")

    def __len__(self) -> int:
        return self._size

    def add(self, time: int, row: tuple[float, ...]) -> None:
        """Adds a candle by its open time in Unix milliseconds."""
        if self._size == self._times.size:
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)], axis=1)
            self._times = np.concatenate([self._times, np.empty_like(self._times)])
        self._rows[:, self._size] = row
        self._times[self._size] = time
        self._size += 1

    def show(self, size: int) -> None:
        """Shows so many of those that were added."""
        self._size = size

    def cut(self, keep: int) -> None:
        """Drops all but the newest."""
        first = max(0, self._size - keep)
        self._rows[:, : self._size - first] = self._rows[:, first : self._size].copy()
        self._times[: self._size - first] = self._times[first : self._size].copy()
        self._size -= first

    def begin(self) -> None:
        """Begins a block: frames of it have the newest candles of now, and those that come."""
        if self._keep:
            self.cut(self._keep)

    def frame(self) -> Any:
        """A DataFrame of its own: date and columns."""
        columns: dict[str, Any] = {
            "date": pd.DatetimeIndex(self._times[: self._size].astype("datetime64[ms]"), tz="UTC")
        }
        for i, name in enumerate(COLUMNS):
            columns[name] = self._rows[i, : self._size].copy()
        return pd.DataFrame(columns)


class RunMode(SimpleNamespace):
    """How the strategy is played: backtest or live."""

    value: str


class Provider:
    """Hands out candles of pairs and larger timeframes: ``self.dp`` of a strategy."""

    def __init__(
        self, pairs: tuple[str, ...], timeframe: str, candles: Callable[[str, str], Candles]
    ) -> None:
        self._pairs, self._timeframe, self._candles = pairs, timeframe, candles
        self.runmode = RunMode(value="backtest")
        #: of each pair its frame, how many rows of it are over, and when that was
        self.analyzed: dict[str, tuple[Any, int, Any]] = {}
        self.asked = 0  #: how often a strategy has asked for one

    def current_whitelist(self) -> list[str]:
        """The pairs of the run."""
        return list(self._pairs)

    @property
    def available_pairs(self) -> list[tuple[str, str]]:
        return [(p, self._timeframe) for p in self._pairs]

    def get_pair_dataframe(
        self, pair: str, timeframe: str | None = None, candle_type: str = ""
    ) -> Any:
        """The candles so far of a pair, on the run's timeframe or one that it asked for."""
        if candle_type not in ("", "spot", None):
            raise Unsupported(f"dp.get_pair_dataframe(candle_type={candle_type!r})")
        return self._candles(pair, timeframe or self._timeframe).frame()

    ohlcv = historic_ohlcv = get_pair_dataframe

    def get_analyzed_dataframe(self, pair: str, timeframe: str | None = None) -> tuple[Any, Any]:
        """The candles of a pair with its indicators, and when they were made."""
        if timeframe not in (None, self._timeframe):
            raise Unsupported(f"dp.get_analyzed_dataframe of {timeframe}: it has {self._timeframe}")
        self.asked += 1
        if pair not in self.analyzed:
            return pd.DataFrame(), pd.Timestamp(0, tz="UTC")
        frame, rows, at = self.analyzed[pair]
        return frame if rows == len(frame) else frame.iloc[:rows], at

    def send_msg(self, *args: Any, **kwargs: Any) -> None:
        """Goes nowhere."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(f"dp.{name}: a run has candles only")


class Wallets:
    """What is free and what is held: ``self.wallets`` of a strategy."""

    def __init__(self) -> None:
        self.free = self.equity = 0.0
        self.held: dict[str, float] = {}
        self.stake = ""

    def get_free(self, currency: str) -> float:
        return self.free if currency == self.stake else 0.0

    def get_used(self, currency: str) -> float:
        return 0.0

    def get_total(self, currency: str) -> float:
        return self.free if currency == self.stake else self.held.get(currency, 0.0)

    def get_total_stake_amount(self) -> float:
        """The equity at the last close."""
        return self.equity

    def get_starting_balance(self) -> float:
        raise Unsupported("wallets.get_starting_balance: a strategy is not told")
