"""The modules that a strategy's file finds where it imports freqtrade and its company."""

from __future__ import annotations

import importlib.util
import sys
import types
from enum import Enum, StrEnum
from typing import Any

from .. import Unsupported
from . import _params, _strategy, _trade, qtpylib


class RunMode(Enum):
    """How a strategy is played."""

    LIVE = "live"
    DRY_RUN = "dry_run"
    BACKTEST = "backtest"
    HYPEROPT = "hyperopt"
    PLOT = "plot"
    OTHER = "other"


class SignalDirection(StrEnum):
    LONG = "long"
    SHORT = "short"


#: What each module has. A name that is missing there is refused when it is asked for.
_STRATEGY = {
    "IStrategy": _strategy.IStrategy,
    "BooleanParameter": _params.BooleanParameter,
    "CategoricalParameter": _params.CategoricalParameter,
    "DecimalParameter": _params.DecimalParameter,
    "IntParameter": _params.IntParameter,
    "RealParameter": _params.RealParameter,
    "informative": _strategy.informative,
    "merge_informative_pair": _strategy.merge_informative_pair,
    "stoploss_from_absolute": _strategy.stoploss_from_absolute,
    "stoploss_from_open": _strategy.stoploss_from_open,
    "timeframe_to_minutes": _strategy.timeframe_to_minutes,
    "timeframe_to_next_date": _strategy.timeframe_to_next_date,
    "timeframe_to_prev_date": _strategy.timeframe_to_prev_date,
    "timeframe_to_seconds": _strategy.timeframe_to_seconds,
    "Trade": _trade.Trade,
}
_TIMES = {n: v for n, v in _STRATEGY.items() if n.startswith("timeframe_to")}
_PARAMETERS = {n: v for n, v in _STRATEGY.items() if n.endswith("Parameter")}


class _Names:
    """A name that is imported for annotations only."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Unsupported(f"{self._name}.{name}")


MODULES: dict[str, dict[str, Any]] = {
    "freqtrade": {},
    "freqtrade.strategy": _STRATEGY,
    "freqtrade.strategy.interface": {"IStrategy": _strategy.IStrategy},
    "freqtrade.strategy.hyper": _PARAMETERS,
    "freqtrade.strategy.parameters": _PARAMETERS,
    "freqtrade.strategy.strategy_helper": {
        n: _STRATEGY[n]
        for n in ("merge_informative_pair", "stoploss_from_absolute", "stoploss_from_open")
    },
    "freqtrade.persistence": {
        "Trade": _trade.Trade,
        "Order": _Names("freqtrade.persistence.Order"),
        "PairLocks": _Names("freqtrade.persistence.PairLocks"),
    },
    "freqtrade.persistence.trade_model": {"Trade": _trade.Trade},
    "freqtrade.exchange": _TIMES,
    "freqtrade.enums": {"RunMode": RunMode, "SignalDirection": SignalDirection},
    "freqtrade.data": {},
    "freqtrade.data.dataprovider": {
        "DataProvider": _Names("freqtrade.data.dataprovider.DataProvider")
    },
    "freqtrade.vendor": {},
    "freqtrade.vendor.qtpylib": {},
}
_QTPYLIB = ("freqtrade.vendor.qtpylib.indicators", "technical.qtpylib")


def _module(name: str, holds: dict[str, Any]) -> types.ModuleType:
    made = types.ModuleType(name)
    made.__path__ = []  # a package: what is below it is looked up in sys.modules
    made.__dict__.update(holds)

    def missing(asked: str) -> Any:
        if asked.startswith("__"):
            raise AttributeError(asked)
        raise Unsupported(f"{name}.{asked}: {', '.join(sorted(holds)) or 'nothing'} is there")

    made.__dict__["__getattr__"] = missing
    return made


def _put(name: str, module: types.ModuleType) -> None:
    sys.modules[name] = module
    parent, _, last = name.rpartition(".")
    if parent:
        setattr(sys.modules[parent], last, module)


def install() -> None:
    """Puts the modules where the file of a strategy imports them from."""
    for name, holds in MODULES.items():
        _put(name, _module(name, holds))
    _put(_QTPYLIB[0], qtpylib)
    if "technical" not in sys.modules and importlib.util.find_spec("technical") is None:
        _put("technical", _module("technical", {}))
        _put(_QTPYLIB[1], qtpylib)
