"""Buys what fell, with a stop loss and a target."""
import numpy as np
import pandas as pd
from backtesting import Backtest, Strategy


def rsi(close, n):
    delta = pd.Series(close).diff()
    up = delta.clip(lower=0).ewm(alpha=1 / n, adjust=False).mean()
    down = (-delta.clip(upper=0)).ewm(alpha=1 / n, adjust=False).mean()
    out = 100 - 100 / (1 + up / down)
    out[:n] = np.nan
    return out


class RsiBracket(Strategy):
    period = 14
    low = 30
    loss = 0.02
    gain = 0.03

    def init(self):
        self.rsi = self.I(rsi, self.data.Close, self.period)

    def next(self):
        price = self.data.Close[-1]
        if not self.position and self.rsi[-1] < self.low:
            self.buy(size=0.5, sl=price * (1 - self.loss), tp=price * (1 + self.gain), tag="dip")


if __name__ == "__main__":
    data = pd.read_csv("hours.csv", index_col=0, parse_dates=True)
    print(Backtest(data, RsiBracket, cash=1_000_000, commission=0.001).run())
