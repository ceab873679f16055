"""Runs the rule of the reference run R in another backtester: python peers.py NAME CANDLES.csv

The rule: while flat, buy for 100 when the average of 10 closes crosses above that of 30; close the
position when it crosses below. 100,000 of cash, a fee of 0.1 %, orders fill at the next open.

Prints one JSON object: seconds of the loop alone (the data are loaded and the program is warm only
where it says so), how long it took from the start of the process to it, and the number of closed trades.
"""

import json
import os
import sys
import time

import numpy as np
import pandas as pd

CASH, STAKE, FEE, FAST, SLOW = 100_000.0, 100.0, 0.001, 10, 30


def begun():
    """Seconds since the process was started, as ASSAY_BEGIN says it in Unix nanoseconds."""
    return (time.time_ns() - int(os.environ["ASSAY_BEGIN"])) / 1e9


def read(path):
    frame = pd.read_csv(path)
    frame.index = pd.to_datetime(frame.pop("time_ms"), unit="ms", utc=True)
    return frame


def backtesting(frame):
    from backtesting import Backtest, Strategy
    from backtesting.lib import crossover

    def average(values, n):
        return pd.Series(values).rolling(n).mean()

    class Cross(Strategy):
        def init(self):
            self.fast = self.I(average, self.data.Close, FAST)
            self.slow = self.I(average, self.data.Close, SLOW)

        def next(self):
            if not self.position and crossover(self.fast, self.slow):
                self.buy(size=STAKE / self.equity)
            elif self.position and crossover(self.slow, self.fast):
                self.position.close()

    frame = frame.rename(columns=str.capitalize)
    frame.index = frame.index.tz_localize(None)
    test = Backtest(cheap(frame), Cross, cash=CASH, commission=FEE, finalize_trades=False)
    start, begin = begun(), time.perf_counter()
    stats = test.run()
    return [{"seconds": time.perf_counter() - begin, "start": start, "trades": int(stats["# Trades"])}]


def cheap(frame):
    """Divides prices by a million: a trade is whole units, which have to be small beside the stake."""
    scaled = frame.copy()
    scaled[["Open", "High", "Low", "Close"]] /= 1e6
    return scaled


def vectorbt(frame):
    import vectorbt as vbt

    def run():
        start, begin = begun(), time.perf_counter()
        fast, slow = vbt.MA.run(frame.close, FAST), vbt.MA.run(frame.close, SLOW)
        # Signals of a close fill at the next open.
        entries = fast.ma_crossed_above(slow).vbt.fshift(1, fill_value=False)
        exits = fast.ma_crossed_below(slow).vbt.fshift(1, fill_value=False)
        book = vbt.Portfolio.from_signals(frame.close, entries, exits, price=frame.open, size=STAKE, size_type="value",
                                          init_cash=CASH, fees=FEE, freq="1min")
        trades = int(book.trades.closed.count())
        return {"seconds": time.perf_counter() - begin, "start": start, "trades": trades}

    return [{"note": "cold: it compiles", **run()}, {"note": "warm", **run()}]


def nautilus(frame):
    from decimal import Decimal

    from nautilus_trader.backtest.config import BacktestEngineConfig
    from nautilus_trader.backtest.engine import BacktestEngine
    from nautilus_trader.config import LoggingConfig
    from nautilus_trader.indicators import SimpleMovingAverage
    from nautilus_trader.model.currencies import USDT
    from nautilus_trader.model.data import BarType
    from nautilus_trader.model.enums import AccountType, OmsType, OrderSide
    from nautilus_trader.model.identifiers import Venue
    from nautilus_trader.model.objects import Money
    from nautilus_trader.persistence.wranglers import BarDataWrangler
    from nautilus_trader.test_kit.providers import TestInstrumentProvider
    from nautilus_trader.trading.strategy import Strategy

    instrument = TestInstrumentProvider.btcusdt_binance()
    kind = BarType.from_str(f"{instrument.id}-1-MINUTE-LAST-EXTERNAL")

    class Cross(Strategy):
        def on_start(self):
            self.fast, self.slow = SimpleMovingAverage(FAST), SimpleMovingAverage(SLOW)
            self.register_indicator_for_bars(kind, self.fast)
            self.register_indicator_for_bars(kind, self.slow)
            self.above = None
            self.subscribe_bars(kind)

        def on_bar(self, bar):
            if not self.slow.initialized:
                return
            above, before = self.fast.value > self.slow.value, self.above
            self.above = above
            if before is None or above == before:
                return
            flat = self.portfolio.is_flat(instrument.id)
            if above and flat:
                quantity = instrument.make_qty(Decimal(STAKE) / bar.close.as_decimal())
                self.submit_order(self.order_factory.market(instrument.id, OrderSide.BUY, quantity))
            elif not above and not flat:
                self.close_all_positions(instrument.id)

    engine = BacktestEngine(config=BacktestEngineConfig(logging=LoggingConfig(bypass_logging=True)))
    engine.add_venue(Venue("BINANCE"), OmsType.NETTING, AccountType.CASH, starting_balances=[Money(CASH, USDT)],
                     base_currency=None)
    engine.add_instrument(instrument)
    engine.add_data(BarDataWrangler(kind, instrument).process(frame))
    engine.add_strategy(Cross())
    start, begin = begun(), time.perf_counter()
    engine.run()
    return [{"seconds": time.perf_counter() - begin, "start": start, "trades": len(engine.cache.positions_closed())
             + len(engine.cache.position_snapshots())}]


if __name__ == "__main__":
    name, path = sys.argv[1:]
    np.seterr(all="ignore")
    candles = read(path)
    for result in globals()[name](candles):
        print(json.dumps({"candles": len(candles), **result}))
