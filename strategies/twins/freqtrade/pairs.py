"""The ratio of two coins back to its mean. For freqtrade, futures."""

from datetime import timedelta

import pandas as pd
from freqtrade.persistence import Trade
from freqtrade.strategy import IStrategy


class Pairs(IStrategy):
    INTERFACE_VERSION = 3
    timeframe = "1h"
    can_short = True
    startup_candle_count = 72
    minimal_roi = {}
    stoploss = -0.99
    legs = "BTC/USDT:USDT", "ETH/USDT:USDT"
    window = 72
    enter = 2.0
    leave = 0.5
    fraction = 0.8

    def informative_pairs(self):
        return [(leg, self.timeframe) for leg in self.legs]

    def populate_indicators(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        one, two = (
            self.dp.get_pair_dataframe(leg, self.timeframe).set_index("date")["close"] for leg in self.legs
        )
        ratio = (one / two).dropna()
        past = ratio.rolling(self.window)
        z = (ratio - past.mean()) / past.std(ddof=0)
        if metadata["pair"] == self.legs[1]:
            z = -z  # seen from the other leg
        dataframe["z"] = z.reindex(dataframe["date"]).to_numpy()
        return dataframe

    def populate_entry_trend(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        dataframe.loc[dataframe["z"] > self.enter, "enter_short"] = 1
        dataframe.loc[dataframe["z"] < -self.enter, "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        dataframe.loc[dataframe["z"] < self.leave, "exit_short"] = 1
        dataframe.loc[dataframe["z"] > -self.leave, "exit_long"] = 1
        return dataframe

    def custom_stake_amount(self, pair, max_stake, **kwargs):
        return min(self.wallets.get_total_stake_amount() * self.fraction / 2, max_stake)

    def custom_exit(self, pair, trade, current_time, **kwargs):
        if Trade.get_open_trade_count() < 2 and current_time - trade.open_date_utc >= timedelta(hours=1):
            return "the other leg is missing"
        return None
