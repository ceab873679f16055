"""What can be carried over of a strategy for freqtrade: the part of its own of adopt_common.py."""

TIMES = {"timeframe_to_minutes", "timeframe_to_next_date", "timeframe_to_prev_date", "timeframe_to_seconds"}
PARAMETERS = {
    "BooleanParameter", "CategoricalParameter", "DecimalParameter", "IntParameter", "RealParameter",
}
HELPERS = {"merge_informative_pair", "stoploss_from_absolute", "stoploss_from_open"}
NAMES = {
    "freqtrade": {"strategy", "persistence", "vendor", "exchange", "enums"},
    "freqtrade.strategy": TIMES | PARAMETERS | HELPERS | {"IStrategy", "Trade", "informative"},
    "freqtrade.strategy.interface": {"IStrategy"},
    "freqtrade.strategy.hyper": PARAMETERS,
    "freqtrade.strategy.parameters": PARAMETERS,
    "freqtrade.strategy.strategy_helper": HELPERS,
    "freqtrade.persistence": {"Order", "PairLocks", "Trade"},
    "freqtrade.persistence.trade_model": {"Trade"},
    "freqtrade.exchange": TIMES,
    "freqtrade.enums": {"RunMode", "SignalDirection"},
    "freqtrade.data.dataprovider": {"DataProvider"},
    "freqtrade.vendor": {"qtpylib"},
    "freqtrade.vendor.qtpylib": {"indicators"},
    "freqtrade.vendor.qtpylib.indicators": {
        "atr", "bollinger_bands", "crossed", "crossed_above", "crossed_below", "ema", "heikinashi",
        "hull_moving_average", "mid_price", "numpy_rolling_mean", "numpy_rolling_std", "rolling_mean",
        "rolling_std", "rolling_vwap", "sma", "true_range", "typical_price", "weighted_bollinger_bands",
        "weighted_moving_average", "wma", "zscore",
    },
}
ROOTS = {"freqtrade"}
# Methods that are not carried over, with the reason.
METHODS = {
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
# What self.dp and Trade have here.
PROVIDER = {
    "available_pairs", "current_whitelist", "get_analyzed_dataframe", "get_pair_dataframe",
    "historic_ohlcv", "ohlcv", "runmode", "send_msg",
}
TRADES = {
    "get_open_trade_count", "get_open_trades", "get_total_closed_profit", "get_trades_proxy",
    "total_open_trades_stakes",
}
DIFFERS = {
    "custom_exit": "custom_exit and custom_sell see the close as the rate, there it is the next open",
    "custom_sell": "custom_exit and custom_sell see the close as the rate, there it is the next open",
    "custom_stoploss": "custom_stoploss sees the close as the rate, there it is the high of the next candle",
    "confirm_trade_exit": "confirm_trade_exit is asked before exits by signal and callback, not by stop and ROI",
}


def strategies(tree):
    return extending(tree, {"IStrategy"})


def chain(classes, name):
    """A class and those of the file that it extends."""
    node = classes[name]
    yield node
    for base in node.bases:
        base = dotted(base)
        if base in classes and base != name:
            yield from chain(classes, base)


def methods(node, answer, refused):
    """What a class has that is not carried over, or differs."""
    for part in node.body:
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if part.name in METHODS:
                refused.append((part.lineno, f"{part.name}: {METHODS[part.name]}"))
            elif part.name in DIFFERS and DIFFERS[part.name] not in answer["differs"]:
                answer["differs"].append(DIFFERS[part.name])
        elif isinstance(part, ast.ClassDef) and part.name == "HyperOpt":
            refused.append((part.lineno, "class HyperOpt: lab searches the parameters"))


def attributes(tree, refused):
    """What is used of the engine that is not there."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        of = dotted(node.value)
        if of == "self.dp" and node.attr not in PROVIDER:
            refused.append((node.lineno, f"self.dp.{node.attr}: a run has candles only"))
        elif of == "Trade" and node.attr not in TRADES:
            refused.append((node.lineno, f"Trade.{node.attr}: there is no database"))
        elif of == "self" and node.attr == "freqai":
            refused.append((node.lineno, "self.freqai: FreqAI is not there"))


def settings(classes, name, answer, refused):
    """Reads what the class says about itself."""
    given = {}
    for n, v in assigned(classes, name):
        given[n] = v
        if isinstance(v, ast.Call) and dotted(v.func).rsplit(".", 1)[-1] in PARAMETERS:
            if n not in answer["parameters"]:
                answer["parameters"].append(n)
    known = {n: value(v) for n, v in given.items()}
    timeframe = known.get("timeframe") or known.get("ticker_interval")
    line = classes[name].lineno
    if isinstance(timeframe, str):
        answer["timeframe"] = timeframe
    else:
        refused.append((line, f"{name} without a timeframe of its own: give it one, as in timeframe = '1h'"))
    answer["short"] = bool(known.get("can_short"))
    if known.get("position_adjustment_enable"):
        refused.append((given["position_adjustment_enable"].lineno,
                        "position_adjustment_enable: a trade has one entry and one exit"))
    if known.get("trailing_stop"):
        where = "beside custom_stoploss" if known.get("use_custom_stoploss") else "without compat:freqtrade"
        answer["differs"].append(
            f"{where} a trailing stop follows the candles that have closed, there the one that runs too")
        if known.get("trailing_only_offset_is_reached") and known.get("trailing_stop_positive") is None:
            answer["differs"].append(
                "without trailing_stop_positive a stop that trails in the candle of its entry sells where the "
                "offset sets it, there at that candle's low")
    roi = known.get("minimal_roi")
    unit = {"m": 1, "h": 60, "d": 1440}
    if isinstance(roi, dict) and isinstance(timeframe, str) and timeframe[-1:] in unit:
        try:
            length = int(timeframe[:-1]) * unit[timeframe[-1]]
            inside = [k for k in roi if int(k) % length]
        except (TypeError, ValueError):
            inside = []
        if inside:
            answer["differs"].append(
                f"a step of minimal_roi inside of a candle ({', '.join(map(str, inside))}) sells at the open "
                "of the next one where that is higher, there at the ROI")


def inspect(request):
    tree, classes, name = chosen(request, "IStrategy of freqtrade")
    path, shown = request["file"], os.path.basename(request["file"])
    refused = []
    answer = {"class": name, "left": [], "differs": [], "parameters": [], "timeframe": ""}
    settings(classes, name, answer, refused)
    for node in chain(classes, name):
        methods(node, answer, refused)
    attributes(tree, refused)
    tops = imports(tree, refused)
    own = beside(path, tops)
    for module in own:
        text = parsed(os.path.join(os.path.dirname(path), module + ".py"))
        further = []
        attributes(text, further)
        imports(text, further)
        for node in ast.walk(text):
            if isinstance(node, ast.ClassDef):
                methods(node, answer, further)
        refused += [(n, f"{said} (in {module}.py)") for n, said in further]
    stored = os.path.splitext(path)[0] + ".json"
    if os.path.exists(stored):
        answer["left"].append(f"the parameters in {os.path.basename(stored)}")
    if not any(isinstance(n, (ast.Import, ast.ImportFrom)) and further_technical(n) for n in ast.walk(tree)):
        tops.discard("technical")
    tops = tops - set(own) | {"numpy", "pandas"}
    answer["requires"], answer["beside"] = distributions(tops), own
    answer["refused"] = [f"{shown}:{n}: {text}" for n, text in sorted(set(refused))]
    return answer


def further_technical(node):
    """Whether it imports more of the package technical than its qtpylib, which the SDK has."""
    if isinstance(node, ast.ImportFrom):
        if node.module == "technical":
            return any(a.name != "qtpylib" for a in node.names)
        return (node.module or "").startswith("technical.") and node.module != "technical.qtpylib"
    return any(a.name.split(".")[0] == "technical" and a.name != "technical.qtpylib" for a in node.names)


main()
