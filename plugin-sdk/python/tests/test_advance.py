"""Holds scripts, played many steps at a time, equal to steps one by one."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest

from assay import AllCash, Buy, Fill, Intents, Param, Strategy, View
from assay import strategy_pb2 as pb
from assay._advance import Player
from assay._drive import Author, Failure, build

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


def test_a_script_is_left_to_send_notes() -> None:
    steps = world(random.Random(1), SYMBOLS[:1], 200)
    one = author(SYMBOLS[:1], every=10**9, talks=1)
    player = Player(one)
    player.take(chunk(steps, 1))
    one.notes._max_points = 60
    quiet = script(steps[:100], 0, 99)
    del quiet.steps[1:]
    assert player.play(quiet).step == 60  # the point that was left out is told where it was


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
