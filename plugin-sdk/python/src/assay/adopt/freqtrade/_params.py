"""Stands for the parameters of a strategy that a search may change."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence
from typing import Any

from ... import Param

_NAME = re.compile(r"^[a-z][a-z0-9_]{0,62}$")


class Parameter:
    """A value of a strategy; ``value`` is what it has in this run, ``range`` holds it alone."""

    kind: type = float

    def __init__(
        self,
        *,
        default: Any,
        space: str | None = None,
        optimize: bool = True,
        load: bool = True,
        **options: Any,
    ) -> None:
        self.default = self.value = default
        self.space, self.optimize, self.load = space, optimize, load
        self.options = options

    @property
    def range(self) -> Sequence[Any]:
        """The value of this run: a search of lab plays each value in a run of its own."""
        return [self.value]

    def param(self, default: Any) -> Any:
        """As a parameter of the SDK, or None where that has no such kind of value."""
        search = None if self.optimize else "off"
        return Param(self.cast(default), group=self.space or "", search=search)

    def cast(self, value: Any) -> Any:
        return self.kind(value)

    def set(self, value: Any) -> Parameter:
        """A copy with another value."""
        made = copy.copy(self)
        made.value = made.cast(value)
        return made


class _Numeric(Parameter):
    def __init__(self, low: Any, high: Any = None, *, default: Any, **options: Any) -> None:
        if high is None:
            if not isinstance(low, list | tuple) or len(low) != 2:
                raise ValueError("a range is given as low and high, or as [low, high]")
            low, high = low
        super().__init__(default=default, **options)
        self.low, self.high = low, high

    def step(self) -> float | None:
        return None

    def param(self, default: Any) -> Any:
        default = self.cast(default)
        search: Any = (self.cast(self.low), self.cast(self.high)) if self.optimize else "off"
        return Param(
            default,
            ge=min(self.cast(self.low), default),
            le=max(self.cast(self.high), default),
            step=self.step(),
            search=search,
            group=self.space or "",
        )


class IntParameter(_Numeric):
    """A whole number in [low, high]."""

    kind = int

    def step(self) -> float | None:
        return 1


class RealParameter(_Numeric):
    """A number in [low, high]."""


class DecimalParameter(_Numeric):
    """A number in [low, high] of so many decimal places."""

    def __init__(
        self, low: Any, high: Any = None, *, default: Any, decimals: int = 3, **options: Any
    ) -> None:
        self.decimals = decimals
        super().__init__(low, high, default=default, **options)
        self.value = self.cast(default)

    def step(self) -> float | None:
        return float(10**-self.decimals)

    def cast(self, value: Any) -> Any:
        return round(float(value), self.decimals)


class CategoricalParameter(Parameter):
    """One of several values."""

    def __init__(self, categories: Sequence[Any], *, default: Any = None, **options: Any) -> None:
        if len(categories) < 2:
            raise ValueError("a CategoricalParameter has two values or more")
        default = categories[0] if default is None else default
        super().__init__(default=default, **options)
        self.opt_range = list(categories)

    def cast(self, value: Any) -> Any:
        return value

    def param(self, default: Any) -> Any:
        kinds = {type(c) for c in self.opt_range}
        if len(kinds) != 1 or kinds.pop() not in (bool, int, float, str):
            return None
        search = None if self.optimize else "off"
        return Param(default, choices=self.opt_range, group=self.space or "", search=search)


class BooleanParameter(CategoricalParameter):
    """True or False."""

    def __init__(self, *, default: Any = None, **options: Any) -> None:
        super().__init__([True, False], default=default, **options)


def parameters(cls: type[Any]) -> dict[str, tuple[Parameter, Any]]:
    """The parameters of a class with their defaults, by name, in the order written. The tables
    buy_params, sell_params and their like come before the defaults in the declarations."""
    found: dict[str, Parameter] = {}
    for base in reversed(cls.__mro__):
        found.update({n: p for n, p in vars(base).items() if isinstance(p, Parameter)})
    tables: dict[str, Any] = {}
    for table in ("buy", "enter", "entry", "sell", "exit", "protection"):
        tables.update(getattr(cls, f"{table}_params", None) or {})
    return {n: (p, tables[n] if n in tables and p.load else p.default) for n, p in found.items()}


def usable(name: str) -> bool:
    """Whether the SDK takes a parameter of this name."""
    return bool(_NAME.match(name))
