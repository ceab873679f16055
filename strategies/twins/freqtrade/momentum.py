"""The best of the pair list, chosen each week. For freqtrade."""

import pandas as pd
from freqtrade.strategy import IStrategy


class Momentum(IStrategy):
    INTERFACE_VERSION = 3
    timeframe = "1d"
    startup_candle_count = 61
    position_adjustment_enable = True
    minimal_roi = {}
    stoploss = -0.99
    candles = 60
    best = 1
    invest = 0.95

    def informative_pairs(self):
        return [(pair, self.timeframe) for pair in self.dp.current_whitelist()]

    def populate_indicators(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        gains = pd.DataFrame(
            {
                pair: self.dp.get_pair_dataframe(pair, self.timeframe)
                .set_index("date")["close"]
                .pct_change(self.candles)
                for pair in self.dp.current_whitelist()
            }
        )
        held = (gains > 0) & (gains.rank(axis=1, ascending=False, method="first") <= self.best)
        dataframe["held"] = held[metadata["pair"]].reindex(dataframe["date"], fill_value=False).to_numpy()
        dataframe["week"] = dataframe["date"].dt.dayofweek == 6  # its last candle
        return dataframe

    def populate_entry_trend(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        dataframe.loc[dataframe["week"] & dataframe["held"], "enter_long"] = 1
        return dataframe

    def populate_exit_trend(self, dataframe: pd.DataFrame, metadata: dict) -> pd.DataFrame:
        dataframe.loc[dataframe["week"] & ~dataframe["held"], "exit_long"] = 1
        return dataframe

    def share(self):
        return self.wallets.get_total_stake_amount() * self.invest / self.best

    def custom_stake_amount(self, pair, max_stake, **kwargs):
        return min(self.share(), max_stake)

    def adjust_trade_position(self, trade, current_rate, max_stake, **kwargs):
        candles, _ = self.dp.get_analyzed_dataframe(trade.pair, self.timeframe)
        if not candles["week"].iloc[-1]:
            return None
        return min(self.share() - trade.amount * current_rate, max_stake)
