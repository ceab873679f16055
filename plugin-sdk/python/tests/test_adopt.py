import math
import random
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from assay import Strategy
from assay import strategy_pb2 as pb
from assay._advance import Player
from assay._drive import Author, Failure, build
from assay.adopt import LookedAhead, Unsupported
from assay.adopt.backtesting import adopt
from assay.adopt.backtesting.lib import barssince, cross, crossover, quantile
from assay.testing import play, walk

HEAD = """
import numpy as np
from backtesting import Backtest, Strategy
from backtesting.lib import crossover
from backtesting.test import GOOG

def mean(values, n):
    out = np.full(len(values), np.nan)
    if len(values) >= n:
        out[n - 1 :] = np.convolve(values, np.ones(n) / n, "valid")
    return out

"""

CROSS = """class Cross(Strategy):
    fast = 2
    slow = 4
    share = 0.5
    _hidden = 3

    def init(self):
        self.f = self.I(mean, self.data.Close, self.fast)
        self.s = self.I(mean, self.data.Close, self.slow)
        self.both = [self.f, self.s]
        self.calls = 0

    def next(self):
        self.calls += 1
        if crossover(self.f, self.s):
            self.buy(size=self.share)
        elif crossover(self.s, self.f):
            self.position.close()

bt = Backtest(GOOG, Cross, cash=1)
raise RuntimeError("what tests the strategy is not run")
"""


def adopted(tmp_path: Path, body: str, cls: str = "", **options: Any) -> type[Strategy]:
    path = tmp_path / "theirs.py"
    path.write_text(HEAD + body)
    return adopt(str(path), cls, name="theirs", **options)


def rows(closes: Iterable[float]) -> list[tuple[float, ...]]:
    return [(c, c + 1, c - 1, c, 1.0) for c in closes]


def next_class(body: str) -> str:
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return f"class Mine(Strategy):\n    def next(self):\n{lines}\n"


class Run:
    """Drives an adopted strategy with steps made by hand."""

    def __init__(self, cls: type[Strategy]) -> None:
        strategy, looked, failed = build(cls, "{}")
        assert strategy is not None, failed
        self.strategy: Any = strategy
        start = pb.Start(
            symbols=["A/B"], timeframe="1h", purpose=pb.PURPOSE_BACKTEST, root_seed="1"
        )
        self.author = Author(strategy, start, looked)
        self.index = 0

    def step(self, close: float, *fills: dict[str, Any], warmup: bool = False) -> list[Any]:
        return self.decide(rows([close])[0], *fills, warmup=warmup)

    def decide(
        self, row: tuple[float, ...], *fills: dict[str, Any], warmup: bool = False
    ) -> list[Any]:
        step = pb.Step(index=self.index, close_time=(self.index + 1) * 3_600_000, warmup=warmup)
        names = ("open", "high", "low", "close", "volume")
        step.candles.add(open_time=self.index * 3_600_000, **dict(zip(names, row, strict=True)))
        step.account.cash = step.account.equity = 1000
        for fill in fills:
            step.fills.add(**fill)
        self.index += 1
        return self.author.decide(step)


def advanced(cls: type[Strategy], candles: list[tuple[float, ...]], chunk: int = 300) -> list[str]:
    """What it asks for where it plays many steps by itself, with later candles at hand."""
    run = Run(cls)
    player = Player(run.author)
    out: list[str] = []
    hour = 3_600_000
    while run.index < len(candles):
        known, asked = player._first + len(player._times), run.index
        if known <= run.index:
            part = candles[known : known + chunk]
            times = [(known + i + 1) * hour for i in range(len(part))]
            m = pb.Candles(first_step=known, close_times=times)
            column = m.symbols.add(
                open_time=struct.pack(f"<{len(part)}q", *(t - hour for t in times))
            )
            for k, name in enumerate(("open", "high", "low", "close", "volume")):
                setattr(column, name, struct.pack(f"<{len(part)}d", *(row[k] for row in part)))
            player.take(m)
            known += len(part)
        script = pb.Script(last=known - 1)
        step = script.steps.add(index=asked, close_time=(asked + 1) * hour)
        step.account.cash = step.account.equity = 1000
        answer = player.play(script)
        out += [f"{answer.step} {i}" for i in answer.intents]
        run.index = answer.step + 1
    return out


def stepped(cls: type[Strategy], candles: list[tuple[float, ...]]) -> list[str]:
    """What it asks for step by step, with no later candle in the process."""
    run = Run(cls)
    return [f"{i} {n}" for i, row in enumerate(candles) for n in run.decide(row)]


def filled(tag: str, quantity: str, price: str, **more: Any) -> dict[str, Any]:
    return {"tag": tag, "quantity": quantity, "price": price, "fee": "1", "order_id": 7, **more}


def test_it_decides_by_what_was(tmp_path: Path) -> None:
    cls = adopted(tmp_path, CROSS)
    asked = play(cls, walk(60))
    assert asked
    assert [a for a in asked if a.step < 40] == play(cls, walk(60)[:40])
    strategy, _, failed = build(cls, '{"fast":3}')
    assert strategy is not None, failed
    assert [f.name for f in cls._fields] == ["fast", "slow", "share"]


def test_indicators_grow_and_next_begins_after_them(tmp_path: Path) -> None:
    cls = adopted(tmp_path, CROSS)
    closes = [10, 9, 8, 7, 6, 10, 12, 8, 4, 2]
    asked = play(cls, rows(closes))
    # The averages have values from candle 3 on; the fast one is above at candle 5.
    assert [(a.step, a.action, a.side) for a in asked] == [(5, "submit", "buy")]
    run = Run(cls)
    for close in closes:
        run.step(close)
    theirs = run.strategy._strategy
    assert theirs.calls == 6
    assert len(theirs.f) == len(theirs.data) == len(theirs.both[1]) == len(closes)
    assert math.isclose(theirs.f[-1], 3)
    assert math.isclose(float(theirs.s), 6.5)
    assert not theirs.f.flags.writeable


def test_warm_up_candles_are_data(tmp_path: Path) -> None:
    run = Run(adopted(tmp_path, CROSS, warmup=5))
    assert run.strategy.warmup() == 5
    for close in (5, 4, 3, 2, 1):
        assert run.step(close, warmup=True) == []
    assert [n.side for n in run.step(9)] == [0]


def test_orders(tmp_path: Path) -> None:
    run = Run(adopted(tmp_path, next_class("self.buy(size=2, limit=9, stop=9.5, sl=8, tp=12)")))
    assert run.step(10) == []  # next begins with the second candle
    (n,) = run.step(10)
    assert (n.quantity, n.limit_price, n.stop_price) == ("2", "9", "9.5")
    assert (n.stop_loss.price, n.take_profit.price, n.tag) == ("8", "12", "#1")
    run = Run(adopted(tmp_path, next_class("self.sell(tag='x')")))
    run.step(10)
    (n,) = run.step(10)
    assert n.side == 1
    assert n.tag == "x #1"
    assert float(n.cash_fraction) == 1 - 2**-52


def test_trades_and_legs(tmp_path: Path) -> None:
    body = "if not self.trades: self.buy(size=4, sl=8)\nself.seen = self.trades"
    run = Run(adopted(tmp_path, next_class(body)))
    run.step(10)
    run.step(10)
    run.step(11, filled("#1", "4", "10"))
    theirs = run.strategy._strategy
    (trade,) = theirs.trades
    assert (trade.size, trade.entry_price, trade.entry_bar, trade.sl) == (4, 10, 2, 8)
    assert (trade.pl, theirs.position.pl_pct, trade.value) == (4, 10, 44)
    assert [o.stop for o in theirs.orders if o.is_contingent] == [8]

    trade.tp = 13.0
    (n,) = run.step(12)
    assert (n.side, n.limit_price, n.quantity, n.reduce_only) == (1, "13", "4", True)
    run.step(13, filled(n.tag, "4", "13", side=1, order_id=8))
    (closed,) = theirs.closed_trades
    assert (closed.pl, closed.exit_bar, closed.exit_price) == (10, 4, 13)
    assert theirs.trades == ()


def test_exclusive_orders_close_first(tmp_path: Path) -> None:
    body = "self.buy(size=1) if self.data.Close[-1] > 10 else self.sell(size=1, limit=20)"
    run = Run(adopted(tmp_path, next_class(body), exclusive_orders=True))
    run.step(10)
    run.step(11)
    close, sell = run.step(9, filled("#1", "1", "11"))
    assert (close.action, sell.action, sell.side) == (3, 0, 1)


def test_parts_are_first_in_first_out(tmp_path: Path) -> None:
    body = "if len(self.data) < 4: self.buy(size=2)\nelse: self.sell(size=3)"
    run = Run(adopted(tmp_path, next_class(body)))
    run.step(10)
    run.step(10)
    run.step(10, filled("#1", "2", "10"))
    run.step(10, filled("#2", "2", "11"))
    run.step(10, filled("#3", "3", "12", side=1))
    theirs = run.strategy._strategy
    assert [(t.size, t.entry_price) for t in theirs.closed_trades] == [(2, 10), (1, 11)]
    assert [(t.size, t.entry_price) for t in theirs.trades] == [(1, 11)]
    assert math.isclose(sum(t._fee for t in theirs.closed_trades), 1 + 0.5 + 1)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("from backtesting.lib import TrailingStrategy", "backtesting.lib.TrailingStrategy"),
        ("from backtesting import Position", "Position"),
        ("GOOG.head()", "backtesting.test.GOOG.head"),
        ("pass", "theirs.py must have one strategy, has none"),
        (next_class("pass").replace("def next", "stop = 3\n    def next"), "Mine.stop"),
    ],
)
def test_what_a_file_cannot_have(tmp_path: Path, body: str, said: str) -> None:
    if "Position" in body:
        adopted(tmp_path, body + "\n" + next_class("pass"))  # it is a name of ours
        return
    with pytest.raises(Unsupported, match=said):
        adopted(tmp_path, body)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("self.buy(size=1.5)", "size must be a positive share"),
        ("self.buy(sl=11)", "Long orders require: SL"),
        ("self.sell(tp=11)", "Short orders require: TP"),
        ("self.buy(limit=float('nan'))", "limit must be a price above 0"),
        ("self.data.Signal", "data.Signal: a run has the columns"),
        ("self._broker", "Mine._broker, which is inside"),
    ],
)
def test_what_a_step_cannot_do(tmp_path: Path, body: str, said: str) -> None:
    run = Run(adopted(tmp_path, next_class(body)))
    run.step(10)
    with pytest.raises(Failure, match=said):
        run.step(10)


def test_candles_kept_outside_of_an_indicator_are_refused(tmp_path: Path) -> None:
    body = "class Mine(Strategy):\n    def init(self):\n        self.price = self.data.Close\n"
    run = Run(
        adopted(tmp_path, body + "        self.two = np.zeros(2)\n    def next(self): pass\n")
    )
    run.step(10)
    with pytest.raises(Failure, match="Mine.price keeps candles that init saw"):
        run.step(10)


def test_an_indicator_of_another_length_is_refused(tmp_path: Path) -> None:
    body = (
        "class Mine(Strategy):\n    def init(self):\n        self.x = self.I(lambda: [1, 2, 3])\n"
    )
    with pytest.raises(Failure, match="must have a value per candle, 1"):
        Run(adopted(tmp_path, body + "    def next(self): pass\n")).step(10)


def test_helpers() -> None:
    assert crossover([1, 2], [1.5, 1.5])
    assert not crossover([1, 2], [1, 1])
    assert not crossover([1], 2)
    assert cross([3, 1], 2)
    assert barssince([True, False, False]) == 2
    assert barssince([False]) == np.inf
    assert quantile(np.array([1, 2, 3, 2])) == 1 / 3
    assert quantile([2, math.nan, 3, 4], 0.5) == 3


def wandering(n: int) -> list[tuple[float, ...]]:
    rand, close = random.Random(3), 10.0
    closes = [close := close * (1 + rand.gauss(0, 0.02)) for _ in range(n)]
    return rows(closes)


AHEAD = """class Mine(Strategy):
    calls = 0

    def init(self):
        type(self).calls += 1
        self.f = self.I(mean, self.data.Close, 3)
        self.two = (self.I({line}, self.data.Close), self.f)

    def next(self):
        assert len(self.f) == len(self.data) == len(self.two[0].times)
        if crossover(self.two[0], self.f):
            self.buy(size=1)
"""


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("lambda x: mean(x, 9)", 10),  # 2 chunks of candles and 4, each checked
        ("lambda x: np.append(x[1:], np.nan)", 700),  # the next close
        ("lambda x: x - x.mean()", 700),
    ],
)
def test_init_is_called_once_for_many_candles(tmp_path: Path, line: str, calls: int) -> None:
    candles = wandering(700)
    cls = adopted(tmp_path, AHEAD.format(line=line))
    theirs: Any = cls._theirs  # type: ignore[attr-defined]
    asked = advanced(cls, candles)
    first, theirs.calls = theirs.calls, 0
    assert asked == stepped(cls, candles)
    assert theirs.calls == 700
    assert calls <= first <= calls + 15
    if calls < 700:
        assert asked
        theirs.calls = 0
        assert advanced(adopted(tmp_path, AHEAD.format(line=line), ahead=False), candles) == asked


def test_what_looks_ahead_later_is_refused(tmp_path: Path) -> None:
    line = "lambda x: np.append(x[1:], 0.0) if len(x) > 400 else mean(x, 9)"
    with pytest.raises(Failure, match=r"LookedAhead: Mine.two is another one at .*ahead=False"):
        advanced(adopted(tmp_path, AHEAD.format(line=line)), wandering(700))
    assert LookedAhead.__doc__
