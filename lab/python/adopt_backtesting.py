"""What can be carried over of a strategy for backtesting.py: the part of its own of adopt_common.py."""

LIB = {
    "OHLCV_AGG", "barssince", "cross", "crossover", "quantile", "resample_apply",
    "FractionalBacktest", "MultiBacktest", "compute_stats", "plot_heatmaps",
}
NAMES = {
    "backtesting": {"Backtest", "Strategy", "lib", "test"},
    "backtesting.lib": LIB,
    "backtesting.test": {"BTCUSD", "EURUSD", "GOOG", "SMA"},
}
ROOTS = {"backtesting"}
# What Backtest takes that an account of Assay does not have.
NEVER = {
    "margin": "an account has no leverage",
    "hedging": "a symbol has one position",
    "trade_on_close": "an order fills from the next open on",
}
INSIDE = {"_broker", "_data", "_indicators", "_params"}


def strategies(tree):
    return extending(tree, {"Strategy", "SignalStrategy", "TrailingStrategy"})


def parameters(classes, name):
    """Attributes of a class and of those in the file that it extends, as the SDK takes them."""
    own = []
    for n, v in assigned(classes, name):
        if type(value(v)) in (bool, int, float, str) and n[0] != "_" and n == n.lower() and n not in own:
            own.append(n)
    return own


def backtest(node, answer, refused):
    """Takes what a call of Backtest says over into lab.json."""
    for k in node.keywords:
        v = value(k.value)
        if k.arg in NEVER and v not in (False, 1, 1.0):
            said = ast.unparse(k.value)
            refused.append((node.lineno, f"Backtest({k.arg}={said}): {NEVER[k.arg]}"))
        elif k.arg == "exclusive_orders":
            answer["exclusive"] = bool(v)
        elif k.arg == "finalize_trades":
            answer["close_at_end"] = bool(v)
        elif k.arg == "cash" and type(v) in (int, float) and v > 0:
            answer["cash"] = float(v)
        elif k.arg == "commission" and type(v) in (int, float) and 0 <= v <= 0.1:
            answer["fee"] = float(v)
        elif k.arg in ("cash", "commission", "spread") and v != 0:
            answer["left"].append(f"Backtest({k.arg}={ast.unparse(k.value)}), line {node.lineno}")


def inspect(request):
    tree, classes, name = chosen(request, "backtesting.Strategy")
    path, shown = request["file"], os.path.basename(request["file"])
    refused = []
    answer = {
        "class": name, "left": [], "exclusive": False, "close_at_end": False, "cash": None, "fee": None,
        "parameters": parameters(classes, name), "short": False,
    }
    tops = imports(tree, refused)
    own = beside(path, tops)
    frames = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            last = dotted(node.func).rsplit(".", 1)[-1]
            answer["short"] |= last == "sell"
            if last == "Backtest":
                backtest(node, answer, refused)
        if isinstance(node, ast.Attribute):
            frames |= node.attr in ("s", "df", "index", "entry_time", "exit_time")
            if node.attr in INSIDE and dotted(node.value) == "self":
                refused.append((node.lineno, f"self.{node.attr}, which is inside of backtesting.py"))
        if isinstance(node, ast.ImportFrom):
            frames |= node.module == "backtesting.test"
            frames |= any(a.name == "resample_apply" for a in node.names)
    tops = tops - set(own) | {"numpy"} | ({"pandas"} if frames else set())
    answer["requires"], answer["beside"] = distributions(tops), own
    answer["refused"] = [f"{shown}:{n}: {text}" for n, text in sorted(set(refused))]
    return answer


main()
