"""Orders that a strategy returns, and the sizes and levels in them.

A builder starts an order, its methods refine it and return a new one::

    Buy(AllCash).limit(99.0).stop_loss(Percent(0.05))

``on_candle``, ``on_fill`` and ``on_reject`` return one order, a list of them, or None.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeAlias

__all__ = [
    "AllCash",
    "At",
    "Buy",
    "Cancel",
    "CancelAll",
    "CashFraction",
    "Close",
    "EquityFraction",
    "Intent",
    "Intents",
    "Level",
    "MoveStop",
    "MoveTarget",
    "OCO",
    "Percent",
    "Quantity",
    "QuoteAmount",
    "Replace",
    "RiskFraction",
    "Sell",
    "Size",
    "Target",
    "TrailingAmount",
    "TrailingPercent",
    "WholePosition",
]

Stance: TypeAlias = Literal["flat", "long", "short"]
#: A number; in `Signals` also a column of them.
Number: TypeAlias = float | Any
Action: TypeAlias = Literal["submit", "cancel", "cancel_all", "replace", "close", "set_leg"]
SizeKind: TypeAlias = Literal[
    "quantity",
    "quote_amount",
    "cash_fraction",
    "position",
    "equity_fraction",
    "risk_fraction",
    "target_fraction",
]


class Size(NamedTuple):
    """How much to trade. Make one with `Quantity`, `QuoteAmount`, `CashFraction`,
    `EquityFraction`, `RiskFraction`, `AllCash` or `WholePosition`."""

    kind: SizeKind
    value: float = 0.0


def Quantity(units: Number) -> Size:
    """A size in units of the base currency."""
    return Size("quantity", units)


def QuoteAmount(amount: Number) -> Size:
    """An amount of quote currency, fee included: a buy spends it, a sale is for as much."""
    return Size("quote_amount", amount)


def CashFraction(fraction: Number) -> Size:
    """Spends this share, in (0, 1], of the free cash at the fill, fee included."""
    return Size("cash_fraction", fraction)


def EquityFraction(fraction: Number) -> Size:
    """A share of the equity, in (0, 1]. It becomes a quantity at the close of the decision, of
    the order's own price or else of that close, and is cut at the fill to what the free cash
    pays for. A share below one step is no order."""
    return Size("equity_fraction", fraction)


def RiskFraction(fraction: Number) -> Size:
    """As much as loses this share of the equity, in (0, 1], at the order's stop loss, before
    fees and slippage. It is fixed and cut like `EquityFraction`."""
    return Size("risk_fraction", fraction)


#: Spends all free cash, fee included.
AllCash = CashFraction(1.0)
#: All that is held at the fill; it makes the order reduce-only.
WholePosition = Size("position")


@dataclass(frozen=True, slots=True)
class Level:
    """Where a stop loss or take profit sits. Make one with `At`, `Percent`,
    `TrailingPercent` or `TrailingAmount`."""

    price: float | None = None
    percent: float | None = None
    trail_percent: float | None = None
    trail_amount: float | None = None
    tighten_to: float | None = None
    tighten_after: float | None = None

    def tighten(self, to: float, after: float) -> Level:
        """Lets a stop loss follow at the fraction `to` from a gain of more than `after` on, a
        fraction of the fill price. Before that it stays or follows as it says."""
        return replace(self, tighten_to=to, tighten_after=after)


def At(price: Number) -> Level:
    """A level at an absolute price, in quote currency."""
    return Level(price=price)


def Percent(fraction: Number) -> Level:
    """A level this fraction away from the fill price of its order."""
    return Level(percent=fraction)


def TrailingPercent(fraction: Number) -> Level:
    """A stop loss that follows the price at this fraction."""
    return Level(trail_percent=fraction)


def TrailingAmount(amount: Number) -> Level:
    """A stop loss that follows the price at this distance, in quote currency per unit."""
    return Level(trail_amount=amount)


@dataclass(frozen=True, slots=True)
class Guard:
    """A condition without which an intent is dropped. `Intent.when` and its neighbours make it."""

    position: tuple[Stance, ...] = ()
    entry_working: bool = False
    max_entries: int = 0
    max_open: int = 0


class Intent(NamedTuple):
    """One order, or one change of an order. Its methods return a changed copy."""

    action: Action
    side: Literal["buy", "sell"] = "buy"
    type: Literal["market", "limit", "stop", "stop_limit", "trailing_stop"] = "market"
    size: Size | None = None
    symbol: str | None = None
    limit_price: float | None = None
    stop_price: float | None = None
    trail_percent_: float | None = None
    trail_amount_: float | None = None
    time_in_force: Literal["gtc", "gtd", "ioc"] = "gtc"
    expire_after_: int = 0
    reduce_only_: bool = False
    post_only_: bool = False
    stop_loss_: Level | None = None
    take_profit_: Level | None = None
    targets: tuple[tuple[float, Level], ...] = ()
    oco: int = 0
    tag_: str = ""
    client_ref: str = ""
    target: str = ""
    guard: Guard | None = None

    def on(self, symbol: str) -> Intent:
        """Names the symbol in a run of several; without it the first one is meant."""
        return self._replace(symbol=symbol)

    def with_size(self, size: Size) -> Intent:
        """Sets the size, for `Replace`."""
        return self._replace(size=size)

    def limit(self, price: float) -> Intent:
        """Makes it a limit order, or a stop-limit order after `stop`."""
        kind: Literal["limit", "stop_limit"] = "stop_limit" if self.type == "stop" else "limit"
        return self._replace(type=kind, limit_price=price)

    def stop(self, price: float) -> Intent:
        """Makes it a stop order, or a stop-limit order after `limit`."""
        kind: Literal["stop", "stop_limit"] = "stop_limit" if self.type == "limit" else "stop"
        return self._replace(type=kind, stop_price=price)

    def trail_percent(self, fraction: float) -> Intent:
        """Makes it a trailing stop that follows at this fraction, in (0, 1)."""
        return self._replace(type="trailing_stop", trail_percent_=fraction)

    def trail_amount(self, amount: float) -> Intent:
        """Makes it a trailing stop that follows at this distance, in quote per unit."""
        return self._replace(type="trailing_stop", trail_amount_=amount)

    def expire_after(self, candles: int) -> Intent:
        """Lets the order live for this many candles of its symbol."""
        return self._replace(time_in_force="gtd", expire_after_=candles)

    def immediate_or_cancel(self) -> Intent:
        """Lets the order live on the next open only."""
        return self._replace(time_in_force="ioc")

    def reduce_only(self) -> Intent:
        """Cuts the order to the position."""
        return self._replace(reduce_only_=True)

    def post_only(self) -> Intent:
        """Lets a limit order rest or be rejected (would_take): it never takes."""
        return self._replace(post_only_=True)

    def stop_loss(self, level: Level) -> Intent:
        """Adds a stop loss that is made when the order fills."""
        return self._replace(stop_loss_=level)

    def take_profit(self, level: Level) -> Intent:
        """Adds a take profit that is made when the order fills."""
        return self._replace(take_profit_=level)

    def take_part(self, share: float, level: Level) -> Intent:
        """Adds a take profit for a share of the entry, in (0, 1]: one of several, each at a
        level of its own. The shares sum to at most 1; the stop loss covers what is still held
        of the entry."""
        return self._replace(targets=(*self.targets, (share, level)))

    def when(self, *position: Stance) -> Intent:
        """Drops it unless the position of its symbol is one of these when it is accepted, as in
        ``when("flat", "short")``. Nothing is rejected then. Of several intents the earlier ones
        count already, and a guarded order that may open or add is dropped while another one of
        its symbol is working."""
        return self._guarded(position=position)

    def even_while_working(self) -> Intent:
        """A guard that lets an entry through while another one of its symbol is working."""
        return self._guarded(entry_working=True)

    def max_entries(self, n: int) -> Intent:
        """A guard that drops what would be more than the n-th order of its position, those that
        are working included."""
        return self._guarded(max_entries=n)

    def max_open(self, n: int) -> Intent:
        """A guard that drops what would lead to positions in more than n symbols, those with a
        working entry included."""
        return self._guarded(max_open=n)

    def _guarded(self, **change: Any) -> Intent:
        return self._replace(guard=replace(self.guard or Guard(), **change))

    def tag(self, text: str) -> Intent:
        """Labels orders, fills and trades."""
        return self._replace(tag_=text)

    def ref(self, name: str) -> Intent:
        """Names the order for a later `Cancel` or `Replace`."""
        return self._replace(client_ref=name)


#: What ``on_candle``, ``on_fill`` and ``on_reject`` may return.
Intents: TypeAlias = Intent | Iterable[Intent] | None


def Buy(size: Size) -> Intent:
    """A market order to buy."""
    return Intent("submit", "buy", size=size)


def Sell(size: Size) -> Intent:
    """A market order to sell."""
    return Intent("submit", "sell", size=size)


def Target(fraction: float) -> Intent:
    """Brings a position to this share of the equity, in [-1, 1]: it buys or sells what is
    missing. Below 0 is short, which the run must allow; 0 closes the whole position. The share
    becomes a quantity and is cut like `EquityFraction`; open orders do not count. A new target
    of a symbol takes back the open order of the one before, and of the targets of one step those
    that reduce are filled first."""
    return Intent("submit", size=Size("target_fraction", fraction))


def OCO(*orders: Intent) -> list[Intent]:
    """One group of new orders of one symbol: they are accepted all or none, and the first fill
    of any of them, however small, cancels the others. Among other orders:
    ``[*OCO(a, b), c]``."""
    return [order._replace(oco=i) for i, order in enumerate(orders, 1)]


def Close(symbol: str | None = None) -> Intent:
    """Flattens a position with a reduce-only market order. Resting entries stay."""
    return Intent("close", symbol=symbol)


def MoveStop(price: Number, symbol: str | None = None) -> Intent:
    """Moves the stop losses of a position to this price, in quote currency. It is refused where
    nothing is held (no_position), where the position has no stop loss (no_leg) or one that
    trails (invalid_type), and where the last close has reached the price (would_fill): then they
    stay where they are. `Replace` moves one leg of several, by its id."""
    return Intent("set_leg", symbol=symbol, stop_loss_=At(price))


def MoveTarget(price: Number, symbol: str | None = None) -> Intent:
    """Moves the take profits of a position to this price, as `MoveStop` does the stop losses."""
    return Intent("set_leg", symbol=symbol, take_profit_=At(price))


def Cancel(ref: str) -> Intent:
    """Takes back the order with this reference or order id."""
    return Intent("cancel", target=ref)


def CancelAll(symbol: str | None = None) -> Intent:
    """Takes back every open order of a symbol."""
    return Intent("cancel_all", symbol=symbol)


def Replace(ref: str) -> Intent:
    """Changes the open order with this reference or order id: set what shall change with
    ``with_size``, ``limit``, ``stop`` and ``expire_after``."""
    return Intent("replace", target=ref)
