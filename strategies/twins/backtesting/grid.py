"""A grid of bids, each sold in two parts. For backtesting.py 0.6."""

from backtesting import Strategy


class Grid(Strategy):
    levels = 4
    step = 0.01
    share = 0.5
    life = 24
    fraction = 0.8

    def init(self):
        self.laid = 0

    def next(self):
        bids = [order for order in self.orders if not order.is_contingent]
        if len(self.data) - self.laid >= self.life:
            for order in bids:
                order.cancel()
        if self.position or self.orders:
            return
        self.laid = len(self.data)
        center = self.data.Close[-1]
        level = [center * (1 - n * self.step) for n in range(-1, self.levels + 2)]  # level[n + 1] is the n-th
        for n in range(1, self.levels + 1):
            units = self.fraction * self.equity / self.levels / level[n + 1]
            for share, target in (self.share, level[n]), (1 - self.share, level[n - 1]):
                if size := int(share * units):
                    self.buy(size=size, limit=level[n + 1], sl=level[-1], tp=target)
