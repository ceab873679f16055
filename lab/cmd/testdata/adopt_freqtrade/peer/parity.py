"""Holds the trades of an adopted strategy to those of freqtrade itself.

parity.py narrow SLUG [END]: has lab.json ask for one split, of three months unless it ends before.
parity.py compare SLUG RUN CANDLES: prints how many trades are the same, and those that are not.
"""

import csv
import json
import logging
import re
import sys
from pathlib import Path

START, END = "2019-04-01", "2019-07-01"
CASH, FEE = 10_000, 0.001


def narrow(slug, end=END):
    path = Path(slug, "lab.json")
    config = json.loads(path.read_text())
    config["data"] = {"start": START, "end": end}
    config["splits"], config["stress"] = {"scheme": "none"}, []
    config["initial_cash"] = CASH
    path.write_text(json.dumps(config))


def frame(candles):
    import pandas as pd

    rows = pd.read_csv(candles)
    rows["date"] = pd.to_datetime(rows.pop("time"), unit="ms", utc=True)
    return rows[["date", "open", "high", "low", "close", "volume"]]


def store(rows, folder):
    """Writes the candles where freqtrade reads them, on the timeframes that strategies ask for."""
    folder.mkdir(parents=True, exist_ok=True)
    first = {"open": "first", "high": "max", "low": "min", "close": "last", "volume": "sum"}
    for timeframe in ("1h", "4h", "1d"):
        larger = rows.resample(timeframe, on="date").agg(first).dropna().reset_index()
        larger.to_feather(folder / f"BTC_USDT-{timeframe}.feather")


def theirs(slug, candles):
    from freqtrade.enums import CandleType, MarginMode, RunMode, TradingMode
    from freqtrade.optimize.backtesting import Backtesting
    from freqtrade.resolvers import ExchangeResolver

    text = Path(slug, "strategy.py").read_text()
    end = json.loads(Path(slug, "lab.json").read_text())["data"]["end"]
    file, name = re.search(r'adopt\(\s*"(.*?)",\s*"(.*?)"', text).groups()
    folder = Path("theirs", slug).absolute()
    store(frame(candles), folder / "data")
    (folder / "backtest_results").mkdir(exist_ok=True)
    config = {
        "strategy": name,
        "strategy_path": str(Path(slug).absolute()),
        "user_data_dir": folder,
        "datadir": folder / "data",
        "exportdirectory": folder / "backtest_results",
        "exportfilename": None,
        "exchange": {"name": "binance", "pair_whitelist": ["BTC/USDT"], "pair_blacklist": []},
        "pairlists": [{"method": "StaticPairList"}],
        "stake_currency": "USDT",
        "stake_amount": "unlimited",
        "tradable_balance_ratio": 0.99,
        "dry_run": True,
        "dry_run_wallet": CASH,
        "max_open_trades": 1,
        "fee": FEE,
        "timerange": START.replace("-", "") + "-" + end.replace("-", ""),
        "enable_protections": True,
        "export": "none",
        "entry_pricing": {"price_side": "same", "use_order_book": False},
        "exit_pricing": {"price_side": "same", "use_order_book": False},
        "unfilledtimeout": {"entry": 10, "exit": 10, "unit": "minutes"},
        "runmode": RunMode.BACKTEST,
        "dataformat_ohlcv": "feather",
        "candle_type_def": CandleType.SPOT,
        "trading_mode": TradingMode.SPOT,
        "margin_mode": MarginMode.NONE,
        "original_config": {},
        "internals": {},
    }
    exchange = ExchangeResolver.load_exchange(config, validate=False, load_leverage_tiers=False)
    exchange._markets = {
        "BTC/USDT": {
            "id": "BTCUSDT", "symbol": "BTC/USDT", "base": "BTC", "quote": "USDT", "spot": True,
            "swap": False, "future": False, "linear": None, "type": "spot", "active": True,
            "taker": FEE, "maker": FEE, "contractSize": None,
            "precision": {"amount": 1e-8, "price": 1e-8},
            "limits": {"amount": {"min": None, "max": None}, "cost": {"min": None, "max": None},
                       "price": {"min": None, "max": None}, "leverage": {"min": None, "max": None}},
            "info": {},
        }
    }
    exchange._api.markets = exchange._markets
    exchange._last_markets_refresh = 2**62
    done = Backtesting(config, exchange=exchange)
    done.start()
    result = done.all_bt_content[next(iter(done.all_bt_content))]["results"]
    return [
        (str(t.open_date)[:19], str(t.close_date)[:19], t.amount, t.open_rate, t.close_rate, t.profit_abs)
        for t in result.sort_values("open_date").itertuples()
    ]


def ours(run):
    rows = []
    with open(f".assay/runs/{run}/splits/full/trades.csv") as f:
        for t in csv.DictReader(f):
            times = (t[k][:19].replace("T", " ") for k in ("entry_time", "exit_time"))
            names = ("quantity", "entry_price", "exit_price", "pnl")
            rows.append((*times, *(float(t[k]) for k in names)))
    return rows


def same(a, b):
    """Whether times and prices are those, and what the trade brings. Their prices are rounded to cents."""
    prices = all(abs(x - y) <= 0.0101 for x, y in zip(a[3:5], b[3:5]))
    gains = [t[5] / (t[2] * t[3]) for t in (a, b)]
    return a[:2] == b[:2] and prices and abs(gains[0] - gains[1]) < 1e-5


def compare(slug, run, candles):
    mine, others = ours(run), theirs(slug, candles)
    left = [b for b in others if not any(same(a, b) for a in mine)]
    for row in left:
        print(f"{slug}: theirs alone {row}")
    for row in [a for a in mine if not any(same(a, b) for b in others)]:
        print(f"{slug}: ours alone {row}")
    print(f"{slug}: {len(mine)} trades, theirs {len(others)}, {len(others) - len(left)} are the same")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    {"narrow": narrow, "compare": compare}[sys.argv[1]](*sys.argv[2:])
