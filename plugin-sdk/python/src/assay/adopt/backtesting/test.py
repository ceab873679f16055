"""Stands for ``backtesting.test``: the moving average of its examples, and names of its data."""

from __future__ import annotations

from typing import Any

from .. import Unsupported
from ._data import frames

__all__ = ["BTCUSD", "EURUSD", "GOOG", "SMA"]


def SMA(arr: Any, n: int) -> Any:
    """The moving average of n values."""
    pd = frames()
    return pd.Series(arr).rolling(n).mean()


class _Sample:
    """Data of the other engine, which may be named but not used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(
            f"backtesting.test.{self._name}.{name}: the candles are those of lab.json"
        )


GOOG, EURUSD, BTCUSD = _Sample("GOOG"), _Sample("EURUSD"), _Sample("BTCUSD")
