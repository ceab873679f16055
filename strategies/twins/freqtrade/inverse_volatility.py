"""All of the pair list, each week by the inverse of its volatility. For freqtrade."""

import numpy as np
import pandas as pd
from freqtrade.strategy import IStrategy


class InverseVolatility(IStrategy):
    INTERFACE_VERSION = 3
    timeframe = "1d"
    startup_candle_count = 31
    position_adjustment_enable = True
    minimal_roi = {}
    stoploss = -0.99
    candles = 30
    invest = 0.95

    def informative_pairs(self):
        return [(pair, self.timeframe) for pair in self.dp.current_whitelist()]

    def populate_indicators(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        closes = pd.DataFrame(
            {
                pair: self.dp.get_pair_dataframe(pair, self.timeframe).set_index("date")["close"]
                for pair in self.dp.current_whitelist()
            }
        )
        calm = 1 / np.log(closes).diff().rolling(self.candles).std()
        share = calm.div(calm.sum(axis=1), axis=0)[metadata["pair"]]
        dataframe["share"] = share.reindex(dataframe["date"], fill_value=0).to_numpy()
        dataframe["week"] = dataframe["date"].dt.dayofweek == 6  # its last candle
        return dataframe

    def populate_entry_trend(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        dataframe.loc[dataframe["week"] & (dataframe["share"] > 0), "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        return dataframe

    def target(self, pair):
        candles, _ = self.dp.get_analyzed_dataframe(pair, self.timeframe)
        last = candles.iloc[-1]
        return self.wallets.get_total_stake_amount() * self.invest * last["share"] if last["week"] else None

    def custom_stake_amount(self, pair, max_stake, **kwargs):
        return min(self.target(pair) or 0, max_stake)

    def adjust_trade_position(self, trade, current_rate, max_stake, **kwargs):
        target = self.target(trade.pair)
        if target is None:
            return None
        return min(target - trade.amount * current_rate, max_stake)
