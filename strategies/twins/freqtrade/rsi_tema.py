"""RSI and TEMA with a target that falls with time. For freqtrade."""

import talib.abstract as ta
from freqtrade.strategy import IntParameter, IStrategy
from pandas import DataFrame
from technical import qtpylib


class RsiTema(IStrategy):
    INTERFACE_VERSION = 3
    timeframe = "1h"
    startup_candle_count = 200
    minimal_roi = {"60": 0.01, "30": 0.02, "0": 0.04}
    stoploss = -0.10
    buy_rsi = IntParameter(1, 50, default=30, space="buy")
    sell_rsi = IntParameter(50, 100, default=70, space="sell")

    def populate_indicators(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe["rsi"] = ta.RSI(dataframe)
        dataframe["tema"] = ta.TEMA(dataframe, timeperiod=9)
        bands = qtpylib.bollinger_bands(qtpylib.typical_price(dataframe), window=20, stds=2)
        dataframe["middle"] = bands["mid"]
        return dataframe

    def populate_entry_trend(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe.loc[
            qtpylib.crossed_above(dataframe["rsi"], self.buy_rsi.value)
            & (dataframe["tema"] <= dataframe["middle"])
            & (dataframe["tema"] > dataframe["tema"].shift())
            & (dataframe["volume"] > 0),
            "enter_long",
        ] = 1
        return dataframe

    def populate_exit_trend(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe.loc[
            qtpylib.crossed_above(dataframe["rsi"], self.sell_rsi.value)
            & (dataframe["tema"] > dataframe["middle"])
            & (dataframe["tema"] < dataframe["tema"].shift())
            & (dataframe["volume"] > 0),
            "exit_long",
        ] = 1
        return dataframe
