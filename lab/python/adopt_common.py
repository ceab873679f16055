"""Reads the file of a strategy for another engine, without running it, and prints as JSON what
can be carried over. The engine's own part stands below it and has NAMES, ROOTS, strategies and inspect."""

import ast
import json
import os
import sys

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


def imports(tree, refused):
    """The top modules that are imported; what this version has not of the engine, by
    NAMES and ROOTS of its part, is refused."""
    tops = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for a in node.names:
                if a.name.split(".")[0] in ROOTS and a.name not in NAMES:
                    refused.append((node.lineno, a.name))
                tops.add(a.name.split(".")[0])
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            tops.add(node.module.split(".")[0])
            if node.module.split(".")[0] in ROOTS:
                known = NAMES.get(node.module, set())
                for a in node.names:
                    if a.name not in known and a.name != "*":
                        refused.append((node.lineno, f"{node.module}.{a.name}"))
        elif isinstance(node, ast.ImportFrom):
            refused.append((node.lineno, "an import relative to a package"))
    return tops - ROOTS - set(sys.stdlib_module_names)


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


def distributions(tops):
    try:
        import importlib.metadata as metadata

        installed = metadata.packages_distributions()
    except Exception:
        installed = {}
    return sorted({installed.get(t, [NAMED.get(t, t)])[0] for t in tops})


def chosen(request, base):
    """The file's tree, its strategies by name, and the one that is wanted."""
    path, wanted = request["file"], request["class"]
    shown, tree = os.path.basename(path), parsed(path)
    classes = strategies(tree)
    names = ", ".join(classes) or "none"
    if wanted and wanted not in classes:
        raise Refused(f"{shown} has no class {wanted} that extends {base}, it has {names}")
    if not wanted and len(classes) != 1:
        raise Refused(f"{shown} has the strategies {names}: name one, as in {shown}:Class")
    return tree, classes, wanted or next(iter(classes))


def extending(tree, bases):
    """The classes at the file's level that extend one of these, by name."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            own = {dotted(b).rsplit(".", 1)[-1] for b in node.bases}
            if own & (bases | set(found)):
                found[node.name] = node
    return found


def assigned(classes, name):
    """What a class and those in the file that it extends give a value: names and values."""
    node = classes[name]
    for base in node.bases:
        base = dotted(base)
        if base in classes and base != name:
            yield from assigned(classes, base)
    for part in node.body:
        targets = part.targets if isinstance(part, ast.Assign) else []
        if isinstance(part, ast.AnnAssign) and part.value:
            targets = [part.target]
        for t in targets:
            if isinstance(t, ast.Name):
                yield t.id, part.value


def main():
    try:
        answer = inspect(json.loads(sys.argv[1]))
    except Refused as e:
        answer = {"error": str(e)}
    json.dump(answer, sys.stdout)

