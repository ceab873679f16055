"""Stands for ``freqtrade.vendor.qtpylib.indicators`` and ``technical.qtpylib``."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from .. import Unsupported

__all__ = [
    "atr",
    "bollinger_bands",
    "crossed",
    "crossed_above",
    "crossed_below",
    "ema",
    "heikinashi",
    "hull_moving_average",
    "mid_price",
    "numpy_rolling_mean",
    "numpy_rolling_std",
    "rolling_mean",
    "rolling_std",
    "rolling_vwap",
    "sma",
    "true_range",
    "typical_price",
    "weighted_bollinger_bands",
    "weighted_moving_average",
    "wma",
    "zscore",
]


def _series(values: Any, like: Any = None) -> Any:
    if isinstance(values, pd.Series):
        return values
    index = like.index if isinstance(like, pd.Series) else None
    if np.isscalar(values):
        return pd.Series(values, index=index, dtype="float64")
    return pd.Series(np.asarray(values), index=index)


def crossed(series1: Any, series2: Any, direction: str | None = None) -> Any:
    """Where the first crosses the second, which may be a number: above, below or either."""
    a = _series(series1, series2)
    b = _series(series2, a)
    above = (a > b) & (a.shift(1) <= b.shift(1))
    below = (a < b) & (a.shift(1) >= b.shift(1))
    if direction is None:
        return above | below
    return above if direction == "above" else below


def crossed_above(series1: Any, series2: Any) -> Any:
    """Where the first goes above the second and was not above it before."""
    return crossed(series1, series2, "above")


def crossed_below(series1: Any, series2: Any) -> Any:
    """Where the first goes below the second and was not below it before."""
    return crossed(series1, series2, "below")


def typical_price(bars: Any) -> Any:
    """The mean of high, low and close."""
    return (bars["high"] + bars["low"] + bars["close"]) / 3


def mid_price(bars: Any) -> Any:
    """The mean of high and low."""
    return (bars["high"] + bars["low"]) / 2


def rolling_mean(series: Any, window: int = 200, min_periods: int | None = None) -> Any:
    return _series(series).rolling(window, min_periods=min_periods or window).mean()


def rolling_std(series: Any, window: int = 200, min_periods: int | None = None) -> Any:
    """The sample's standard deviation."""
    return _series(series).rolling(window, min_periods=min_periods or window).std()


numpy_rolling_mean, numpy_rolling_std = rolling_mean, rolling_std
sma = rolling_mean


def ema(series: Any, window: int = 200, min_periods: int | None = None) -> Any:
    return _series(series).ewm(span=window, min_periods=min_periods or window).mean()


def weighted_moving_average(series: Any, window: int = 200, min_periods: int | None = None) -> Any:
    """The mean with weights that rise by one from the oldest value on."""
    weights = np.arange(1, window + 1)
    rolled = _series(series).rolling(window, min_periods=min_periods or window)
    return rolled.apply(
        lambda x: (x * weights[-len(x) :]).sum() / weights[-len(x) :].sum(), raw=True
    )


wma = weighted_moving_average


def hull_moving_average(series: Any, window: int = 200, min_periods: int | None = None) -> Any:
    half, root = max(window // 2, 1), max(int(np.sqrt(window)), 1)
    twice = 2 * wma(series, half) - wma(series, window)
    return wma(twice, root)


def bollinger_bands(series: Any, window: int = 20, stds: float = 2) -> Any:
    """The columns upper, mid and lower, of the sample's standard deviation."""
    values = _series(series)
    mid, width = rolling_mean(values, window, 1), rolling_std(values, window, 1)
    return pd.DataFrame({"upper": mid + width * stds, "mid": mid, "lower": mid - width * stds})


def weighted_bollinger_bands(series: Any, window: int = 20, stds: float = 2) -> Any:
    """As `bollinger_bands`, around an exponential mean."""
    values = _series(series)
    mid, width = values.ewm(span=window).mean(), rolling_std(values, window, 1)
    return pd.DataFrame({"upper": mid + width * stds, "mid": mid, "lower": mid - width * stds})


def true_range(bars: Any) -> Any:
    before = bars["close"].shift(1)
    parts = (
        bars["high"] - bars["low"],
        (bars["high"] - before).abs(),
        (bars["low"] - before).abs(),
    )
    return pd.concat(parts, axis=1).max(axis=1)


def atr(bars: Any, window: int = 14, exp: bool = False) -> Any:
    """The mean true range."""
    ranges = true_range(bars)
    return ranges.ewm(span=window).mean() if exp else ranges.rolling(window).mean()


def rolling_vwap(bars: Any, window: int = 200, min_periods: int | None = None) -> Any:
    rolled = {"window": window, "min_periods": min_periods or window}
    money = (bars["volume"] * typical_price(bars)).rolling(**rolled).sum()
    return money / bars["volume"].rolling(**rolled).sum()


def zscore(bars: Any, window: int = 20, stds: float = 1, col: str = "close") -> Any:
    """How many standard deviations a column is from its mean."""
    return (bars[col] - rolling_mean(bars[col], window)) / rolling_std(bars[col], window)


def heikinashi(bars: Any) -> Any:
    """The columns open, high, low and close of smoothed candles."""
    close = (bars["open"] + bars["high"] + bars["low"] + bars["close"]) / 4
    opens = np.empty(len(bars))
    if len(bars):
        opens[0] = (bars["open"].iloc[0] + bars["close"].iloc[0]) / 2
    smoothed = close.to_numpy()
    for i in range(1, len(bars)):
        opens[i] = (opens[i - 1] + smoothed[i - 1]) / 2
    begin = pd.Series(opens, index=bars.index)
    return pd.DataFrame(
        {
            "open": begin,
            "high": pd.concat((bars["high"], begin, close), axis=1).max(axis=1),
            "low": pd.concat((bars["low"], begin, close), axis=1).min(axis=1),
            "close": close,
        }
    )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    raise Unsupported(f"qtpylib.{name}: there are {', '.join(__all__)}")
