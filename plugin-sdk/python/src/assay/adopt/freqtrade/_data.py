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
    """The newest candles of one pair and timeframe, oldest first."""

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
            if self._keep and self._size >= 2 * self._keep:
                self.cut(self._keep)
            else:
                self._rows = np.concatenate([self._rows, np.empty_like(self._rows)], axis=1)
                self._times = np.concatenate([self._times, np.empty_like(self._times)])
        self._rows[:, self._size] = row
        self._times[self._size] = time
        self._size += 1

    def cut(self, keep: int) -> None:
        """Drops all but the newest."""
        first = max(0, self._size - keep)
        self._rows[:, : self._size - first] = self._rows[:, first : self._size].copy()
        self._times[: self._size - first] = self._times[first : self._size].copy()
        self._size -= first

    def frame(self) -> Any:
        """A DataFrame of its own: date and columns."""
        first = max(0, self._size - self._keep) if self._keep else 0
        columns: dict[str, Any] = {
            "date": pd.DatetimeIndex(
                self._times[first : self._size].astype("datetime64[ms]"), tz="UTC"
            )
        }
        for i, name in enumerate(COLUMNS):
            columns[name] = self._rows[i, first : self._size].copy()
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
        self.analyzed: dict[str, tuple[Any, Any]] = {}

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
        return self.analyzed.get(pair, (pd.DataFrame(), pd.Timestamp(0, tz="UTC")))

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
