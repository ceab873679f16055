"""Goes long and short by crossing averages, with a stop and an ROI on either side."""

import talib.abstract as ta

import freqtrade.vendor.qtpylib.indicators as qtpylib
from freqtrade.strategy import IntParameter, IStrategy


class Both(IStrategy):
    timeframe = "1h"
    can_short = True
    minimal_roi = {"0": 0.05, "1440": 0.02}
    stoploss = -0.03
    startup_candle_count = 60

    fast = IntParameter(4, 20, default=8, space="buy")
    slow = IntParameter(21, 60, default=34, space="buy")

    def populate_indicators(self, dataframe, metadata):
        dataframe["fast"] = ta.SMA(dataframe, timeperiod=self.fast.value)
        dataframe["slow"] = ta.SMA(dataframe, timeperiod=self.slow.value)
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        up = qtpylib.crossed_above(dataframe["fast"], dataframe["slow"])
        down = qtpylib.crossed_below(dataframe["fast"], dataframe["slow"])
        dataframe.loc[up, ["enter_long", "enter_tag"]] = (1, "up")
        dataframe.loc[down, ["enter_short", "enter_tag"]] = (1, "down")
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["fast"] < dataframe["slow"] * 0.995, "exit_long"] = 1
        dataframe.loc[dataframe["fast"] > dataframe["slow"] * 1.005, "exit_short"] = 1
        return dataframe
