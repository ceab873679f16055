"""Reads the file of a strategy for backtesting.py, without running it, and prints as JSON what
can be carried over."""

import ast
import json
import os
import sys

LIB = {
    "OHLCV_AGG", "barssince", "cross", "crossover", "quantile", "resample_apply",
    "FractionalBacktest", "MultiBacktest", "compute_stats", "plot_heatmaps",
}
NAMES = {
    "backtesting": {"Backtest", "Strategy", "lib", "test"},
    "backtesting.lib": LIB,
    "backtesting.test": {"BTCUSD", "EURUSD", "GOOG", "SMA"},
}
# What Backtest takes that an account of Assay does not have.
NEVER = {
    "margin": "an account has no leverage",
    "hedging": "a symbol has one position",
    "trade_on_close": "an order fills from the next open on",
}
INSIDE = {"_broker", "_data", "_indicators", "_params"}
# Distributions whose name is not that of their module.
NAMED = {"talib": "ta-lib", "sklearn": "scikit-learn", "pandas_ta": "pandas-ta", "dateutil": "python-dateutil"}


class Refused(Exception):
    pass


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def value(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def strategies(tree):
    """The classes at the file's level that extend Strategy, by name."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            bases = {dotted(b).rsplit(".", 1)[-1] for b in node.bases}
            if bases & ({"Strategy", "SignalStrategy", "TrailingStrategy"} | set(found)):
                found[node.name] = node
    return found


def parameters(classes, name):
    """Attributes of a class and of those in the file that it extends, as the SDK takes them."""
    node, own = classes[name], []
    for base in node.bases:
        base = dotted(base)
        if base in classes and base != name:
            own += parameters(classes, base)
    for part in node.body:
        targets = part.targets if isinstance(part, ast.Assign) else []
        if isinstance(part, ast.AnnAssign) and part.value:
            targets = [part.target]
        for t in targets:
            if isinstance(t, ast.Name) and type(value(part.value)) in (bool, int, float, str):
                if t.id[0] != "_" and t.id == t.id.lower() and t.id not in own:
                    own.append(t.id)
    return own


def imports(tree, refused):
    """The top modules that are imported; what this version has not of backtesting is refused."""
    tops = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] == "backtesting" and a.name not in NAMES:
                    refused.append((node.lineno, a.name))
                tops.add(a.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            tops.add(node.module.split(".")[0])
            if node.module.split(".")[0] == "backtesting":
                known = NAMES.get(node.module, set())
                for a in node.names:
                    if a.name not in known and a.name != "*":
                        refused.append((node.lineno, f"{node.module}.{a.name}"))
        elif isinstance(node, ast.ImportFrom):
            refused.append((node.lineno, "an import relative to a package"))
    return tops - {"backtesting"} - set(sys.stdlib_module_names)


def beside(path, tops):
    """The modules that lie beside the file, and what they import in turn."""
    own, todo = [], sorted(tops)
    while todo:
        top = todo.pop(0)
        module = os.path.join(os.path.dirname(path), top + ".py")
        if top in own or not os.path.isfile(module):
            continue
        own.append(top)
        more = imports(parsed(module), []) - tops
        tops |= more
        todo += sorted(more)
    return own


def parsed(path):
    shown = os.path.basename(path)
    try:
        with open(path, encoding="utf-8") as f:
            return ast.parse(f.read(), shown)
    except SyntaxError as e:
        raise Refused(f"{shown}:{e.lineno}: {e.msg}") from None
    except (OSError, UnicodeDecodeError, ValueError) as e:
        raise Refused(f"{shown} cannot be read: {e}") from None


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


def distributions(tops):
    try:
        import importlib.metadata as metadata

        installed = metadata.packages_distributions()
    except Exception:
        installed = {}
    return sorted({installed.get(t, [NAMED.get(t, t)])[0] for t in tops})


def inspect(request):
    path, wanted = request["file"], request["class"]
    shown, tree = os.path.basename(path), parsed(path)
    classes = strategies(tree)
    names = ", ".join(classes) or "none"
    if wanted and wanted not in classes:
        raise Refused(f"{shown} has no class {wanted} that extends backtesting.Strategy, it has {names}")
    if not wanted and len(classes) != 1:
        raise Refused(f"{shown} has the strategies {names}: name one, as in {shown}:Class")
    name = wanted or next(iter(classes))
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


def main():
    try:
        answer = inspect(json.loads(sys.argv[1]))
    except Refused as e:
        answer = {"error": str(e)}
    json.dump(answer, sys.stdout)


main()
