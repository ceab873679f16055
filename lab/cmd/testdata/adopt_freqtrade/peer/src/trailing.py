"""Trails a stop once a trade has gained enough."""

import talib.abstract as ta

import freqtrade.vendor.qtpylib.indicators as qtpylib
from freqtrade.strategy import IStrategy


class Trailing(IStrategy):
    timeframe = "1h"
    minimal_roi = {"0": 0.2}
    stoploss = -0.06
    trailing_stop = True
    trailing_stop_positive = 0.02
    trailing_stop_positive_offset = 0.03
    trailing_only_offset_is_reached = True
    startup_candle_count = 40
    use_exit_signal = False

    def populate_indicators(self, dataframe, metadata):
        macd = ta.MACD(dataframe)
        dataframe["macd"], dataframe["signal"] = macd["macd"], macd["macdsignal"]
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        dataframe.loc[qtpylib.crossed_above(dataframe["macd"], dataframe["signal"]), "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        return dataframe
