"""Names by file and line what a candle does not determine. Prints JSON: files, found."""

import ast
import json
import sys

CALLS = {
    "time": "reads the clock",
    "random": "is a random source that no seed of a run reaches: use v.rand",
    "secrets": "is a random source that no seed of a run reaches: use v.rand",
    "requests": "talks to the network",
    "urllib": "talks to the network",
    "http": "talks to the network",
    "socket": "talks to the network",
    "httpx": "talks to the network",
}
NAMES = {
    ("datetime", "now"): "reads the clock: use v.time",
    ("datetime", "utcnow"): "reads the clock: use v.time",
    ("datetime", "today"): "reads the clock: use v.time",
    ("date", "today"): "reads the clock: use v.time",
    ("os", "environ"): "reads the environment",
    ("os", "getenv"): "reads the environment",
    ("np.random", ""): "is a random source that no seed of a run reaches: use v.rand",
    ("numpy.random", ""): "is a random source that no seed of a run reaches: use v.rand",
}


#: Attributes of arrays and frames that lead to the memory that they are a part of.
WHOLE = ("base", "obj", "as_strided")


def dotted(node):
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return ""


def is_set(node):
    return isinstance(node, ast.Set | ast.SetComp) or (
        isinstance(node, ast.Call) and dotted(node.func) in ("set", "frozenset")
    )


def look(path, shown, found):
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read(), shown)
    for node in ast.walk(tree):
        note = None
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] in CALLS:
                    note = f"{a.name} {CALLS[a.name.split('.')[0]]}"
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            if node.module.split(".")[0] in CALLS:
                note = f"{node.module} {CALLS[node.module.split('.')[0]]}"
        elif isinstance(node, ast.Attribute):
            owner = dotted(node.value)
            why = NAMES.get((owner.rsplit(".", 1)[-1], node.attr)) or NAMES.get((owner, ""))
            if why:
                note = f"{owner}.{node.attr} {why}"
            elif node.attr in WHOLE and owner != "self":
                note = f".{node.attr} of an array or a frame may show rows of later candles"
        elif isinstance(node, ast.For | ast.comprehension) and is_set(node.iter):
            node = node.iter
            note = "a set has another order each time: sort it first"
        if note:
            found.append((shown, node.lineno, note))


def main():
    found = []
    files = json.loads(sys.argv[1])
    for path, shown in files:
        try:
            look(path, shown, found)
        except (SyntaxError, UnicodeDecodeError):
            continue  # the build reports it better
    lines = [f"{f}:{n}: {text}" for f, n, text in sorted(set(found))]
    json.dump({"files": len(files), "found": lines}, sys.stdout)


main()
