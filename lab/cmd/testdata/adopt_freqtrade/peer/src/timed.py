"""Leaves by callbacks: after a day without a gain, and not in the hour of the day it avoids."""

from datetime import timedelta

import talib.abstract as ta

from freqtrade.persistence import Trade
from freqtrade.strategy import BooleanParameter, CategoricalParameter, IStrategy


class Timed(IStrategy):
    timeframe = "1h"
    minimal_roi = {"0": 0.05}
    stoploss = -0.08
    startup_candle_count = 30

    average = CategoricalParameter([12, 24, 48], default=24, space="buy")
    early = BooleanParameter(default=True, space="buy")

    def populate_indicators(self, dataframe, metadata):
        dataframe["average"] = ta.SMA(dataframe, timeperiod=self.average.value)
        dataframe["mfi"] = ta.MFI(dataframe)
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        above = dataframe["close"] > dataframe["average"]
        dataframe.loc[above & ~above.shift(1, fill_value=True) & (dataframe["mfi"] < 80), "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        return dataframe

    def confirm_trade_entry(self, pair, order_type, amount, rate, time_in_force, current_time,
                            entry_tag, side, **kwargs):
        return current_time.hour != 3

    def custom_exit(self, pair, trade, current_time, current_rate, current_profit, **kwargs):
        dataframe, _ = self.dp.get_analyzed_dataframe(pair, self.timeframe)
        last = dataframe.iloc[-1]
        if self.early.value and last["mfi"] > 85:
            return "hot"
        if current_time - trade.open_date_utc >= timedelta(hours=24):
            return "a_day"
        return None
