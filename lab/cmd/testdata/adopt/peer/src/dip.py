from backtesting import Backtest, Strategy
from backtesting.lib import resample_apply
from backtesting.test import SMA


class Dip(Strategy):
    days = 20
    below = 0.01

    def init(self):
        self.daily = resample_apply("D", SMA, self.data.Close, self.days, plot=False)

    def next(self):
        close = self.data.Close[-1]
        if not self.position:
            for order in self.orders:
                order.cancel()
            if close > self.daily:
                self.buy(size=0.3, limit=close * (1 - self.below))
            return
        trade = self.trades[-1]
        assert trade.entry_time == self.data.index[trade.entry_bar] and trade.exit_time is None
        if close < self.daily[-1]:
            self.position.close()
        elif self.position.pl_pct > 4 and len(self.trades) == 1:
            self.position.close(0.5)
