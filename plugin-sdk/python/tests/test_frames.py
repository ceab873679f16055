import json
import math
from pathlib import Path

import pytest

from assay import Buy, CashFraction, Close, Intents, Strategy, View
from assay import strategy_pb2 as pb
from assay._drive import Author, Failure, build, ready, spec
from assay._frames import Frame, Row, timeframe
from assay.testing import conformance, play, walk

GOLDEN = json.loads((Path(__file__).parent / "golden" / "frames.json").read_text())


@pytest.mark.parametrize("case", GOLDEN, ids=lambda c: f"{c['larger']} of {c['base']}")
def test_larger_candles_are_those_of_go(case: dict) -> None:  # type: ignore[type-arg]
    frame = Frame(timeframe(case["base"]), timeframe(case["larger"]), 3)
    shown = []
    for i, c in enumerate(case["candles"]):
        row = Row(int(c[0]), int(c[1]), *c[2:])
        frame.advance(row.close_time, row if row.volume else None)
        if frame.closed:
            assert frame.newest is not None
            shown.append({"step": i, "candle": list(frame.newest)})
    assert shown == case["shown"]
    assert len(shown) > 3
    assert len(frame.past.last(9)) == 3


class Trend(Strategy):
    """Buys in the direction of the day."""

    extra = ("1d", "1h")

    def lookback(self) -> dict[str, int]:
        return {"": 5, "1d": 3}

    def on_candle(self, v: View) -> Intents:
        day = v.at("1d")
        if v.flat and day.close > day.close_ago(2) and v.close > max(v.history(5).high[:-1]):
            return Buy(CashFraction(0.5))
        if v.long and day.closed and v.close < v.close_ago(4):
            return Close()
        return None


def test_a_strategy_with_a_day() -> None:
    conformance(Trend)
    assert list(spec(Trend).extra) == ["1d", "1h"]
    _, looked, failed = build(Trend, "{}")
    assert failed is None
    assert ready(looked) == pb.Ready(
        warmup_candles=5, lookback=[pb.Lookback(timeframe="1d", candles=3)]
    )
    assert play(Trend, walk(200))


def looking(look: object) -> Author:
    class Looks(Strategy):
        """Looks."""

        extra = ("4h", "1h")

        def lookback(self) -> dict[str, int]:
            return {"": 3, "4h": 2}

        def on_candle(self, v: View) -> Intents:
            look(v)  # type: ignore[operator]
            return None

    strategy, looked, _ = build(Looks, "{}")
    assert strategy is not None
    start = pb.Start(symbols=["A/B"], timeframe="1h", purpose=pb.PURPOSE_BACKTEST, root_seed="1")
    return Author(strategy, start, looked)


def steps(n: int) -> list[pb.Step]:
    made = []
    for i in range(n):
        step = pb.Step(index=i, close_time=(i + 1) * 3_600_000)
        step.candles.add(open_time=i * 3_600_000, open=i, high=i, low=i, close=i, volume=1)
        made.append(step)
    return made


def test_history() -> None:
    seen: list[tuple[int, list[float], list[float], float]] = []

    def look(v: View) -> None:
        h, four = v.history(3), v.at("4h")
        assert len(h) == min(v.index + 1, 3)
        assert h[-1] == v.candle
        assert h[-1:].close == [v.close]
        assert h.open_time == [c.open_time for c in h]
        assert v.close_ago(0) == v.close
        assert v.at("1h") is v
        assert v.timeframe == "1h"
        if v.index < 2:
            assert math.isnan(v.close_ago(2))
            assert math.isnan(four.close)
            assert math.isnan(four.candle.open)
        else:
            assert v.close_ago(2) == v.index - 2
        seen.append((v.index, h.close, four.history(2).open, four.volume))

    a = looking(look)
    for step in steps(9):
        a.decide(step)
    assert seen[8] == (8, [6, 7, 8], [0, 4], 4)
    assert seen[3] == (3, [1, 2, 3], [0], 4)
    assert seen[2][2] == []


@pytest.mark.parametrize(
    ("look", "message"),
    [
        (lambda v: v.history(4), r"history\(4\) of 1h is more than lookback\(\) asks for: 3"),
        (lambda v: v.close_ago(3), r"close_ago\(3\) is one of 4 candles of 1h, .* asks for 3"),
        (lambda v: v.close_ago(-1), r"close_ago\(-1\)"),
        (lambda v: v.at("4h").history(3), r"history\(3\) of 4h .* asks for: 2"),
        (lambda v: v.at("2h"), "extra does not list this timeframe, it has 4h, 1h"),
    ],
)
def test_more_than_lookback(look: object, message: str) -> None:
    with pytest.raises(Failure, match=message):
        looking(look).decide(steps(1)[0])


@pytest.mark.parametrize(
    ("extra", "lookback", "message"),
    [
        ((), {"1d": 1}, "lookback() names 1d, which extra does not list"),
        (("1d",), {"": -1}, "lookback() of '' is -1"),
        (("90m",), {}, "90m is no exact multiple of the run's timeframe 1h"),
        (("30m",), {}, "30m is no exact multiple of the run's timeframe 1h"),
        (("day",), {}, "'day' is not a timeframe"),
        (("1M",), {"1M": 200_000}, "200000 candles of 1M are more than 100000000 of 1h"),
    ],
)
def test_bad_lookback(extra: tuple[str, ...], lookback: dict[str, int], message: str) -> None:
    bad = type("Bad", (Strategy,), {"extra": extra, "lookback": lambda self: lookback})
    strategy, _, failed = build(bad, "{}")
    assert strategy is None
    assert failed.errors[0].message.startswith(message)
