import pandas as pd
from backtesting import Strategy


class Channel(Strategy):
    n = 48

    def init(self):
        self.high, self.low = self.I(self.channel, self.data.High, self.data.Low, overlay=True)

    def channel(self, high, low):
        return (pd.Series(high).rolling(self.n).max().values, pd.Series(low).rolling(self.n).min().values)

    def next(self):
        for order in self.orders:
            if not order.is_contingent:
                order.cancel()
        if self.position:
            for trade in self.trades:
                trade.sl = max(trade.sl or 0, self.low[-1])
        else:
            self.buy(size=20, stop=self.high[-1] * 1.001)
