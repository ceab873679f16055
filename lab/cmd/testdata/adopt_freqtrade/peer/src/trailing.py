"""A trailing stop that begins at a profit."""

import talib.abstract as ta

from freqtrade.strategy import IStrategy


class Trailing(IStrategy):
    timeframe = "1h"
    minimal_roi = {"0": 10}
    stoploss = -0.04
    trailing_stop = True
    trailing_stop_positive = 0.01
    trailing_stop_positive_offset = 0.02
    trailing_only_offset_is_reached = True
    startup_candle_count = 60

    def populate_indicators(self, dataframe, metadata):
        dataframe["average"] = ta.SMA(dataframe, timeperiod=48)
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        above = dataframe["close"] > dataframe["average"]
        dataframe.loc[above & ~above.shift(1, fill_value=True), "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        return dataframe
