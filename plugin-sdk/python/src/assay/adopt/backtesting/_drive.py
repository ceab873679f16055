"""Loads a strategy's file and drives its class by the steps of the SDK."""

from __future__ import annotations

import contextlib
import os
import sys
import types
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ... import Fill, Intents, Param, Rejection, Supports, View
from ... import Strategy as Base
from .. import LookedAhead, Unsupported, drawn, same
from . import _current
from ._broker import Broker
from ._data import Data, Indicator

_KINDS: tuple[type, ...] = (bool, int, float, str)
_AHEAD = 4096  # candles for which init is called once
_FIRST_CHECKS = 5  # candles at which it is called again, the first time
_DIFFERS = (
    "init sees the candles so far, there all candles",
    "a trade lasts until the position is flat, there it is one entry or a part of one",
)


def adopt(
    path: str,
    cls: str = "",
    *,
    name: str,
    exclusive_orders: bool = False,
    warmup: int = 0,
    ahead: bool = True,
) -> type[Base]:
    """The strategy of a file as one of the SDK.

    path is relative to the file that calls, cls may be left out where the file has one class.
    exclusive_orders is that of ``Backtest``. warmup candles from before the window are in ``data``
    when ``init`` is first called. ahead lets a backtest call ``init`` once for many candles, where
    what it makes is the same without the later ones.
    """
    caller = sys._getframe(1)
    place = os.path.join(os.path.dirname(caller.f_code.co_filename), path)
    with open(place, encoding="utf-8") as f:
        text = f.read()
    theirs = _find(_load(text, place, path), cls, path)
    parameters = _parameters(theirs)
    body: dict[str, Any] = {
        "__module__": caller.f_globals.get("__name__", __name__),
        "__doc__": theirs.__doc__ or f"{theirs.__name__} of {path}, for backtesting.py.",
        "name": name,
        "differs": _DIFFERS,
        "supports": Supports(short=".sell(" in text),
        "_theirs": theirs,
        "_exclusive": exclusive_orders,
        "_warmup": warmup,
        "_ahead": ahead,
        "__annotations__": {n: type(v) for n, v in parameters.items()},
    }
    for n, value in parameters.items():
        if hasattr(Adopted, n):
            raise Unsupported(f"the parameter {theirs.__name__}.{n}: the SDK has this name itself")
        body[n] = Param(value)
    return type(theirs.__name__, (Adopted,), body)


def _load(text: str, place: str, path: str) -> types.ModuleType:
    """Runs a file up to where it begins to test its strategy."""
    import assay.adopt.backtesting as package

    from . import lib, test

    sys.modules.update({"backtesting": package, "backtesting.lib": lib, "backtesting.test": test})
    module = types.ModuleType(os.path.splitext(os.path.basename(path))[0])
    module.__file__ = place
    sys.modules[module.__name__] = module
    with contextlib.suppress(package.ModuleEnds):
        exec(compile(text, place, "exec"), module.__dict__)  # the author's own file
    return module


def _find(module: types.ModuleType, name: str, path: str) -> type[Any]:
    from . import Strategy

    found = {
        n: c
        for n, c in vars(module).items()
        if isinstance(c, type) and issubclass(c, Strategy) and c.__module__ == module.__name__
    }
    if name in found:
        return found[name]
    names = ", ".join(found) or "none"
    if name:
        raise Unsupported(f"{path} has no strategy {name}, it has {names}")
    if len(found) != 1:
        raise Unsupported(f"{path} must have one strategy, has {names}: name one")
    return next(iter(found.values()))


def _parameters(cls: type[Any]) -> dict[str, Any]:
    """The class attributes that are numbers or text, in the order written."""
    from . import Strategy

    known: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        if base is not Strategy and issubclass(base, Strategy):
            known.update({n: v for n, v in vars(base).items() if n[0] != "_" and type(v) in _KINDS})
    return {n: v for n, v in known.items() if n == n.lower() and n.isascii()}


class Adopted(Base):
    """Drives a strategy of backtesting.py."""

    _theirs: ClassVar[type[Any]]
    _exclusive: ClassVar[bool] = False
    _warmup: ClassVar[int] = 0
    _ahead: ClassVar[bool] = True
    _later: Any = None  #: gives later candles where a backtest has them

    def start(self) -> None:
        """Makes what the strategy sees; its ``init`` waits for the first candle."""
        self._data = Data()
        self._broker = Broker(self._exclusive, lambda bar: self._data.index[bar])
        self._strategy: Any = None
        self._begun = False
        self._kept: set[str] | None = None
        self._step = -1
        self._whole: Any = None  # whose init has seen later candles, too
        self._through = 0  # how many candles it has seen

    def warmup(self) -> int:
        return self._warmup

    def on_fill(self, v: View, fill: Fill) -> Intents:
        self._see(v)
        self._broker.fill(fill)
        return None

    def on_reject(self, v: View, rejection: Rejection) -> Intents:
        v.log(
            "an order was not taken",
            "warn",
            reason=rejection.reason,
            side=rejection.order.side,
            quantity=rejection.order.quantity,
        )
        return None

    def on_candle(self, v: View) -> Intents:
        self._see(v)
        if v.warmup:
            return None
        self._broker.settle(v)
        made, newest = self._made(), len(self._data) - 1
        if self._strategy is None:
            self._strategy = made
        else:
            _renew(self._strategy, made, newest + 1)
        for name, line in made._lines_:
            v.publish(name, _number(line[newest]))
        if not self._begun:
            self._begun = self._ready()
        if self._begun:
            self._strategy.next()
        return self._broker.take()

    def _see(self, v: View) -> None:
        """Adds the candle of a step, once."""
        if self._step == v.index:
            return
        self._step = v.index
        self._data._add(v._candle[0], v._candle[1:])
        self._broker.begin(v, len(self._data) - 1)

    def _made(self) -> Any:
        """An instance with the indicators of this candle, and perhaps of later ones."""
        if self._later and self._ahead and self._strategy and self._through < len(self._data):
            self._look_ahead()
        return self._initialized() if self._through < len(self._data) else self._whole

    def _look_ahead(self) -> None:
        """Calls init once for many candles. What it makes must be the same without the candles
        after some that are drawn; if it is not at the first time, init is called at each."""
        now, data = len(self._data), self._data
        for _, candles in self._later(_AHEAD):
            for _, row in candles:
                data._add(row[0], row[1:])
        size, first = len(data), self._whole is None
        if size == now:
            return
        try:
            whole = self._initialized()
            for k in drawn(now, size, _FIRST_CHECKS if first else 1):
                data._show(k)
                if name := _differing(whole, self._initialized(), k):
                    if first:
                        self._later = None
                        return
                    raise LookedAhead(
                        f"{self._theirs.__name__}.{name} is another one at {data._times[k - 1]} "
                        "without the candles after it: it looks ahead; adopt(..., ahead=False) in "
                        "strategy.py calls init at every candle"
                    )
        finally:
            data._show(now)
        self._whole, self._through = whole, size

    def _initialized(self) -> Any:
        """A new instance whose ``init`` has run on the candles so far."""
        made: Any = object.__new__(self._theirs)
        made._broker_, made._data_, made._made_ = self._broker, self._data, []
        for f in type(self)._fields:
            setattr(made, f.name, getattr(self, f.name))
        _current.strategy = made
        try:
            made.init()
        finally:
            _current.strategy = None
        made._lines_ = list(_published(made))
        made._names_ = [n for n, value in vars(made).items() if _is_indicators(value)]
        if self._kept is None or self._kept:
            kept = _kept(made, len(self._data))
            self._kept = kept if self._kept is None else self._kept & kept
            if self._strategy is not None and self._kept:
                raise Unsupported(
                    f"{self._theirs.__name__}.{min(self._kept)} keeps candles that init saw: "
                    "backtesting.py shows all of them, the future too; make it with self.I, or "
                    "use self.data in next"
                )
        return made

    def _ready(self) -> bool:
        """Whether every indicator has had a value before this candle, and there is such a one."""
        size = len(self._data)
        for value in vars(self._strategy).values():
            for line in np.atleast_2d(value) if isinstance(value, Indicator) else ():
                known = ~np.isnan(np.asarray(line, dtype=float))
                if not known[: size - 1].any():
                    return False
        return size > 1


def _published(made: Any) -> Iterator[tuple[str, Any]]:
    """The lines of what is plotted, by their names."""
    for label, plot, values in made._made_:
        for i, line in enumerate(np.atleast_2d(np.asarray(values)) if plot else ()):
            yield label if values.ndim == 1 else f"{label} {i + 1}", line


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def _is_indicators(value: Any) -> bool:
    """Whether it is an indicator, or a list, tuple or dictionary of them."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(x, Indicator) for x in value)
    return isinstance(value, Indicator)


def _renew(strategy: Any, made: Any, size: int) -> None:
    """Gives a strategy the indicators of so many candles."""
    for name in made._names_:
        setattr(strategy, name, _cut(getattr(made, name), size))


def _cut(value: Any, size: int) -> Any:
    """Indicators up to so many candles."""
    if isinstance(value, dict):
        return {k: _cut(x, size) for k, x in value.items()}
    if isinstance(value, list | tuple):
        lines = [_cut(x, size) for x in value]
        return type(value)(*lines) if hasattr(value, "_fields") else type(value)(lines)
    if value.shape[-1] == size:
        return value
    line = value[..., :size]
    line.times = value.times[:size]
    return line


def _differing(whole: Any, made: Any, size: int) -> str:
    """The name of the first indicator that is another one with later candles, else nothing."""
    for name in dict.fromkeys((*whole._names_, *made._names_)):
        a, b = (_lines(vars(them).get(name)) for them in (whole, made))
        if len(a) != len(b) or any(not same(x[..., :size], y) for x, y in zip(a, b, strict=True)):
            return str(name)
    a, b = ([values for _, _, values in x._made_] for x in (whole, made))
    if len(a) != len(b) or any(not same(x[..., :size], y) for x, y in zip(a, b, strict=True)):
        return "I"
    return ""


def _lines(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    return list(value) if isinstance(value, list | tuple) else [] if value is None else [value]


def _kept(strategy: Any, size: int) -> set[str]:
    """The attributes that hold as many values as there are candles and are no indicators."""
    names = set()
    for name, value in vars(strategy).items():
        array = isinstance(value, np.ndarray) or hasattr(value, "iloc")
        if array and not isinstance(value, Indicator) and len(value) == size:
            names.add(name)
    return names


__all__ = ["Adopted", "adopt"]
