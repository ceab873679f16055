"""Breakouts of the hour, bought while the days rise. For backtesting.py 0.6."""

import pandas as pd
from backtesting import Strategy
from backtesting.lib import resample_apply


def average(values, n):
    return pd.Series(values).rolling(n).mean()


def highest(values, n):
    return pd.Series(values).rolling(n).max().shift()


def lowest(values, n):
    return pd.Series(values).rolling(n).min().shift()


class DailyTrend(Strategy):
    candles = 24
    days = 20
    fraction = 0.5
    stop_loss = 0.05

    def init(self):
        self.day = resample_apply("D", average, self.data.Close, 1)
        self.average = resample_apply("D", average, self.data.Close, self.days)
        self.high = self.I(highest, self.data.High, self.candles)
        self.low = self.I(lowest, self.data.Low, self.candles)

    def next(self):
        price = self.data.Close[-1]
        if not self.position and self.day[-1] > self.average[-1] and price > self.high[-1]:
            self.buy(size=self.fraction, sl=price * (1 - self.stop_loss))
        elif self.position and price < self.low[-1]:
            self.position.close()
