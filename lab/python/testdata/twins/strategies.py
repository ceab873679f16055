"""The bundled strategies in Python, by the names of the folders in strategies/."""

import math
from datetime import timedelta

from assay import (
    AllCash, At, Buy, Cancel, CashFraction, Close, EquityFraction, Input, InvalidParam, Param, Percent, Quantity,
    Sell, Signals, SignalStrategy, Strategy, Supports, crossed_above, crossed_below,
)
from assay.indicators import RSI, SMA, Highest, ZScore


class SmaCross(Strategy):
    """Buys when a fast average crosses above a slow one."""

    name = "sma_py"
    fast: int = Param(10)
    slow: int = Param(30)

    def start(self):
        if self.fast >= self.slow:
            raise InvalidParam("fast", "must be below slow")
        self.f, self.s = self.I(SMA, self.fast), self.I(SMA, self.slow)

    def warmup(self):
        return self.slow

    def on_candle(self, v):
        if v.flat and self.f.crossed_above(self.s):
            return Buy(AllCash)
        if v.long and self.f.crossed_below(self.s):
            return Close()
        return None


class SmaSignals(SignalStrategy):
    """The same rule by columns."""

    name = "sma_columns"
    fast: int = Param(10)
    slow: int = Param(30)

    def warmup(self):
        return self.slow

    def signals(self, c):
        f, s = c.close.rolling(self.fast).mean(), c.close.rolling(self.slow).mean()
        return Signals(entry=crossed_above(f, s), exit=crossed_below(f, s))


class BuyHold(Strategy):
    """Buys at a candle of the window."""

    name = "hold_py"
    start_candle: int = Param(1)

    def start(self):
        self.seen = 0

    def on_candle(self, v):
        if v.warmup:
            return None
        self.seen += 1
        return Buy(AllCash) if self.seen - 1 == self.start_candle else None


class Breakout(Strategy):
    """Buys at the highest high, sells a while later."""

    name = "breakout_py"
    candles: int = Param(20)
    hold: int = Param(10)

    def start(self):
        self.highest = self.I(Highest, self.candles, of="high")

    def warmup(self):
        return self.candles

    def on_candle(self, v):
        if v.index < self.candles:
            return None
        if v.long and v.position.candles_held >= self.hold:
            return Close()
        if not v.flat:
            return None
        intents = [Cancel("entry")] if v.open_orders else []
        quantity = math.floor(0.5 * v.equity / v.close / v.quantity_step) * v.quantity_step
        if quantity > 0:
            intents.append(Buy(Quantity(quantity)).stop(self.highest.value).ref("entry"))
        return intents


class RsiBracket(Strategy):
    """Buys what is oversold, with a bracket."""

    name = "rsi_py"
    def start(self):
        self.rsi = self.I(RSI, 14)

    def warmup(self):
        return 15

    def on_candle(self, v):
        if self.rsi.count < 2:
            return None
        if v.flat and self.rsi.value < 30:
            return Buy(AllCash).stop_loss(At(v.close * (1 - 0.02))).take_profit(At(v.close * (1 + 0.04)))
        if v.long and self.rsi.value > 70:
            return Close()
        return None


class LimitEntry(Strategy):
    """Buys below the close now and then."""

    name = "limit_py"
    def start(self):
        self.seen = 0

    def on_candle(self, v):
        if v.warmup:
            return None
        i, self.seen = self.seen, self.seen + 1
        if i < 1 or i % 5 or not v.flat or v.open_orders:
            return None
        quantity = math.floor(0.5 * v.equity / v.close / v.quantity_step) * v.quantity_step
        if quantity <= 0:
            return None
        limit = v.close * (1 - 0.01)
        order = Buy(Quantity(quantity)).limit(limit).expire_after(3)
        return order.stop_loss(At(limit * (1 - 0.03))).take_profit(At(limit * (1 + 0.02)))


class DailyTrend(Strategy):
    """Buys above the channel of a day while days rise."""

    name = "daily_py"
    extra = ("1d",)

    def start(self):
        self.average = SMA(20)

    def lookback(self):
        return {"": 25, "1d": 20}

    def on_candle(self, v):
        day = v.at("1d")
        if day.closed:
            self.average.add(day.close)
        if v.warmup:
            return None
        channel = v.history(25)
        if v.flat and day.close > self.average.value and v.close > max(channel.high[:24]):
            return Buy(CashFraction(0.5)).stop_loss(Percent(0.05))
        if v.long and v.close < min(channel.low[:24]):
            return Close()
        return None


class CalmFunding(Strategy):
    """Holds while funding is low."""

    name = "calm_py"
    inputs = (Input("funding", timedelta(hours=9)),)

    def on_candle(self, v):
        rates = v.input("funding").history(9)
        if len(rates) < 9:
            return None
        average = 0.0
        for r in rates:
            average += r.value / len(rates)
        if v.flat and average < 0.0003:
            return Buy(CashFraction(0.5))
        if v.long and average >= 0.0003:
            return Close()
        return None


class Pairs(Strategy):
    """Trades the ratio of two prices."""

    name = "pairs_py"
    min_symbols = max_symbols = 2
    supports = Supports(short=True, multi_symbol=True)

    def start(self):
        self.score = ZScore(72)

    def warmup(self):
        return 72

    def on_candle(self, v):
        one, two = (v[s] for s in v.symbols)
        if not one.closed or not two.closed:
            return None
        self.score.add(one.close / two.close)
        z, leg, flat = self.score.value, EquityFraction(0.8 / 2), one.flat and two.flat
        if v.warmup or not self.score.ready:
            return None
        if flat:
            if z > 2:
                return [Sell(leg).on(one.symbol), Buy(leg).on(two.symbol)]
            if z < -2:
                return [Buy(leg).on(one.symbol), Sell(leg).on(two.symbol)]
            return None
        if one.flat or two.flat or one.short and z < 0.5 or one.long and z > -0.5:
            return [Close().on(one.symbol), Close().on(two.symbol)]
        return None
