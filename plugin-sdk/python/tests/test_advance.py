"""Holds scripts, played many steps at a time, equal to steps one by one."""

from __future__ import annotations

import contextlib
import random
import struct
from datetime import timedelta
from typing import Any

import pytest

from assay import AllCash, Buy, Fill, Input, Intents, Param, Strategy, View
from assay import strategy_pb2 as pb
from assay._advance import Player
from assay._drive import Author, Failure, build
from assay.indicators import SMA, Bollinger, Correlation, HeikinAshi, SessionVWAP
from assay.params import ParamError

START = 1_600_000_000_000
HOUR = 3_600_000
SYMBOLS = ["BTC/USDT", "ETH/USDT"]


class Watcher(Strategy):
    """Writes down all that it sees."""

    every: int = Param(7)
    talks: int = Param(3)
    min_symbols, max_symbols = 1, 2
    extra = ("1d",)

    def start(self) -> None:
        self.seen: list[Any] = []

    def lookback(self) -> dict[str, int]:
        return {"": 5, "1d": 2}

    def on_fill(self, v: View, fill: Fill) -> Intents:
        self.seen.append(("fill", v.index, fill.id))
        return Buy(AllCash) if fill.id % 5 == 0 else None

    def on_candle(self, v: View) -> Intents:
        for symbol in v.symbols:
            s = v[symbol]
            row = s.history(3).close if s.closed else []
            self.seen.append((v.index, v.time, v.warmup, str(s.candle), s.closed, row))
            self.seen.append((s.position, v.cash, v.equity, s.at("1d").closed, len(s.open_orders)))
        if v.index % self.talks == 0:
            v.log("seen", index=v.index)
            v.publish("close", v.close)
        if v.index == 300:
            raise ValueError("three hundred")
        if v.rand.random() < 1 / self.every:
            return [] if v.rand.random() < 0.3 else Buy(AllCash).tag(str(v.index))
        return None


def author(symbols: list[str], **params: Any) -> Author:
    strategy, looked, failed = build(Watcher, str(params).replace("'", '"'))
    assert strategy is not None, failed
    start = pb.Start(
        symbols=symbols, timeframe="1h", purpose=pb.PURPOSE_BACKTEST, root_seed="9", all_points=True
    )
    return Author(strategy, start, looked)


def world(rand: random.Random, symbols: list[str], n: int) -> list[Any]:
    """Steps as lockstep has them, with an account that changes now and then."""
    steps: list[Any] = []
    held: dict[int, list[float]] = {}
    closes = [1.0] * len(symbols)
    cash, fills = 1000.0, 0
    for index in range(n):
        step = pb.Step(index=index, close_time=START + (index + 1) * HOUR, warmup=index < 20)
        for s in range(len(symbols)):
            if len(symbols) > 1 and s != index % 2 and rand.random() < 0.3:
                continue
            closes[s] = rand.uniform(50, 150)
            row = dict(zip(("open", "high", "low", "close"), [closes[s]] * 4, strict=True))
            step.candles.add(symbol=s, open_time=START + index * HOUR, volume=index, **row)
            if s in held:
                held[s][1] += 1
        if rand.random() < 0.1:
            fills += 1
            step.fills.add(fill_id=fills, order_id=fills, symbol=0, quantity="1")
            step.orders.add(order_id=fills, status=rand.choice([1, 3]), quantity="1")
            cash = rand.uniform(0, 1000)
            s = rand.randrange(len(symbols))
            if held.pop(s, None) is None:
                held[s] = [rand.uniform(-2, 2), 0]
        value = 0.0
        for s in sorted(held):
            value += held[s][0] * closes[s]
            step.account.positions.add(
                symbol=s, quantity=held[s][0], entry_price=77.0, candles_held=int(held[s][1])
            )
        step.account.cash, step.account.equity = cash, cash + value
        steps.append(step)
    return steps


def chunk(steps: list[Any], symbols: int) -> Any:
    m = pb.Candles(first_step=steps[0].index, close_times=[s.close_time for s in steps])
    for s in range(symbols):
        found = {
            step.index - steps[0].index: c for step in steps for c in step.candles if c.symbol == s
        }
        bits = bytearray((len(steps) + 7) // 8)
        for i in found:
            bits[i // 8] |= 1 << i % 8
        column = m.symbols.add(present=bytes(bits) if len(found) < len(steps) else b"")
        column.open_time = struct.pack(f"<{len(found)}q", *(c.open_time for c in found.values()))
        for name in ("open", "high", "low", "close", "volume"):
            values = [getattr(c, name) for c in found.values()]
            setattr(column, name, struct.pack(f"<{len(values)}d", *values))
    return m


def script(steps: list[Any], first: int, last: int) -> Any:
    """What the host says of steps: those in which more comes than candles."""
    m = pb.Script(last=last)
    for s in steps[first : last + 1]:
        if s.index == first or s.fills or s.orders:
            told = m.steps.add()
            told.CopyFrom(s)
            del told.candles[:]
    return m


def by_steps(steps: list[Any], one: Author) -> list[str]:
    out: list[str] = []
    try:
        for s in steps:
            intents = one.decide(s)
            out += [f"{s.index} {i}" for i in intents]
    except Failure as e:
        out.append(f"{one.view.index} {e}")
    return out


def by_scripts(steps: list[Any], one: Author, rand: random.Random) -> list[str]:
    player = Player(one)
    player.warmup = 20
    out: list[str] = []
    sent = at = 0
    try:
        while at < len(steps):
            last = min(at + rand.randrange(1, 60), len(steps)) - 1
            while sent <= last:
                size = rand.randrange(1, 50)
                player.take(chunk(steps[sent : sent + size], len(one.views)))
                sent += size
            answer = player.play(script(steps, at, last))
            assert at <= answer.step <= last
            out += [f"{answer.step} {i}" for i in answer.intents]
            at = answer.step + 1
    except Failure as e:
        out.append(f"{one.view.index} {e}")
    return out


@pytest.mark.parametrize("symbols", [SYMBOLS[:1], SYMBOLS])
@pytest.mark.parametrize("seed", range(3))
def test_scripts_are_steps(symbols: list[str], seed: int) -> None:
    rand = random.Random(seed)
    steps = world(rand, symbols, 320)
    one, many = author(symbols, every=seed * 9 + 2), author(symbols, every=seed * 9 + 2)
    a, b = by_steps(steps, one), by_scripts(steps, many, rand)
    assert a == b
    assert b[-1].startswith("300 ValueError: three hundred at test_advance.py:")
    lines, points = one.notes.take()
    assert len(lines.log_lines.lines) == 101
    assert [lines, points] == many.notes.take()
    assert one.strategy.seen == many.strategy.seen  # type: ignore[attr-defined]


def test_a_script_is_left_to_send_notes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay._advance.PLAY_SECONDS", 600)
    steps = world(random.Random(1), SYMBOLS[:1], 200)
    one = author(SYMBOLS[:1], every=10**9, talks=1)
    player = Player(one)
    player.take(chunk(steps, 1))
    one.notes._max_points = 20
    monkeypatch.setattr("assay._drive.MAX_LINES", 60)
    quiet = script(steps[:100], 0, 99)
    del quiet.steps[1:]
    assert player.play(quiet).step == 60  # the line that was left out is told where it was
    lines, points = one.notes.take()
    assert (lines.log_lines.dropped, points.annotations.dropped) == (1, 41)  # points are counted


def test_lying_scripts_are_refused() -> None:
    steps = world(random.Random(1), SYMBOLS, 100)
    good = chunk(steps, 2)

    def refused(what: str, m: Any) -> None:
        player = Player(author(SYMBOLS))
        player.take(good)
        with pytest.raises(SystemExit, match=what):
            player.take(m) if isinstance(m, pb.Candles) else player.play(m)

    refused("candles come from step 0 on, 100 is the next", good)
    late = pb.Candles(first_step=100, close_times=[START])
    refused("ascend", late)
    refused("columns", pb.Candles(first_step=100, close_times=[START * 2]))
    empty = pb.Candles(first_step=100, close_times=[START * 2])
    empty.symbols.add()
    empty.symbols.add()
    refused("do not fit", empty)
    refused("begin with step 0", pb.Script(last=3))
    refused("begin with step 0", script(steps, 1, 3))
    refused("candles up to step 99", pb.Script(steps=[pb.Step(index=0)], last=100))
    refused("ends with 0", pb.Script(steps=[pb.Step(index=0), pb.Step(index=1)], last=0))
    refused("ascend", pb.Script(steps=[pb.Step(index=i) for i in (0, 2, 1)], last=9))


def test_fuzzed_messages_end_in_order() -> None:
    rand = random.Random(5)
    steps = world(rand, SYMBOLS, 60)
    good = [chunk(steps, 2).SerializeToString(), script(steps, 0, 59).SerializeToString()]
    for _ in range(300):
        raw = [bytearray(m) for m in good]
        for _ in range(rand.randrange(1, 4)):
            m = raw[rand.randrange(2)]
            m[rand.randrange(len(m))] = rand.randrange(256)
        try:
            candles, told = (
                pb.Candles.FromString(bytes(raw[0])),
                pb.Script.FromString(bytes(raw[1])),
            )
        except Exception:  # protobuf itself refuses it
            continue
        player = Player(author(SYMBOLS))
        try:
            player.take(candles)
            assert 0 <= player.play(told).step < 60
        except (SystemExit, Failure, IndexError, OverflowError, ValueError):
            continue


class Fed(Strategy):
    """Lets the SDK feed its indicators."""

    min_symbols, max_symbols = 1, 2
    inputs = (Input("mood"), Input("rate"))

    def start(self) -> None:
        self.seen: list[Any] = []
        self.average, self.band = self.I(SMA, 5), self.I(Bollinger, n=4, k=1.5)
        self.smooth, self.day = self.I(HeikinAshi), self.I(SessionVWAP, timedelta(days=1))
        self.both = self.I(Correlation, 3, of=("high", "volume"))

    def on_fill(self, v: View, fill: Fill) -> Intents:
        self.seen.append(self.average.value)
        return None

    def on_candle(self, v: View) -> Intents:
        lines = (self.average, self.band, self.band.upper, self.smooth, self.smooth.low, self.day)
        self.seen.append([(x.value, x.previous, x.count) for x in (*lines, self.both)])
        self.seen.append((self.smooth.bar, self.average.crossed_above(self.band.lower)))
        for name in ("mood", "rate"):
            known = v.input(name)
            self.seen.append((str(known.value), known.time, known.known, len(known.history(9))))
        return Buy(AllCash) if v.index % 37 == 0 else None


def fed(symbols: list[str]) -> Author:
    strategy, looked, failed = build(Fed, "{}")
    assert strategy is not None, failed
    purpose, names = pb.PURPOSE_BACKTEST, ["mood", "rate"]
    return Author(
        strategy, pb.Start(symbols=symbols, timeframe="1h", purpose=purpose, inputs=names), looked
    )


def packed(rows: list[tuple[int, int, float]], i: int) -> Any:
    m = pb.InputRows(input=i)
    if rows:
        times, known, values = zip(*rows, strict=True)
        m.time, m.known = (
            struct.pack(f"<{len(rows)}q", *times),
            struct.pack(f"<{len(rows)}q", *known),
        )
        m.value = struct.pack(f"<{len(rows)}d", *values)
    return m


def with_columns(m: Any, steps: list[Any], host: Author, skipped: int) -> Any:
    """Adds to a chunk what a host computes: all indicators but one, and inputs."""
    lines: list[Any] = [
        [(line, line.count, [], []) for line in f.lines] for i, f in enumerate(host.fed)
    ]
    for step in steps:
        quiet = pb.Step()
        quiet.CopyFrom(step)
        host.decide(quiet)
        for f, columns in zip(host.fed, lines, strict=True):
            if not all(v._closed for v in f.views):
                continue
            for k, (line, before, bits, values) in enumerate(columns):
                bits.append(line.count > before)
                values += [line.value] * (line.count > before)
                columns[k] = (line, line.count, bits, values)
    for i, columns in enumerate(lines):
        if i == skipped:
            continue
        sent = m.indicators.add(indicator=i)
        for _, _, bits, values in columns:
            raw = bytearray((len(bits) + 7) // 8)
            for k, bit in enumerate(bits):
                raw[k // 8] |= bit << k % 8
            full = all(bits)
            sent.lines.add(
                present=b"" if full else bytes(raw), values=struct.pack(f"<{len(values)}d", *values)
            )
    for i in range(2):
        rows = [r for s in steps for p in s.inputs if p.input == i for r in _rows_of(p)]
        m.inputs.append(packed(rows, i))
    return m


def _rows_of(p: Any) -> list[tuple[int, int, float]]:
    n = len(p.time) // 8
    times, known = struct.unpack(f"<{n}q", p.time), struct.unpack(f"<{n}q", p.known)
    return list(zip(times, known, struct.unpack(f"<{n}d", p.value), strict=True))


@pytest.mark.parametrize("symbols", [SYMBOLS[:1], SYMBOLS])
@pytest.mark.parametrize("skipped", [-1, 1])
def test_columns_are_streams(symbols: list[str], skipped: int) -> None:
    rand = random.Random(skipped + len(symbols))
    steps = world(rand, symbols, 200)
    for s in steps:
        for i in range(2):
            close = s.close_time
            rows = [
                (close - HOUR * k, close, rand.random()) for k in range(rand.choice([0, 0, 1, 3]))
            ]
            if rows:
                s.inputs.append(packed(rows, i))
    one, many, host = fed(symbols), fed(symbols), fed(symbols)
    asked = [str(f.message()) for f in one.fed]
    assert [pb.Indicator(name="SMA", args=[5], sources=[pb.Source(field=4)])] == [
        one.fed[0].message()
    ], asked
    a = by_steps(steps, one)
    player, at, sent, b = Player(many), 0, 0, []
    while at < len(steps):
        last = min(at + rand.randrange(1, 60), len(steps)) - 1
        while sent <= last:
            part = steps[sent : sent + rand.randrange(1, 50)]
            player.take(with_columns(chunk(part, len(symbols)), part, host, skipped))
            sent += len(part)
        told = script(steps, at, last)
        for s in told.steps:
            del s.inputs[:]
        answer = player.play(told)
        b += [f"{answer.step} {i}" for i in answer.intents]
        at = answer.step + 1
    assert a == b
    assert one.strategy.seen == many.strategy.seen  # type: ignore[attr-defined]


def test_what_feeds_itself_is_not_fed() -> None:
    one = fed(SYMBOLS)
    strategy: Any = one.strategy
    with pytest.raises(TypeError, match=r"SMA\.add\(\) is not for an indicator of self\.I"):
        strategy.average.add(1.0)
    with pytest.raises(TypeError, match="belongs into start"):
        strategy.I(SMA, 3)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda s: s.I(dict), "dict is none of them"),
        (lambda s: s.I(SMA, 0), "n is 0, must be a whole number"),
        (lambda s: s.I(SMA, 3, of="vwap"), "of='vwap' of self.I must be one of open, high"),
        (lambda s: s.I(Correlation, 3), "takes two series"),
        (lambda s: s.I(SMA, 3, on=(0, 1)), "takes one series"),
        (lambda s: s.I(HeikinAshi, of="close"), "takes whole candles"),
        (lambda s: s.I(SMA, 3, on=2), "the run has the symbols BTC/USDT: name one"),
        (lambda s: s.I(SMA, 3, on="XRP/USDT"), "on='XRP/USDT'"),
        (lambda s: [s.I(SMA, 3) for _ in range(65)], "64 indicators"),
    ],
)
def test_wrong_indicators_are_refused(make: Any, text: str) -> None:
    class Wrong(Strategy):
        """Wrong."""

        def start(self) -> None:
            make(self)

    strategy, looked, failed = build(Wrong, "{}")
    if strategy is None:
        assert text in failed.message
        return
    with pytest.raises(ParamError, match=text):
        Author(strategy, pb.Start(symbols=SYMBOLS[:1], timeframe="1h"), looked)


def test_wrong_columns_are_refused() -> None:
    steps = world(random.Random(1), SYMBOLS[:1], 20)
    good = with_columns(chunk(steps, 1), steps, fed(SYMBOLS[:1]), -1)

    def refused(change: Any) -> None:
        m = pb.Candles.FromString(good.SerializeToString())
        change(m)
        with pytest.raises(SystemExit, match="do not fit"):
            Player(fed(SYMBOLS[:1])).take(m)

    Player(fed(SYMBOLS[:1])).take(good)
    refused(lambda m: setattr(m.indicators[0], "indicator", 9))
    refused(lambda m: m.indicators[0].lines.add())
    refused(lambda m: setattr(m.indicators[0].lines[0], "values", b"12345678"))
    refused(lambda m: setattr(m.indicators[0].lines[0], "present", b"1"))
    refused(lambda m: m.inputs.add(input=7))
    rand = random.Random(3)
    for _ in range(200):
        raw = bytearray(good.SerializeToString())
        raw[rand.randrange(len(raw))] = rand.randrange(256)
        try:
            m = pb.Candles.FromString(bytes(raw))
        except Exception:  # protobuf itself refuses it
            continue
        with contextlib.suppress(SystemExit, OverflowError, ValueError):
            Player(fed(SYMBOLS[:1])).take(m)
