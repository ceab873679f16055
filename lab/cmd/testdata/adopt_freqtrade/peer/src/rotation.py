"""Two pairs for one slot: whichever signals first has it."""

import talib.abstract as ta

from freqtrade.strategy import IStrategy


class Rotation(IStrategy):
    timeframe = "1d"
    minimal_roi = {"0": 10}
    stoploss = -0.5
    startup_candle_count = 30
    max_open_trades = 1

    def populate_indicators(self, dataframe, metadata):
        dataframe["average"] = ta.SMA(dataframe, timeperiod=20)
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["close"] > dataframe["average"] * 1.01, "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["close"] < dataframe["average"], "exit_long"] = 1
        return dataframe
