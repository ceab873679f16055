import math
from datetime import timedelta

import pytest

from assay import Buy, CashFraction, Close, Input, Intents, Strategy, View
from assay import strategy_pb2 as pb
from assay._drive import Author, build, spec
from assay.testing import conformance, play, walk

START = 1_577_836_800_000
HOUR = 3_600_000


class Rate(Strategy):
    """Holds while the rate is positive."""

    inputs = (Input("rate", max_age=timedelta(days=2)),)

    def on_candle(self, v: View) -> Intents:
        rate = v.input("rate")
        if (
            rate.known is not None
            and int(rate.known.timestamp() * 1000) > START + (v.index + 1) * HOUR
        ):
            raise AssertionError("a value of the future")
        self.seen.append([r.value for r in rate.history(10)])
        if v.flat and rate.value > 0:
            return Buy(CashFraction(0.5))
        return Close() if not rate.value > 0 else None

    def start(self) -> None:
        self.seen = SEEN


SEEN: list[list[float]] = []


def test_values_show_when_they_are_known() -> None:
    rows = [
        (1, START, 1.0),  # before the first close
        (2, START + 3 * HOUR, 2.0),
        (3, START + 5 * HOUR + 1, 3.0),  # a millisecond after a close
        (2, START + 8 * HOUR - 1, 20.0),  # revised
        (3, START + 9 * HOUR, 30.0),
    ]
    SEEN.clear()
    play(Rate, walk(12), inputs={"rate": rows})
    want = [[1.0]] * 2 + [[1.0, 2.0]] * 3 + [[1.0, 2.0, 3.0]] * 2 + [[1.0, 20.0, 3.0]]
    assert want + [[1.0, 20.0, 30.0]] * 4 == SEEN


def test_description_and_bounds() -> None:
    conformance(Rate)
    assert list(spec(Rate).inputs) == [pb.Input(name="rate", max_age=172_800_000)]
    strategy, looked, _ = build(Rate, "{}")
    assert strategy is not None
    start = pb.Start(symbols=["A/B"], timeframe="1h", root_seed="1", inputs=["rate"])
    view = Author(strategy, start, looked).view.input("rate")
    assert math.isnan(view.value)
    assert view.known is None
    assert view.time is None
    with pytest.raises(ValueError, match="10000 are possible"):
        view.history(10_001)
    with pytest.raises(SystemExit, match="newer host"):
        Author(strategy, pb.Start(symbols=["A/B"], timeframe="1h"), looked)
    with pytest.raises(KeyError, match="does not list"):
        Author(strategy, start, looked).view.input("other")
    Rate.inputs, before = (Input("Rate"),), Rate.inputs
    with pytest.raises(ValueError, match="name of its own"):
        spec(Rate)
    Rate.inputs = before
