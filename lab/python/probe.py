"""Tells lab build what a strategy needs: the interpreter and the distributions. Prints one
JSON object."""

import importlib.metadata as metadata
import json
import os
import re
import sys
import sysconfig


def closure(names):
    """The distributions that the names need, directly or not; extras are left out."""
    found, todo, missing = {}, list(names), []
    while todo:
        name = todo.pop()
        key = re.sub(r"[-_.]+", "-", re.split(r"[\s;<>=!~\[(]", name.strip(), maxsplit=1)[0]).lower()
        if key in found or key in ("", "assay-sdk"):
            continue
        try:
            found[key] = d = metadata.distribution(key)
        except metadata.PackageNotFoundError:
            missing.append(name)
            continue
        todo += [r for r in d.requires or [] if "extra ==" not in r]
    return found, missing


def files(d):
    skip = {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"}
    base = os.path.realpath(str(d.locate_file("")))
    listed = []
    for f in d.files or []:
        path = os.path.realpath(str(d.locate_file(f)))
        inside = path.startswith(base + os.sep)
        if not inside or path.endswith(".pyc") or (
            ".dist-info" in str(f.parent) and f.name in skip
        ):
            continue
        listed.append(os.path.relpath(path, base))
    return base, sorted(listed)


def main():
    request = json.loads(sys.argv[1])
    found, missing = closure(request["requires"])
    answer = {
        "version": sys.version.split()[0],
        "implementation": sys.implementation.name,
        "executable": os.path.realpath(sys.executable),
        "stdlib": os.path.realpath(sysconfig.get_path("stdlib")),
        "dynload": os.path.realpath(sysconfig.get_config_var("DESTSHARED") or ""),
        "libdir": sysconfig.get_config_var("LIBDIR") or "",
        "libpython": sysconfig.get_config_var("INSTSONAME")
        if sysconfig.get_config_var("Py_ENABLE_SHARED")
        else "",
        "short": f"python{sys.version_info[0]}.{sys.version_info[1]}",
        "missing": missing,
        "distributions": [],
    }
    for name in sorted(found):
        base, listed = files(found[name])
        answer["distributions"].append(
            {"name": name, "version": found[name].version, "base": base, "files": listed}
        )
    homes = [answer["stdlib"], os.path.dirname(answer["executable"]), answer["libdir"]]
    homes += [d["base"] for d in answer["distributions"]]
    shared = ("/lib", "/usr/lib/x86", "/usr/lib/a")
    answer["homes"] = [h for h in homes if h and not h.startswith(shared)]
    json.dump(answer, sys.stdout)


main()
