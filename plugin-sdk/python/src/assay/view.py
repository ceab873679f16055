"""What a strategy sees at one step."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple, overload

from ._frames import Frame, Past, Row
from ._inputs import InputView
from .random import Random

__all__ = [
    "Candle",
    "Fill",
    "FrameView",
    "History",
    "Order",
    "Position",
    "Rejection",
    "SymbolView",
    "View",
]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(ms: int) -> datetime:
    """The time of Unix milliseconds, in UTC."""
    return _EPOCH + timedelta(milliseconds=ms)


class Candle(NamedTuple):
    """OHLCV of one symbol over one finished interval."""

    open_time: datetime  #: UTC
    open: float  #: quote currency per unit, like the other prices
    high: float
    low: float
    close: float
    volume: float  #: base currency


class Position(NamedTuple):
    """What is held of one symbol."""

    quantity: float  #: signed: negative when short, zero when flat
    entry_price: float  #: average
    candles_held: int  #: candles of the symbol since the one of the opening fill


@dataclass(frozen=True, slots=True)
class Order:
    """An accepted order and its state. Decimal numbers are text, as the books have them."""

    id: int
    parent_id: int  #: 0: no child of a bracket
    symbol: str
    ref: str
    side: str  #: buy, sell
    type: str  #: market, limit, stop, stop_limit, trailing_stop
    role: str  #: entry, exit, stop_loss, take_profit, end_of_data, liquidation
    status: str  #: new, open, partially_filled, filled, canceled, rejected, expired
    reason: str
    quantity: str
    filled_quantity: str
    limit_price: float | None
    stop_price: float | None
    reduce_only: bool
    tag: str
    created_at: datetime
    clamped: bool = False  #: sized by equity and cut to what the free cash paid for


class Rejection(NamedTuple):
    """An order that was rejected: by the simulator, the venue or the limits of the account."""

    order: Order
    reason: str  #: such as insufficient_cash


@dataclass(frozen=True, slots=True)
class Fill:
    """One execution of an order. Decimal numbers are text, as the books have them."""

    id: int
    order_id: int
    symbol: str
    side: str  #: buy, sell
    role: str
    quantity: str
    price: str
    fee: str  #: quote currency
    slippage: str  #: quote currency, positive is a cost
    liquidity: str  #: taker, maker
    time: datetime
    position_after: str  #: signed
    realized_pnl: str  #: gross
    ambiguous: bool
    tag: str


class History(Sequence[Candle]):
    """Finished candles that follow each other, oldest first: ``h[-1]`` is the newest. The columns
    are lists, which pandas and NumPy take."""

    __slots__ = ("_rows",)

    def __init__(self, rows: list[Row]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, i: int) -> Candle: ...
    @overload
    def __getitem__(self, i: slice) -> History: ...
    def __getitem__(self, i: int | slice) -> Candle | History:
        if isinstance(i, slice):
            return History(self._rows[i])
        return _candle(self._rows[i])

    @property
    def open_time(self) -> list[datetime]:
        return [moment(r.open_time) for r in self._rows]

    @property
    def open(self) -> list[float]:
        return [r.open for r in self._rows]

    @property
    def high(self) -> list[float]:
        return [r.high for r in self._rows]

    @property
    def low(self) -> list[float]:
        return [r.low for r in self._rows]

    @property
    def close(self) -> list[float]:
        return [r.close for r in self._rows]

    @property
    def volume(self) -> list[float]:
        return [r.volume for r in self._rows]


def _candle(r: Row) -> Candle:
    return Candle(moment(r.open_time), r.open, r.high, r.low, r.close, r.volume)


def _history(past: Past, n: int, timeframe: str) -> History:
    if not 0 <= n <= past.keep:
        raise ValueError(
            f"history({n}) of {timeframe} is more than lookback() asks for: {past.keep}"
        )
    return History(past.last(n))


def _close_ago(past: Past, newest: float, n: int, timeframe: str) -> float:
    if n == 0:
        return newest
    if not 0 < n < past.keep:
        raise ValueError(
            f"close_ago({n}) is one of {n + 1} candles of {timeframe}, "
            f"lookback() asks for {past.keep}"
        )
    rows = past.last(n + 1)
    return rows[0].close if len(rows) == n + 1 else float("nan")


class FrameView:
    """One symbol on a larger timeframe of ``extra``, built from the run's candles. A candle of it
    shows at the first step that closes when it does or later; one inside of which the history
    begins does not show. Prices are NaN before the first."""

    __slots__ = ("_frame", "timeframe")

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self.timeframe = str(frame.timeframe)

    @property
    def candle(self) -> Candle:
        """The newest complete candle; NaN before the first."""
        r = self._frame.newest
        return _candle(r) if r is not None else _NONE

    @property
    def open(self) -> float:
        return self.candle.open

    @property
    def high(self) -> float:
        return self.candle.high

    @property
    def low(self) -> float:
        return self.candle.low

    @property
    def close(self) -> float:
        r = self._frame.newest
        return r.close if r is not None else float("nan")

    @property
    def volume(self) -> float:
        return self.candle.volume

    @property
    def closed(self) -> bool:
        """Whether a candle was completed at this step."""
        return self._frame.closed

    def history(self, n: int) -> History:
        """The newest n candles, or all there are, as `SymbolView.history`."""
        return _history(self._frame.past, n, self.timeframe)

    def close_ago(self, n: int) -> float:
        """The close n candles before the newest, as `SymbolView.close_ago`."""
        return _close_ago(self._frame.past, self.close, n, self.timeframe)


_NAN = float("nan")
_NONE = Candle(_EPOCH, _NAN, _NAN, _NAN, _NAN, 0.0)

#: a candle as the driver has it: open time in Unix milliseconds, open, high, low, close, volume
Bare = tuple[int, float, float, float, float, float]
NO_CANDLE: Bare = (0, _NAN, _NAN, _NAN, _NAN, 0.0)


class Columns:
    """Candles that follow each other, as the driver of an advance has them."""

    __slots__ = ("close", "high", "low", "open", "time", "volume")

    def __init__(self) -> None:
        self.time = array("q")  #: of the open, Unix milliseconds
        self.open, self.high, self.low = array("d"), array("d"), array("d")
        self.close, self.volume = array("d"), array("d")

    def __getitem__(self, i: int) -> Bare:
        return (
            self.time[i],
            self.open[i],
            self.high[i],
            self.low[i],
            self.close[i],
            self.volume[i],
        )


class SymbolView:
    """One symbol of a `View`. Valid during the call that received the view."""

    __slots__ = (
        "_bare",
        "_closed",
        "_columns",
        "_entry",
        "_frames",
        "_held",
        "_past",
        "_quantity",
        "_row",
        "_view",
        "close",
        "flat",
        "long",
        "short",
        "symbol",
        "timeframe",
    )

    def __init__(self, symbol: str) -> None:
        self.symbol = symbol
        self.timeframe = ""  #: that of the run, such as 1h
        self._past = Past(0)
        self._frames: dict[str, FrameView | SymbolView] = {}
        # Either the newest candle or, where None, where it is.
        self._bare: Bare | None = NO_CANDLE
        self._columns, self._row = Columns(), 0
        self.close = _NAN  #: of the newest candle
        self._closed = False
        self.flat = True  #: whether nothing is held
        self.long = False  #: whether a positive quantity is held
        self.short = False  #: whether a negative quantity is held
        self._hold(0.0, 0.0, 0)
        self._view: View | None = None

    # What most strategies read at every candle is an attribute: a property costs five times as
    # much.

    def _show(self, candle: Bare) -> None:
        self._bare, self.close, self._closed = candle, candle[4], True

    @property
    def _candle(self) -> Bare:
        bare = self._bare
        return bare if bare is not None else self._columns[self._row]

    def _hold(self, quantity: float, entry: float, candles: int) -> None:
        self._quantity, self._entry, self._held = quantity, entry, candles
        self.flat, self.long, self.short = quantity == 0, quantity > 0, quantity < 0

    @property
    def candle(self) -> Candle:
        """The newest candle. Look at `closed` in a run of several symbols: one without a
        candle at this step still shows its last one, and NaN before its first."""
        c = self._candle
        return Candle(moment(c[0]), *c[1:])

    @property
    def open(self) -> float:
        bare = self._bare
        return bare[1] if bare is not None else self._columns.open[self._row]

    @property
    def high(self) -> float:
        bare = self._bare
        return bare[2] if bare is not None else self._columns.high[self._row]

    @property
    def low(self) -> float:
        bare = self._bare
        return bare[3] if bare is not None else self._columns.low[self._row]

    @property
    def volume(self) -> float:
        bare = self._bare
        return bare[5] if bare is not None else self._columns.volume[self._row]

    @property
    def closed(self) -> bool:
        """Whether a candle closed at this step."""
        return self._closed

    def history(self, n: int) -> History:
        """The newest n candles, or all there are. More than ``lookback()`` asks for ends the
        run."""
        return _history(self._past, n, self.timeframe)

    def close_ago(self, n: int) -> float:
        """The close n candles before the newest; NaN if there are not so many. ``lookback()`` must
        ask for n + 1 candles at least, unless n is 0."""
        return _close_ago(self._past, self.close, n, self.timeframe)

    def at(self, timeframe: str) -> FrameView | SymbolView:
        """The symbol on a timeframe of ``extra``, such as 1d; on the run's own the view itself."""
        try:
            return self._frames[timeframe]
        except KeyError:
            if timeframe == self.timeframe:
                return self
            known = ", ".join(self._frames) or "nothing"
            raise KeyError(
                f"at({timeframe!r}): extra does not list this timeframe, it has {known}"
            ) from None

    @property
    def position(self) -> Position:
        return Position(self._quantity, self._entry, self._held)

    @property
    def open_orders(self) -> list[Order]:
        """The open orders of the symbol in order of acceptance, children of brackets included."""
        assert self._view is not None
        return [o for o in self._view.all_open_orders if o.symbol == self.symbol]

    def publish(self, name: str, value: float) -> None:
        """Adds a point to a named series of the symbol, which charts show with its candles. Two
        symbols may have series of the same name, and one plot draws them."""
        assert self._view is not None
        self._view._publish(self.symbol, name, value)


class View(SymbolView):
    """The candles that just closed, the account after matching, a seeded random source and
    outlets for log lines and charts. Valid during the call that received it.

    It is the view of the run's first symbol; ``v["ETH/USDT"]`` is that of another one.
    """

    __slots__ = (
        "_equity",
        "_inputs",
        "_log",
        "_orders",
        "_publish",
        "_symbols",
        "_time",
        "_views",
        "cash",
        "index",
        "quantity_step",
        "rand",
        "warmup",
    )

    def __init__(
        self,
        symbols: Sequence[str],
        rand: Random,
        log: Callable[[str, str, dict[str, Any]], None],
        publish: Callable[[str, str, float], None],
    ) -> None:
        super().__init__(symbols[0])
        self._symbols = tuple(symbols)
        self._views = {s: self if i == 0 else SymbolView(s) for i, s in enumerate(symbols)}
        for v in self._views.values():
            v._view = self
        self._log, self._publish = log, publish
        self._orders: Callable[[], list[Order]] = list
        self._inputs: dict[str, InputView] = {}
        self._time = 0
        self.rand = rand  #: the run's random source
        self.index = -1  #: counts steps from 0, warm-up included
        self.warmup = False  #: whether orders would be rejected because the window has not begun
        self.quantity_step = 1e-8  #: of the venue: quantities are rounded down to it
        self.cash = 0.0  #: quote currency
        self._equity: float | tuple[SymbolView, ...] = 0.0  # or of what, where nobody said it

    @property
    def equity(self) -> float:
        """Cash and marked positions, in quote currency."""
        of = self._equity
        if isinstance(of, float):
            return of
        value = 0.0
        for view in of:  # in request order, as the engine adds
            value += view._quantity * view.close
        return self.cash + value

    def input(self, name: str) -> InputView:
        """An input of ``inputs``. Each value shows at the first step that closes when it is known,
        or later."""
        try:
            return self._inputs[name]
        except KeyError:
            raise KeyError(f"input({name!r}): inputs does not list this input") from None

    def __getitem__(self, symbol: str) -> SymbolView:
        try:
            view = self._views[symbol]
        except KeyError:
            known = ", ".join(self._symbols)
            raise KeyError(f"symbol {symbol} is not part of this run ({known})") from None
        if view is not self:
            return view
        first = SymbolView(symbol)  # what it publishes is of the symbol, not of the run
        for slot in SymbolView.__slots__:
            setattr(first, slot, getattr(self, slot))
        return first

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the run, in request order."""
        return self._symbols

    @property
    def time(self) -> datetime:
        """The close time of the step, in UTC: the only clock that a strategy may use."""
        return moment(self._time)

    @property
    def all_open_orders(self) -> list[Order]:
        """The open orders of all symbols in order of acceptance."""
        return self._orders()

    def log(
        self,
        message: str,
        level: Literal["trace", "debug", "info", "warn", "error"] = "info",
        **fields: Any,
    ) -> None:
        """Writes a line with keys and values to the run's log."""
        self._log(level, message, fields)

    def publish(self, name: str, value: float) -> None:
        """Adds a point to a named series for charts. It is of the run, whatever symbol a chart
        shows; ``v["ETH/USDT"].publish`` has those of one symbol. Points that are not finite are
        left out."""
        self._publish("", name, value)
