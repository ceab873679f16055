"""Parameters of a strategy: annotated class attributes made with `Param`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["InvalidParam", "Param", "ParamError"]

_NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")
_KINDS: dict[type, str] = {bool: "boolean", int: "integer", float: "number", str: "string"}
_WANTED = {
    "integer": "must be an integer",
    "number": "must be a number",
    "boolean": "must be true or false",
    "string": "must be a string",
}
_MAX_INTEGER = 2**53


class ParamError(ValueError):
    """One bad parameter: its JSON pointer, and what is wrong with it."""

    def __init__(self, pointer: str, message: str) -> None:
        super().__init__(f"{pointer}: {message}" if pointer else message)
        self.pointer = pointer
        self.message = message


def InvalidParam(name: str, message: str) -> ParamError:
    """The error with which ``start`` refuses a parameter, or a combination of them."""
    return ParamError("/" + name.replace("~", "~0").replace("/", "~1"), message)


@dataclass(frozen=True)
class _Field:
    name: str
    kind: str
    default: Any
    ge: float | None
    gt: float | None
    le: float | None
    lt: float | None
    choices: tuple[Any, ...]
    title: str
    doc: str
    unit: str
    group: str
    step: float | None
    search: str | tuple[float, float] | None

    def outside(self, value: Any) -> str:
        """What is wrong with a value of the right kind, or ""."""
        if self.choices:
            if value not in self.choices:
                return "must be one of " + ", ".join(str(c) for c in self.choices)
            return ""
        for bound, fine, word in (
            (self.ge, self.ge is None or value >= self.ge, "at least"),
            (self.gt, self.gt is None or value > self.gt, "above"),
            (self.le, self.le is None or value <= self.le, "at most"),
            (self.lt, self.lt is None or value < self.lt, "below"),
        ):
            if not fine:
                return f"must be {word} {bound:g}"
        return ""

    def decode(self, value: Any) -> Any:
        fits = {
            "boolean": isinstance(value, bool),
            "string": isinstance(value, str),
            "integer": isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value)
            and float(value).is_integer()
            and abs(value) <= _MAX_INTEGER,
            "number": isinstance(value, int | float)
            and not isinstance(value, bool)
            and math.isfinite(value),
        }[self.kind]
        if not fits:
            raise InvalidParam(self.name, _WANTED[self.kind])
        if self.kind == "integer":
            value = int(value)
        elif self.kind == "number":
            value = float(value)
        if problem := self.outside(value):
            raise InvalidParam(self.name, problem)
        return value

    def schema(self, order: int) -> dict[str, Any]:
        s: dict[str, Any] = {"type": self.kind}
        if self.title:
            s["title"] = self.title
        if self.doc:
            s["description"] = self.doc
        s["default"] = self.default
        if self.choices:
            s["enum"] = list(self.choices)
        for key, bound in (
            ("exclusiveMinimum", self.gt),
            ("minimum", self.ge),
            ("exclusiveMaximum", self.lt),
            ("maximum", self.le),
        ):
            if bound is not None:
                s[key] = bound
        ui: dict[str, Any] = {"order": order}
        if self.group:
            ui["group"] = self.group
        if self.unit:
            ui["unit"] = self.unit
        if self.step is not None:
            ui["step"] = self.step
        s["x-ui"] = ui
        if space := self._space():
            s["x-search"] = space
        return s

    def _space(self) -> dict[str, Any] | None:
        if self.search == "off":
            return None
        if self.choices:
            return {"choices": list(self.choices)}
        if self.kind == "boolean":
            return {"choices": [False, True]}
        low = self.ge if self.ge is not None else self.gt
        high = self.le if self.le is not None else self.lt
        if isinstance(self.search, tuple):
            low, high = self.search
        if low is None or high is None:
            return None
        space: dict[str, Any] = {"low": low, "high": high}
        if self.step is not None:
            space["step"] = self.step
        if self.search == "log":
            space["log"] = True
        return space


class _Param:
    """A parameter that a class declares and whose value its instances hold."""

    def __init__(self, default: Any, options: dict[str, Any]) -> None:
        self.default = default
        self.options = options

    def field(self, owner: type, name: str, annotation: Any) -> _Field:
        where = f"{owner.__name__}.{name}"
        if not _NAME.match(name):
            raise TypeError(f"{where}: a parameter is named in lower case, as in fast_period")
        names = {"int": int, "float": float, "bool": bool, "str": str}
        kind = names.get(annotation, annotation) if isinstance(annotation, str) else annotation
        if kind is None:
            kind = type(self.default)
        if kind not in _KINDS:
            raise TypeError(f"{where}: a parameter is an int, float, bool or str, not {kind}")
        found = _Field(name=name, kind=_KINDS[kind], default=None, **self.options)
        try:
            default = found.decode(self.default)
        except ParamError as e:
            raise TypeError(f"{where}: the default {self.default!r} {e.message}") from None
        return _Field(**{**found.__dict__, "default": default})


def Param(
    default: Any,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    choices: Sequence[Any] = (),
    title: str = "",
    doc: str = "",
    unit: str = "",
    group: str = "",
    step: float | None = None,
    search: str | tuple[float, float] | None = None,
) -> Any:
    """Declares a parameter with its default.

    ``ge``, ``gt``, ``le`` and ``lt`` bound a number, ``choices`` lists the allowed values.
    ``title``, ``doc``, ``unit``, ``group`` and ``step`` are for forms. ``search`` is how a
    search treats it: "log", "linear", "off", or (low, high).
    """
    return _Param(
        default,
        {
            "ge": ge,
            "gt": gt,
            "le": le,
            "lt": lt,
            "choices": tuple(choices),
            "title": title,
            "doc": doc,
            "unit": unit,
            "group": group,
            "step": step,
            "search": search,
        },
    )


def collect(owner: type) -> tuple[_Field, ...]:
    """The parameters of a class and of those that it extends, in the order written."""
    fields: dict[str, _Field] = {}
    for base in reversed(owner.__mro__):
        annotations = base.__dict__.get("__annotations__", {})
        for name, value in base.__dict__.items():
            if isinstance(value, _Param):
                fields[name] = value.field(owner, name, annotations.get(name))
    return tuple(fields.values())


def schema(fields: Sequence[_Field], differs: Sequence[str] = ()) -> str:
    """JSON Schema 2020-12 of the parameters, with x-ui for forms and x-search for searches, and
    x-differs: how the strategy differs from the one that it was adopted from."""
    made: dict[str, Any] = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {f.name: f.schema(i + 1) for i, f in enumerate(fields)},
        "additionalProperties": False,
    }
    if differs:
        made["x-differs"] = list(differs)
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


def defaults(fields: Sequence[_Field]) -> str:
    """A JSON object of every parameter's default."""
    return json.dumps(
        {f.name: f.default for f in fields}, ensure_ascii=False, separators=(",", ":")
    )


def decode(fields: Sequence[_Field], text: str) -> tuple[dict[str, Any], list[ParamError]]:
    """Values from a JSON object, and everything that is wrong with it. What is missing
    takes its default."""
    try:
        given = json.loads(text) if text.strip() else {}
    except ValueError:
        given = None
    if not isinstance(given, dict):
        return {}, [ParamError("", "must be a JSON object of parameters")]
    values: dict[str, Any] = {}
    errors: list[ParamError] = []
    for f in fields:
        try:
            values[f.name] = f.decode(given.pop(f.name)) if f.name in given else f.default
        except ParamError as e:
            errors.append(e)
    names = ", ".join(f.name for f in fields)
    for name in sorted(given):
        has = f"which has {names}" if names else "which has none"
        errors.append(InvalidParam(name, f"is not a parameter of this strategy, {has}"))
    return values, errors
