import os
import shutil
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from assay import AllCash, Buy, Close, Fill, Intents, Param, Percent, Strategy, View
from assay.testing import Candles, backtest, conformance, load, play, walk

ROWS = [(1.0, 3.0, 1.0, 2.0, 5.0), (2.0, 2.0, 1.0, 1.0, 0.0)]


class Turn(Strategy):
    """Buys and sells in turn."""

    every: int = Param(2, ge=1)
    fail: int = Param(-1)

    def on_fill(self, v: View, fill: Fill) -> None:
        v.log("filled", price=fill.price)

    def on_candle(self, v: View) -> Intents:
        if v.index == self.fail:
            raise ValueError("by design")
        v.publish("close", v.close)
        if v.index % self.every:
            return None
        return Buy(AllCash).stop_loss(Percent(0.5)).tag("in") if v.flat else Close()


class Daily(Strategy):
    """Reads days in a run of quarters of an hour."""

    timeframes = ("15m",)
    extra = ("1d",)

    def lookback(self) -> dict[str, int]:
        return {"1d": 1}

    def on_candle(self, v: View) -> Intents:
        return Buy(AllCash) if v.at("1d").closed and v.flat else None


@pytest.mark.parametrize(
    ("text", "timeframe"),
    [
        ("time,open,high,low,close,volume\n1704067200,1,3,1,2,5\n1704070800,2,2,1,1,0\n", "1h"),
        (
            "Close;vol;low;HIGH;x;open;<Date>\n2;5;1;3;x;1;2024-01-01\n1;0;1;2;x;2;2024-01-02\n",
            "1d",
        ),
        ("1704067200000,1,3,1,2,5\n1704070800000,2,2,1,1,0\n", "1h"),
        ("1704067200,1,3,1,2,5,9\n1704068100,2,2,1,1,0,9\n", "15m"),
        (
            "1704067200000000,1,3,1,2,5,1704067259999999,0,0,0,0,0\n"
            "1704067260000000,2,2,1,1,0,1704067319999999,0,0,0,0,0\n",
            "1m",
        ),
        ("date,open,high,low,close,volume\n2024-01-01,1,3,1,2,5\n2024-02-01,2,2,1,1,0\n", "1M"),
    ],
)
def test_load(tmp_path: Path, text: str, timeframe: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    candles = load(path)
    assert candles == ROWS
    assert candles.timeframe == timeframe
    assert candles.times[0] == 1704067200000


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "a.csv: has 0 candles"),
        ("a,b\n", "a.csv:1: the header has no column time"),
        ("0,1,2,3,1,5\n60,1,2,3,1,5\n", "a.csv:1: open 1.0, high 2.0, low 3.0"),
        ("0,1,3,1,2,5\n0,1,3,1,2,5\n", "a.csv:2: opens at 1970-01-01"),
        ("time,open,high,low,close\n2024-01-01 10:00,1,3,1,2\n", "has no offset"),
        ("0,1,3,1,2,5\n60,1,3,1,x,5\n", "a.csv:2: could not convert"),
    ],
)
def test_load_names_the_place(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=says):
        load(path)


def test_times_of_candles() -> None:
    candles = Candles(walk(3), [0, 900_000, 2_700_000], "15m")
    assert [a.time for a in play(Turn, candles)] == [
        datetime(1970, 1, 1, 0, 15, tzinfo=UTC),
        datetime(1970, 1, 1, 1, 0, tzinfo=UTC),
    ]
    months = play(Turn, walk(3), timeframe="1M")
    assert months[1].time == datetime(2020, 4, 1, tzinfo=UTC)
    with pytest.raises(AssertionError, match="step 1: .*closed at 2020-01-01T02:00:00Z"):
        play(Turn, walk(3), fail=1)
    conformance(Daily)


def test_differences_name_their_candle() -> None:
    class Leaks(Strategy):
        """Counts its runs."""

        runs = 0

        def start(self) -> None:
            Leaks.runs += 1

        def on_candle(self, v: View) -> Intents:
            return Buy(AllCash) if v.index == 3 + Leaks.runs else None

    with pytest.raises(AssertionError, match="different orders: step 5, candle closed at 2020-01-"):
        conformance(Leaks)


lab = pytest.mark.skipif(
    not (os.environ.get("ASSAY_LAB") or shutil.which("lab")), reason="needs lab"
)


@lab
def test_backtest() -> None:
    free = {"slippage_bps": 0, "fee_taker": 0}
    prices = [100, 100, 110, 121, 121]
    candles = [(p, p, p, p, 1.0) for p in map(float, prices)]
    r = backtest(Turn, candles, execution=free)
    (trade,) = r.trades
    assert (trade.entry_price, trade.exit_price, trade.entry_tag) == (100, 121, "in")
    assert trade.exit_time == datetime(2020, 1, 1, 3, tzinfo=UTC)
    assert r.final_value == Decimal(12_100)
    assert [o.status for o in r.orders] == ["filled", "canceled", "filled", "canceled"]
    assert r.log == ["filled price=100", "filled price=121"]
    assert len(r.published["close"]) == len(r.equity) == r.steps == 5
    assert backtest(Turn, candles, execution=free) == r


@lab
def test_backtest_fails_with_the_place() -> None:
    with pytest.raises(AssertionError, match=r"step 2: .*test_testing.py:\d+, candle closed at"):
        backtest(Turn, walk(9), fail=2)
    with pytest.raises(ValueError, match="slippage"):
        backtest(Turn, walk(9), execution={"slippage": 1})
    with pytest.raises(ValueError, match="every"):
        backtest(Turn, walk(9), every=0)


@lab
def test_backtest_of_several() -> None:
    r = backtest(Daily, walk(300), timeframe="15m", history=200)
    first = next(o for o in r.orders if o.reason != "warmup")
    assert first.created_at == datetime(2020, 1, 4, tzinfo=UTC)
    assert len(r.equity) == 100
    r = backtest(Turn, {"A/USDT": walk(5), "B/USDT": walk(5, 2)}, every=4)
    assert [o.symbol for o in r.fills] == ["A/USDT"]
    assert r.positions[0].symbol == "A/USDT"
