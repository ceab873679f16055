"""Turns signals, stop, ROI and callbacks into intents, and fills into trades.

What a trade leaves at is an order: the stop and the ROI from the entry on, a signal at the next
open. Levels are those that hold for the next candle.
"""

from __future__ import annotations

import inspect
from datetime import datetime
from typing import Any

import numpy as np

from ... import (
    Buy,
    Cancel,
    Close,
    Fill,
    Intent,
    Level,
    Order,
    Percent,
    Quantity,
    QuoteAmount,
    Replace,
    Sell,
    SymbolView,
    TrailingPercent,
    View,
    WholePosition,
)
from .. import order_name
from ._protections import Protections
from ._trade import Locks, Trade, factor

_FAR = 1000.0  # an ROI beyond it is none
_WHOLE = 0.999999  # the distance of a stop that is never reached
_NUMBERS = (bool, int, float, np.bool_, np.number)
#: The columns that decide, in the names of both interfaces.
SIGNALS = (
    "enter_long",
    "enter_short",
    "enter_tag",
    "exit_long",
    "exit_short",
    "exit_tag",
    "buy",
    "buy_tag",
    "sell",
)


class Book:
    """The trades of a run."""

    def __init__(
        self, strategy: Any, settings: Any, locks: Locks, protections: Protections
    ) -> None:
        self._strategy, self._settings = strategy, settings
        self._locks, self._protections = locks, protections
        self._fee = settings.fee
        self._open: dict[str, Trade] = {}  # by pair
        self._entering: dict[str, Trade] = {}
        self._asked: list[Intent] = []
        self._leaving: dict[
            str, float
        ] = {}  # what leaves at the next open, by pair, brings so much
        self._view: Any = None
        table = strategy.minimal_roi or {}
        self._roi = sorted((int(minutes), float(ratio)) for minutes, ratio in table.items())
        own = inspect.signature(strategy.custom_stoploss).parameters
        # Beside custom_stoploss the stop is moved at each close; else its order trails by itself.
        self._trails = strategy.trailing_stop and not strategy.use_custom_stoploss
        self._after_fill = "after_fill" in own or any(p.kind is p.VAR_KEYWORD for p in own.values())

    def begin(self, view: View) -> None:
        """Begins a step: fills are told next."""
        self._view = view
        self._leaving.clear()

    def holds(self, pair: str) -> bool:
        """Whether there is a trade in a pair."""
        return pair in self._open

    def take(self) -> list[Intent]:
        """The intents of this step."""
        asked, self._asked = self._asked, []
        return asked

    # Fills.

    def fill(self, fill: Fill) -> None:
        """Books a fill."""
        quantity, price, fee = float(fill.quantity), float(fill.price), float(fill.fee)
        trade = self._entering.get(fill.symbol)
        if trade is not None and fill.role == "entry":
            first = not trade.amount
            if first:
                Trade.all.append(trade)
                self._open[fill.symbol] = trade
                trade.open_date_utc, trade._order = fill.time, fill.order_id
                trade.nr_of_successful_entries = 1
            whole = trade.amount + quantity
            trade.open_rate = (trade.open_rate * trade.amount + price * quantity) / whole
            trade.amount, trade.stake_amount = whole, whole * trade.open_rate
            self._fee = trade.fee_open = trade.fee_close = fee / (quantity * price)
            self._started(trade)
            return
        trade = self._open.get(fill.symbol)
        if trade is None:
            return
        sold = trade._sold + quantity
        trade.close_rate = ((trade.close_rate or 0.0) * trade._sold + price * quantity) / sold
        trade._sold = sold
        if float(fill.position_after) == 0:
            self._ended(trade, fill)

    def _started(self, trade: Trade) -> None:
        """Sets where the stop of an entry is, as its order has it."""
        rate, stop = trade.open_rate, abs(self._strategy.stoploss)
        trade.max_rate = trade.min_rate = rate
        trade.stop_loss = rate * (1 + stop if trade.is_short else 1 - stop)
        trade.initial_stop_loss = trade.stop_loss
        trade._levels = {"stop": trade.stop_loss}
        ratio = self._tier(0)
        if ratio is not None:
            trade._levels["roi"] = trade.rate_of(ratio)

    def _ended(self, trade: Trade, fill: Fill) -> None:
        del self._open[fill.symbol]
        if self._entering.get(fill.symbol) is trade:
            del self._entering[fill.symbol]
        trade.is_open = False
        trade.nr_of_successful_exits = 1
        trade.close_date_utc = fill.time
        rate = trade.close_rate or 0.0
        trade.close_profit = trade.calc_profit_ratio(rate)
        trade.close_profit_abs = trade.calc_profit(rate)
        moved = self._moved(trade, trade.stop_loss) or (self._trails and self._moved(trade, rate))
        stopped = "trailing_stop_loss" if moved else "stop_loss"
        by = {"stop_loss": stopped, "take_profit": "roi", "end_of_data": "force_exit"}
        reason = by.get(fill.role) or trade._leaving or fill.tag or "exit_signal"
        trade.exit_reason = stopped if reason == "stop" else reason
        own = {leg: ref for leg, ref in trade._legs.items() if ref.startswith("ft")}
        self._asked += [Cancel(ref).on(fill.symbol) for leg, ref in own.items() if leg != fill.tag]
        self._protections.after(trade, fill.time)

    @staticmethod
    def _moved(trade: Trade, level: float) -> bool:
        """Whether a level is on the better side of the first stop, as its order has that."""
        first = trade.initial_stop_loss
        return (first - level if trade.is_short else level - first) > 1e-9 * abs(first)

    def reject(self, order: Order) -> None:
        """Forgets what was not taken."""
        trade = self._open.get(order.symbol)
        if order.ref.startswith("fte"):
            self._entering.pop(order.symbol, None)
        elif trade is not None and order.ref:
            for leg in [leg for leg, ref in trade._legs.items() if ref == order.ref]:
                del trade._legs[leg], trade._levels[leg]

    # Decisions.

    def decide(self, pair: str, row: dict[str, Any]) -> None:
        """Decides for a pair at the close of its candle, by the newest row of its columns."""
        v = of_pair(self._view, pair)
        if not self._working(v):
            self._entering.pop(pair, None)
        trade = self._open.get(pair)
        if trade is None:
            if pair not in self._entering:
                self._enter(pair, row)
            return
        trade.max_rate = max(trade.max_rate, v.high)
        trade.min_rate = min(trade.min_rate, v.low)
        self._find_legs(trade, v)
        if self._leave(trade, row, v.close):
            worth, fee = trade.amount * v.close, trade.fee_close
            back = 2 * trade.stake_amount - worth * (1 + fee)
            self._leaving[pair] = back if trade.is_short else worth * (1 - fee)
            if self._side(row) == ("long" if trade.is_short else "short"):
                self._enter(pair, row)  # the other way round at the same open
            return
        if not self._trails:
            self._move_stop(trade, v)
            stop = trade.stop_loss if abs(self._strategy.stoploss) < 1 else None
            self._place(trade, "stop", stop)
        self._place(trade, "roi", self._target(trade, row))

    @staticmethod
    def _working(v: Any) -> bool:
        return any(o.ref.startswith("fte") for o in v.open_orders)

    def _find_legs(self, trade: Trade, v: Any) -> None:
        """Learns the ids of the orders that came with the entry, and where a stop is that moves."""
        for o in v.open_orders:
            if o.parent_id == trade._order:
                stop = o.role == "stop_loss"
                trade._legs["stop" if stop else "roi"] = order_name(o.id)
                if stop and self._trails:
                    trade.stop_loss = float(o.stop_price)

    def _flag(self, row: dict[str, Any], *names: str) -> bool:
        return any(isinstance(row.get(name), _NUMBERS) and row[name] == 1 for name in names)

    def _word(self, row: dict[str, Any], *names: str) -> str | None:
        for name in names:
            word = row.get(name)
            if isinstance(word, str) and word:
                return word
        return None

    def _side(self, row: dict[str, Any]) -> str:
        """What the row says to enter: long, short or nothing."""
        long = self._flag(row, "enter_long", "buy")
        short = bool(self._strategy.can_short) and self._flag(row, "enter_short")
        if long == short:
            return ""
        leave = ("exit_long", "sell") if long else ("exit_short",)
        return "" if self._flag(row, *leave) else "long" if long else "short"

    def _enter(self, pair: str, row: dict[str, Any]) -> None:
        side = self._side(row)
        now: datetime = self._view.time
        if not side or self._locks.holds(pair, now, side):
            return
        slots = self._slots()
        # What leaves at the next open gives its place away, as there.
        if len(self._open) + len(self._entering) - len(self._leaving) >= slots:
            return
        stake = self._stake(slots)
        rate = of_pair(self._view, pair).close
        tag = self._word(row, "enter_tag", "buy_tag")
        if stake <= 0 or not self._strategy.confirm_trade_entry(
            pair=pair,
            order_type="market",
            amount=stake / rate,
            rate=rate,
            time_in_force="GTC",
            current_time=now,
            entry_tag=tag,
            side=side,
        ):
            return
        short = side == "short"
        trade = Trade(pair, short, self._fee, tag)
        self._entering[pair] = trade
        # The fee comes on top of the stake.
        size = QuoteAmount(stake * (1 - self._fee if short else 1 + self._fee))
        order = (Sell if short else Buy)(size).on(pair).tag((tag or "")[:200])
        level = self._stop()
        if level is not None:
            order = order.stop_loss(level)
        ratio = self._tier(0)
        if ratio is not None:
            gain = abs(factor(ratio, self._fee, short) - 1)
            if ratio >= 0 and gain < _FAR:
                order = order.take_profit(Percent(gain))
        self._asked.append(order.ref(f"fte{self._view.index}"))

    def _stop(self) -> Level | None:
        """The stop of an entry."""
        strategy = self._strategy
        stop = abs(strategy.stoploss)
        if not self._trails:
            return Percent(stop) if stop < 1 else None
        stop, tight = min(stop, _WHOLE), strategy.trailing_stop_positive
        offset = strategy.trailing_stop_positive_offset
        if strategy.trailing_only_offset_is_reached:
            return Percent(stop).tighten(stop if tight is None else abs(tight), offset)
        level = TrailingPercent(stop)
        return level if tight is None else level.tighten(abs(tight), offset)

    def _slots(self) -> int:
        asked = self._settings.max_open_trades or self._strategy.max_open_trades
        count = len(self._view.symbols)
        return int(asked) if asked and asked > 0 else count

    def _stake(self, slots: int) -> float:
        """What the next trade costs; 0 where it is not there."""
        held = [t for pair, t in self._open.items() if pair not in self._leaving]
        tied = sum(t.stake_amount for t in held)
        tied += len(self._entering) * (self._settings.stake_amount or 0)
        free = self._view.cash + sum(t.stake_amount * t.fee_open for t in held)
        free += sum(self._leaving.values())
        free -= 2 * sum(t.stake_amount for t in self._open.values() if t.is_short)
        usable = (free + tied) * self._settings.tradable_balance_ratio - tied
        stake = self._settings.stake_amount or (usable + tied) / slots
        return float(stake) if stake <= usable else max(0.0, float(usable))

    def _leave(self, trade: Trade, row: dict[str, Any], rate: float) -> str:
        """Asks for an exit at the next open where signal, callback or ROI say so."""
        strategy, now = self._strategy, self._view.time
        if not strategy.use_exit_signal:
            return self._forced(trade, now)
        profit = trade.calc_profit_ratio(rate)
        entered = self._flag(row, *(("enter_short",) if trade.is_short else ("enter_long", "buy")))
        leaves = self._flag(row, *(("exit_short",) if trade.is_short else ("exit_long", "sell")))
        reason = ""
        if leaves and not entered:
            reason = "exit_signal"
            trade._leaving = self._word(row, "exit_tag") or reason
        elif not strategy.exit_profit_only or profit > strategy.exit_profit_offset:
            said = strategy.custom_exit(
                pair=trade.pair,
                trade=trade,
                current_time=now,
                current_rate=rate,
                current_profit=profit,
            )
            if said:
                trade._leaving = reason = said if isinstance(said, str) else "custom_exit"
        if not reason:
            return self._forced(trade, now)
        if not strategy.confirm_trade_exit(
            pair=trade.pair,
            trade=trade,
            order_type="market",
            amount=trade.amount,
            rate=rate,
            time_in_force="GTC",
            exit_reason=trade._leaving,
            current_time=now,
        ):
            trade._leaving = ""
            return ""
        if leaves and strategy.exit_profit_only:
            # Whether it pays is known at the open: elsewhere than there it does not fill.
            level = trade.rate_of(strategy.exit_profit_offset)
            order = (Buy if trade.is_short else Sell)(WholePosition).on(trade.pair)
            order = order.limit(level).immediate_or_cancel()
            self._asked.append(order.tag(trade._leaving[:200]))
            trade._leaving = ""
            return ""
        self._asked.append(Close(trade.pair).tag(trade._leaving[:200]))
        return reason

    def _forced(self, trade: Trade, now: datetime) -> str:
        """Leaves where the ROI's table has -1 from the next candle on."""
        if self._tier(_minutes(now, trade)) != -1:
            return ""
        trade._leaving = "roi"
        self._asked.append(Close(trade.pair).tag("roi"))
        return "roi"

    # Levels.

    def _tier(self, minutes: float) -> float | None:
        """The ROI after so many minutes."""
        ratio = None
        for begins, value in self._roi:
            if begins <= minutes:
                ratio = value
        return ratio

    def _target(self, trade: Trade, row: dict[str, Any]) -> float | None:
        ratio = self._tier(_minutes(self._view.time, trade))
        if ratio is None or ratio >= _FAR:
            return None
        if self._strategy.ignore_roi_if_entry_signal and self._flag(
            row, *(("enter_short",) if trade.is_short else ("enter_long", "buy"))
        ):
            return None
        return trade.rate_of(ratio)

    def _move_stop(self, trade: Trade, v: Any) -> None:
        strategy, short = self._strategy, trade.is_short
        if strategy.use_custom_stoploss:
            more = {"after_fill": False} if self._after_fill else {}
            asked = strategy.custom_stoploss(
                pair=trade.pair,
                trade=trade,
                current_time=self._view.time,
                current_rate=v.close,
                current_profit=trade.calc_profit_ratio(v.close),
                **more,
            )
            if asked is not None and asked == asked and asked != 0:
                trade.raise_stop(v.close * (1 + abs(asked) if short else 1 - abs(asked)))
        if not strategy.trailing_stop:
            return
        best = v.low if short else v.high
        gain, offset = trade.calc_profit_ratio(best), strategy.trailing_stop_positive_offset
        if strategy.trailing_only_offset_is_reached and gain < offset:
            return
        distance = abs(strategy.stoploss)
        if strategy.trailing_stop_positive is not None and gain > offset:
            distance = abs(strategy.trailing_stop_positive)
        trade.raise_stop(best * (1 + distance if short else 1 - distance))

    def _place(self, trade: Trade, leg: str, level: float | None) -> None:
        """Puts the order of a leg at a level, or takes it back."""
        ref = trade._legs.get(leg)
        if level is None:
            if ref is not None:
                self._asked.append(Cancel(ref))
                del trade._legs[leg]
                trade._levels.pop(leg, None)
            return
        if ref is not None and trade._levels.get(leg) == level:
            return
        trade._levels[leg] = level
        if ref is not None:
            change = Replace(ref).on(trade.pair)
            self._asked.append(change.stop(level) if leg == "stop" else change.limit(level))
            return
        trade._legs[leg] = ref = f"ft{leg}{trade.id}"
        order = (Buy if trade.is_short else Sell)(Quantity(trade.amount)).reduce_only()
        order = order.stop(level) if leg == "stop" else order.limit(level)
        self._asked.append(order.on(trade.pair).tag(leg).ref(ref))


def of_pair(v: View, pair: str) -> SymbolView:
    """The view of a pair: that of the run where it has only this one, which costs nothing."""
    return v if len(v.symbols) == 1 else v[pair]


def _minutes(now: datetime, trade: Trade) -> float:
    """How long a trade lasts when the next candle opens."""
    return float((now - trade.open_date_utc).total_seconds() // 60)
