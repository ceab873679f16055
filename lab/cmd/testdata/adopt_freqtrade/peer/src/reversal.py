"""Buys below the lower band; in the names of the older interface."""

import numpy as np
import talib.abstract as ta

import freqtrade.vendor.qtpylib.indicators as qtpylib
from freqtrade.strategy.interface import IStrategy


class Reversal(IStrategy):
    INTERFACE_VERSION = 2
    timeframe = "1h"
    minimal_roi = {"0": 100}
    stoploss = -0.04
    startup_candle_count = 40
    sell_profit_only = True
    sell_profit_offset = 0.002

    def populate_indicators(self, dataframe, metadata):
        dataframe["adx"] = ta.ADX(dataframe)
        bands = qtpylib.bollinger_bands(qtpylib.typical_price(dataframe), window=20, stds=2)
        dataframe["lower"], dataframe["upper"] = bands["lower"], bands["upper"]
        dataframe["mid"] = bands["mid"]
        dataframe["calm"] = np.where(dataframe["adx"] < 45, 1, 0)
        return dataframe

    def populate_buy_trend(self, dataframe, metadata):
        dataframe.loc[(dataframe["close"] < dataframe["lower"]) & (dataframe["calm"] == 1), "buy"] = 1
        return dataframe

    def populate_sell_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["close"] > dataframe["mid"], "sell"] = 1
        return dataframe
