"""Protections: rules that lock pairs after what their trades did."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from .. import Unsupported
from ._strategy import timeframe_to_minutes, timeframe_to_next_date
from ._trade import Locks, Trade, closed_since

KNOWN = ("CooldownPeriod", "LowProfitPairs", "MaxDrawdown", "StoplossGuard")
_STOPS = ("stop_loss", "trailing_stop_loss", "stoploss_on_exchange", "liquidation")


class Protections:
    """The protections of a strategy, asked after each trade that ends."""

    def __init__(self, rules: Any, timeframe: str, locks: Locks) -> None:
        self._rules = list(rules or ())
        self._timeframe, self._locks = timeframe, locks
        for rule in self._rules:
            if rule.get("method") not in KNOWN:
                known = ", ".join(KNOWN)
                raise Unsupported(f"the protection {rule.get('method')}: there are {known}")
            for name in ("only_per_side", "unlock_at"):
                if rule.get(name):
                    raise Unsupported(f"{name} of the protection {rule['method']}")
            if rule.get("calculation_mode", "ratios") != "ratios":
                raise Unsupported(f"calculation_mode={rule['calculation_mode']!r} of MaxDrawdown")

    def after(self, trade: Trade, now: datetime) -> None:
        """Locks what the rules say after a trade has ended."""
        for rule in self._rules:
            lookback = self._span(rule, "lookback_period", 60)
            since = now - lookback
            method = rule["method"]
            if method == "CooldownPeriod":
                self._lock(trade.pair, rule, [trade])
            elif method == "StoplossGuard":
                self._guard(rule, trade.pair, since)
            elif method == "LowProfitPairs":
                own = closed_since(since, trade.pair)
                profit = sum(t.close_profit or 0.0 for t in own)
                if len(own) >= rule.get("trade_limit", 1) and profit < rule.get(
                    "required_profit", 0.0
                ):
                    self._lock(trade.pair, rule, own)
            else:
                every = closed_since(since)
                if len(every) >= rule.get("trade_limit", 1) and _drawdown(every) > rule.get(
                    "max_allowed_drawdown", 0.0
                ):
                    self._lock("*", rule, every)

    def _guard(self, rule: dict[str, Any], pair: str, since: datetime) -> None:
        alone = bool(rule.get("only_per_pair", False))
        stopped = [
            t
            for t in closed_since(since, pair if alone else None)
            if t.exit_reason in _STOPS
            and (t.close_profit or 0.0) < rule.get("required_profit", 0.0)
        ]
        if len(stopped) >= rule.get("trade_limit", 10):
            self._lock(pair if alone else "*", rule, stopped)

    def _span(self, rule: dict[str, Any], name: str, minutes: int) -> timedelta:
        if f"{name}_candles" in rule:
            candles = int(rule[f"{name}_candles"])
            return timedelta(minutes=candles * timeframe_to_minutes(self._timeframe))
        return timedelta(minutes=int(rule.get(name, minutes)))

    def _lock(self, pair: str, rule: dict[str, Any], trades: Any) -> None:
        last = max(t.close_date_utc for t in trades)
        until = last + self._span(rule, "stop_duration", 60)
        self._locks.add(pair, timeframe_to_next_date(self._timeframe, until))


def _drawdown(trades: Any) -> float:
    """How far the sum of the profits fell below its highest."""
    total = top = worst = 0.0
    for t in sorted(trades, key=lambda t: t.close_date_utc):
        total += t.close_profit or 0.0
        top = max(top, total)
        worst = max(worst, top - total)
    return worst
