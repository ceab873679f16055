"""Calls the author's methods in their order and turns messages into what they see."""

from __future__ import annotations

import contextlib
import glob
import importlib
import json
import math
import os
import sys
import traceback
from collections.abc import Iterable
from decimal import Decimal
from types import TracebackType
from typing import Any

from . import plots
from . import strategy_pb2 as pb
from ._fed import Fed
from ._frames import Frame, Kept, Past, Row, kept, timeframe
from ._inputs import InputView, messages
from .intents import Guard, Intent, Intents, Level
from .params import ParamError, collect, decode, defaults, schema
from .random import Random
from .signals import Rows, SignalError, SignalStrategy, columns
from .strategy import Strategy, description, slug
from .view import Fill, FrameView, Order, Rejection, View, moment

PROTOCOL_VERSION = 1
SDK_VERSION = "1.0.0"

# The bounds of the protocol. The host refuses what passes one.
MAX_INTENTS = 10_000
MAX_EARLY_INTENTS = 100  # of on_fill and on_reject
MAX_TARGETS = 16
MAX_LINES = 4096
MAX_LINE_BYTES = 8 << 20
MAX_FIELDS = 64
MAX_TEXT = 256
MAX_MESSAGE = 4 << 10
MAX_STACK = 64 << 10
MAX_SERIES = 64
MAX_POINTS = 5000
MAX_WARMUP = 100_000_000
MAX_WAITING = 1 << 20  # bytes, about
CHUNK_STEPS = 4096

_LEVELS = {"trace": 0, "debug": 1, "info": 2, "warn": 3, "error": 4}
_SIDES = ("buy", "sell")
_TYPES = ("market", "limit", "stop", "stop_limit", "trailing_stop")
_ROLES = ("entry", "exit", "stop_loss", "take_profit", "end_of_data", "liquidation")
_STATES = ("new", "open", "partially_filled", "filled", "canceled", "rejected", "expired")
_FINAL = frozenset(map(_STATES.index, ("filled", "canceled", "rejected", "expired")))
_STANCES = {"flat": 1, "long": 2, "short": 4}
_FORCES = ("gtc", "gtd", "ioc")
_ACTIONS: dict[str, Any] = {
    "submit": 0,
    "cancel": 1,
    "cancel_all": 1,
    "replace": 2,
    "close": 3,
    "set_leg": 4,
}
_BUILDERS = {"submit": "Buy or Sell", "cancel": "Cancel", "replace": "Replace"}


class Overdue(BaseException):
    """Interrupts a strategy that the host does not wait for any longer."""


#: What ends a strategy's method: an exit is a failure like others.
RAISED = (Exception, SystemExit, Overdue)


class Failure(Exception):
    """Ends the run: what the host is told."""

    def __init__(self, message: str, kind: str = "", stack: str = "") -> None:
        super().__init__(message)
        self.kind, self.stack = kind, stack


def spec(cls: type[Strategy]) -> Any:
    """What the strategy is, for the host."""
    fields = collect(cls)
    return pb.Spec(
        name=slug(cls),
        display_name=cls.display_name or slug(cls),
        version=cls.version,
        description=description(cls),
        author=cls.author,
        language="python",
        sdk_version=SDK_VERSION,
        protocol_version=PROTOCOL_VERSION,
        modes=cls.modes,
        timeframes=cls.timeframes,
        min_symbols=cls.min_symbols,
        max_symbols=cls.max_symbols,
        supports=pb.Supports(
            short=cls.supports.short,
            multi_symbol=cls.supports.multi_symbol,
            scale_free=cls.supports.scale_free,
            calendar=cls.supports.calendar,
        ),
        params_schema=schema(fields, getattr(cls, "differs", ())),
        default_params=defaults(fields),
        trained_until=cls.trained_until,
        plots=plots.messages(cls.plots),
        extra=cls.extra,
        inputs=messages(cls.inputs, pb.Input),
        signals=issubclass(cls, SignalStrategy),
        sessions=True,
        advance=not (issubclass(cls, SignalStrategy) or cls.lockstep),
    )


_NOTHING = Kept(0, 0, {})


def build(cls: type[Strategy], params: str, run: str = "1h") -> tuple[Strategy | None, Kept, Any]:
    """Makes a strategy from parameters in JSON and asks how far it looks back in a run on a
    timeframe. The last value is a Failed message, or None."""
    values, errors = decode(collect(cls), params)
    if errors:
        return None, _NOTHING, _refused(errors, "")
    try:
        strategy = cls(**values)
        strategy.start()
        warmup = strategy.warmup()
        if not isinstance(warmup, int) or not 0 <= warmup <= MAX_WARMUP:
            raise ParamError("", f"warmup() is {warmup!r}, must be 0 to {MAX_WARMUP}")
        lookback = strategy.lookback()
    except ParamError as e:
        return None, _NOTHING, _refused([e], "")
    except RAISED as e:
        text = f"{explained(e)} while the strategy was made"
        return None, _NOTHING, _refused([ParamError("", text)], _stack(e), type(e).__name__)
    try:
        looked = kept(warmup, lookback, tuple(cls.extra))
        looked.check(run)
    except ValueError as e:
        return None, _NOTHING, _refused([ParamError("", str(e))], "")
    return strategy, looked, None


def ready(looked: Kept, fed: Iterable[Fed] = ()) -> Any:
    """The message that accepts the parameters."""
    lookback = [pb.Lookback(timeframe=t, candles=n) for t, n in looked.larger.items() if n]
    return pb.Ready(
        warmup_candles=looked.warmup, lookback=lookback, indicators=[f.message() for f in fed]
    )


def refused(e: ParamError) -> Any:
    """The message that refuses a run."""
    return _refused([e], "")


def _refused(errors: list[ParamError], stack: str, kind: str = "") -> Any:
    return pb.Failed(
        code="INVALID_STRATEGY_PARAMS",
        message=_cut("invalid parameters: " + "; ".join(str(e) for e in errors), MAX_MESSAGE),
        step=-1,
        stack=_cut(stack, MAX_STACK),
        type=kind,
        errors=[pb.FieldError(pointer=e.pointer, message=e.message) for e in errors],
    )


class Author:
    """Drives one strategy through one run."""

    def __init__(self, strategy: Strategy, start: Any, looked: Kept = _NOTHING) -> None:
        self.strategy = strategy
        self._symbols = list(start.symbols)
        self._live = start.purpose != pb.PURPOSE_BACKTEST
        self.notes = _Notes(start.log_level, start.all_points)
        self.view = View(self._symbols, Random(int(start.root_seed or 0)), self._log, self._publish)
        self.views = list(self.view._views.values())
        if start.account.execution:
            step = json.loads(start.account.execution).get("quantity_step", 1e-8)
            self.view.quantity_step = float(step)
        self._frames: list[list[Frame]] = [[] for _ in self._symbols]
        self._keep(looked, start.timeframe)
        self.inputs = [InputView(i.name) for i in strategy.inputs]
        self.view._inputs = {i.name: i for i in self.inputs}
        if list(start.inputs) != list(self.view._inputs):
            raise SystemExit(
                f"the strategy reads the inputs {list(self.view._inputs)}, the host delivers "
                f"{list(start.inputs)}: run it with a newer host"
            )
        self._orders: dict[int, Order] = {}
        self.view._orders = self._open_orders
        self._asked = False
        told = (Strategy.on_fill, Strategy.on_reject)
        self._listens = (type(strategy).on_fill, type(strategy).on_reject) != told
        self.fed: tuple[Fed, ...] = tuple(strategy.__dict__.get("_fed", ()))
        strategy.__dict__["_fed"] = self.fed
        for fed in self.fed:
            fed.bind(self.views)
        self.held: set[int] = set()

    def _keep(self, looked: Kept, run: str) -> None:
        """Makes room for what is kept."""
        own = looked.own
        for name, n in looked.larger.items():
            base, larger = timeframe(run), timeframe(name)
            if base.same(larger):
                own = max(own, n)
            for view, frames in zip(self.views, self._frames, strict=True):
                if base.same(larger):
                    view._frames[name] = view
                    continue
                frames.append(Frame(base, larger, n))
                view._frames[name] = FrameView(frames[-1])
        for view in self.views:
            view.timeframe = run
            view._past = Past(own)
        self._keeps = own > 0
        self.remembers = self._keeps or any(self._frames)

    def decide(self, step: Any) -> list[Any]:
        """The intents of one step, as messages."""
        if self._live or step.index % CHUNK_STEPS == 0:
            self.notes.refill()
        self.view.index, self.view._time, self.view.warmup = (
            step.index,
            step.close_time,
            step.warmup,
        )
        for view in self.views:
            view._closed = False
        for rows in step.inputs:
            self.inputs[rows.input]._load(rows)
        for c in step.candles:
            self.views[c.symbol]._show((c.open_time, c.open, c.high, c.low, c.close, c.volume))
        self.feed(self.fed)
        return self.answer(step)

    def feed(self, those: Iterable[Fed]) -> None:
        """Adds the candles of a step to indicators."""
        for fed in those:
            if all(v._closed for v in fed.views):
                fed.stream()

    def answer(self, step: Any) -> list[Any]:
        """The intents of a step whose candles are in the view, as messages."""
        self._see(step)
        if self.remembers:
            self.remember()
        self._asked = True
        try:
            early = self._tell(step.fills, step.orders) if self._listens else []
            return early + self.messages(
                "on_candle", self.strategy.on_candle(self.view), len(early)
            )
        except RAISED as e:
            raise self.explain(e) from None

    def explain(self, e: BaseException) -> Failure:
        """What the host is told of an exception of the author's."""
        at = f", candle closed at {_text(self.view._time)}"
        if isinstance(e, Failure):
            return Failure(f"{e}{at}", e.kind) if e.kind == "intent" else e
        if isinstance(e, SignalError):
            return Failure(str(e), "signals")
        message = f"{explained(e)}{at}"
        return Failure(message, type(e).__name__, _stack(e))

    def remember(self) -> None:
        """Adds the candles of a step to what is kept of them."""
        now = self.view._time
        for view, frames in zip(self.views, self._frames, strict=True):
            c = view._candle
            row = Row(c[0], now, *c[1:]) if view._closed else None
            if row is not None and self._keeps:
                view._past.add(row)
            for frame in frames:
                frame.advance(now, row)

    def skip(self, chunk: Any) -> None:
        """Takes candles that a strategy of signals is not asked about."""
        for symbol, m in zip(self._symbols, chunk.symbols, strict=True):
            assert isinstance(self.strategy, SignalStrategy)
            self.strategy._rows(symbol).extend(m)

    def _tell(self, fills: Any, orders: Any) -> list[Any]:
        """Calls on_fill and on_reject in the order of events: an order's fills come before its
        state says so."""
        early: list[Any] = []
        told = 0

        def add(name: str, answer: Intents) -> None:
            early.extend(self.messages(name, answer, 0))
            if len(early) > MAX_EARLY_INTENTS:
                raise Failure(
                    f"on_fill and on_reject returned {len(early)} intents at one step, at most "
                    f"{MAX_EARLY_INTENTS} are allowed",
                    "limit",
                )

        for o in orders:
            last = told
            if _STATES[o.status] in ("filled", "partially_filled"):
                for n in range(told, len(fills)):
                    if fills[n].order_id == o.order_id:
                        last = n + 1
                        if _STATES[o.status] == "partially_filled":
                            break
            for f in fills[told:last]:
                add("on_fill", self.strategy.on_fill(self.view, self._fill(f)))
            told = last
            if _STATES[o.status] == "rejected":
                rejection = Rejection(self._order(o), o.reason)
                add("on_reject", self.strategy.on_reject(self.view, rejection))
        for f in fills[told:]:
            add("on_fill", self.strategy.on_fill(self.view, self._fill(f)))
        return early

    def stop(self) -> None:
        """Says that no further step will come."""
        if not self._asked:
            return
        try:
            self.strategy.stop(self.view)
        except RAISED as e:
            message = f"{explained(e)} in stop()"
            raise Failure(message, type(e).__name__, _stack(e)) from None

    def _see(self, step: Any) -> None:
        account = step.account
        self.view.cash, self.view._equity = account.cash, account.equity
        held = set()
        for p in account.positions:
            held.add(p.symbol)
            self.views[p.symbol]._hold(p.quantity, p.entry_price, p.candles_held)
        for gone in self.held - held:
            self.views[gone]._hold(0.0, 0.0, 0)
        self.held = held
        live: dict[int, Any] = {}
        for o in step.orders:
            if o.status in _FINAL:
                self._orders.pop(o.order_id, None)
                live.pop(o.order_id, None)
            else:
                live[o.order_id] = o
        for i, o in live.items():  # the last state of each
            self._orders[i] = self._order(o)

    def _open_orders(self) -> list[Order]:
        return [self._orders[i] for i in sorted(self._orders)]

    def _order(self, o: Any) -> Order:
        return Order(
            id=o.order_id,
            parent_id=o.parent_id,
            symbol=self._symbols[o.symbol],
            ref=o.client_ref,
            side=_SIDES[o.side],
            type=_TYPES[o.type],
            role=_ROLES[o.role],
            status=_STATES[o.status],
            reason=o.reason,
            quantity=o.quantity,
            filled_quantity=o.filled_quantity,
            limit_price=float(o.limit_price) if o.limit_price else None,
            stop_price=float(o.stop_price) if o.stop_price else None,
            reduce_only=o.reduce_only,
            tag=o.tag,
            created_at=moment(o.created_at),
            clamped=o.clamped,
        )

    def _fill(self, f: Any) -> Fill:
        return Fill(
            id=f.fill_id,
            order_id=f.order_id,
            symbol=self._symbols[f.symbol],
            side=_SIDES[f.side],
            role=_ROLES[f.role],
            quantity=f.quantity,
            price=f.price,
            fee=f.fee,
            slippage=f.slippage,
            liquidity=("taker", "maker")[f.liquidity],
            time=moment(f.time),
            position_after=f.position_after,
            realized_pnl=f.realized_pnl,
            ambiguous=f.ambiguous,
            tag=f.tag,
        )

    def messages(self, name: str, answer: Intents, before: int) -> list[Any]:
        if answer is None:
            return []
        intents: Any = answer
        if isinstance(answer, Intent):
            intents = (answer,)
        elif not isinstance(intents, Iterable) or isinstance(intents, str | bytes):
            raise Failure(
                f"{name} returned {type(answer).__name__}: return an order, a list of them or None",
                "intent",
            )
        messages: list[Any] = []
        for i, intent in enumerate(intents):
            if before + i >= MAX_INTENTS:
                raise Failure(f"at most {MAX_INTENTS} intents are allowed at one step", "limit")
            messages.append(self._message(i, intent))
        return messages

    def _message(self, i: int, n: object) -> pb.Intent:
        if not isinstance(n, Intent):
            raise Failure(f"intent {i} is {type(n).__name__}, not an order", "intent")
        if n.action == "submit" and n.size is None:
            raise Failure(f"intent {i}, to {n.side}, has no size", "intent")
        if n.action in ("cancel", "replace") and not n.target:
            raise Failure(f"intent {i} is {_BUILDERS[n.action]} without a reference", "intent")
        if n.action != "submit" and n.oco:
            raise Failure(f"intent {i} of OCO is to {n.action}: give it new orders", "intent")
        if len(n.targets) > MAX_TARGETS:
            raise Failure(
                f"intent {i}, to {n.side}, has {len(n.targets)} targets, at most {MAX_TARGETS} "
                "are allowed",
                "intent",
            )
        for name, number in _numbers(n):
            try:
                finite = math.isfinite(number)
            except TypeError:
                finite = False
            if not finite:
                raise Failure(
                    f"intent {i}, to {n.action}: {name} is {number!r}, it must be a finite number; "
                    "return None until there is one",
                    "intent",
                )
        symbol = 0
        if n.symbol is not None:
            if n.symbol not in self._symbols:
                known = ", ".join(self._symbols)
                raise Failure(f"intent {i}: {n.symbol} is not part of this run ({known})", "intent")
            symbol = self._symbols.index(n.symbol)
        # What it does not say is not set: each field costs as much as to look whether it says it.
        m = pb.Intent(
            action=_ACTIONS[n.action],
            symbol=symbol,
            side=_SIDES.index(n.side),
            guard=_guard(n.guard),
        )
        if n.size is not None:
            if n.size.kind == "position":
                m.reduce_only = True
            else:
                setattr(m, n.size.kind, _plain(n.size.value))
        if n.type != "market":
            m.type = _TYPES.index(n.type)
        if n.limit_price:
            m.limit_price = _plain(n.limit_price)
        if n.stop_price:
            m.stop_price = _plain(n.stop_price)
        if n.trail_percent_:
            m.trail_percent = _plain(n.trail_percent_)
        if n.trail_amount_:
            m.trail_amount = _plain(n.trail_amount_)
        if n.time_in_force != "gtc":
            m.time_in_force = _FORCES.index(n.time_in_force)
        if n.expire_after_:
            m.expire_after = n.expire_after_
        if n.reduce_only_:
            m.reduce_only = True
        if n.post_only_:
            m.post_only = True
        if n.stop_loss_ is not None:
            m.stop_loss.CopyFrom(_level(n.stop_loss_))
        if n.take_profit_ is not None:
            m.take_profit.CopyFrom(_level(n.take_profit_))
        for share, level in n.targets:
            m.targets.append(pb.TakeProfit(level=_level(level), share=_optional(share)))
        if n.oco:
            m.oco = n.oco
        if n.tag_:
            m.tag = n.tag_
        if n.client_ref:
            m.client_ref = n.client_ref
        if n.target:
            m.ref = n.target
        return m

    def _log(self, level: str, message: str, fields: dict[str, Any]) -> None:
        self.notes.log(self.view.index, self.view._time, level, message, fields)

    def _publish(self, symbol: str, name: str, value: float) -> None:
        self.notes.publish(self.view._time, symbol, name, value)


class Whole:
    """Drives a strategy of signals through a backtest: all candles first, then one answer."""

    def __init__(self, strategy: SignalStrategy, start: Any) -> None:
        self._strategy, self._author = strategy, Author(strategy, start)
        self._symbols = list(start.symbols)
        self._rows: list[Rows] = []
        self._steps: list[list[Any]] = [[] for _ in self._symbols]
        self.warmup = 0
        if strategy.candles != "numpy":
            with contextlib.suppress(Exception):  # what is wrong with it is told where it is used
                importlib.import_module(strategy.candles)

    def begin(self, message: Any) -> None:
        self.warmup = message.warmup_steps
        room = max(1, min(message.total_steps, MAX_WARMUP))
        try:
            self._rows = [Rows(room) for _ in self._symbols]
        except ImportError as e:
            raise Failure(str(e), "ImportError") from None

    def take(self, chunk: Any) -> None:
        """Adds a chunk of candles."""
        import numpy as np

        n = len(chunk.close_times)
        steps = np.arange(chunk.first_step, chunk.first_step + n, dtype=np.int64)
        for rows, mine, m in zip(self._rows, self._steps, chunk.symbols, strict=True):
            rows.extend(m)
            if m.present:
                bits = np.unpackbits(np.frombuffer(m.present, np.uint8), bitorder="little")
                mine.append(steps[bits[:n].astype(bool)])
            else:
                mine.append(steps)

    def answer(self) -> list[Any]:
        """The intents of all steps, as messages."""
        import numpy as np

        try:
            found = []
            for symbol, rows, mine in zip(self._symbols, self._rows, self._steps, strict=True):
                if rows.n:
                    steps = np.concatenate(mine)
                    steps[steps < self.warmup] = -1
                    found.append((symbol, rows.table(self._strategy), steps))
            return columns(pb, found, lambda intent: self._author._message(0, intent))
        except SignalError as e:
            raise Failure(str(e), "signals") from None
        except Failure:
            raise
        except RAISED as e:
            message = f"{explained(e)} in signals()"
            raise Failure(message, type(e).__name__, _stack(e)) from None


class _Notes:
    """Holds log lines and points until they are sent. What is beyond the limits is counted
    and left out."""

    def __init__(self, level: str, all_points: bool) -> None:
        self._level = _LEVELS.get(level, _LEVELS["info"])
        self._max_points = MAX_SERIES * CHUNK_STEPS if all_points else MAX_POINTS
        self._lines: list[Any] = []
        self._series: dict[tuple[str, str], tuple[list[int], list[float]]] = {}
        self._dropped_lines = self._dropped_points = 0
        self._waiting = 0
        self.due = False  #: whether they are to be sent before the next step
        self.refill()

    def refill(self) -> None:
        self._line_count = self._line_bytes = self._point_count = 0

    def log(self, step: int, at: int, level: str, message: str, fields: dict[str, Any]) -> None:
        if _LEVELS.get(level, 2) < self._level:
            return
        if self._line_count >= MAX_LINES or self._line_bytes >= MAX_LINE_BYTES:
            self._dropped_lines += 1
            self.due = True
            return
        pairs = {
            _cut(str(k), MAX_TEXT): _cut(str(v), MAX_MESSAGE)
            for k, v in list(fields.items())[:MAX_FIELDS]
        }
        text = _cut(str(message), MAX_MESSAGE)
        self._line_count += 1
        size = len(text) + sum(len(k) + len(v) for k, v in pairs.items())
        self._line_bytes += size
        self._wait(1024 + size)
        self._lines.append(
            pb.LogLine(
                level=level if level in _LEVELS else "info",
                message=text,
                fields=pairs,
                step=step,
                time=at,
                order=list(pairs),
            )
        )

    def publish(self, at: int, symbol: str, name: str, value: float) -> None:
        if not name or not math.isfinite(value):
            return
        key = (symbol, name)
        full = key not in self._series and len(self._series) >= MAX_SERIES
        if full or self._point_count >= self._max_points or len(name.encode()) > MAX_TEXT:
            self._dropped_points += 1
            return
        self._point_count += 1
        times, values = self._series.setdefault(key, ([], []))
        times.append(at)
        values.append(float(value))
        self._wait(256)

    def _wait(self, size: int) -> None:
        self._waiting += size
        self.due = self.due or self._waiting > MAX_WAITING

    def take(self) -> list[Any]:
        """The messages that have come together."""
        if not (self._waiting or self._dropped_lines or self._dropped_points):
            return []
        self._waiting, self.due = 0, False
        out = []
        if self._lines or self._dropped_lines:
            out.append(
                pb.PluginMessage(
                    log_lines=pb.LogLines(lines=self._lines, dropped=self._dropped_lines)
                )
            )
            self._lines, self._dropped_lines = [], 0
        points = [(key, t, v) for key, (t, v) in self._series.items() if t]
        if points or self._dropped_points:
            series = [
                pb.AnnotationSeries(name=n, symbol=s, times=t, values=v) for (s, n), t, v in points
            ]
            out.append(
                pb.PluginMessage(
                    annotations=pb.Annotations(series=series, dropped=self._dropped_points)
                )
            )
            for key, _, _ in points:
                self._series[key] = ([], [])
            self._dropped_points = 0
        return out


def _numbers(n: Intent) -> list[tuple[str, float]]:
    """The numbers of an intent, by name."""
    found: list[tuple[str, float]] = []
    if n.size is not None:
        found.append((n.size.kind, n.size.value))
    if n.limit_price is not None:
        found.append(("limit_price", n.limit_price))
    if n.stop_price is not None:
        found.append(("stop_price", n.stop_price))
    if n.trail_percent_ is not None:
        found.append(("trail_percent", n.trail_percent_))
    if n.trail_amount_ is not None:
        found.append(("trail_amount", n.trail_amount_))
    if n.stop_loss_ is not None:
        found += _parts("stop_loss", n.stop_loss_)
    if n.take_profit_ is not None:
        found += _parts("take_profit", n.take_profit_)
    for share, level in n.targets:
        found += [*_parts("take_part", level), ("take_part", share)]
    return found


def _parts(name: str, level: Level) -> list[tuple[str, float]]:
    parts = (level.price, level.percent, level.trail_percent, level.trail_amount)
    return [(name, part) for part in parts if part is not None]


def _plain(x: float) -> str:
    """A finite float64 as a plain decimal that reads back with the same bits."""
    text = repr(float(x))
    if "e" in text:
        text = format(Decimal(text), "f")
    return text[:-2] if text.endswith(".0") else text


def _optional(x: float | None) -> str:
    return "" if x is None or x == 0 else _plain(x)


def _guard(guard: Guard | None) -> Any:
    if guard is None:
        return None
    for p in guard.position:
        if p not in _STANCES:
            raise Failure(f"when({p!r}): a position is flat, long or short", "intent")
    return pb.Guard(
        position=sum(_STANCES[p] for p in set(guard.position)),
        entry_working=guard.entry_working,
        max_entries=guard.max_entries,
        max_open=guard.max_open,
    )


def _level(level: Level | None) -> Any:
    if level is None:
        return None
    return pb.Child(
        price=_optional(level.price),
        percent=_optional(level.percent),
        trail_percent=_optional(level.trail_percent),
        trail_amount=_optional(level.trail_amount),
        tighten_to=_optional(level.tighten_to),
        tighten_after=_optional(level.tighten_after),
    )


def _cut(text: str, limit: int) -> str:
    raw = text.encode("utf-8", "replace")
    return text if len(raw) <= limit else raw[:limit].decode("utf-8", "ignore")


def _text(ms: int) -> str:
    return moment(ms).strftime("%Y-%m-%dT%H:%M:%SZ")


def explained(e: BaseException) -> str:
    """What was raised, and the author's line that led to it."""
    return f"{_what(e)}{_place(e.__traceback__)}"


def _what(e: BaseException) -> str:
    if isinstance(e, Overdue):
        return "still running"
    return f"{type(e).__name__}: {e}" if str(e) else type(e).__name__


def _stack(e: BaseException) -> str:
    """The stack without the frames that drive and the folders of this machine: how and where a
    strategy is driven makes no difference."""
    tb = e.__traceback__
    while tb and os.path.basename(tb.tb_frame.f_code.co_filename) in ("_drive.py", "_advance.py"):
        tb = tb.tb_next
    text = "".join(traceback.format_exception(type(e), e, tb or e.__traceback__))
    for folder in sorted(filter(None, sys.path), key=len, reverse=True):
        text = text.replace(f'File "{folder}{os.sep}', 'File "')
    return _cut(text, MAX_STACK)


def _place(tb: TracebackType | None) -> str:
    """The author's file and line that led to an exception, such as " at strategy.py:36"."""
    own = os.path.dirname(os.path.abspath(__file__))
    layers = [p for p in sys.path if p and glob.glob(os.path.join(glob.escape(p), "*.dist-info"))]
    libraries = (own, sys.prefix, sys.base_prefix, *layers)
    place = ""
    for frame in traceback.extract_tb(tb):
        name = os.path.abspath(frame.filename)
        library = name.startswith(libraries) or "site-packages" in name
        if not library:
            place = f" at {os.path.basename(frame.filename)}:{frame.lineno}"
    return place
