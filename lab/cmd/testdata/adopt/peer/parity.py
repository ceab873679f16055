"""Holds the trades of an adopted strategy to those of backtesting.py itself.

parity.py narrow SLUG: has lab.json ask for one split of three months.
parity.py compare SLUG RUN CANDLES: prints how many trades are the same; exits 1 at a difference. SLUG.trades.csv
and SLUG.equity.csv are what it writes.
parity.py twin FILE CLASS CANDLES: runs it in backtesting.py alone, and prints its trades.
"""

import csv
import importlib.util
import json
import re
import sys
import warnings

START, END = "2019-04-01", "2019-07-01"


def narrow(slug):
    path = f"{slug}/lab.json"
    with open(path) as f:
        config = json.load(f)
    config["data"] = {"start": START, "end": END}
    config["splits"], config["stress"] = {"scheme": "none"}, []
    config["initial_cash"] = 1_000_000
    config["execution"].setdefault("fee_taker", 0.001)
    config["execution"].setdefault("fee_maker", 0.001)
    with open(path, "w") as f:
        json.dump(config, f)


def load(path):
    spec = importlib.util.spec_from_file_location("theirs", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def months(candles):
    import pandas as pd

    frame = pd.read_csv(candles)
    frame.index = pd.DatetimeIndex(pd.to_datetime(frame.pop("time"), unit="ms"))
    frame.columns = ["Open", "High", "Low", "Close", "Volume"]
    return frame[(frame.index >= START) & (frame.index < END)]


def twin(path, name, candles):
    from backtesting import Backtest

    done = Backtest(months(candles), getattr(load(path), name), cash=1_000_000, commission=0.001).run()
    print(f"{name}: {done['# Trades']} trades")


def theirs(slug, candles):
    import backtesting

    backtesting.Backtest.plot = lambda *args, **kwargs: None
    with open(f"{slug}/lab.json") as f:
        config = json.load(f)
    with open(f"{slug}/strategy.py") as f:
        text = f.read()
    file, name = re.search(r'adopt\("(.*?)", "(.*?)"', text).groups()
    module = load(f"{slug}/{file}")
    done = backtesting.Backtest(
        months(candles),
        getattr(module, name),
        cash=config["initial_cash"],
        commission=config["execution"]["fee_taker"],
        exclusive_orders="exclusive_orders=True" in text,
    ).run()
    done["_trades"].to_csv(f"{slug}.trades.csv")
    done["_equity_curve"].to_csv(f"{slug}.equity.csv")
    rows = {}
    for t in done._trades.sort_values(["ExitBar", "EntryBar"], kind="stable").itertuples():
        # A trade of Assay ends when nothing is left of it: parts of one entry are one.
        _, _, size, entry, paid = rows.pop(t.EntryTime, (0, 0, 0, 0, 0.0))
        size, paid = size + t.Size, paid + t.Size * t.ExitPrice
        rows[t.EntryTime] = (str(t.EntryTime), str(t.ExitTime), size, t.EntryPrice, paid)
    return [(*r[:4], r[4] / r[2]) for r in rows.values()]


def ours(run):
    rows = []
    with open(f".assay/runs/{run}/splits/full/trades.csv") as f:
        for t in csv.DictReader(f):
            size = float(t["quantity"]) * (1 if t["direction"] == "long" else -1)
            times = (t[k][:19].replace("T", " ") for k in ("entry_time", "exit_time"))
            rows.append((*times, size, float(t["entry_price"]), float(t["exit_price"])))
    return rows


def same(a, b):
    return a[:2] == b[:2] and all(abs(x - y) <= 1e-9 * abs(y) for x, y in zip(a[2:], b[2:]))


def compare(slug, run, candles):
    mine, others = ours(run), theirs(slug, candles)
    for i, (a, b) in enumerate(zip(mine, others)):
        if not same(a, b):
            sys.exit(f"{slug}: trade {i} is {a}, theirs {b}")
    if len(mine) != len(others) or not mine:
        sys.exit(f"{slug}: {len(mine)} trades, theirs {len(others)}")
    print(f"{slug}: {len(mine)} trades are the same")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    {"narrow": narrow, "compare": compare, "twin": twin}[sys.argv[1]](*sys.argv[2:])
