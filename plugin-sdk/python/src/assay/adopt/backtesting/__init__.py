"""Runs a strategy for backtesting.py 0.6 as it is, in lockstep.

The package stands for the modules ``backtesting``, ``backtesting.lib`` and ``backtesting.test``
while the strategy's file is loaded. ``lab adopt backtesting.py`` writes the few lines::

    from assay.adopt.backtesting import adopt

    SmaCross = adopt("original.py", "SmaCross", name="sma_cross")

``init`` is called again at each candle on the candles so far, and what it makes with ``self.I``
are the indicators of that candle. So an indicator that looks ahead finds nothing there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import Unsupported
from ._broker import FULL, Broker, Order, Position, Trade
from ._data import Data, Indicator, column

__all__ = ["Backtest", "Order", "Position", "Strategy", "Trade", "Unsupported", "adopt"]


class ModuleEnds(BaseException):
    """Ends the loading of a file where it begins to test its strategy."""


class Backtest:
    """Ends the loading of the file: the strategy is tested by lab."""

    def __init__(self, *args: Any, **options: Any) -> None:
        raise ModuleEnds


class Strategy:
    """What the strategy extends: ``init``, ``next``, ``I``, ``buy``, ``sell``, ``data``,
    ``position``, ``equity``, ``orders``, ``trades`` and ``closed_trades``."""

    _broker_: Broker
    _data_: Data
    _made_: list[tuple[str, bool, Any]]
    _lines_: list[tuple[str, Any]]
    _names_: list[str]

    def init(self) -> None:
        """Declares indicators."""

    def next(self) -> None:
        """Decides at the close of a candle."""
        raise NotImplementedError(f"{type(self).__name__} needs next(self)")

    def I(  # noqa: E743
        self,
        func: Callable[..., Any],
        *args: Any,
        name: Any = None,
        plot: bool = True,
        overlay: bool | None = None,
        color: str | None = None,
        scatter: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Declares an indicator: an array of a value per candle, or several of them."""
        values = func(*args, **kwargs)
        label = name if isinstance(name, str) else getattr(func, "__name__", "indicator")
        if hasattr(values, "iloc"):
            values = values.to_numpy().T
        try:
            values = np.asarray(values, order="C")
        except ValueError:
            values = np.empty(0)
        size = len(self._data_)
        if values.ndim == 2 and values.shape[0] == size != values.shape[1]:
            values = values.T
        if not 1 <= values.ndim <= 2 or values.shape[-1] != size:
            raise ValueError(
                f"indicator {label} must have a value per candle, {size}, or several such lines; "
                f"its shape is {values.shape}"
            )
        made = column(Indicator, values, label, self._data_["Close"].times)
        made.flags.writeable = False
        self._made_.append((label, plot, made))
        return made

    def buy(
        self,
        *,
        size: float = FULL,
        limit: float | None = None,
        stop: float | None = None,
        sl: float | None = None,
        tp: float | None = None,
        tag: object = None,
    ) -> Order:
        """Asks to buy: a size below 1 is a share of the free cash, a whole one is in units."""
        order = Order(self._broker_, _size(size), limit=limit, stop=stop, sl=sl, tp=tp, tag=tag)
        return self._broker_.submit(order)

    def sell(
        self,
        *,
        size: float = FULL,
        limit: float | None = None,
        stop: float | None = None,
        sl: float | None = None,
        tp: float | None = None,
        tag: object = None,
    ) -> Order:
        """Asks to sell, sized as `buy`."""
        order = Order(self._broker_, -_size(size), limit=limit, stop=stop, sl=sl, tp=tp, tag=tag)
        return self._broker_.submit(order)

    @property
    def data(self) -> Data:
        """The candles so far."""
        return self._data_

    @property
    def equity(self) -> float:
        """Cash and position at the last close."""
        return self._broker_.equity

    @property
    def position(self) -> Position:
        """What is held."""
        return self._broker_.position

    @property
    def orders(self) -> tuple[Order, ...]:
        """Orders that wait."""
        return self._broker_.orders

    @property
    def trades(self) -> tuple[Trade, ...]:
        """Open trades."""
        return tuple(self._broker_.trades)

    @property
    def closed_trades(self) -> tuple[Trade, ...]:
        """Trades that ended, in their order."""
        return tuple(self._broker_.closed)

    def __getattr__(self, name: str) -> Any:
        if name in ("_broker", "_data", "_indicators", "_params"):
            raise Unsupported(f"{type(self).__name__}.{name}, which is inside of backtesting.py")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


def _size(size: float) -> float:
    if not (0 < size < 1 or (size >= 1 and size == round(size))):
        raise AssertionError(
            f"size must be a positive share of the equity or a whole number of units, is {size}"
        )
    return float(size)


def __getattr__(name: str) -> Any:
    if name.startswith("_") or name in ("lib", "test"):
        raise AttributeError(name)  # the import system asks, and then imports the module
    raise Unsupported(f"backtesting.{name}: only Backtest and Strategy are carried over")


from ._drive import adopt  # noqa: E402
