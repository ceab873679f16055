"""Stands for ``freqtrade.strategy``: the class that a strategy extends, and its helpers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pandas as pd

from .. import Unsupported

#: Methods of a strategy that are not carried over, with the reason.
NOT_CARRIED = {
    "adjust_trade_position": "a trade has one entry and one exit",
    "adjust_entry_price": "an entry fills at the next open",
    "adjust_exit_price": "an exit fills at the next open",
    "adjust_order_price": "an order fills at the next open",
    "custom_entry_price": "an entry fills at the next open",
    "custom_exit_price": "an exit fills at the next open",
    "custom_stake_amount": "the stake is that of strategy.py",
    "custom_roi": "the ROI is the table minimal_roi",
    "leverage": "an account has no leverage",
    "order_filled": "there are no orders of an exchange",
    "check_entry_timeout": "an entry fills at the next open",
    "check_exit_timeout": "an exit fills at the next open",
    "check_buy_timeout": "an entry fills at the next open",
    "check_sell_timeout": "an exit fills at the next open",
    "feature_engineering_expand_all": "FreqAI is not there",
    "feature_engineering_expand_basic": "FreqAI is not there",
    "feature_engineering_standard": "FreqAI is not there",
    "set_freqai_targets": "FreqAI is not there",
}
#: candles for which the populate methods are called once
BLOCK = 500
_UNITS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def timeframe_to_seconds(timeframe: str) -> int:
    """The length of a timeframe such as 5m."""
    return int(timeframe[:-1]) * _UNITS[timeframe[-1]]


def timeframe_to_minutes(timeframe: str) -> int:
    """The length of a timeframe in minutes."""
    return timeframe_to_seconds(timeframe) // 60


def timeframe_to_prev_date(timeframe: str, date: datetime | None = None) -> datetime:
    """When the candle that holds a time opens."""
    if date is None:
        raise Unsupported("timeframe_to_prev_date without a date: that is the clock")
    seconds = timeframe_to_seconds(timeframe)
    return datetime.fromtimestamp(date.timestamp() // seconds * seconds, UTC)


def timeframe_to_next_date(timeframe: str, date: datetime | None = None) -> datetime:
    """When the candle after the one that holds a time opens."""
    seconds = timeframe_to_seconds(timeframe)
    return timeframe_to_prev_date(timeframe, date) + timedelta(seconds=seconds)


def merge_informative_pair(
    dataframe: Any,
    informative: Any,
    timeframe: str,
    timeframe_inf: str,
    ffill: bool = True,
    append_timeframe: bool = True,
    date_column: str = "date",
    suffix: str | None = None,
) -> Any:
    """Adds the columns of a larger timeframe. A row of it shows from the candle on that closes
    when it does."""
    if suffix and append_timeframe:
        raise ValueError("append_timeframe and suffix cannot both be given")
    small, large = timeframe_to_seconds(timeframe), timeframe_to_seconds(timeframe_inf)
    if small > large:
        raise ValueError(f"{timeframe_inf} is shorter than {timeframe}")
    ending = suffix or (timeframe_inf if append_timeframe else "")
    larger = informative.copy()
    shown = larger[date_column] + pd.Timedelta(seconds=large - small)
    if ending:
        larger.columns = [f"{c}_{ending}" for c in larger.columns]
    key = f"_shown_{ending}"
    larger[key] = shown.astype(dataframe["date"].dtype)
    how = {"left_on": "date", "right_on": key}
    if ffill:
        merged = pd.merge_asof(dataframe, larger, direction="backward", **how)
    else:
        merged = dataframe.merge(larger, how="left", **how)
    return merged.drop(columns=key)


def stoploss_from_open(
    open_relative_stop: float, current_profit: float, is_short: bool = False, leverage: float = 1.0
) -> float:
    """A stop relative to the current rate of one that is relative to the entry; 0 where that is
    already passed."""
    gain = current_profit / leverage
    if gain == (1 if is_short else -1):
        return 1.0
    if is_short:
        stop = -1 + (1 - open_relative_stop / leverage) / (1 - gain)
    else:
        stop = 1 - (1 + open_relative_stop / leverage) / (1 + gain)
    return max(stop * leverage, 0.0)


def stoploss_from_absolute(
    stop_rate: float, current_rate: float, is_short: bool = False, leverage: float = 1.0
) -> float:
    """A stop relative to the current rate of one at a price."""
    if current_rate == 0:
        return 1.0
    stop = stop_rate / current_rate - 1 if is_short else 1 - stop_rate / current_rate
    return max(stop, 0.0) * leverage


class Informative:
    """What the decorator `informative` asks for."""

    def __init__(self, timeframe: str, asset: str, fmt: Any, ffill: bool) -> None:
        self.timeframe, self.asset, self.fmt, self.ffill = timeframe, asset, fmt, ffill

    def pair(self, own: str, stake: str) -> str:
        base, _, quote = own.partition("/")
        text = self.asset.format(stake=stake, base=base, quote=quote)
        return text or own

    def named(self, column: str, pair: str, stake: str) -> str:
        """The name of a column where it is merged."""
        base, _, quote = pair.partition("/")
        words = {
            "column": column,
            "timeframe": self.timeframe,
            "asset": pair.replace("/", "_").lower(),
            "base": base.lower(),
            "BASE": base.upper(),
            "quote": quote.lower(),
            "QUOTE": quote.upper(),
            "stake": stake,
        }
        if callable(self.fmt):
            return str(self.fmt(**words))
        default = "{column}_{timeframe}"
        if self.asset:
            default = "{base}_{quote}_" + default
        return str((self.fmt or default).format(**words))


def informative(
    timeframe: str,
    asset: str = "",
    fmt: str | Callable[..., str] | None = None,
    *,
    candle_type: Any = None,
    ffill: bool = True,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Marks a method that adds indicators to a larger timeframe, which are then merged."""
    if candle_type not in (None, "", "spot"):
        raise Unsupported(f"informative(candle_type={candle_type!r}): candles are those of trades")

    def mark(method: Any) -> Any:
        method._informative = [
            Informative(timeframe, asset, fmt, ffill),
            *getattr(method, "_informative", []),
        ]
        return method

    return mark


class IStrategy:
    """What a strategy extends."""

    INTERFACE_VERSION = 3
    minimal_roi: ClassVar[dict[Any, float]] = {}
    stoploss = -1.0
    timeframe = ""
    can_short = False
    trailing_stop = False
    trailing_stop_positive: float | None = None
    trailing_stop_positive_offset = 0.0
    trailing_only_offset_is_reached = False
    use_custom_stoploss = False
    use_exit_signal = True
    exit_profit_only = False
    exit_profit_offset = 0.0
    ignore_roi_if_entry_signal = False
    startup_candle_count = 0
    process_only_new_candles = True
    position_adjustment_enable = False
    max_open_trades: Any = None
    protections: Any = ()
    plot_config: ClassVar[dict[str, Any]] = {}

    dp: Any = None
    wallets: Any = None
    config: dict[str, Any]
    _locks: Any = None

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        self.config = config or {}

    def bot_start(self, **kwargs: Any) -> None:
        """Called once."""

    def bot_loop_start(self, current_time: datetime, **kwargs: Any) -> None:
        """Called at each step, before anything else."""

    def informative_pairs(self) -> list[Any]:
        return []

    def populate_indicators(self, dataframe: Any, metadata: dict[str, Any]) -> Any:
        return dataframe

    def populate_entry_trend(self, dataframe: Any, metadata: dict[str, Any]) -> Any:
        return self.populate_buy_trend(dataframe, metadata)

    def populate_exit_trend(self, dataframe: Any, metadata: dict[str, Any]) -> Any:
        return self.populate_sell_trend(dataframe, metadata)

    def populate_buy_trend(self, dataframe: Any, metadata: dict[str, Any]) -> Any:
        raise NotImplementedError(f"{type(self).__name__} needs populate_entry_trend")

    def populate_sell_trend(self, dataframe: Any, metadata: dict[str, Any]) -> Any:
        return dataframe

    def custom_stoploss(self, pair: str, trade: Any, current_time: datetime, *args: Any) -> Any:
        return self.stoploss

    def custom_exit(self, *args: Any, **kwargs: Any) -> Any:
        return self.custom_sell(*args, **kwargs)

    def custom_sell(self, *args: Any, **kwargs: Any) -> Any:
        return None

    def confirm_trade_entry(self, *args: Any, **kwargs: Any) -> bool:
        return True

    def confirm_trade_exit(self, *args: Any, **kwargs: Any) -> bool:
        return True

    def version(self) -> str | None:
        return None

    def lock_pair(
        self, pair: str, until: datetime, reason: str | None = None, side: str = "*"
    ) -> None:
        """Lets nothing be entered before a time."""
        self._locks.add(pair, until, side)

    def unlock_pair(self, pair: str) -> None:
        self._locks.remove(pair)

    def is_pair_locked(
        self, pair: str, *, candle_date: datetime | None = None, side: str = "*"
    ) -> bool:
        return bool(self._locks.holds(pair, self._locks.now, side))

    def __getattr__(self, name: str) -> Any:
        if name == "freqai":
            raise Unsupported(f"{type(self).__name__}.freqai: FreqAI is not there")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")


#: Names of older interfaces, and what they are called now.
_OLD = {
    "ticker_interval": "timeframe",
    "use_sell_signal": "use_exit_signal",
    "sell_profit_only": "exit_profit_only",
    "sell_profit_offset": "exit_profit_offset",
    "ignore_roi_if_buy_signal": "ignore_roi_if_entry_signal",
}


def check(cls: type[Any]) -> None:
    """Refuses a class that needs what is not there, and gives it the newer names."""
    known = {n for base in cls.__mro__ if base not in IStrategy.__mro__ for n in vars(base)}
    for name, why in NOT_CARRIED.items():
        if name in known:
            raise Unsupported(f"{cls.__name__}.{name}: {why}")
    if cls.position_adjustment_enable:
        raise Unsupported(
            f"{cls.__name__}.position_adjustment_enable: a trade has one entry and one exit"
        )
    for old, new in _OLD.items():
        if old in known and new not in known:
            setattr(cls, new, getattr(cls, old))
    if not cls.timeframe:
        raise Unsupported(f"{cls.__name__} has no timeframe: give it one")


_EXIT = "custom_exit and custom_sell see the close as the rate, there it is the next open"
#: What is asked of a strategy otherwise than there.
_CALLBACKS = {
    "custom_exit": _EXIT,
    "custom_sell": _EXIT,
    "custom_stoploss": "custom_stoploss sees the close as the rate, "
    "there it is the high of the next candle",
    "confirm_trade_exit": "confirm_trade_exit is asked before exits by signal and callback, "
    "not by stop and ROI",
}


def differences(cls: type[Any], candles: int) -> tuple[str, ...]:
    """How a class decides otherwise than there, for the assumptions of its runs."""
    own = {n for base in cls.__mro__ if base not in IStrategy.__mro__ for n in vars(base)}
    seen = f"the newest {candles} to {candles + BLOCK - 1} candles" if candles else "those so far"
    said = [f"indicators are computed on {seen}, there on all candles"]
    said += [text for name, text in _CALLBACKS.items() if name in own and text not in said]
    if cls.trailing_stop:
        where = "beside custom_stoploss" if cls.use_custom_stoploss else "without compat:freqtrade"
        said.append(
            f"{where} a trailing stop follows the candles that have closed, "
            "there the one that runs too"
        )
        if cls.trailing_only_offset_is_reached and cls.trailing_stop_positive is None:
            said.append(
                "without trailing_stop_positive a stop that trails in the candle of its entry "
                "sells where the offset sets it, there at that candle's low"
            )
    minutes = timeframe_to_minutes(cls.timeframe)
    inside = [str(m) for m in sorted(int(m) for m in cls.minimal_roi or {}) if m % minutes]
    if inside:
        steps = ", ".join(inside)
        said.append(
            f"a step of minimal_roi inside of a candle ({steps}) sells at the open of the next one "
            "where that is higher, there at the ROI"
        )
    return tuple(said)
