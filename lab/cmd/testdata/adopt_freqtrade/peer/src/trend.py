"""Follows a trend that the 4 hours and the days agree with; protections rest it after losses."""

import talib.abstract as ta
from pandas import DataFrame

import freqtrade.vendor.qtpylib.indicators as qtpylib
from freqtrade.strategy import IStrategy, informative, merge_informative_pair


class Trend(IStrategy):
    timeframe = "1h"
    minimal_roi = {"0": 0.10, "1440": 0.04}
    stoploss = -0.03
    startup_candle_count = 100
    exit_profit_only = False
    ignore_roi_if_entry_signal = True

    @property
    def protections(self):
        return [
            {"method": "CooldownPeriod", "stop_duration_candles": 5},
            {
                "method": "StoplossGuard",
                "lookback_period_candles": 72,
                "trade_limit": 2,
                "stop_duration_candles": 24,
                "only_per_pair": False,
            },
        ]

    def informative_pairs(self):
        return [(pair, "1d") for pair in self.dp.current_whitelist()]

    @informative("4h")
    def populate_indicators_4h(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe["ema"] = ta.EMA(dataframe, timeperiod=20)
        return dataframe

    def populate_indicators(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        days = self.dp.get_pair_dataframe(pair=metadata["pair"], timeframe="1d")
        days["sma"] = ta.SMA(days, timeperiod=5)
        dataframe = merge_informative_pair(dataframe, days, self.timeframe, "1d", ffill=True)
        dataframe["fast"] = ta.EMA(dataframe, timeperiod=8)
        dataframe["slow"] = ta.EMA(dataframe, timeperiod=21)
        return dataframe

    def populate_entry_trend(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe.loc[
            qtpylib.crossed_above(dataframe["fast"], dataframe["slow"])
            & (dataframe["close"] > dataframe["ema_4h"])
            & (dataframe["close"] > dataframe["sma_1d"]),
            "enter_long",
        ] = 1
        return dataframe

    def populate_exit_trend(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        dataframe.loc[qtpylib.crossed_below(dataframe["fast"], dataframe["slow"]), "exit_long"] = 1
        return dataframe
