import importlib.util
import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from assay import Close, Strategy
from assay._drive import spec
from assay.adopt import Unsupported
from assay.adopt.freqtrade import adopt
from assay.params import collect
from assay.testing import play, walk
from test_adopt import Run, advanced, stepped, wandering

pd = pytest.importorskip("pandas")

HEAD = """
import freqtrade.vendor.qtpylib.indicators as qtpylib
from freqtrade.persistence import Trade
from freqtrade.strategy import *
from freqtrade.strategy import DecimalParameter, IntParameter, IStrategy, informative
from pandas import DataFrame
import pandas as pd


class Mine(IStrategy):
    timeframe = "1h"
    stoploss = -0.1
    minimal_roi = {"0": 0.1, "120": 0.05, "240": -1}

    def populate_indicators(self, dataframe: DataFrame, metadata: dict) -> DataFrame:
        return dataframe

    def populate_entry_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["close"] > 10, ["enter_long", "enter_tag"]] = (1, "high")
        return dataframe

    def populate_exit_trend(self, dataframe, metadata):
        dataframe.loc[dataframe["close"] < 9.5, "exit_long"] = 1
        return dataframe
"""


def adopted(tmp_path: Path, body: str = "", **options: Any) -> type[Strategy]:
    path = tmp_path / "theirs.py"
    path.write_text(HEAD + "\n".join(f"    {line}" for line in body.splitlines()) + "\n")
    return adopt(str(path), "Mine", name="theirs", **options)


def enter(run: Run) -> None:
    """Fills what a first candle asks to buy: 90 at 11, fee 0.1 %."""
    assert run.step(9) == []
    (n,) = run.step(11)
    assert (n.side, n.tag, n.stop_loss.percent) == (0, "high", "0.1")


def fill(**more: Any) -> dict[str, Any]:
    given = {"quantity": "90", "price": "11", "fee": "0.99", "order_id": 7, "position_after": "90"}
    return {**given, "time": 2 * 3_600_000, **more}


def test_an_entry_has_stop_and_roi(tmp_path: Path) -> None:
    run = Run(adopted(tmp_path))
    run.step(9)
    (n,) = run.step(11)
    assert float(n.quote_amount) == pytest.approx(1000 * 0.99 * 1.001)
    # The ROI is what is left after both fees.
    assert float(n.take_profit.percent) == pytest.approx(1.1 * 1.001 / 0.999 - 1)


def test_the_roi_follows_its_table(tmp_path: Path) -> None:
    run = Run(adopted(tmp_path))
    enter(run)
    stop, roi = run.step(11, fill())  # its legs are not in the account: it makes its own
    assert float(stop.stop_price) == pytest.approx(9.9)
    assert stop.reduce_only
    assert float(roi.limit_price) == pytest.approx(11 * 1.1 * 1.001 / 0.999)
    (moved,) = run.step(11)
    assert (moved.action, moved.ref) == (2, roi.client_ref)
    assert float(moved.limit_price) == pytest.approx(11 * 1.05 * 1.001 / 0.999)
    assert run.step(11) == []
    (n,) = run.step(11)
    assert (n.action, n.tag) == (3, "roi")


def test_an_exit_signal_closes(tmp_path: Path) -> None:
    run = Run(adopted(tmp_path))
    enter(run)
    run.step(11, fill())
    (n,) = run.step(9)
    assert (n.action, n.tag) == (3, "exit_signal")
    gone = run.step(9, fill(side=1, price="9", position_after="0", order_id=9, tag="exit_signal"))
    assert [n.action for n in gone] == [1, 1]
    (trade,) = sys.modules["freqtrade.persistence"].Trade.get_trades_proxy(is_open=False)
    assert trade.exit_reason == "exit_signal"
    assert trade.close_profit == pytest.approx(9 * 0.999 / (11 * 1.001) - 1)


def test_a_trailing_stop_comes_with_the_entry(tmp_path: Path) -> None:
    body = "trailing_stop = True\n"
    closer = "trailing_stop_positive = 0.02\ntrailing_stop_positive_offset = 0.15\n"
    only = "trailing_only_offset_is_reached = True\n"
    for text, want in {
        body: ("", "0.1", "", ""),
        body + closer: ("", "0.1", "0.02", "0.15"),
        body + closer + only: ("0.1", "", "0.02", "0.15"),
        body + closer.partition("\n")[2] + only: ("0.1", "", "0.1", "0.15"),
    }.items():
        run = Run(adopted(tmp_path, text))
        run.step(9)
        (n,) = run.step(11)
        stop = n.stop_loss
        said = (stop.percent, stop.trail_percent, stop.tighten_to, stop.tighten_after)
        assert said == want
        assert all(not n.stop_price for n in run.step(11, fill()))


def test_an_exit_turns_round_at_the_same_open(tmp_path: Path) -> None:
    body = """
can_short = True

def populate_entry_trend(self, dataframe, metadata):
    dataframe.loc[dataframe["close"] > 10, "enter_long"] = 1
    dataframe.loc[dataframe["close"] < 9.5, "enter_short"] = 1
    return dataframe
"""
    run = Run(adopted(tmp_path, body))
    run.step(9.8)
    run.step(11)
    run.step(11, fill())
    out, turned = run.step(9)
    assert (out.action, out.tag) == (3, "exit_signal")
    assert (turned.action, turned.side, turned.client_ref) == (0, 1, "fte3")
    left = fill(side=1, price="9", position_after="0", order_id=9, role=1, tag="exit_signal")
    short = fill(side=1, price="9", position_after="-90", order_id=10, role=0)
    run.step(9, left, short)
    was, now = sys.modules["freqtrade.persistence"].Trade.get_trades_proxy()
    assert (was.is_open, was.exit_reason) == (False, "exit_signal")
    assert (now.is_open, now.is_short, now.stop_loss) == (True, True, pytest.approx(9.9))


def test_callbacks(tmp_path: Path) -> None:
    body = """
use_custom_stoploss = True

def custom_stoploss(self, pair, trade, current_time, current_rate, current_profit, **kwargs):
    return stoploss_from_open(0.01, current_profit) if current_profit > 0.05 else None

def custom_exit(self, pair, trade, current_time, current_rate, current_profit, **kwargs):
    return "enough" if current_profit > 0.2 else None

def confirm_trade_entry(self, pair, order_type, amount, rate, time_in_force, current_time,
                        entry_tag, side, **kwargs):
    return current_time.hour != 1
"""
    run = Run(adopted(tmp_path, body))
    assert run.step(11) == []
    (n,) = run.step(11)
    assert n.side == 0
    run.step(11, fill())
    (stop, *_) = run.step(12)
    profit = 12 * 0.999 / (11 * 1.001) - 1
    assert float(stop.stop_price) == pytest.approx(12 * 1.01 / (1 + profit))
    (n,) = run.step(14)
    assert (n.action, n.tag) == (3, "enough")


def test_protections_lock(tmp_path: Path) -> None:
    body = "protections = [{'method': 'CooldownPeriod', 'stop_duration_candles': 2}]"
    run = Run(adopted(tmp_path, body))
    enter(run)
    run.step(11, fill())
    gone = fill(side=1, position_after="0", order_id=8, tag="stop", time=3 * 3_600_000)
    assert [n.action for n in run.step(11, gone)] == [1]
    # It ended in the candle of 03:00: two candles on, and the one that runs then.
    assert [len(run.step(11)) for _ in range(2)] == [0, 1]
    with pytest.raises(AssertionError, match="the protection Other"):
        play(adopted(tmp_path, "protections = [{'method': 'Other'}]"), walk(3))


def test_parameters(tmp_path: Path) -> None:
    body = """
period = IntParameter(2, 20, default=5, space="buy")
width = DecimalParameter(1.0, 3.0, default=2.04, decimals=1, space="sell", optimize=False)
kind = CategoricalParameter(["a", "b"], default="b")
flag = BooleanParameter(default=True)
buy_params = {"period": 7}
"""
    cls = adopted(tmp_path, body)
    fields = {f.name: f for f in cls._fields}
    assert {n: f.default for n, f in fields.items()} == {
        "period": 7,
        "width": 2.0,
        "kind": "b",
        "flag": True,
    }
    assert (fields["period"].search, fields["width"].search) == ((2, 20), "off")
    made = cls(period=9)
    made.start()
    assert made._strategy.period.value == 9  # type: ignore[attr-defined]
    assert list(made._strategy.period.range) == [9]  # type: ignore[attr-defined]
    assert len(collect(cls)) == 4


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def adjust_trade_position(self):\n    pass", "adjust_trade_position"),
        ("def leverage(self):\n    pass", "leverage"),
        ("position_adjustment_enable = True", "position_adjustment_enable"),
        ("timeframe = ''", "timeframe"),
    ],
)
def test_what_is_not_carried_over(tmp_path: Path, body: str, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        adopted(tmp_path, body)


def test_a_name_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "theirs.py"
    path.write_text("from freqtrade.optimize.space import Categorical\n")
    with pytest.raises((ImportError, Unsupported)):
        adopt(str(path), name="theirs")
    path.write_text("from freqtrade.strategy import Unknown\n")
    with pytest.raises(Unsupported, match="freqtrade.strategy.Unknown"):
        adopt(str(path), name="theirs")


def test_it_decides_by_what_was(tmp_path: Path) -> None:
    body = """
def populate_entry_trend(self, dataframe, metadata):
    up = qtpylib.crossed_above(dataframe["close"], dataframe["close"].rolling(5).mean())
    dataframe.loc[up, "enter_long"] = 1
    return dataframe
"""
    cls = adopted(tmp_path, body)
    asked = play(cls, walk(40))
    assert asked
    assert [a for a in asked if a.step < 30] == play(cls, walk(40)[:30])


def test_a_larger_timeframe_shows_when_it_closes(tmp_path: Path) -> None:
    from assay.adopt.freqtrade._strategy import merge_informative_pair

    hours = pd.date_range("2024-01-01", periods=10, freq="1h", tz="UTC")
    small = pd.DataFrame({"date": hours, "close": range(10)})
    large = pd.DataFrame({"date": hours[::4], "close": [100, 101, 102]})
    merged = merge_informative_pair(small, large, "1h", "4h")
    shown = merged["close_4h"].tolist()
    assert shown[3:] == [100.0] * 4 + [101.0] * 3
    assert all(x != x for x in shown[:3])


def test_the_inspector_knows_what_the_adapter_refuses() -> None:
    place = Path(__file__).parents[3] / "lab" / "python" / "adopt_freqtrade.py"
    if not place.exists():
        pytest.skip("it is not a checkout")
    from assay.adopt.freqtrade import _modules, _strategy, qtpylib

    text = place.read_text()
    spec = importlib.util.spec_from_loader("inspector", loader=None)
    assert spec is not None
    scope: dict[str, Any] = {}
    exec(text[: text.index("def strategies")], scope)
    assert scope["METHODS"] == _strategy.NOT_CARRIED
    names = scope["NAMES"]
    assert names["freqtrade.vendor.qtpylib.indicators"] == set(qtpylib.__all__)
    for module, holds in _modules.MODULES.items():
        if holds:
            assert names[module] == set(holds), module


def test_what_differs_is_declared(tmp_path: Path) -> None:
    body = """
minimal_roi = {"0": 0.1, "90": 0.05}
trailing_stop = True

def custom_exit(self, *args, **kwargs):
    return None
"""
    said = json.loads(spec(adopted(tmp_path, body, candles=300)).params_schema)["x-differs"]
    words = ("the newest 300 to 799 candles", "custom_exit", "a trailing stop", "(90)")
    assert [word in text for word, text in zip(words, said, strict=True)] == [True] * 4


def test_what_leaves_gives_its_place_to_other_pairs(tmp_path: Path) -> None:
    made: Any = adopted(tmp_path, max_open_trades=1)()
    made.start()

    def candle(pair: str, close: float) -> Any:
        return SimpleNamespace(close=close, high=close, low=close, open_orders=(), closed=True)

    class Pairs(dict[str, Any]):
        symbols = ("A/USD", "B/USD", "C/USD")
        time, index, cash, timeframe = datetime(2024, 1, 1, tzinfo=UTC), 0, 0.0, "1h"

    view = Pairs({pair: candle(pair, 10.0) for pair in Pairs.symbols})
    made._begin(view)
    book = made._book
    held = sys.modules["freqtrade.persistence"].Trade("B/USD", False, 0.001, None)
    held.amount, held.stake_amount, held.open_rate, held.stop_loss = 50.0, 500.0, 10.0, 9.0
    held.open_date_utc = view.time
    book._open["B/USD"] = held
    book.begin(view)
    enter = {"enter_long": 1}
    book.decide("A/USD", enter)
    assert book.take() == []
    book.decide("B/USD", {"exit_long": 1})
    book.decide("C/USD", enter)
    left, entered = book.take()
    assert isinstance(left, type(Close("B/USD")))
    assert list(book._entering) == ["C/USD"]
    assert book._stake(1) == pytest.approx(50 * 10 * 0.999 * 0.99)


AHEAD = """
calls = 0
def informative_pairs(self):
    return [(pair, "4h") for pair in self.dp.current_whitelist()]
def populate_indicators(self, dataframe, metadata):
    type(self).calls += 1
    larger = self.dp.get_pair_dataframe(metadata["pair"], "4h")
    larger["rising"] = larger["close"] > larger["close"].shift(1)
    dataframe["mean"] = dataframe["close"].ewm(span=9).mean()
    dataframe["next"] = {line}
    return merge_informative_pair(dataframe, larger, "1h", "4h")
def populate_entry_trend(self, dataframe, metadata):
    up = qtpylib.crossed_above(dataframe["close"], dataframe["mean"]) & (dataframe["next"] > 0)
    dataframe.loc[up & (dataframe["rising_4h"] == True), ["enter_long", "enter_tag"]] = (1, "up")
    return dataframe
def populate_exit_trend(self, dataframe, metadata):
    return dataframe
def custom_exit(self, pair, trade, current_time, current_rate, current_profit, **kwargs):
    frame, _ = self.dp.get_analyzed_dataframe(pair, self.timeframe)
    return "below" if frame["close"].iat[-1] < frame["mean"].iat[-1] else None
"""


@pytest.mark.parametrize(
    ("line", "calls"), [("1", 30), ('dataframe["close"].shift(-1)', 620), ("len(dataframe)", 620)]
)
def test_columns_are_made_once_for_many_candles(tmp_path: Path, line: str, calls: int) -> None:
    cls = adopted(tmp_path, AHEAD.format(line=line), candles=100)
    theirs: Any = cls._theirs  # type: ignore[attr-defined]
    candles = wandering(620)
    asked = advanced(cls, candles)
    first, theirs.calls = theirs.calls, 0
    assert len(asked) > 0 or "shift" in line
    assert asked == stepped(cls, candles)
    assert theirs.calls == 620
    assert 8 <= first <= calls + 15
    assert (calls == 30) == (first <= 45)


def test_the_newest_candle_is_the_last_of_an_analyzed_frame(tmp_path: Path) -> None:
    body = (
        AHEAD.format(line="1")
        + """
def bot_loop_start(self, current_time, **kwargs):
    frame, at = self.dp.get_analyzed_dataframe("A/B", "1h")
    if len(frame):
        assert frame["date"].iat[-1] + pd.Timedelta("1h") == at
        assert at == pd.Timestamp(current_time) - pd.Timedelta("1h")
"""
    )
    assert advanced(adopted(tmp_path, body), wandering(300))
