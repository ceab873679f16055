"""Trades as the strategy sees them, the ones that are over, and locks of pairs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any, ClassVar


class Trade:
    """A position in one pair: one entry and one exit."""

    #: All trades of the run that is played in this process, in the order of their entries.
    all: ClassVar[list[Trade]] = []

    def __init__(self, pair: str, short: bool, fee: float, tag: str | None) -> None:
        self.id = len(Trade.all) + 1
        self.pair, self.is_short, self.enter_tag = pair, short, tag
        self.is_open = True
        self.leverage = 1.0
        self.fee_open = self.fee_close = fee
        self.amount = self.amount_requested = self.stake_amount = 0.0
        self.open_rate = self.max_rate = self.min_rate = 0.0
        self.stop_loss: float = 0.0
        self.initial_stop_loss: float = 0.0
        self.open_date_utc: Any = None
        self.close_date_utc: datetime | None = None
        self.close_rate: float | None = None
        self.close_profit: float | None = None
        self.close_profit_abs: float | None = None
        self.exit_reason: str | None = None
        self.nr_of_successful_entries = self.nr_of_successful_exits = 0
        self._custom: dict[str, Any] = {}
        self._order = 0  #: of the entry
        self._leaving = ""  #: why an exit is asked for
        self._legs: dict[str, str] = {}  #: what names the orders "stop" and "roi"
        self._levels: dict[str, float] = {}  #: where they are
        self._sold = 0.0

    @property
    def open_date(self) -> Any:
        return self.open_date_utc

    @property
    def close_date(self) -> datetime | None:
        return self.close_date_utc

    @property
    def buy_tag(self) -> str | None:
        return self.enter_tag

    @property
    def sell_reason(self) -> str | None:
        return self.exit_reason

    @property
    def trade_direction(self) -> str:
        return "short" if self.is_short else "long"

    @property
    def entry_side(self) -> str:
        return "sell" if self.is_short else "buy"

    @property
    def exit_side(self) -> str:
        return "buy" if self.is_short else "sell"

    @property
    def stop_loss_pct(self) -> float:
        return -abs(self.stop_loss / self.open_rate - 1) if self.open_rate else 0.0

    @property
    def safe_base_currency(self) -> str:
        return self.pair.partition("/")[0]

    @property
    def safe_quote_currency(self) -> str:
        return self.pair.partition("/")[2]

    def calc_profit_ratio(self, rate: float, *args: Any) -> float:
        """What an exit at a rate would bring, as a share of what the entry cost, fees included."""
        if self.is_short:
            paid = self.open_rate * (1 - self.fee_open)
            return 1 - rate * (1 + self.fee_close) / paid if paid else 0.0
        paid = self.open_rate * (1 + self.fee_open)
        return rate * (1 - self.fee_close) / paid - 1 if paid else 0.0

    def calc_profit(self, rate: float, *args: Any) -> float:
        """What an exit at a rate would bring, in quote currency, fees included."""
        fee = -self.fee_open if self.is_short else self.fee_open
        return self.calc_profit_ratio(rate) * self.amount * self.open_rate * (1 + fee)

    def rate_of(self, ratio: float) -> float:
        """The rate at which an exit brings a ratio."""
        return self.open_rate * factor(ratio, self.fee_open, self.is_short)

    def set_custom_data(self, key: str, value: Any) -> None:
        self._custom[key] = value

    def get_custom_data(self, key: str, default: Any = None) -> Any:
        return self._custom.get(key, default)

    def raise_stop(self, level: float) -> bool:
        """Moves the stop, never away from the rate. Returns whether it moved."""
        if self.stop_loss and (
            level >= self.stop_loss if self.is_short else level <= self.stop_loss
        ):
            return False
        self.stop_loss = level
        return True

    @staticmethod
    def get_trades_proxy(
        *,
        pair: str | None = None,
        is_open: bool | None = None,
        open_date: datetime | None = None,
        close_date: datetime | None = None,
    ) -> list[Trade]:
        """The trades of this run that are so; dates are the earliest ones."""
        return [
            t
            for t in Trade.all
            if (pair is None or t.pair == pair)
            and (is_open is None or t.is_open == is_open)
            and (open_date is None or t.open_date_utc > open_date)
            and (close_date is None or (t.close_date_utc and t.close_date_utc > close_date))
        ]

    @staticmethod
    def get_open_trades() -> list[Trade]:
        return Trade.get_trades_proxy(is_open=True)

    @staticmethod
    def get_open_trade_count() -> int:
        return len(Trade.get_open_trades())

    @staticmethod
    def total_open_trades_stakes() -> float:
        return sum(t.stake_amount for t in Trade.get_open_trades())

    @staticmethod
    def get_total_closed_profit() -> float:
        return sum(t.close_profit_abs or 0.0 for t in Trade.get_trades_proxy(is_open=False))

    def __repr__(self) -> str:
        return f"<Trade {self.pair} {self.trade_direction} {self.open_rate} {self.open_date_utc}>"


def factor(ratio: float, fee: float, short: bool) -> float:
    """What the entry's rate is multiplied by where an exit brings a ratio, fees included."""
    if short:
        return (1 - fee) * (1 - ratio) / (1 + fee)
    return (1 + fee) * (1 + ratio) / (1 - fee)


class Locks:
    """Until when nothing is entered in a pair; ``*`` is all of them."""

    def __init__(self) -> None:
        self._until: list[tuple[str, datetime, str]] = []
        self.now: Any = None

    def add(self, pair: str, until: datetime, side: str = "*") -> None:
        self._until.append((pair, until, side))

    def remove(self, pair: str) -> None:
        self._until = [lock for lock in self._until if lock[0] != pair]

    def holds(self, pair: str, now: datetime, side: str = "*") -> bool:
        """Whether a pair is locked at a time."""
        self._until = [lock for lock in self._until if lock[1] > now]
        return any(p in (pair, "*") and s in (side, "*") for p, _, s in self._until)


def closed_since(since: datetime, pair: str | None = None) -> Sequence[Trade]:
    """The trades that ended after a time."""
    return Trade.get_trades_proxy(pair=pair, is_open=False, close_date=since)
