"""Write trading strategies for Assay in Python.

A strategy is a class. The host calls ``on_candle`` at the close of each candle and executes
the orders that it returns::

    from assay import AllCash, Buy, Close, Param, Strategy
    from assay.indicators import SMA

    class SmaCross(Strategy):
        \"\"\"Buys when a fast average crosses above a slow one.\"\"\"
        fast: int = Param(10, ge=1, le=500, title="Fast average")
        slow: int = Param(30, ge=2, le=1000)

        def start(self):
            self.f, self.s = SMA(self.fast), SMA(self.slow)

        def on_candle(self, v):
            self.f.add(v.close)
            self.s.add(v.close)
            if v.flat and self.f.crossed_above(self.s):
                return Buy(AllCash)
            if v.long and self.f.crossed_below(self.s):
                return Close()
"""

from typing import TYPE_CHECKING, Any

from ._inputs import Input, InputRow, InputView
from .intents import (
    OCO,
    AllCash,
    At,
    Buy,
    Cancel,
    CancelAll,
    CashFraction,
    Close,
    EquityFraction,
    Intent,
    Intents,
    Level,
    MoveStop,
    MoveTarget,
    Percent,
    Quantity,
    QuoteAmount,
    Replace,
    RiskFraction,
    Sell,
    Size,
    Target,
    TrailingAmount,
    TrailingPercent,
    WholePosition,
)
from .params import InvalidParam, Param, ParamError
from .plots import Plot, PlotLevel
from .signals import SignalError, Signals, SignalStrategy, crossed_above, crossed_below
from .strategy import Strategy, Supports
from .view import Candle, Fill, FrameView, History, Order, Position, Rejection, SymbolView, View

if TYPE_CHECKING:
    from .client import AssayError as AssayError
    from .client import compare as compare
    from .client import connect as connect
    from .client import open as open

__version__ = "1.0.0"

# What reads runs is imported on use: a strategy needs none of it, and a star import must not
# take the place of the builtin open.
_CLIENT = ("AssayError", "compare", "connect", "open")


def __getattr__(name: str) -> Any:
    if name in _CLIENT:
        from . import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "AllCash",
    "At",
    "Buy",
    "Cancel",
    "CancelAll",
    "Candle",
    "CashFraction",
    "Close",
    "EquityFraction",
    "Fill",
    "FrameView",
    "History",
    "Input",
    "InputRow",
    "InputView",
    "Intent",
    "Intents",
    "InvalidParam",
    "Level",
    "MoveStop",
    "MoveTarget",
    "OCO",
    "Order",
    "Param",
    "ParamError",
    "Percent",
    "Plot",
    "PlotLevel",
    "Position",
    "Quantity",
    "QuoteAmount",
    "Rejection",
    "Replace",
    "RiskFraction",
    "Sell",
    "SignalError",
    "SignalStrategy",
    "Signals",
    "Size",
    "Strategy",
    "Supports",
    "SymbolView",
    "Target",
    "TrailingAmount",
    "TrailingPercent",
    "View",
    "WholePosition",
    "crossed_above",
    "crossed_below",
]
