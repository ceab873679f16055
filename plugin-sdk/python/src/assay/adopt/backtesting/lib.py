"""Stands for ``backtesting.lib``: the helpers that a strategy calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Number
from typing import Any

import numpy as np

from .. import Unsupported
from . import Backtest, _current
from ._data import Column, frames

__all__ = ["OHLCV_AGG", "barssince", "cross", "crossover", "quantile", "resample_apply"]

#: How each column is put together for a larger timeframe.
OHLCV_AGG = {"Open": "first", "High": "max", "Low": "min", "Close": "last", "Volume": "sum"}


def _last_two(series: Any) -> tuple[Any, Any]:
    if isinstance(series, np.ndarray):
        return series[-2], series[-1]
    if isinstance(series, Number):
        return series, series
    if hasattr(series, "iloc"):
        series = series.to_numpy()
    return series[-2], series[-1]


def crossover(series1: Any, series2: Any) -> bool:
    """Whether the first has just crossed above the second: it was below and is above. Either may
    be a number. With fewer than two values it has not."""
    try:
        (a0, a1), (b0, b1) = _last_two(series1), _last_two(series2)
    except IndexError:
        return False
    return bool(a0 < b0 and a1 > b1)


def cross(series1: Any, series2: Any) -> bool:
    """Whether the two have just crossed, either way."""
    return crossover(series1, series2) or crossover(series2, series1)


def barssince(condition: Sequence[bool], default: Any = np.inf) -> Any:
    """How many candles ago the condition was last true."""
    for i in range(len(condition)):
        if condition[len(condition) - 1 - i]:
            return i
    return default


def quantile(series: Any, quantile: float | None = None) -> float:
    """The rank of the last value among those before it; with a quantile, the value there."""
    values = np.asarray(series, dtype=float)
    if quantile is not None:
        if not 0 <= quantile <= 1:
            raise ValueError("quantile must be within [0, 1]")
        return float(np.nanquantile(values, quantile))
    return float(np.mean(values[:-1] < values[-1]))


def resample_apply(
    rule: str,
    func: Callable[..., Any] | None,
    series: Any,
    *args: Any,
    agg: Any = None,
    **kwargs: Any,
) -> Any:
    """Applies a function to a series of a larger timeframe, each of whose values shows from the
    end of its interval on. In ``init`` the answer is an indicator."""
    pd = frames()
    if isinstance(series, Column):
        series = series.s
    if not isinstance(series, pd.Series):
        raise Unsupported("resample_apply of anything but one column or Series")
    if agg is None:
        agg = OHLCV_AGG.get(str(series.name), "last")
    options = {
        k: kwargs.pop(k) for k in ("name", "plot", "overlay", "color", "scatter") if k in kwargs
    }
    larger = series.resample(rule, label="right").agg(agg).dropna()
    larger.name = series.name

    def spread(values: Any) -> Any:
        answer = values if func is None else func(values, *args, **kwargs)
        if not isinstance(answer, pd.Series):
            answer = pd.Series(np.asarray(answer), index=values.index, name=values.name)
        both = series.index.union(answer.index)
        return answer.reindex(both).ffill().reindex(series.index)

    strategy = _current.strategy
    if strategy is None:
        return spread(larger)
    label = options.pop("name", None) or f"{getattr(func, '__name__', 'resampled')}[{rule}]"
    return strategy.I(spread, larger, name=label, **options)


#: What tests or shows a strategy: it may be imported, and ends the loading where it is called.
_TOOLS = ("FractionalBacktest", "MultiBacktest", "compute_stats", "plot_heatmaps")


def __getattr__(name: str) -> Any:
    if name in _TOOLS:
        return Backtest
    if name.startswith("__"):
        raise AttributeError(name)
    raise Unsupported(f"backtesting.lib.{name}: only {', '.join(__all__)} are carried over")
