"""A stop that trails at its own distance, on days."""

import talib.abstract as ta

from freqtrade.strategy import IStrategy


class Ratchet(IStrategy):
    timeframe = "1d"
    minimal_roi = {"0": 0.25, "14400": 0.02}
    stoploss = -0.06
    trailing_stop = True
    startup_candle_count = 30

    def populate_indicators(self, dataframe, metadata):
        dataframe["average"] = ta.SMA(dataframe, timeperiod=10)
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["close"] > dataframe["average"], "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        return dataframe
