import numpy as np
from backtesting import Strategy


def momentum(close, n):
    out = np.full(len(close), np.nan)
    out[n:] = close[n:] / close[:-n] - 1
    return out


class Swing(Strategy):
    n = 72
    calm = 0.03

    def init(self):
        self.momentum = self.I(momentum, self.data.Close, self.n)
        self.entries = 0

    def next(self):
        m = self.momentum[-1]
        if m > self.calm and not self.position.is_long:
            self.position.close()
            self.buy(size=0.6)
            self.entries += 1
        elif m < -self.calm and not self.position.is_short:
            self.position.close()
            self.sell(size=0.6)
        elif self.trades and len(self.data) - self.trades[-1].entry_bar > 100:
            self.trades[-1].close()
