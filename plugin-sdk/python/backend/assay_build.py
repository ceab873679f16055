"""Builds the wheel with the standard library alone, so that a checkout installs offline.

The hooks are those of PEP 517 and PEP 660. The same sources give the same bytes.
"""

import base64
import hashlib
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EPOCH = (1980, 1, 1, 0, 0, 0)


def _project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def _metadata() -> str:
    p = _project()
    lines = [
        "Metadata-Version: 2.1",
        f"Name: {p['name']}",
        f"Version: {p['version']}",
        f"Summary: {p['description']}",
        f"License: {p['license']}",
        f"Requires-Python: {p['requires-python']}",
        *(f"Requires-Dist: {d}" for d in p["dependencies"]),
    ]
    for extra, needs in p["optional-dependencies"].items():
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {n}; extra == "{extra}"' for n in needs]
    return "\n".join(lines) + "\n"


def _write(folder: str, members: dict[str, bytes]) -> str:
    p = _project()
    stem = f"{p['name'].replace('-', '_')}-{p['version']}"
    info = f"{stem}.dist-info"
    members = dict(members)
    members[f"{info}/METADATA"] = _metadata().encode()
    members[f"{info}/WHEEL"] = (
        b"Wheel-Version: 1.0\nGenerator: assay\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    )
    record = []
    for name in sorted(members):
        digest = base64.urlsafe_b64encode(hashlib.sha256(members[name]).digest()).rstrip(b"=")
        record.append(f"{name},sha256={digest.decode()},{len(members[name])}")
    record.append(f"{info}/RECORD,,")
    members[f"{info}/RECORD"] = ("\n".join(record) + "\n").encode()
    name = f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(Path(folder) / name, "w", zipfile.ZIP_DEFLATED) as wheel:
        for member in sorted(members):
            entry = zipfile.ZipInfo(member, EPOCH)
            entry.external_attr = 0o644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, members[member])
    return name


def _sources() -> dict[str, bytes]:
    src = ROOT / "src"
    return {
        f.relative_to(src).as_posix(): f.read_bytes()
        for f in sorted(src.rglob("*"))
        if f.is_file() and f.suffix in {".py", ".typed"}
    }


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, _sources())


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    return _write(wheel_directory, {"assay_sdk_editable.pth": f"{ROOT / 'src'}\n".encode()})


def build_sdist(sdist_directory, config_settings=None):
    raise NotImplementedError("assay-sdk is built from a checkout: build a wheel")
