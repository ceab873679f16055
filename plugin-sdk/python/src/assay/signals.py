"""Strategies that compute whole columns at once, with pandas, polars or NumPy.

::

    from assay import AllCash, Param, Signals, SignalStrategy, crossed_above, crossed_below

    class SmaCross(SignalStrategy):
        \"\"\"Buys when a fast average crosses above a slow one.\"\"\"
        fast: int = Param(10)
        slow: int = Param(30)

        def signals(self, c):
            f, s = c.close.rolling(self.fast).mean(), c.close.rolling(self.slow).mean()
            return Signals(entry=crossed_above(f, s), exit=crossed_below(f, s), stop_loss=0.05)
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from .intents import (
    AllCash,
    Buy,
    Close,
    Intent,
    Intents,
    Level,
    MoveStop,
    MoveTarget,
    Percent,
    Sell,
    Size,
    Stance,
)
from .strategy import Strategy
from .view import View

if TYPE_CHECKING:
    import numpy as np

__all__ = ["SignalError", "SignalStrategy", "Signals", "crossed_above", "crossed_below"]

_SIDES = ("entry", "exit", "entry_short", "exit_short")
_OWN = os.path.dirname(os.path.abspath(__file__))


class SignalError(ValueError):
    """Signals that cannot be read, with column, row, place and what to do."""


class NumpyCandles(NamedTuple):
    """The candles of one symbol as NumPy arrays, for ``candles = "numpy"``."""

    time: np.ndarray  #: datetime64[ms], UTC: when each candle opened
    open: np.ndarray
    high: np.ndarray
    low: np.ndarray
    close: np.ndarray
    volume: np.ndarray

    def __len__(self) -> int:
        return self.close.size


@dataclass(frozen=True)
class Signals:
    """What to do at the close of each row of the candles. A column has one value for each row:
    a Series of pandas or polars, a NumPy array or a list; a single value counts for all rows.

    Exits come before entries in one row. ``entry`` opens a long position where none is held;
    together with ``exit_short`` it also turns a short one. Together with ``exit`` or
    ``entry_short`` it contradicts itself and does nothing. The short columns mirror that. No entry
    is made while another one waits to be filled.
    """

    entry: Any = None  #: column of bool: opens a long position
    exit: Any = None  #: column of bool: closes a long one
    entry_short: Any = None  #: column of bool: opens a short position
    exit_short: Any = None  #: column of bool: closes a short one
    size: Any = AllCash  #: of entries: a size, whose value may be a column
    limit: Any = None  #: column of prices: entries are limit orders
    expire_after: Any = None  #: candles that a limit order lives, a number or a column
    stop_loss: Any = None  #: fraction of the fill price, a column of them, or a level
    take_profit: Any = None  #: the same
    #: column of prices to which the stop loss of a long position is moved; NaN: it stays
    move_stop: Any = None
    move_target: Any = None  #: the same for its take profit
    move_stop_short: Any = None  #: the same for the stop loss of a short position
    move_target_short: Any = None  #: the same for the take profit of one
    tag: Any = ""  #: label of entries, a text or a column of texts
    #: how many symbols of the run may have a position or a working entry, with this one; 0: any
    max_open: int = 0
    _place: str = field(default="", init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        frame: Any = sys._getframe(1)
        while frame is not None:
            name = os.path.abspath(frame.f_code.co_filename)
            if not name.startswith(_OWN) and os.path.isfile(name):
                place = f" at {os.path.basename(name)}:{frame.f_lineno}"
                object.__setattr__(self, "_place", place)
                return
            frame = frame.f_back


class SignalStrategy(Strategy):
    """Decides all steps at once from columns. A backtest calls `signals` once, on all candles,
    and replays some steps without the candles after them: a difference ends it with NOT_CAUSAL.
    Paper and live runs call it at each candle, on all candles so far.

    Sizes from the equity so far, cooldowns and orders that follow a position need `Strategy`.
    """

    #: what `signals` gets: a DataFrame of pandas; one of polars, with the column time; or
    #: `NumpyCandles`
    candles: ClassVar[Literal["pandas", "polars", "numpy"]] = "pandas"

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in ("on_candle", "on_fill", "on_reject", "lookback", "stop"):
            if getattr(cls, name) is not getattr(SignalStrategy, name):
                raise TypeError(f"{cls.__name__}.{name} is never called: use Strategy for it")
        if cls.extra or cls.inputs:
            raise TypeError(f"{cls.__name__}: signals have no extra and no inputs: use Strategy")
        if cls.candles not in ("pandas", "polars", "numpy"):
            raise TypeError(
                f"{cls.__name__}.candles is {cls.candles!r}, must be pandas, polars or numpy"
            )

    def signals(self, c: Any) -> Signals:
        """Decides. c has a row for each candle of one symbol, oldest first: open, high, low,
        close and volume by the time when it opened (UTC). It must use only rows up to each
        row's own."""
        raise NotImplementedError("a strategy of signals needs signals(self, c)")

    def I(self, indicator: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: E743
        """Is not for signals."""
        raise TypeError("self.I is not for signals, which have whole columns: use Strategy for it")

    def on_candle(self, v: View) -> Intents:
        """Calls `signals` on the candles so far, and asks for what its last row says."""
        answer: list[Intent] = []
        for symbol in v.symbols:
            one = v[symbol]
            if one.closed:
                rows = self._rows(symbol)
                rows.add(*one._candle)
                if not v.warmup:
                    answer += (i.on(symbol) for i in rows.last(self))
        return answer

    def _rows(self, symbol: str) -> Rows:
        kept: dict[str, Rows] = self.__dict__.setdefault("_kept", {})
        if symbol not in kept:
            kept[symbol] = Rows()
        return kept[symbol]


def _numpy() -> Any:
    """The module, which signals need and orders at each candle do not."""
    try:
        return importlib.import_module("numpy")
    except ImportError as e:
        raise ImportError(
            "signals need numpy: add it to the dependencies in pyproject.toml and install it, as "
            "in pip install 'assay-sdk[signals]'"
        ) from e


class Rows:
    """The candles of one symbol so far, in arrays with room for more."""

    def __init__(self, room: int = 1024) -> None:
        self._np = np = _numpy()
        self.n = 0
        self._times = np.zeros(room, np.int64)
        self._values = np.zeros((5, room))

    def _grow(self, more: int) -> None:
        np = self._np
        if self.n + more > self._times.size:
            room = max(2 * self._times.size, self.n + more)
            times, values = np.zeros(room, np.int64), np.zeros((5, room))
            times[: self.n], values[:, : self.n] = self._times[: self.n], self._values[:, : self.n]
            self._times, self._values = times, values

    def add(self, time: int, *prices: float) -> None:
        """Adds a candle."""
        self._grow(1)
        self._times[self.n] = time
        self._values[:, self.n] = prices
        self.n += 1

    def extend(self, m: Any) -> None:
        """Adds the candles of a chunk."""
        np = self._np
        times = np.frombuffer(m.open_time, "<i8")
        self._grow(times.size)
        to = self.n + times.size
        self._times[self.n : to] = times
        for row, raw in enumerate((m.open, m.high, m.low, m.close, m.volume)):
            self._values[row, self.n : to] = np.frombuffer(raw, "<f8")
        self.n = to

    def candles(self, kind: str) -> Any:
        """What `signals` gets. It cannot be written."""
        times = self._times[: self.n].astype("datetime64[ms]")
        columns = [self._values[k, : self.n] for k in range(5)]
        for a in (times, *columns):
            a.flags.writeable = False
        if kind == "numpy":
            return NumpyCandles(times, *columns)
        try:
            library = importlib.import_module(kind)
        except ImportError as e:
            raise ImportError(
                f"signals get a DataFrame: add {kind} to the dependencies in pyproject.toml and "
                'install it, or set candles = "numpy"'
            ) from e
        names = ("open", "high", "low", "close", "volume")
        if kind == "polars":
            frame = library.DataFrame(dict(zip(("time", *names), (times, *columns), strict=True)))
            return frame.with_columns(library.col("time").dt.replace_time_zone("UTC"))
        pd = library
        index = pd.DatetimeIndex(times).tz_localize("UTC")
        return pd.DataFrame(dict(zip(names, columns, strict=True)), index=index, copy=False)

    def table(self, strategy: SignalStrategy) -> Table:
        """The checked columns of all rows."""
        said = strategy.signals(self.candles(strategy.candles))
        if not isinstance(said, Signals):
            raise SignalError(
                f"signals() returned {type(said).__name__}: return Signals(entry=..., exit=...)"
            )
        return Table(said, self._times[: self.n])

    def last(self, strategy: SignalStrategy) -> list[Intent]:
        """The intents of the last row."""
        return self.table(strategy).intents(self.n - 1)


class Asked(NamedTuple):
    """One order of the rows that ask for it."""

    order: Intent
    rows: Any  #: column of bool
    columns: dict[str, Any]  #: by field: its values, where they differ from row to row


class Table:
    """The columns of `Signals` as arrays."""

    def __init__(self, said: Signals, times: Any) -> None:
        import numpy as np

        self._np, self._said, self._times, self.n = np, said, times, times.size
        off = np.zeros(self.n, bool)
        entry, exit, short, cover = (
            off if getattr(said, name) is None else self._flags(name) for name in _SIDES
        )
        both = entry & short
        self.exits = exit, cover
        self.long, self.short = entry & ~exit & ~both, short & ~cover & ~both
        self.turns_long, self.turns_short = self.long & cover, self.short & exit
        self.entries = self.long | self.short
        self.size, self.sizes = self._size()
        self.limit = self._numbers("limit", said.limit)
        self.expire = self._numbers("expire_after", said.expire_after)
        if self.expire is not None:
            if self.limit is None:
                raise self._error("expire_after", "is only for limit orders: set limit as well")
            bad = (self.expire < 1) | (self.expire != np.floor(self.expire)) | (self.expire > 1e9)
            self._refuse("expire_after", bad, "no whole number of candles from 1 on")
        self.stop, self.stops = self._level("stop_loss")
        self.take, self.takes = self._level("take_profit")
        self.tags = self._texts()
        columns = {
            "size": self.sizes,
            "limit_price": self.limit,
            "stop_loss": self.stops,
            "take_profit": self.takes,
            "expire_after": self.expire,
            "tag": self.tags,
        }
        self._columns = {name: a for name, a in columns.items() if a is not None}
        self._moves = [
            self._move("move_stop", "stop_loss", "long"),
            self._move("move_target", "take_profit", "long"),
            self._move("move_stop_short", "stop_loss", "short"),
            self._move("move_target_short", "take_profit", "short"),
        ]
        if not isinstance(said.max_open, int) or not 0 <= said.max_open < 1 << 31:
            raise self._error("max_open", f"is {said.max_open!r}, it must be a whole number")

    def _flags(self, name: str) -> Any:
        a = self._array(name, getattr(self._said, name))
        if a.dtype != bool:
            missing = ""
            if a.dtype == object or a.dtype.kind == "f":
                missing = (
                    "; shift() and comparisons with missing values leave NaN: use "
                    "shift(1, fill_value=False) or .fillna(False).astype(bool)"
                )
            raise self._error(name, f"has the type {a.dtype}, it must be bool{missing}")
        return a

    def _array(self, name: str, column: Any) -> Any:
        np = self._np
        kind = getattr(getattr(column, "dtype", None), "name", "")
        if kind == "boolean" and not column.isna().any():  # of pandas, with missing values
            column = column.astype(bool)
        a = np.asarray(column)
        if a.ndim == 0:
            return np.broadcast_to(a, self.n)
        if a.ndim != 1 or a.size != self.n:
            shape = " x ".join(str(k) for k in a.shape)
            raise self._error(
                name,
                f"has {shape} values for {self.n} candles: it must have one for each row, so do "
                "not drop rows (dropna) or slice them",
            )
        return a

    def _numbers(self, name: str, column: Any) -> Any:
        """A column of float64 that has a value wherever there is an entry; None without one."""
        if column is None:
            return None
        a = self._column(name, column)
        self._refuse(
            name,
            ~self._np.isfinite(a),
            "no finite number, although there is an entry: enter only where it has a value, as in "
            f"entry=... & {name}.notna()",
        )
        return a

    def _column(self, name: str, column: Any) -> Any:
        """A column of float64."""
        a = self._array(name, column)
        if a.dtype.kind not in "fiu":
            raise self._error(
                name, f"has the type {a.dtype}, it must be numbers: use .astype(float)"
            )
        return a.astype("<f8")

    def _refuse(self, name: str, bad: Any, what: str, among: Any = None) -> None:
        """Refuses the first bad row among the entries, or among other rows."""
        rows = self._np.flatnonzero(bad & (self.entries if among is None else among))
        if rows.size:
            raise self._error(name, f"row {rows[0]} ({self._when(rows[0])}) is {what}")

    def _when(self, row: int) -> str:
        return f"{self._np.datetime64(int(self._times[row]), 'ms')}Z"

    def _error(self, name: str, what: str) -> SignalError:
        return SignalError(f"signals(): the column {name}{self._said._place} {what}")

    def _size(self) -> tuple[Size, Any]:
        size = self._said.size
        if not isinstance(size, Size):
            raise self._error(
                "size",
                f"is {type(size).__name__}, it must be a size such as AllCash or Quantity(column)",
            )
        if size.kind in ("position", "target_fraction"):
            raise self._error("size", f"is a {size.kind}, which entries cannot have")
        if isinstance(size.value, int | float):
            return size, None
        return Size(size.kind, 1.0), self._numbers("size", size.value)

    def _level(self, name: str) -> tuple[Level | None, Any]:
        """The level of all rows, and the column of its value where it is another one in each."""
        given = getattr(self._said, name)
        if given is None:
            return None, None
        level = given if isinstance(given, Level) else Percent(given)
        fields = ("price", "percent", "trail_percent", "trail_amount")
        kinds = [k for k in fields if getattr(level, k) is not None]
        if len(kinds) != 1:
            raise self._error(name, "must be one level, such as Percent(0.05) or At(column)")
        return replace(level, **{kinds[0]: 1.0}), self._numbers(name, getattr(level, kinds[0]))

    def _texts(self) -> list[str] | None:
        tag = self._said.tag
        if isinstance(tag, str):
            return None
        texts = list(tag)
        if len(texts) != self.n:
            raise self._error("tag", f"has {len(texts)} values for {self.n} candles")
        for row in self._np.flatnonzero(self.entries):
            if not isinstance(texts[row], str):
                what = (
                    f"row {row} ({self._when(int(row))}) is {type(texts[row]).__name__}, not text"
                )
                raise self._error("tag", what)
        return texts

    def _move(self, name: str, leg: str, position: Stance) -> Asked | None:
        """The moves of a leg, in the rows that have a price; None without a column."""
        column = getattr(self._said, name)
        if column is None:
            return None
        level = self.stop if leg == "stop_loss" else self.take
        if level is None:
            raise self._error(name, f"has no leg to move: set {leg} as well")
        if level.trail_percent is not None or level.trail_amount is not None:
            raise self._error(name, "is not for a stop loss that trails: it moves by itself")
        a = self._column(name, column)
        rows = ~self._np.isnan(a)
        self._refuse(name, self._np.isinf(a), "not finite: a row that moves nothing has NaN", rows)
        move = (MoveStop if leg == "stop_loss" else MoveTarget)(1.0).when(position)
        return Asked(move, rows, {leg: a})

    def templates(self) -> list[Asked]:
        """What is asked for, in list order."""
        long, short = ~self.turns_long & self.long, ~self.turns_short & self.short
        buy, sell, columns = self._entry(Buy), self._entry(Sell), self._columns
        return [
            Asked(Close().when("long"), self.exits[0], {}),
            Asked(Close().when("short"), self.exits[1], {}),
            *(move for move in self._moves if move is not None),
            Asked(buy.when("flat", "short"), self.turns_long, columns),
            Asked(buy.when("flat"), long, columns),
            Asked(sell.when("flat", "long"), self.turns_short, columns),
            Asked(sell.when("flat"), short, columns),
        ]

    def _entry(self, side: Callable[[Size], Intent]) -> Intent:
        """An entry with what is the same in all rows; what is not stands as 1."""
        order = side(self.size).max_open(self._said.max_open)
        if self.limit is not None:
            order = order.limit(1.0)
        if self.expire is not None:
            order = order.expire_after(1)
        if self.stop is not None:
            order = order.stop_loss(self.stop)
        if self.take is not None:
            order = order.take_profit(self.take)
        return order.tag(self._said.tag) if self.tags is None else order

    def intents(self, row: int) -> list[Intent]:
        """The intents of one row."""
        return [_filled(asked, row) for asked in self.templates() if asked.rows[row]]


def _filled(asked: Asked, row: int) -> Intent:
    order = asked.order
    for name, values in asked.columns.items():
        if name == "size" and order.size is not None:
            order = order.with_size(Size(order.size.kind, float(values[row])))
        elif name == "limit_price":
            order = order.limit(float(values[row]))
        elif name == "expire_after":
            order = order.expire_after(int(values[row]))
        elif name == "stop_loss" and order.stop_loss_ is not None:
            order = order.stop_loss(_with_value(order.stop_loss_, float(values[row])))
        elif name == "take_profit" and order.take_profit_ is not None:
            order = order.take_profit(_with_value(order.take_profit_, float(values[row])))
        elif name == "tag":
            order = order.tag(values[row])
    return order


def _with_value(level: Level, value: float) -> Level:
    fields = ("price", "percent", "trail_percent", "trail_amount")
    return replace(level, **{k: value for k in fields if getattr(level, k) is not None})


def crossed_above(a: Any, b: Any) -> Any:
    """Where a is above b and was not in the row before. b may be a number. Rows where a value
    is missing, now or before, are False."""
    return _crossed(a, b)


def crossed_below(a: Any, b: Any) -> Any:
    """Where a is below b and was not in the row before. b may be a number. Rows where a value
    is missing, now or before, are False."""
    return _crossed(b, a)


def _crossed(upper: Any, lower: Any) -> Any:
    import numpy as np

    x, y = np.asarray(upper, float), np.asarray(lower, float)
    x, y = np.broadcast_arrays(x, y)
    out = np.zeros(x.shape, bool)
    out[1:] = (x[1:] > y[1:]) & (x[:-1] <= y[:-1])
    return out


def columns(pb: Any, found: Sequence[Any], message: Callable[[Intent], Any]) -> list[Any]:
    """The messages with the intents of all symbols. found has for each symbol its name, its
    Table and the step of each row, those of the warm-up below 0."""
    import numpy as np

    out: list[Any] = []
    parts: list[Any] = []
    templates: list[Any] = []
    tags: dict[str, int] = {}
    for symbol, table, steps in found:
        for asked in table.templates():
            at = np.flatnonzero(asked.rows & (steps >= 0))
            if at.size:
                parts.append((len(templates), asked, at, steps[at]))
                templates.append(message(asked.order.on(symbol)))
    if not parts:
        return [pb.Signals(last=True)]
    step = np.concatenate([p[3] for p in parts])
    kind = np.concatenate([np.full(p[2].size, p[0], np.uint32) for p in parts])
    order_of = np.lexsort((kind, step))

    def gather(name: str, kind_of: str, nothing: float) -> Any:
        """One column of all parts; None where no part has it."""
        pieces, some = [], False
        for _, asked, at, _ in parts:
            a = asked.columns.get(name)
            some = some or a is not None
            pieces.append(np.full(at.size, nothing, kind_of) if a is None else a[at])
        return np.concatenate(pieces).astype(kind_of)[order_of] if some else None

    nan = float("nan")
    data = {
        "steps": step.astype("<i8")[order_of],
        "size": gather("size", "<f8", nan),
        "limit_price": gather("limit_price", "<f8", nan),
        "stop_loss": gather("stop_loss", "<f8", nan),
        "take_profit": gather("take_profit", "<f8", nan),
        "expire_after": gather("expire_after", "<i4", 0),
    }
    labels = None
    if any("tag" in asked.columns for _, asked, _, _ in parts):
        pieces = []
        for _, asked, at, _ in parts:
            texts = asked.columns.get("tag")
            for row in at:
                text = asked.order.tag_ if texts is None else texts[row]
                pieces.append(tags.setdefault(text, len(tags)))
        labels = np.array(pieces, "<i4")[order_of]
    kind, end = kind[order_of], 0
    while end < step.size:
        begin, end = end, min(end + CHUNK, step.size)
        used = np.arange(len(templates), dtype=np.uint32)
        if used.size > TEMPLATES:  # each message has those of its own intents
            used, first = np.unique(kind[begin:end], return_index=True)
            if used.size > TEMPLATES:
                end = begin + int(np.sort(first)[TEMPLATES])
                used = np.unique(kind[begin:end])
        m = pb.Signals(templates=[templates[k] for k in used], last=end == step.size)
        m.template = np.searchsorted(used, kind[begin:end]).astype(np.uint8).tobytes()
        for name, a in data.items():
            if a is not None:
                setattr(m, name, a[begin:end].tobytes())
        if labels is not None:
            m.tag = labels[begin:end].tobytes()
            m.tags.extend(tags)
        out.append(m)
    return out


#: intents in one message: some 3 MB
CHUNK = 1 << 16
#: templates in one message: one byte names them
TEMPLATES = 256
