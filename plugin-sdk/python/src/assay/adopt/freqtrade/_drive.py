"""Loads a strategy's file and drives its class by the steps of the SDK."""

from __future__ import annotations

import copy
import importlib
import importlib.util
import os
import sys
import types
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd

from ... import Fill, Intents, Rejection, Supports, View
from ... import Strategy as Base
from ..._frames import Row
from ...view import FrameView
from .. import LookedAhead, Unsupported, drawn, same
from . import _modules
from ._book import SIGNALS, Book, of_pair
from ._data import Candles, Provider, Wallets
from ._params import parameters, usable
from ._protections import Protections
from ._strategy import (
    BLOCK,
    Informative,
    IStrategy,
    check,
    differences,
    merge_informative_pair,
    timeframe_to_seconds,
)
from ._trade import Locks, Trade

_FIRST_CHECKS = 8  # candles at which they are called again, the first time
_CHECKED_BLOCKS = 4  # later at one, in one of so many blocks


@dataclass(frozen=True)
class Settings:
    """What the configuration of the other engine says."""

    stake_amount: float | None = None
    max_open_trades: int | None = None
    tradable_balance_ratio: float = 0.99
    fee: float = 0.001
    protections: bool = True
    candles: int = 1000
    ahead: bool = True


def adopt(
    path: str,
    cls: str = "",
    *,
    name: str,
    stake_amount: float | None = None,
    max_open_trades: int | None = None,
    tradable_balance_ratio: float = 0.99,
    fee: float = 0.001,
    protections: bool = True,
    candles: int = 1000,
    ahead: bool = True,
) -> type[Base]:
    """The strategy of a file as one of the SDK.

    path is relative to the file that calls, cls may be left out where the file has one class.
    stake_amount in quote currency is what a trade costs; without it, its share of the tradable
    balance by max_open_trades, which is that of the class or else the number of symbols. fee is
    what the ROI of the first trade reckons with; later ones know the fee that was paid.
    protections says whether those of the class lock pairs. candles is how many the strategy sees
    at least, 0 for all so far; it is at least its startup_candle_count and one. ahead lets a
    backtest call the populate methods once for many candles, where the columns are the same
    without the later ones.
    """
    caller = sys._getframe(1)
    place = os.path.join(os.path.dirname(caller.f_code.co_filename), path)
    theirs = _find(_load(place, path), cls, path)
    check(theirs)
    settings = Settings(
        stake_amount, max_open_trades, tradable_balance_ratio, fee, protections, candles, ahead
    )
    body: dict[str, Any] = {
        "__module__": caller.f_globals.get("__name__", __name__),
        "__doc__": theirs.__doc__ or f"{theirs.__name__} of {path}, for freqtrade.",
        "name": name,
        "timeframes": (theirs.timeframe,),
        "differs": differences(theirs, candles),
        "extra": _larger(theirs),
        "max_symbols": 100,
        "supports": Supports(short=theirs.can_short, multi_symbol=True),
        "_theirs": theirs,
        "_settings": settings,
        "__annotations__": {},
    }
    for n, (parameter, default) in parameters(theirs).items():
        made = parameter.param(default) if usable(n) else None
        if made is None:
            continue
        if hasattr(Adopted, n):
            raise Unsupported(f"the parameter {theirs.__name__}.{n}: the SDK has this name itself")
        body[n], body["__annotations__"][n] = made, type(parameter.cast(default))
    return type(theirs.__name__, (Adopted,), body)


def _load(place: str, path: str) -> types.ModuleType:
    _modules.install()
    name = os.path.splitext(os.path.basename(path))[0]
    spec = importlib.util.spec_from_file_location(name, place)
    if spec is None or spec.loader is None:
        raise Unsupported(f"{path} is not a file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _find(module: types.ModuleType, name: str, path: str) -> type[Any]:
    found = {
        n: c
        for n, c in vars(module).items()
        if isinstance(c, type) and issubclass(c, IStrategy) and c.__module__ == module.__name__
    }
    if name in found:
        return found[name]
    names = ", ".join(found) or "none"
    if name:
        raise Unsupported(f"{path} has no strategy {name}, it has {names}")
    if len(found) != 1:
        raise Unsupported(f"{path} must have one strategy, has {names}: name one")
    return next(iter(found.values()))


def _decorated(theirs: type[Any]) -> list[tuple[Informative, Any]]:
    """What is decorated with `informative`, in the order written."""
    found: dict[str, Any] = {}
    for base in reversed(theirs.__mro__):
        found.update({n: m for n, m in vars(base).items() if hasattr(m, "_informative")})
    return [(asked, m) for m in found.values() for asked in m._informative]


def _larger(theirs: type[Any]) -> tuple[str, ...]:
    """The larger timeframes that the class asks for."""
    strategy = theirs({})
    strategy.dp = Provider(("BASE/QUOTE",), theirs.timeframe, lambda p, t: Candles(0))
    asked = [i.timeframe for i, _ in _decorated(theirs)]
    asked += [pair[1] for pair in strategy.informative_pairs()]
    for timeframe in asked:
        if timeframe_to_seconds(timeframe) < timeframe_to_seconds(theirs.timeframe):
            raise Unsupported(f"{theirs.__name__} asks for {timeframe}, below its timeframe")
    return tuple(sorted({t for t in asked if t != theirs.timeframe}, key=timeframe_to_seconds))


class Adopted(Base):
    """Drives a strategy of freqtrade."""

    _theirs: ClassVar[type[Any]]
    _settings: ClassVar[Settings]
    _later: Any = None  #: gives later candles where a backtest has them

    def start(self) -> None:
        self._strategy: Any = self._theirs({})
        self._locks = self._strategy._locks = Locks()
        self._wallets = self._strategy.wallets = Wallets()
        self._candles: dict[tuple[str, str], Candles] = {}
        self._book: Any = None  # of the first step on
        self._step, self._block = -1, -1
        self._columns: dict[str, Columns] = {}  # of each pair, of this block
        self._checked = False
        self._began = False
        Trade.all.clear()
        for n, (parameter, default) in parameters(self._theirs).items():
            setattr(self._strategy, n, parameter.set(getattr(self, n, default)))

    def lookback(self) -> dict[str, int]:
        count = int(self._strategy.startup_candle_count)
        return {"": count, **{t: count for t in self.extra}} if count else {}

    def on_fill(self, v: View, fill: Fill) -> Intents:
        self._see(v)
        self._book.fill(fill)
        return None

    def on_reject(self, v: View, rejection: Rejection) -> Intents:
        order = rejection.order
        self._see(v)
        self._book.reject(order)
        v.log(
            "an order was not taken",
            "warn",
            reason=rejection.reason,
            side=order.side,
            quantity=order.quantity,
        )
        return None

    def on_candle(self, v: View) -> Intents:
        self._see(v)
        if v.warmup:
            return None
        strategy, book = self._strategy, self._book
        if not self._began:
            self._began = True
            self._trim()
            strategy.bot_start()
        strategy.bot_loop_start(current_time=v.time)
        # Those that are held come first: what leaves gives its place to any other.
        for pair in sorted(v.symbols, key=lambda p: not book.holds(p)):
            if not of_pair(v, pair).closed:
                continue
            book.decide(pair, self._analyzed(pair, v))
        asked: Intents = book.take()
        return asked

    def _see(self, v: View) -> None:
        """Adds the candles of a step, once."""
        if self._step == v.index:
            return
        self._step = v.index
        if self._book is None:
            self._begin(v)
        for pair in v.symbols:
            s = of_pair(v, pair)
            if s.closed:
                self._candles[pair, self._theirs.timeframe].add(s._candle[0], s._candle[1:])
            for timeframe in self.extra:
                f = s.at(timeframe)
                if f.closed:
                    larger = f.candle
                    stamp = round(larger.open_time.timestamp() * 1000)
                    self._candles[pair, timeframe].add(stamp, larger[1:])
        if self._block != v.index // BLOCK:
            self._block = v.index // BLOCK
            for candles in self._candles.values():
                candles.begin()
            self._columns.clear()
        self._locks.now = v.time
        w = self._wallets
        w.free, w.equity = v.cash, v.equity
        w.held = {p.partition("/")[0]: of_pair(v, p).position.quantity for p in v.symbols}
        self._book.begin(v)

    def _begin(self, v: View) -> None:
        theirs, settings = self._theirs, self._settings
        if v.timeframe != theirs.timeframe:
            raise Unsupported(
                f"a run of {v.timeframe}: {theirs.__name__} has the timeframe {theirs.timeframe}"
            )
        count = int(self._strategy.startup_candle_count)
        keep = max(settings.candles, count + 1) if settings.candles else 0
        for pair in v.symbols:
            for timeframe in (theirs.timeframe, *self.extra):
                self._candles[pair, timeframe] = Candles(keep)
        stake = v.symbols[0].partition("/")[2]
        self._wallets.stake = stake
        self._strategy.config = {
            "stake_currency": stake,
            "stake_amount": settings.stake_amount or "unlimited",
            "timeframe": theirs.timeframe,
            "dry_run": True,
            "tradable_balance_ratio": settings.tradable_balance_ratio,
            "exchange": {"name": "assay", "pair_whitelist": list(v.symbols)},
        }
        self._strategy.dp = Provider(v.symbols, theirs.timeframe, self._of)
        asked = self._strategy.protections if settings.protections else ()
        locker = Protections(asked, theirs.timeframe, self._locks)
        self._book = Book(self._strategy, settings, self._locks, locker)

    def _trim(self) -> None:
        """Leaves as much from before the window as the strategy asks for."""
        count = int(self._strategy.startup_candle_count)
        for (_, timeframe), candles in self._candles.items():
            if timeframe == self._theirs.timeframe:
                candles.cut(count + 1)

    def _of(self, pair: str, timeframe: str) -> Candles:
        try:
            return self._candles[pair, timeframe]
        except KeyError:
            known = ", ".join(" ".join(k) for k in self._candles)
            raise Unsupported(
                f"candles of {pair} {timeframe}: the run has {known}; a larger timeframe is asked "
                "for by informative_pairs or @informative, another pair by symbols in lab.json"
            ) from None

    def _analyzed(self, pair: str, v: View) -> dict[str, Any]:
        """What the newest row of a pair says in the columns that decide."""
        candles = self._candles[pair, self._theirs.timeframe]
        columns = self._columns.get(pair)
        if columns is None or len(candles) > columns.candles:
            columns = self._look_ahead(pair, v) if self._later and self._settings.ahead else None
            columns = columns or Columns(self._populated(pair), len(candles))
            self._columns[pair] = columns
        rows = len(columns.frame) + len(candles) - columns.candles
        self._strategy.dp.analyzed[pair] = (columns.frame, rows, v.time)
        return columns.row(len(candles))

    def _look_ahead(self, pair: str, v: View) -> Columns | None:
        """The columns of a pair up to the end of the block. They must be the same without the
        candles after some that are drawn. If they are not at the first time, there are none, and
        columns are made at each candle."""
        states = self._extend(v, self._later(BLOCK - 1 - v.index % BLOCK))
        own, provider = (pair, self._theirs.timeframe), self._strategy.dp
        asked, why = provider.asked, ""
        try:
            whole = Columns(self._populated(pair), states[-1][own])
            later = v.index // BLOCK % _CHECKED_BLOCKS == 0
            for k in drawn(0, len(states) - 1, int(later) if self._checked else _FIRST_CHECKS):
                self._show(states[k])
                why = why or whole.differing(self._populated(pair))
                if why and self._checked:
                    at = self._candles[own].frame()["date"].iat[-1]
                    raise LookedAhead(
                        f"{self._theirs.__name__}: the column {why} of {pair} is another one at "
                        f"{at} without the candles after it: it looks ahead; adopt(..., "
                        "ahead=False) in strategy.py computes columns at every candle"
                    )
        finally:
            self._show(states[0])
        if why or provider.asked > asked:
            self._later = None
            return None
        self._checked = self._checked or len(states) > 1
        return whole

    def _extend(self, v: View, later: Any) -> list[dict[tuple[str, str], int]]:
        """Adds later candles. Returns how many there are of each kind now and after each step."""
        own, frames = {self._theirs.timeframe}, []
        for p in v.symbols:
            for t in self.extra:
                larger = v[p].at(t)
                if isinstance(larger, FrameView):
                    frames.append((p, t, copy.deepcopy(larger._frame)))
                else:
                    own.add(t)  # the run's own by another name
        states = [{key: len(candles) for key, candles in self._candles.items()}]
        for now, candles in later:
            closed = {view.symbol: Row(row[0], now, *row[1:]) for view, row in candles}
            for p, row in closed.items():
                for t in own:
                    self._candles[p, t].add(row.open_time, row[2:])
            for p, t, frame in frames:
                frame.advance(now, closed.get(p))
                if frame.closed and frame.newest is not None:
                    self._candles[p, t].add(frame.newest.open_time, frame.newest[2:])
            states.append({key: len(candles) for key, candles in self._candles.items()})
        return states

    def _show(self, state: dict[tuple[str, str], int]) -> None:
        for key, size in state.items():
            self._candles[key].show(size)

    def _populated(self, pair: str) -> Any:
        """The columns of a pair on the candles so far."""
        strategy, stake = self._strategy, self._wallets.stake
        frame = self._candles[pair, self._theirs.timeframe].frame()
        for asked, method in _decorated(self._theirs):
            other = asked.pair(pair, stake)
            larger = self._of(other, asked.timeframe).frame()
            larger = method(strategy, larger, {"pair": other})
            named = {c: asked.named(c, other, stake) for c in larger.columns}
            larger = larger.rename(columns=named)
            frame = merge_informative_pair(
                frame,
                larger,
                self._theirs.timeframe,
                asked.timeframe,
                asked.ffill,
                append_timeframe=False,
                date_column=named["date"],
            )
        metadata = {"pair": pair}
        frame = strategy.populate_indicators(frame, metadata)
        frame = strategy.populate_entry_trend(frame, metadata)
        frame = strategy.populate_exit_trend(frame, metadata)
        if not isinstance(frame, pd.DataFrame) or not len(frame):
            raise ValueError(f"{self._theirs.__name__} must return its dataframe with all rows")
        return frame


class Columns:
    """What a strategy has made of the candles of a pair."""

    def __init__(self, frame: Any, candles: int) -> None:
        self.frame, self.candles = frame, candles
        self._names = [c for c in SIGNALS if c in frame.columns]
        self._signals: dict[str, list[Any]] = {}

    def row(self, candles: int) -> dict[str, Any]:
        """What it says at the newest of so many candles in the columns that decide."""
        if candles == self.candles:
            return {c: self.frame[c].iat[-1] for c in self._names}
        if not self._signals:
            self._signals = {c: self.frame[c].tolist() for c in self._names}
        return {c: values[candles - 1] for c, values in self._signals.items()}

    def differing(self, alone: Any) -> str:
        """The first column that has other values in a frame without the later candles, else
        nothing."""
        n = len(alone)
        if len(self.frame) != self.candles or list(alone.columns) != list(self.frame.columns):
            return str(self.frame.columns[-1])
        for name in alone.columns:
            a, b = self.frame[name].array[:n], alone[name].array
            if a.dtype.kind == b.dtype.kind == "M":
                a, b = a.view("i8"), b.view("i8")
            if not same(a, b):
                return str(name)
        return ""


__all__ = ["Adopted", "adopt"]
