"""Long and short, with a stop that trails from the entry on and closer at a profit, an ROI and exits
that turn it round."""

import talib.abstract as ta

import freqtrade.vendor.qtpylib.indicators as qtpylib
from freqtrade.strategy import IStrategy


class Chase(IStrategy):
    timeframe = "1h"
    can_short = True
    minimal_roi = {"0": 0.05, "720": 0.02}
    stoploss = -0.015
    trailing_stop = True
    trailing_stop_positive = 0.004
    trailing_stop_positive_offset = 0.008
    startup_candle_count = 60

    def populate_indicators(self, dataframe, metadata):
        dataframe["fast"] = ta.EMA(dataframe, timeperiod=5)
        dataframe["slow"] = ta.EMA(dataframe, timeperiod=13)
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        up = qtpylib.crossed_above(dataframe["fast"], dataframe["slow"])
        down = qtpylib.crossed_below(dataframe["fast"], dataframe["slow"])
        dataframe.loc[up, ["enter_long", "enter_tag"]] = (1, "up")
        dataframe.loc[down, ["enter_short", "enter_tag"]] = (1, "down")
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["fast"] < dataframe["slow"], "exit_long"] = 1
        dataframe.loc[dataframe["fast"] > dataframe["slow"], "exit_short"] = 1
        return dataframe
