"""Holds the trades of an adopted strategy to those of freqtrade itself.

parity.py narrow SLUG [END [START [SYMBOLS]]]: has lab.json ask for one split, of three months unless it ends
before.
parity.py compare SLUG=RUN...: prints how many trades are the same, and those that are not; SLUG.zip is what
freqtrade exports. The candles of a symbol are in BASE.csv.
"""

import csv
import json
import logging
import re
import sys
from pathlib import Path

START, END = "2019-04-01", "2019-07-01"
CASH, FEE = 10_000, 0.001
REASONS = {"trailing_stop_loss": "stop_loss", "stop_loss": "stop_loss", "roi": "take_profit"}


def narrow(slug, end=END, start=START, symbols=""):
    path = Path(slug, "lab.json")
    config = json.loads(path.read_text())
    config["data"] = {"start": start, "end": end}
    if symbols:
        config["symbols"] = symbols.split(",")
    config["splits"], config["stress"] = {"scheme": "none"}, []
    config["initial_cash"] = CASH
    path.write_text(json.dumps(config))


def frame(candles):
    import pandas as pd

    rows = pd.read_csv(candles)
    rows["date"] = pd.to_datetime(rows.pop("time"), unit="ms", utc=True)
    return rows[["date", "open", "high", "low", "close", "volume"]]


def store(rows, folder, pair, futures):
    """Writes the candles where freqtrade reads them, on the timeframes that strategies ask for."""
    first = {"open": "first", "high": "max", "low": "min", "close": "last", "volume": "sum"}
    name = pair.replace("/", "_")
    if futures:
        folder, name = folder / "futures", name + "_USDT"
    folder.mkdir(parents=True, exist_ok=True)
    least = rows["date"].diff().min()
    for timeframe in ("1h", "4h", "8h", "1d"):
        if pd_delta(timeframe) < least:
            continue
        larger = rows.resample(timeframe, on="date").agg(first).dropna().reset_index()
        if not futures:
            larger.to_feather(folder / f"{name}-{timeframe}.feather")
            continue
        larger.to_feather(folder / f"{name}-{timeframe}-futures.feather")
        larger.to_feather(folder / f"{name}-{timeframe}-mark.feather")
        free = larger.assign(**{c: 0.0 for c in first})
        free.to_feather(folder / f"{name}-{timeframe}-funding_rate.feather")


def pd_delta(timeframe):
    import pandas as pd

    return pd.Timedelta(timeframe)


def market(pair, futures):
    base = pair.partition("/")[0]
    free = {"min": None, "max": None}
    return {
        "id": base + "USDT", "symbol": pair, "base": base, "quote": "USDT", "settle": "USDT" if futures else None,
        "spot": not futures, "swap": futures, "future": False, "linear": futures or None, "contract": futures,
        "type": "swap" if futures else "spot", "active": True, "taker": FEE, "maker": FEE,
        "contractSize": 1.0 if futures else None, "precision": {"amount": 1e-8, "price": 1e-8},
        "limits": {n: dict(free) for n in ("amount", "cost", "price", "leverage")}, "info": {},
    }


def theirs(slug):
    from freqtrade.enums import CandleType, MarginMode, RunMode, TradingMode
    from freqtrade.optimize.backtesting import Backtesting
    from freqtrade.resolvers import ExchangeResolver

    text = Path(slug, "strategy.py").read_text()
    asked = json.loads(Path(slug, "lab.json").read_text())
    file, name = re.search(r'adopt\(\s*"(.*?)",\s*"(.*?)"', text).groups()
    original = Path(slug, file).read_text()
    futures = "can_short = True" in original
    slots = re.search(r"max_open_trades = (\d+)", original)
    pairs = [s + ":USDT" if futures else s for s in asked["symbols"]]
    folder = Path("theirs", slug).absolute()
    for symbol in asked["symbols"]:
        store(frame(symbol.partition("/")[0] + ".csv"), folder / "data", symbol, futures)
    (folder / "backtest_results").mkdir(parents=True, exist_ok=True)
    config = {
        "strategy": name,
        "strategy_path": str(Path(slug).absolute()),
        "user_data_dir": folder,
        "datadir": folder / "data",
        "exportdirectory": folder / "backtest_results",
        "exportfilename": None,
        "exchange": {"name": "binance", "pair_whitelist": pairs, "pair_blacklist": []},
        "pairlists": [{"method": "StaticPairList"}],
        "stake_currency": "USDT",
        "stake_amount": "unlimited",
        "tradable_balance_ratio": 0.99,
        "dry_run": True,
        "dry_run_wallet": CASH,
        "max_open_trades": int(slots.group(1)) if slots else len(pairs),
        "fee": FEE,
        "timerange": "-".join(asked["data"][n].replace("-", "") for n in ("start", "end")),
        "enable_protections": True,
        "export": "trades",
        "entry_pricing": {"price_side": "same", "use_order_book": False},
        "exit_pricing": {"price_side": "same", "use_order_book": False},
        "unfilledtimeout": {"entry": 10, "exit": 10, "unit": "minutes"},
        "runmode": RunMode.BACKTEST,
        "dataformat_ohlcv": "feather",
        "candle_type_def": CandleType.FUTURES if futures else CandleType.SPOT,
        "trading_mode": TradingMode.FUTURES if futures else TradingMode.SPOT,
        "margin_mode": MarginMode.ISOLATED if futures else MarginMode.NONE,
        "original_config": {},
        "internals": {},
    }
    exchange = ExchangeResolver.load_exchange(config, validate=False, load_leverage_tiers=False)
    exchange._markets = {p: market(p, futures) for p in pairs}
    exchange._leverage_tiers = {
        p: [{"minNotional": 0, "maxNotional": None, "maintenanceMarginRate": 0.0, "maxLeverage": 1, "maintAmt": 0.0}]
        for p in pairs
    }
    exchange._api.markets = exchange._markets
    exchange._last_markets_refresh = 2**62
    done = Backtesting(config, exchange=exchange)
    done.start()
    for archive in (folder / "backtest_results").glob("*.zip"):
        archive.replace(f"{slug}.zip")
    result = done.all_bt_content[next(iter(done.all_bt_content))]["results"]
    return [
        (t.pair.partition(":")[0], str(t.open_date)[:19], str(t.close_date)[:19], t.amount, t.open_rate,
         t.close_rate, t.profit_abs, REASONS.get(t.exit_reason, "signal"))
        for t in result.sort_values("open_date").itertuples()
    ]


def ours(run):
    rows = []
    with open(f".assay/runs/{run}/splits/full/trades.csv") as f:
        for t in csv.DictReader(f):
            times = (t[k][:19].replace("T", " ") for k in ("entry_time", "exit_time"))
            names = ("quantity", "entry_price", "exit_price", "pnl")
            reason = "take_profit" if t["exit_tag"] == "roi" else t["exit_reason"]
            rows.append((t["symbol"], *times, *(float(t[k]) for k in names), reason))
    return rows


def same(a, b):
    """Whether times, prices and the reason are those, and what the trade brings. Their prices are rounded to
    cents."""
    prices = all(abs(x - y) <= 0.0101 for x, y in zip(a[4:6], b[4:6]))
    gains = [t[6] / (t[3] * t[4]) for t in (a, b)]
    return a[:3] == b[:3] and a[7] == b[7] and prices and abs(gains[0] - gains[1]) < 1e-5 + 0.0101 / a[4]


def compare(*runs):
    for slug, run in (r.split("=") for r in runs):
        mine, others = ours(run), theirs(slug)
        left = [b for b in others if not any(same(a, b) for a in mine)]
        for row in left:
            print(f"{slug}: theirs alone {row}")
        for row in [a for a in mine if not any(same(a, b) for b in others)]:
            print(f"{slug}: ours alone {row}")
        print(f"{slug}: {len(mine)} trades, theirs {len(others)}, {len(others) - len(left)} are the same")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    {"narrow": narrow, "compare": compare}[sys.argv[1]](*sys.argv[2:])
