"""Orders, trades and position as the strategy sees them, over orders and fills of the SDK.

There is one netted position. What is bought and sold is told apart by trades, first in, first
out, as the other engine does it. An order is found again by the number that its tag ends with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ... import At, Buy, Cancel, CashFraction, Close, Fill, Intent, Quantity, Replace, Sell, View
from .. import Unsupported, order_name

#: The size of an order without one: everything.
FULL = 1 - 2**-52


class Order:
    """An order that has not filled: of the strategy, or the stop loss or target of a trade."""

    def __init__(self, broker: Broker, size: float, **terms: Any) -> None:
        self._broker = broker
        self._number = 0
        self.size = size  #: signed; below 1 a share of what is free
        self.limit: float | None = terms.get("limit")
        self.stop: float | None = terms.get("stop")
        self.sl: float | None = terms.get("sl")
        self.tp: float | None = terms.get("tp")
        self.tag: Any = terms.get("tag")
        self.parent_trade: Trade | None = terms.get("parent_trade")
        self._leg: str = terms.get("leg", "")
        self._closes: list[Trade] = terms.get("closes", [])

    @property
    def is_long(self) -> bool:
        return self.size > 0

    @property
    def is_short(self) -> bool:
        return self.size < 0

    @property
    def is_contingent(self) -> bool:
        """Whether it is the stop loss or the target of a trade."""
        return bool(self._leg)

    def cancel(self) -> None:
        """Takes it back."""
        if self.parent_trade is not None and self._leg:
            setattr(self.parent_trade, self._leg, None)
        else:
            self._broker.cancel(self)

    def __repr__(self) -> str:
        terms = {"limit": self.limit, "stop": self.stop, "sl": self.sl, "tp": self.tp}
        given = "".join(f", {k}={v}" for k, v in terms.items() if v is not None)
        return f"<Order size={self.size}{given}, contingent={int(self.is_contingent)}>"


class Trade:
    """What one order opened, or a part of it."""

    def __init__(self, broker: Broker, order: Order, size: float, price: float, fee: float) -> None:
        self._broker = broker
        self._order_id = 0
        self._fee = fee
        self._legs: dict[str, str] = {}  # what names the orders of stop loss and target
        self._levels: dict[str, float | None] = {"sl": order.sl, "tp": order.tp}
        self.size = _whole(size)  #: signed
        self.entry_price = price
        self.entry_bar = broker.bar
        self.exit_price: float | None = None
        self.exit_bar: int | None = None
        self.tag = order.tag

    @property
    def entry_time(self) -> Any:
        """The open time of the candle in which it began, as pandas has it."""
        return self._broker.time(self.entry_bar)

    @property
    def exit_time(self) -> Any:
        """The open time of the candle in which it ended, or None."""
        return None if self.exit_bar is None else self._broker.time(self.exit_bar)

    @property
    def is_long(self) -> bool:
        return self.size > 0

    @property
    def is_short(self) -> bool:
        return self.size < 0

    @property
    def _price(self) -> float:
        return self._broker.close if self.exit_price is None else self.exit_price

    @property
    def pl(self) -> float:
        """Profit in quote currency; fees count once it is closed."""
        fees = 0.0 if self.exit_price is None else self._fee
        return self.size * (self._price - self.entry_price) - fees

    @property
    def pl_pct(self) -> float:
        """Profit as a share of the entry's value; fees count once it is closed."""
        gross = math.copysign(1, self.size) * (self._price / self.entry_price - 1)
        fees = 0.0 if self.exit_price is None else self._fee
        return gross - fees / (abs(self.size) * self.entry_price)

    @property
    def value(self) -> float:
        return abs(self.size) * self._price

    @property
    def sl(self) -> float | None:
        """The price of the stop loss, or None. It may be set."""
        return self._levels["sl"]

    @sl.setter
    def sl(self, price: float | None) -> None:
        self._broker.move(self, "sl", price)

    @property
    def tp(self) -> float | None:
        """The price of the target, or None. It may be set."""
        return self._levels["tp"]

    @tp.setter
    def tp(self, price: float | None) -> None:
        self._broker.move(self, "tp", price)

    def close(self, portion: float = 1.0) -> None:
        """Closes it, or a portion of it, at the next open."""
        self._broker.close_trade(self, portion)

    def __repr__(self) -> str:
        return f"<Trade size={self.size} time={self.entry_bar}-{self.exit_bar or ''}>"


class Position:
    """The sum of the open trades."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def __bool__(self) -> bool:
        return self.size != 0

    @property
    def size(self) -> float:
        return _whole(sum(t.size for t in self._broker.trades))

    @property
    def is_long(self) -> bool:
        return self.size > 0

    @property
    def is_short(self) -> bool:
        return self.size < 0

    @property
    def pl(self) -> float:
        return sum(t.pl for t in self._broker.trades)

    @property
    def pl_pct(self) -> float:
        """Profit in percent of what the trades cost."""
        paid = sum(t.entry_price * abs(t.size) for t in self._broker.trades)
        return self.pl / paid * 100 if paid else 0.0

    def close(self, portion: float = 1.0) -> None:
        """Closes all trades, or a portion of each, at the next open."""
        broker = self._broker
        if portion == 1 and broker.trades:
            broker.flatten()
            return
        for trade in list(broker.trades):
            trade.close(portion)

    def __repr__(self) -> str:
        return f"<Position: {self.size} ({len(self._broker.trades)} trades)>"


class Broker:
    """Turns what the strategy asks for into intents, and fills into trades."""

    def __init__(self, exclusive: bool, time: Callable[[int], Any]) -> None:
        self._exclusive = exclusive
        self.time = time  #: of a candle
        self._view: View | None = None
        self._count = 0
        self._asked: list[tuple[Order | None, Intent]] = []
        self._open: dict[int, Order] = {}
        self._known: dict[int, Trade] = {}  # by the id of a bracket's order
        self._gone: list[str] = []
        self.trades: list[Trade] = []
        self.closed: list[Trade] = []
        self.position = Position(self)
        self.bar = -1
        self.close = math.nan

    def begin(self, view: View, bar: int) -> None:
        """Begins a step: fills are told next."""
        self._view, self.bar, self.close = view, bar, view.close

    @property
    def equity(self) -> float:
        assert self._view is not None
        return self._view.equity

    @property
    def orders(self) -> tuple[Order, ...]:
        """Open orders, those of trades included."""
        legs = [
            Order(
                self,
                -t.size,
                parent_trade=t,
                leg=leg,
                tag=t.tag,
                **{"stop" if leg == "sl" else "limit": price},
            )
            for t in self.trades
            for leg, price in t._levels.items()
            if price is not None
        ]
        return tuple([*(o for o in self._open.values() if not o._leg), *legs])

    def take(self) -> list[Intent]:
        """The intents of this step."""
        intents = [Cancel(ref) for ref in self._gone] + [n for _, n in self._asked]
        self._asked, self._gone = [], []
        return intents

    def submit(self, order: Order) -> Order:
        """An order of the strategy."""
        _check(order, self.close)
        if self._exclusive:
            for o in [o for o in self._open.values() if not o._leg]:
                self.cancel(o)
            if self.trades:
                self.flatten()
        opposite = [t for t in self.trades if t.is_long != order.is_long and not self._closing(t)]
        if len(opposite) > 1 and any(_protected(t) for t in opposite):
            raise Unsupported(
                "an order against several trades of which some have a stop loss or target: close "
                "the trades with Trade.close or Position.close"
            )
        size = abs(order.size)
        amount = CashFraction(size) if size < 1 else Quantity(size)
        intent = (Buy if order.is_long else Sell)(amount)
        if order.stop is not None:
            intent = intent.stop(order.stop)
        if order.limit is not None:
            intent = intent.limit(order.limit)
        if order.sl is not None:
            intent = intent.stop_loss(At(order.sl))
        if order.tp is not None:
            intent = intent.take_profit(At(order.tp))
        self._ask(order, intent)
        return order

    def _ask(self, order: Order, intent: Intent) -> None:
        self._count += 1
        order._number = self._count
        self._open[order._number] = order
        tag = "" if order.tag is None else f"{order.tag} "[:200]
        ref = f"bt{order._number}"
        self._asked.append((order, intent.tag(f"{tag}#{order._number}").ref(ref)))

    def cancel(self, order: Order) -> None:
        """Takes an order back."""
        if self._open.pop(order._number, None) is None:
            return
        before = len(self._asked)
        self._asked = [(o, n) for o, n in self._asked if o is not order]
        if len(self._asked) == before:
            self._gone.append(f"bt{order._number}")

    def _closing(self, trade: Trade) -> bool:
        return any(o is not None and trade in o._closes for o, _ in self._asked)

    def flatten(self) -> None:
        """Closes all trades at the next open, before anything else is done there."""
        first = [n for n in self._asked if n[0] is not None and n[0]._closes]
        if any(set(self.trades) <= set(o._closes) for o, _ in first if o is not None):
            return
        order = Order(self, -self.position.size, closes=list(self.trades))
        self._ask(order, Close())
        self._asked.insert(len(first), self._asked.pop())

    def close_trade(self, trade: Trade, portion: float) -> None:
        """Closes a portion of one trade at the next open."""
        if not 0 < portion <= 1:
            raise ValueError("portion must be a fraction between 0 and 1")
        if portion == 1 and self.trades == [trade]:
            self.flatten()
            return
        size: float = abs(trade.size) * portion
        if trade.size == round(trade.size):
            size = max(1, round(size))
        if len(self.trades) > 1 and _protected(trade):
            if portion < 1:
                raise Unsupported(
                    "Trade.close(portion) of a trade with stop loss or target beside other trades"
                )
            self._gone += trade._legs.values()
            trade._legs.clear()
        order = Order(self, math.copysign(size, -trade.size), closes=[trade])
        side = Sell if trade.is_long else Buy
        self._ask(order, side(Quantity(size)).reduce_only())
        closing = [n for n in self._asked[:-1] if n[0] is not None and n[0]._closes]
        self._asked.insert(len(closing), self._asked.pop())

    def move(self, trade: Trade, leg: str, price: float | None) -> None:
        """Sets, moves or removes the stop loss or target of a trade."""
        if price is not None and not (math.isfinite(price) and price > 0):
            raise ValueError(f"{leg} must be a price above 0 or None, is {price}")
        if trade.exit_price is not None or price == trade._levels[leg]:
            return
        trade._levels[leg] = price
        name = trade._legs.get(leg)
        if price is None:
            if name is not None:
                self._gone.append(trade._legs.pop(leg))
            return
        stop = leg == "sl"
        if name is not None:
            change = Replace(name)
            self._asked.append((None, change.stop(price) if stop else change.limit(price)))
            return
        terms: dict[str, Any] = {"stop" if stop else "limit": price}
        order = Order(self, -trade.size, leg=leg, parent_trade=trade, closes=[trade], **terms)
        exit_ = (Sell if trade.is_long else Buy)(Quantity(abs(trade.size))).reduce_only()
        self._ask(order, exit_.stop(price) if stop else exit_.limit(price))
        trade._legs[leg] = f"bt{order._number}"

    def fill(self, fill: Fill) -> None:
        """Books a fill."""
        size = float(fill.quantity) * (1 if fill.side == "buy" else -1)
        price, fee = float(fill.price), float(fill.fee)
        mark, number = fill.tag.rpartition("#")[1:]
        order = self._open.get(int(number)) if mark and number.isdigit() else None
        if order is None:
            if fill.role in ("stop_loss", "take_profit"):
                trade = self._of_bracket(fill)
                self._reduce([trade] if trade else self.trades, size, price, fee)
            elif self.trades:  # the end of the run
                self._reduce(self.trades, size, price, fee)
            return
        if order._leg and order.parent_trade is not None:
            order.parent_trade._legs.pop(order._leg, None)
        rest = size
        if self.trades and self.trades[0].is_long != (size > 0):
            rest = self._reduce(order._closes or self.trades, size, price, fee)
            if rest and order._closes:
                rest = self._reduce(self.trades, rest, price, fee * rest / size)
            fee *= rest / size
        if rest and not order._closes:
            trade = Trade(self, order, rest, price, fee)
            trade._order_id = fill.order_id
            self.trades.append(trade)

    def _of_bracket(self, fill: Fill) -> Trade | None:
        if fill.order_id in self._known:
            return self._known[fill.order_id]
        leg, price = "sl" if fill.role == "stop_loss" else "tp", float(fill.price)
        fresh = [t for t in self.trades if t.entry_bar == self.bar and t._levels[leg] is not None]
        fresh.sort(key=lambda t: abs((t._levels[leg] or 0) - price))
        return fresh[0] if fresh else None

    def _reduce(self, trades: list[Trade], size: float, price: float, fee: float) -> float:
        """Closes trades, first in first out. Returns what is left of a signed size."""
        whole = size
        for trade in list(trades):
            if trade not in self.trades or not size or trade.is_long == (size > 0):
                continue
            part = min(abs(size), abs(trade.size))
            share = part / abs(trade.size)
            closed = trade
            if share < 1:
                closed = Trade.__new__(Trade)
                closed.__dict__.update(trade.__dict__, _legs={}, _levels=dict(trade._levels))
                closed.size = _whole(math.copysign(part, trade.size))
                closed._fee = trade._fee * share
                trade._fee -= closed._fee
                trade.size = _whole(trade.size - closed.size)
            else:
                self.trades.remove(trade)
                self._gone += [n for n in trade._legs.values() if n.startswith("bt")]
            closed.exit_price, closed.exit_bar = price, self.bar
            closed._fee += fee * part / abs(whole)
            self.closed.append(closed)
            size += closed.size
        return 0.0 if abs(size) < 1e-12 * abs(whole) else size

    def settle(self, view: View) -> None:
        """Learns, after the fills of a step, which orders are still open."""
        alive = set()
        for o in view.open_orders:
            if o.ref.startswith("bt"):
                alive.add(int(o.ref[2:]))
            if o.parent_id:
                for trade in self.trades:
                    if trade._order_id == o.parent_id:
                        self._known[o.id] = trade
                        trade._legs["sl" if o.role == "stop_loss" else "tp"] = order_name(o.id)
        for number in [n for n in self._open if n not in alive]:
            del self._open[number]


def _protected(trade: Trade) -> bool:
    return any(level is not None for level in trade._levels.values())


def _whole(size: float) -> float:
    """A size as the other engine has it: an int where it is one."""
    return int(size) if float(size).is_integer() else size


def _check(order: Order, close: float) -> None:
    """Refuses prices in an order that can make no sense, as the other engine does."""
    for name in ("limit", "stop", "sl", "tp"):
        price = getattr(order, name)
        if price is not None and not (math.isfinite(price) and price > 0):
            raise ValueError(f"{name} must be a price above 0, is {price}")
    at = order.limit or order.stop or close
    low, high = (order.sl, order.tp) if order.is_long else (order.tp, order.sl)
    if not (low or -math.inf) < at < (high or math.inf):
        names = ("Long", "SL", "TP") if order.is_long else ("Short", "TP", "SL")
        raise ValueError(
            f"{names[0]} orders require: {names[1]} ({low}) < price ({at}) < {names[2]} ({high})"
        )
