"""RSI, TEMA and Bollinger bands: the kind of strategy that people begin with."""

import talib.abstract as ta
from pandas import DataFrame

import freqtrade.vendor.qtpylib.indicators as qtpylib
from freqtrade.strategy import DecimalParameter, IntParameter, IStrategy


class Momentum(IStrategy):
    INTERFACE_VERSION = 3
    timeframe = "1h"
    can_short = False
    minimal_roi = {"0": 0.06, "720": 0.03, "2880": 0.01}
    stoploss = -0.05
    startup_candle_count = 60
    process_only_new_candles = True

    buy_rsi = IntParameter(10, 45, default=35, space="buy")
    sell_rsi = IntParameter(55, 90, default=70, space="sell")
    width = DecimalParameter(1.0, 3.0, default=2.0, decimals=1, space="buy", optimize=False)

    buy_params = {"buy_rsi": 38}

    def populate_indicators(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe["rsi"] = ta.RSI(dataframe)
        dataframe["tema"] = ta.TEMA(dataframe, timeperiod=9)
        bands = qtpylib.bollinger_bands(
            qtpylib.typical_price(dataframe), window=20, stds=self.width.value
        )
        dataframe["bb_middle"] = bands["mid"]
        return dataframe

    def populate_entry_trend(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe.loc[
            qtpylib.crossed_above(dataframe["rsi"], self.buy_rsi.value)
            & (dataframe["tema"] <= dataframe["bb_middle"])
            & (dataframe["tema"] > dataframe["tema"].shift(1))
            & (dataframe["volume"] > 0),
            ["enter_long", "enter_tag"],
        ] = (1, "rsi_up")
        return dataframe

    def populate_exit_trend(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe.loc[
            qtpylib.crossed_above(dataframe["rsi"], self.sell_rsi.value)
            & (dataframe["tema"] > dataframe["bb_middle"])
            & (dataframe["volume"] > 0),
            "exit_long",
        ] = 1
        return dataframe
