"""Tests for a strategy, in the author's own process.

One line in a test proves what the host relies on::

    from assay.testing import backtest, conformance, walk
    from strategy import SmaCross

    def test_conformance():
        conformance(SmaCross)

    def test_trades():
        assert len(backtest(SmaCross, walk(2000), fast=5).trades) > 10

`play` shows what a strategy asks for, candle by candle, and matches no orders. `backtest` does:
the strategy runs in the test's process, where a debugger stops in it, and ``lab`` matches its
orders by the rules of every other run. `load` reads candles of a CSV file.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from . import strategy_pb2 as pb
from ._drive import Author, Failure, build, spec
from ._frames import Timeframe
from ._frames import timeframe as parse_timeframe
from .params import collect, defaults
from .serve import _Link, _run
from .strategy import Strategy
from .view import moment

__all__ = ["Asked", "Backtest", "Candles", "backtest", "conformance", "load", "play", "walk"]

_START = 1_577_836_800_000  # 2020-01-01
_SYMBOL = "BTC/USDT"


class Asked(NamedTuple):
    """What a strategy asked for at one step."""

    step: int
    action: str  #: submit, cancel, replace, close
    side: str  #: buy, sell
    text: str  #: the whole intent, to compare
    time: datetime  #: close of the candle


class Candles(list[tuple[float, ...]]):
    """Candles (open, high, low, close, volume) that know their times. `load` gives them."""

    def __init__(
        self, rows: Iterable[tuple[float, ...]], times: Sequence[int], timeframe: str
    ) -> None:
        super().__init__(rows)
        self.times = list(times)  #: of opening, in Unix milliseconds
        self.timeframe = timeframe


class Backtest(NamedTuple):
    """What a backtest has come to. Fields of orders, fills, trades and positions are those of
    the files of a run, such as ``trade.entry_price``; amounts are Decimal, times UTC."""

    orders: list[SimpleNamespace]
    fills: list[SimpleNamespace]
    trades: list[SimpleNamespace]
    positions: list[SimpleNamespace]  #: open at the end
    equity: list[tuple[datetime, float]]  #: at each close of the window
    final_value: Decimal
    refused: list[str]  #: why cancels and replaces did nothing
    log: list[str]  #: messages, and their values as key=value
    published: dict[str, list[tuple[datetime, float]]]
    steps: int
    bankrupt: bool
    digest: str  #: of the ledger: equal digests, equal runs


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


def load(path: str | os.PathLike[str]) -> Candles:
    """Candles of a CSV file as ``lab data export`` writes it: a header with time, open, high,
    low, close and volume in any order (other columns are ignored, a volume may be missing), or
    no header and the columns of ccxt (6), Kraken (7) or Binance Vision (12). Times are whole
    numbers of s, ms, us or ns, ISO 8601 with an offset, or dates. The timeframe is the commonest
    step between candles. Raises ValueError with file and line."""
    name = Path(path).name
    with open(path, newline="", encoding="utf-8-sig") as file:
        head = file.readline()
        comma = next((c for c in ";\t" if c in head and "," not in head), ",")
        file.seek(0)
        rows = csv.reader(file, delimiter=comma, skipinitialspace=True)
        times: list[int] = []
        candles: list[tuple[float, ...]] = []
        at: list[int] = []
        for row in rows:
            where = f"{name}:{rows.line_num}"
            if not row:
                continue
            if not at:
                at = _columns(where, row)
                if not _is_row(row):
                    continue
            try:
                cells = [row[i] if i >= 0 else "0" for i in at]
                opens, values = _moment(cells[0]), tuple(float(c) for c in cells[1:])
            except (ValueError, IndexError) as e:
                raise ValueError(f"{where}: {e}") from None
            o, high, low, close, volume = values
            if not (0 < low <= min(o, close) <= max(o, close) <= high < math.inf):
                raise ValueError(f"{where}: open {o}, high {high}, low {low}, close {close}")
            if not 0 <= volume < math.inf:
                raise ValueError(f"{where}: the volume {volume} is below 0 or no number")
            if times and opens <= times[-1]:
                raise ValueError(f"{where}: opens at {moment(opens)}, not after the one before it")
            times.append(opens)
            candles.append(values)
    if len(times) < 2:
        raise ValueError(f"{name}: has {len(times)} candles, and two at least tell the timeframe")
    return Candles(candles, times, _commonest(name, times))


_ORDER = ("time", "open", "high", "low", "close", "volume")
_TIMES = ("time", "timestamp", "date", "datetime", "unix", "opentime")


def _is_row(row: Sequence[str]) -> bool:
    """Whether the first line is a candle in one of the layouts that have no header."""
    try:
        opens = _moment(row[0])
        return len(row) in (6, 7) or len(row) == 12 and _moment(row[6]) > opens
    except ValueError:
        return False


def _columns(where: str, row: Sequence[str]) -> list[int]:
    """Where time, open, high, low, close and volume are; -1: there is no volume."""
    if _is_row(row):
        return list(range(6))
    names = [re.sub(r"[ _<>]", "", cell).lower() for cell in row]
    at = []
    for name in _ORDER:
        found = [
            i
            for i, n in enumerate(names)
            if n == name
            or (name == "time" and n in _TIMES)
            or (name == "volume" and n.startswith("vol"))
        ]
        if not found and name != "volume":
            raise ValueError(f"{where}: the header has no column {name}: write {','.join(_ORDER)}")
        at.append(found[0] if found else -1)
    return at


def _moment(text: str) -> int:
    """A time in Unix milliseconds, by its form."""
    text = text.strip()
    if text.isascii() and text.isdigit():
        n = int(text)
        for bound, ms in ((10**11, n * 1000), (10**14, n), (10**17, n // 1000)):
            if n < bound:
                return ms
        return n // 10**6
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text[:40]!r} is no time") from None
    if at.tzinfo is None:
        if len(text) > len("2024-01-31"):
            raise ValueError(f"{text[:40]!r} has no offset from UTC")
        at = at.replace(tzinfo=UTC)
    return round(at.timestamp() * 1000)


def _commonest(name: str, times: Sequence[int]) -> str:
    """The timeframe of candles that open at these times."""
    days = [moment(t) for t in times]
    if all(d.day == 1 and (d.hour, d.minute, d.second) == (0, 0, 0) for d in days):
        return "1M"
    steps = Counter(b - a for a, b in zip(times, times[1:], strict=False))
    step = min(steps, key=lambda d: (-steps[d], d))
    for unit, ms in (
        ("w", 604_800_000),
        ("d", 86_400_000),
        ("h", 3_600_000),
        ("m", 60_000),
        ("s", 1000),
    ):
        if step % ms == 0:
            return f"{step // ms}{unit}"
    raise ValueError(f"{name}: the commonest step between candles, {step} ms, is no timeframe")


def _timed(candles: Iterable[Sequence[float]], name: str | None) -> tuple[Candles, Timeframe]:
    """Candles with times: their own, or one after the other from 2020-01-01 on."""
    if isinstance(candles, Candles) and name in (None, candles.timeframe):
        return candles, parse_timeframe(candles.timeframe)
    tf = parse_timeframe(name or "1h")
    times, at = [], tf.bucket(_START)[0]
    rows = [tuple(map(float, row)) for row in candles]
    for _ in rows:
        times.append(at)
        at = _close(tf, at)
    return Candles(rows, times, str(tf)), tf


def _close(tf: Timeframe, at: int) -> int:
    return at + tf.length if tf.length else tf.bucket(at)[1]


def play(
    cls: type[Strategy],
    candles: Iterable[Sequence[float]],
    *,
    timeframe: str | None = None,
    symbols: Sequence[str] = (_SYMBOL,),
    position: float = 0.0,
    cash: float = 10_000.0,
    inputs: Mapping[str, Iterable[tuple[int, int, float]]] | None = None,
    **params: Any,
) -> list[Asked]:
    """Plays candles (open, high, low, close, volume), for every symbol alike, and returns what
    the strategy asks for. Candles of `load` have times; others follow one another from 2020-01-01
    on, one an hour or another timeframe. Rows of inputs are time and known in Unix milliseconds,
    and a value. The account stays as it is given: no order is matched.
    """
    timed, tf = _timed(candles, timeframe)
    strategy, looked, failed = build(cls, json.dumps(params), str(tf))
    if strategy is None:
        raise ValueError(failed.message)
    start = pb.Start(
        symbols=symbols,
        timeframe=str(tf),
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
    for i, (opens, row) in enumerate(zip(timed.times, timed, strict=True)):
        step = pb.Step(index=i, close_time=_close(tf, opens))
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
                open_time=opens,
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
            at = (
                "" if "candle closed at" in str(e) else f", candle closed at {_at(step.close_time)}"
            )
            raise AssertionError(f"step {i}: {e}{at}\n{e.stack}") from None
        author.notes.take()
        for n in intents:
            action = ("submit", "cancel", "replace", "close")[n.action]
            side = ("buy", "sell")[n.side]
            asked.append(Asked(i, action, side, str(n), moment(step.close_time)))
    author.stop()
    return asked


def _at(close: int) -> str:
    return f"{moment(close):%Y-%m-%dT%H:%M:%SZ}"


def backtest(
    cls: type[Strategy],
    candles: Iterable[Sequence[float]] | Mapping[str, Iterable[Sequence[float]]],
    *,
    timeframe: str | None = None,
    symbol: str = _SYMBOL,
    cash: float = 10_000.0,
    execution: Mapping[str, Any] | None = None,
    history: int = 0,
    seed: int = 1,
    inputs: Mapping[str, Iterable[tuple[int, int, float]]] | None = None,
    **params: Any,
) -> Backtest:
    """Runs a strategy in this process over candles as `play` takes them, or a mapping of them by
    symbol, and has ``lab`` match its orders. Execution options are those of a run, such as
    ``{"slippage_bps": 0}``. History is how many candles come before the window; without it the
    warm-up takes place on the first ones.

    The program is ``ASSAY_LAB``, else ``lab`` on the PATH: FileNotFoundError without it. An
    exception of the strategy is an AssertionError with its place and candle.
    """
    lab = os.environ.get("ASSAY_LAB") or shutil.which("lab")
    if not lab:
        raise FileNotFoundError(
            "a backtest needs lab, which matches its orders: put it on the PATH, or its file into "
            "ASSAY_LAB"
        )
    several = candles if isinstance(candles, Mapping) else {symbol: candles}
    tables, tf = {}, parse_timeframe(timeframe or "1h")
    for name, rows in several.items():
        tables[name], tf = _timed(rows, timeframe)
    columns = ("open", "high", "low", "close", "volume")
    request = {
        "params": params,
        "timeframe": str(tf),
        "cash": cash,
        "execution": dict(execution or {}),
        "history": history,
        "seed": seed,
        "symbols": [
            {"symbol": name, "time": rows.times}
            | dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
            for name, rows in tables.items()
        ],
        "inputs": [
            {
                "name": given.name,
                "max_age": given.max_age // timedelta(milliseconds=1),
                "time": [r[0] for r in rows],
                "known": [r[1] for r in rows],
                "value": [r[2] for r in rows],
            }
            for given in cls.inputs
            for rows in [list((inputs or {}).get(given.name, ()))]
        ],
    }
    with tempfile.TemporaryDirectory(prefix="assay-") as folder:
        Path(folder, "request.json").write_text(json.dumps(request))
        tap = _match(lab, cls, folder)
        done = json.loads(Path(folder, "result.json").read_bytes())
    return Backtest(
        orders=_named(done["orders"]),
        fills=_named(done["fills"]),
        trades=_named(done["trades"]),
        positions=_named(done["positions"]),
        equity=[
            (datetime.fromisoformat(t), e)
            for t, e in zip(done["time"] or (), done["equity"] or (), strict=True)
        ],
        final_value=Decimal(done["final_value"]),
        refused=done["refused"] or [],
        log=tap.log,
        published=tap.published,
        steps=done["steps"],
        bankrupt=done["bankrupt"],
        digest=done["digest"],
    )


_AMOUNTS = re.compile("quantity|price|fee|slippage|pnl|mae|mfe|value|stop_loss|take_profit")
_WHEN = re.compile("(^|_)(time|at)$")


def _named(rows: list[dict[str, Any]] | None) -> list[SimpleNamespace]:
    """Rows of the books: amounts as Decimal, times as datetime."""
    for fields in rows or ():
        for key, value in fields.items():
            if isinstance(value, str) and _WHEN.search(key):
                fields[key] = datetime.fromisoformat(value)
            elif isinstance(value, str) and _AMOUNTS.search(key):
                fields[key] = Decimal(value)
        for key in ("tag", "client_ref", "reason", "entry_tag", "exit_tag"):
            fields.setdefault(key, "")
    return [SimpleNamespace(**fields) for fields in rows or ()]


class _Tap(_Link):
    """The connection to lab. It keeps what the strategy says."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.log: list[str] = []
        self.published: dict[str, list[tuple[datetime, float]]] = {}
        self.failed: Any = None

    def close(self) -> None:
        with suppress(OSError):  # lab may be gone
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()

    def send(self, kind: int, *messages: Any) -> None:
        for m in messages:
            for line in m.log_lines.lines:
                fields = (f"{k}={line.fields[k]}" for k in line.order)
                self.log.append(" ".join((line.message, *fields)))
            for s in m.annotations.series:
                points = self.published.setdefault(s.name, [])
                points.extend(zip(map(moment, s.times), s.values, strict=True))
            if m.HasField("failed"):
                self.failed = m.failed
        super().send(kind, *messages)


def _match(lab: str, cls: type[Strategy], folder: str) -> _Tap:
    """Answers lab, which plays the request of a folder, until it has no more steps."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(os.path.join(folder, "strategy.sock"))
        listener.listen(1)
        listener.settimeout(0.1)
        process = subprocess.Popen(
            [lab, "sdk", "match", folder],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            sock = _accept(listener, process)
            tap = None
            if sock is not None:
                tap = _Tap(sock)
                if (first := tap.receive()) is not None:
                    _run(tap, cls, first[1])
                tap.close()
            _, said = process.communicate()
        finally:
            process.kill()
            process.wait()
    if tap is not None and tap.failed is not None:
        m = tap.failed
        if m.step < 0:
            raise ValueError(m.message)
        raise AssertionError(f"step {m.step}: {m.message}\n{m.stack}")
    if tap is None or process.returncode != 0:
        raise ValueError(f"lab sdk match: {said.strip()}")
    return tap


def _accept(listener: socket.socket, process: subprocess.Popen[str]) -> socket.socket | None:
    """The connection of a process; None when it ends without one."""
    while True:
        try:
            sock, _ = listener.accept()
        except TimeoutError:
            if process.poll() is not None:
                return None
            continue
        sock.settimeout(None)
        return sock


def conformance(cls: type[Strategy], **params: Any) -> None:
    """Checks what the host relies on: a valid description, defaults that the parameters
    accept, no exception, the same orders for the same candles whatever the hash seed, and
    no look at a candle that is not there yet."""
    described = spec(cls)
    assert described.description, f"{cls.__name__} needs a docstring: it is the description"
    json.loads(described.params_schema)
    _, _, failed = build(cls, defaults(collect(cls)))
    assert failed is None, failed.message

    rows, tf = walk(), _suitable(cls)
    for position in (0.0, 1.0):
        first = play(cls, rows, timeframe=tf, position=position, **params)
        again = play(cls, rows, timeframe=tf, position=position, **params)
        _same("two plays of the same candles ask for different orders", first, again)
        half = len(rows) // 2
        prefix = play(cls, rows[:half], timeframe=tf, position=position, **params)
        early = [a for a in first if a.step < half]
        _same("orders depend on candles that come later", prefix, early)
    _across_seeds(cls, tf, params)


def _suitable(cls: type[Strategy]) -> str:
    """A timeframe that the strategy takes."""
    names = cls.timeframes or ("1h", "15m", "5m", "1m", "1s")
    extra = [parse_timeframe(name) for name in cls.extra]
    for name in names:
        tf = parse_timeframe(name)
        if all(tf.same(e) or tf.divides(e) for e in extra):
            return name
    return names[0]


def _same(claim: str, one: list[Asked], other: list[Asked]) -> None:
    """Fails with the first difference between two lists and its candle."""
    for a, b in zip([*one, None], [*other, None], strict=False):
        if a != b:
            at = min((x for x in (a, b) if x is not None), key=lambda x: x.step)
            first, second = ((x.text.strip() if x else "nothing") for x in (a, b))
            raise AssertionError(
                f"{claim}: step {at.step}, candle closed at {at.time:%Y-%m-%dT%H:%M:%SZ}: "
                f"{first!r} and {second!r}"
            )


def _across_seeds(cls: type[Strategy], tf: str, params: dict[str, Any]) -> None:
    """Sets and dictionaries keyed by text are in another order under another hash seed."""
    script = (
        "import importlib, json, sys\n"
        "from assay.testing import play, walk\n"
        "module, name, tf, params = json.loads(sys.argv[1])\n"
        "cls = getattr(importlib.import_module(module), name)\n"
        "print(play(cls, walk(), timeframe=tf, **params))\n"
    )
    request = json.dumps([cls.__module__, cls.__qualname__, tf, params])
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
