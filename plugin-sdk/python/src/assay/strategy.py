"""The class that an author extends."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from . import params as _params
from ._fed import MAX_INDICATORS, Fed, Field
from ._inputs import Input
from .indicators import Line
from .intents import Intents
from .plots import Plot
from .view import Fill, Rejection, View

__all__ = ["Strategy", "Supports"]

_L = TypeVar("_L", bound=Line)


@dataclass(frozen=True)
class Supports:
    """What a strategy can cope with."""

    short: bool = False  #: opens short positions
    multi_symbol: bool = False  #: trades several symbols in one run
    scale_free: bool = False  #: decides the same when all prices are multiplied
    calendar: str = ""  #: weekday, date or both if it decides by them; "": by neither


class Strategy:
    """Decides what to do at the close of each step.

    ``on_candle`` is called once per step with every symbol that closed, in time order. The
    step has been matched already. Intents that it returns become orders at this close and
    can fill from the next candle on. An exception ends the run with STRATEGY_ERROR; an order
    that cannot be executed is rejected with a reason and the run goes on.

    Parameters are class attributes made with `Param`; instances hold their values.
    """

    name: ClassVar[str] = ""  #: ^[a-z][a-z0-9_-]{0,62}$; the class's name in lower case if empty
    display_name: ClassVar[str] = ""  #: for people
    version: ClassVar[str] = "0.0.0"  #: the author's own
    description: ClassVar[str] = ""  #: the first line of the docstring if empty
    author: ClassVar[str] = ""
    modes: ClassVar[tuple[str, ...]] = ("backtest", "paper", "live")
    timeframes: ClassVar[tuple[str, ...]] = ()  #: that it works on; every one if empty
    #: larger timeframes for ``v.at``, exact multiples of the run's or the run's own
    extra: ClassVar[tuple[str, ...]] = ()
    inputs: ClassVar[tuple[Input, ...]] = ()  #: series beside the candles, for ``v.input``
    plots: ClassVar[tuple[Plot, ...]] = ()  #: how charts draw what it publishes
    min_symbols: ClassVar[int] = 1
    max_symbols: ClassVar[int] = 1
    supports: ClassVar[Supports] = Supports()
    trained_until: ClassVar[str] = ""  #: last day of the data that it was made with
    #: gets candle by candle in backtests too, as live, instead of many at a time: the orders are
    #: the same, the backtest takes ten times as long
    lockstep: ClassVar[bool] = False

    _fields: ClassVar[tuple[_params._Field, ...]] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._fields = _params.collect(cls)

    def __init__(self, **values: Any) -> None:
        decoded, errors = _decode(type(self), values)
        if errors:
            raise errors[0] if len(errors) == 1 else ExceptionGroup("bad parameters", errors)
        for name, value in decoded.items():
            setattr(self, name, value)

    def warmup(self) -> int:
        """How many candles from before the window it asks for. Asked once, after `start`."""
        return 0

    def lookback(self) -> Mapping[str, int]:
        """How many complete candles it looks back on, by timeframe: ``""`` is the run's own, the
        others are those of `extra`, as in ``{"": 50, "1d": 200}``. The host starts each symbol
        early enough for all of them. Asked once, after `start`; it replaces `warmup`."""
        return {}

    def start(self) -> None:
        """Called once, when the parameters have their values: makes indicators. Raise
        `InvalidParam` to refuse a combination of parameters."""

    def I(  # noqa: E743
        self,
        indicator: type[_L],
        *args: Any,
        on: int | str | tuple[int | str, int | str] = 0,
        of: Field | tuple[Field, Field] | None = None,
        **kwargs: Any,
    ) -> _L:
        """Makes an indicator of ``assay.indicators`` that needs no ``add``: it has each candle when
        ``on_fill``, ``on_reject`` and ``on_candle`` see it. The host of a backtest computes it,
        with the same bits. Only in ``start``, as in ``self.fast = self.I(SMA, 10)``.

        Indicators of a number take the close, or what ``of`` names; ``on`` is another symbol of
        the run than the first, by its name or place. Correlation and Beta need two of either, and
        have a value for each step at which both symbols closed."""
        fed = self.__dict__.setdefault("_fed", [])
        if isinstance(fed, tuple):
            raise TypeError("self.I belongs into start(): candles before it would be missing")
        if len(fed) >= MAX_INDICATORS:
            raise ValueError(f"self.I has made {MAX_INDICATORS} indicators, more are not possible")
        fed.append(Fed(indicator, args, kwargs, on, of))
        line: _L = fed[-1].line
        return line

    def on_fill(self, v: View, fill: Fill) -> Intents:
        """Called for each fill before ``on_candle`` of the step in which it happened. What it
        returns becomes orders at that close, before those of ``on_candle``, and can fill from
        the next candle on; with ``on_reject`` at most 100 intents at one step."""
        return None

    def on_reject(self, v: View, rejection: Rejection) -> Intents:
        """Called for each order that was rejected, like ``on_fill`` and in the order of events
        with it. An order that is rejected at a close is told at the next step. What is canceled
        or expired is not told."""
        return None

    def on_candle(self, v: View) -> Intents:
        """Decides."""
        raise NotImplementedError("a strategy needs on_candle(self, v)")

    def stop(self, v: View) -> None:
        """Called when no further step will come."""


def _decode(cls: type[Strategy], values: dict[str, Any]) -> tuple[dict[str, Any], list[Any]]:
    decoded: dict[str, Any] = {}
    errors: list[Any] = []
    given = dict(values)
    for f in cls._fields:
        try:
            decoded[f.name] = f.decode(given.pop(f.name)) if f.name in given else f.default
        except _params.ParamError as e:
            errors.append(e)
    errors += [_params.InvalidParam(n, "is not a parameter of this strategy") for n in given]
    return decoded, errors


def slug(cls: type[Strategy]) -> str:
    """The name under which the host lists a strategy: SmaCross is sma_cross."""
    return cls.name or re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()


def description(cls: type[Strategy]) -> str:
    """The description, or the first line of the class's own docstring."""
    own = (cls.__dict__.get("__doc__") or "").strip()
    return cls.description or own.split("\n", 1)[0]
