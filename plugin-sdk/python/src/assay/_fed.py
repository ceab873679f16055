"""Indicators that the SDK feeds, see `Strategy.I`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Literal

from . import indicators as all_of
from . import strategy_pb2 as pb
from .indicators import Line
from .params import ParamError
from .view import SymbolView

MAX_INDICATORS = 64

#: a number of a candle
Field = Literal["open", "high", "low", "close", "volume"]
_FIELDS = ("open", "high", "low", "close", "volume")

#: What each is fed with, and its lines beside its own, in the order of the protocol.
HOW: dict[type[Line], tuple[str, tuple[str, ...]]] = {
    all_of.ADX: ("candle", ("plus", "minus")),
    all_of.ATR: ("candle", ()),
    all_of.Aroon: ("candle", ("up", "down")),
    all_of.Beta: ("pair", ()),
    all_of.Bollinger: ("price", ("upper", "lower")),
    all_of.CCI: ("candle", ()),
    all_of.CMF: ("candle", ()),
    all_of.Correlation: ("pair", ()),
    all_of.DEMA: ("price", ()),
    all_of.Donchian: ("candle", ("upper", "lower")),
    all_of.EMA: ("price", ()),
    all_of.HMA: ("price", ()),
    all_of.HeikinAshi: ("candle", ("open", "high", "low", "_volume")),
    all_of.Highest: ("price", ()),
    all_of.Ichimoku: ("candle", ("base", "span_a", "span_b")),
    all_of.KAMA: ("price", ()),
    all_of.Keltner: ("candle", ("upper", "lower")),
    all_of.LinearRegression: ("price", ("slope", "r2")),
    all_of.Lowest: ("price", ()),
    all_of.MACD: ("price", ("signal", "histogram")),
    all_of.MFI: ("candle", ()),
    all_of.OBV: ("candle", ()),
    all_of.ParabolicSAR: ("candle", ()),
    all_of.Pattern: ("candle", ()),
    all_of.Pivots: ("timed", ("r1", "r2", "r3", "s1", "s2", "s3")),
    all_of.Quantile: ("price", ()),
    all_of.ROC: ("price", ()),
    all_of.RSI: ("price", ()),
    all_of.RealizedVolatility: ("price", ()),
    all_of.SMA: ("price", ()),
    all_of.SessionVWAP: ("timed", ()),
    all_of.StdDev: ("price", ()),
    all_of.StochRSI: ("price", ("d",)),
    all_of.Stochastic: ("candle", ("d",)),
    all_of.SuperTrend: ("candle", ()),
    all_of.TEMA: ("price", ()),
    all_of.Track: ("price", ()),
    all_of.VWAP: ("candle", ()),
    all_of.WMA: ("price", ()),
    all_of.WilliamsR: ("candle", ()),
    all_of.ZScore: ("price", ()),
}


def _refuse(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any) -> Any:
        cls = type(self).__name__
        raise TypeError(
            f"{cls}.{name}() is not for an indicator of self.I, which is fed by itself: "
            f"make it with {cls}(...) in start() to call it"
        )

    return method


_OWN: dict[type[Line], type[Line]] = {}


def _own(cls: type[Line]) -> type[Line]:
    """The class without what is not known of a column."""
    if cls not in _OWN:
        members: dict[str, Any] = {"__slots__": (), "__module__": cls.__module__}
        members |= {m: _refuse(m) for m in ("add", "age", "reset") if hasattr(cls, m)}
        _OWN[cls] = type(cls.__name__, (cls,), members)
    return _OWN[cls]


class Fed:
    """One indicator of `Strategy.I`, and what feeds it."""

    def __init__(
        self, cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any], on: Any, of: Any
    ) -> None:
        if cls not in HOW:
            name = getattr(cls, "__name__", repr(cls))
            raise TypeError(
                f"self.I has the indicators of assay.indicators, and {name} is none of them: make "
                "it in start() and add to it in on_candle()"
            )
        self.feed, parts = HOW[cls]
        self.line = _own(cls)(*args, **kwargs)
        self.lines = (self.line, *(getattr(self.line, part) for part in parts))
        self.views: tuple[SymbolView, ...] = ()
        self.symbols: tuple[int, ...] = ()
        self.stream: Callable[[], None] = lambda: None
        self._cls = cls
        bound = inspect.signature(cls).bind(*args, **kwargs)
        bound.apply_defaults()
        self._args = list(bound.arguments.values())
        pair = self.feed == "pair"
        self._on: tuple[int | str, ...] = on if isinstance(on, tuple) else (on,)
        fields: tuple[str, ...] = of if isinstance(of, tuple) else (of or "close",)
        if self.feed in ("candle", "timed"):
            if of is not None:
                raise TypeError(f"self.I({cls.__name__}) takes whole candles: leave out of=")
            fields = ("",)
        if pair and len(fields) != len(self._on):
            both = max(len(fields), len(self._on))
            fields = fields * both if len(fields) == 1 else fields
            self._on = self._on * both if len(self._on) == 1 else self._on
        if len(fields) != len(self._on) or len(fields) != (2 if pair else 1):
            raise TypeError(
                f"self.I({cls.__name__}) takes two series: name two symbols with on=(0, 1), or two "
                'of one with of=("close", "volume")'
                if pair
                else f"self.I({cls.__name__}) takes one series: one on= and one of="
            )
        if wrong := [f for f in fields if f not in _FIELDS and f]:
            raise ValueError(f"of={wrong[0]!r} of self.I must be one of {', '.join(_FIELDS)}")
        self._fields = [_FIELDS.index(f) + 1 if f else 0 for f in fields]

    def bind(self, views: Sequence[SymbolView]) -> None:
        """Takes the series from the views of a run."""
        symbols = [v.symbol for v in views]
        self.symbols = tuple(_index(self._cls.__name__, on, symbols) for on in self._on)
        self.views = tuple(views[i] for i in self.symbols)
        add, line, view, fields = self._cls.add, self.line, self.views[0], self._fields
        first, other, second = fields[0], self.views[-1], fields[-1]
        if self.feed == "price":
            self.stream = lambda: add(line, view._candle[first])
        elif self.feed == "pair":
            self.stream = lambda: add(line, view._candle[first], other._candle[second])
        elif self.feed == "candle":
            self.stream = lambda: add(line, view)
        else:
            self.stream = lambda: add(line, view.candle)

    def message(self) -> Any:
        """What the host is asked for."""
        m = pb.Indicator(name=self._cls.__name__)
        for a in self._args:
            if isinstance(a, str):
                m.shape = a
            else:
                m.args.append(a / timedelta(milliseconds=1) if isinstance(a, timedelta) else a or 0)
        for symbol, field in zip(self.symbols, self._fields, strict=True):
            m.sources.add(symbol=symbol, field=field)
        return m


def _index(name: str, on: int | str, symbols: list[str]) -> int:
    if isinstance(on, str) and on in symbols:
        return symbols.index(on)
    if isinstance(on, int) and not isinstance(on, bool) and 0 <= on < len(symbols):
        return on
    raise ParamError(
        "",
        f"self.I({name}, on={on!r}): the run has the symbols {', '.join(symbols)}: name one of "
        "them, or its place from 0",
    )
