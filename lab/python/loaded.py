"""Imports a strategy as the host does and prints, as JSON, what is wrong with it, or the
libraries of the system that are loaded then."""

import json
import sys

request = json.loads(sys.argv[1])
sys.path[:0] = request["paths"]
answer = {"error": "", "libraries": []}
try:
    from assay import serve

    serve._load(request["entry"])
except SystemExit as e:
    answer["error"] = str(e)
except BaseException as e:
    import os
    import traceback

    last = traceback.extract_tb(e.__traceback__)[-1]
    place = f"{os.path.basename(last.filename)}:{last.lineno}"
    if isinstance(e, SyntaxError) and e.filename:
        place = f"{os.path.basename(e.filename)}:{e.lineno}"
    answer["error"] = f"{type(e).__name__}: {e} at {place}"
else:
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {"/" + line.rstrip("\n").partition("/")[2] for line in maps if "/" in line}
    homes = tuple(request["homes"])
    answer["libraries"] = sorted(p for p in paths if ".so" in p and not p.startswith(homes))
json.dump(answer, sys.stdout)
