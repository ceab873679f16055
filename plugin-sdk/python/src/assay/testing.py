"""Tests for a strategy, in the author's own process.

One line in a test proves what the host relies on::

    from assay.testing import conformance
    from strategy import SmaCross

    def test_conformance():
        conformance(SmaCross)

`play` shows what a strategy asks for, candle by candle. It matches no orders: for a backtest
use ``lab run``.
"""

from __future__ import annotations

import json
import math
import os
import struct
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from . import strategy_pb2 as pb
from ._drive import Author, Failure, build, spec
from .params import collect, defaults
from .strategy import Strategy

__all__ = ["Asked", "conformance", "play", "walk"]

_HOUR = 3_600_000
_START = 1_577_836_800_000  # 2020-01-01


class Asked(NamedTuple):
    """What a strategy asked for at one step."""

    step: int
    action: str  #: submit, cancel, replace, close
    side: str  #: buy, sell
    text: str  #: the whole intent, to compare


def walk(candles: int = 500, seed: int = 1, price: float = 100.0) -> list[tuple[float, ...]]:
    """Candles of a random walk: open, high, low, close, volume. The same seed gives the same."""
    from .random import Random

    rand = Random(seed, "walk")
    rows: list[tuple[float, ...]] = []
    for _ in range(candles):
        before = price
        price *= math.exp(0.02 * (rand.random() - 0.5))
        high = max(before, price) * (1 + 0.005 * rand.random())
        low = min(before, price) * (1 - 0.005 * rand.random())
        rows.append((before, high, low, price, 1 + 10 * rand.random()))
    return rows


def play(
    cls: type[Strategy],
    candles: Iterable[Sequence[float]],
    *,
    symbols: Sequence[str] = ("BTC/USDT",),
    position: float = 0.0,
    cash: float = 10_000.0,
    inputs: Mapping[str, Iterable[tuple[int, int, float]]] | None = None,
    **params: Any,
) -> list[Asked]:
    """Plays candles (open, high, low, close, volume), one an hour, for every symbol alike, and
    returns what the strategy asks for. Rows of inputs are time and known in Unix milliseconds, and
    a value; the first candle opens at 2020-01-01. The account stays as it is given: no order is
    matched.
    """
    text = json.dumps(params)
    strategy, looked, failed = build(cls, text)
    if strategy is None:
        raise ValueError(failed.message)
    start = pb.Start(
        symbols=symbols,
        timeframe="1h",
        purpose=pb.PURPOSE_BACKTEST,
        root_seed="1",
        log_level="info",
        inputs=[i.name for i in cls.inputs],
    )
    author = Author(strategy, start, looked)
    asked = []
    waiting = [
        sorted((inputs or {}).get(given.name, ()), key=lambda r: (r[1], r[0]))
        for given in cls.inputs
    ]
    for i, row in enumerate(candles):
        step = pb.Step(index=i, close_time=_START + (i + 1) * _HOUR)
        for k, rows in enumerate(waiting):
            known = [r for r in rows if r[1] <= step.close_time]
            waiting[k] = rows[len(known) :]
            if known:
                times, whens, values = zip(*known, strict=True)
                step.inputs.add(
                    input=k,
                    time=struct.pack(f"<{len(known)}q", *times),
                    known=struct.pack(f"<{len(known)}q", *whens),
                    value=struct.pack(f"<{len(known)}d", *values),
                )
        step.account.cash, step.account.equity = cash, cash + position * row[3]
        for s in range(len(symbols)):
            step.candles.add(
                symbol=s,
                open_time=_START + i * _HOUR,
                open=row[0],
                high=row[1],
                low=row[2],
                close=row[3],
                volume=row[4],
            )
            if position:
                step.account.positions.add(symbol=s, quantity=position, entry_price=row[3])
        try:
            intents = author.decide(step)
        except Failure as e:
            raise AssertionError(f"step {i}: {e}\n{e.stack}") from None
        author.notes.take()
        for n in intents:
            action = ("submit", "cancel", "replace", "close")[n.action]
            asked.append(Asked(i, action, ("buy", "sell")[n.side], str(n)))
    author.stop()
    return asked


def conformance(cls: type[Strategy], **params: Any) -> None:
    """Checks what the host relies on: a valid description, defaults that the parameters
    accept, no exception, the same orders for the same candles whatever the hash seed, and
    no look at a candle that is not there yet."""
    described = spec(cls)
    assert described.description, f"{cls.__name__} needs a docstring: it is the description"
    json.loads(described.params_schema)
    _, _, failed = build(cls, defaults(collect(cls)))
    assert failed is None, failed.message

    rows = walk()
    for position in (0.0, 1.0):
        first = play(cls, rows, position=position, **params)
        again = play(cls, rows, position=position, **params)
        assert first == again, "two plays of the same candles ask for different orders"
        half = len(rows) // 2
        prefix = play(cls, rows[:half], position=position, **params)
        early = [a for a in first if a.step < half]
        assert prefix == early, "orders depend on candles that come later"
    _across_seeds(cls, params)


def _across_seeds(cls: type[Strategy], params: dict[str, Any]) -> None:
    """Sets and dictionaries keyed by text are in another order under another hash seed."""
    script = (
        "import importlib, json, sys\n"
        "from assay.testing import play, walk\n"
        "module, name, params = json.loads(sys.argv[1])\n"
        "cls = getattr(importlib.import_module(module), name)\n"
        "print(play(cls, walk(), **params))\n"
    )
    request = json.dumps([cls.__module__, cls.__qualname__, params])
    if "." in cls.__qualname__ or cls.__module__ == "__main__":
        return  # made inside a function: another process cannot import it
    answers = []
    for seed in ("1", "2"):
        env = dict(os.environ, PYTHONHASHSEED=seed, PYTHONPATH=os.pathsep.join(sys.path))
        done = subprocess.run(
            [sys.executable, "-c", script, request], env=env, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        answers.append(done.stdout)
    assert answers[0] == answers[1], "orders depend on the hash seed: a set is iterated"
