"""The values are those of the Go SDK, bit for bit: golden/indicators.json is written by it."""

import json
import struct
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from assay import indicators
from assay._fed import HOW

GOLDEN = json.loads((Path(__file__).parent / "golden" / "indicators.json").read_text())


class Bar:
    def __init__(self, hour: int, row: list[float]) -> None:
        self.open_time = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(hours=hour)
        self.open, self.high, self.low, self.close, self.volume = row


def bits(x: float) -> str:
    return struct.pack(">d", x).hex()


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda c: c["name"])
def test_equals_go(case: dict[str, Any]) -> None:
    args = [timedelta(days=1) if a == "day" else a for a in case["args"]]
    line = getattr(indicators, case["name"].split("/")[0])(*args)
    parts = [line, *(getattr(line, p) for p in case["parts"])]
    got = []
    for i, row in enumerate(GOLDEN["candles"]):
        given = {"close": (row[3],), "pair": (row[3], row[0]), "candle": (Bar(i, row),)}
        line.add(*given[case["feed"]])
        got.append([bits(p.value) if p.ready else "" for p in parts])
    assert [p.count for p in parts] == case["counts"]
    assert got[-len(case["values"]) :] == case["values"]


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_periods_are_checked(n: object) -> None:
    with pytest.raises(ValueError, match="must be a whole number"):
        indicators.SMA(n)  # type: ignore[arg-type]


def test_unusable_values_leave_the_window() -> None:
    line = indicators.SMA(3)
    for x in (1.0, float("nan"), 2.0, 3.0):
        line.add(x)
    assert line.value != line.value
    line.add(4.0)
    assert line.value == 3.0


def test_crossings() -> None:
    line = indicators.Track()
    for x in (1.0, 3.0):
        line.add(x)
    assert line.crossed_above(2.0)
    assert not line.crossed_below(2.0)


def test_every_indicator_is_compared() -> None:
    compared = {case["name"].split("/")[0] for case in GOLDEN["cases"]}
    others = {"Bar", "FullBar", "Line", "Shape", "TimedBar", "Track"}
    assert compared == set(indicators.__all__) - others


BAD = (float("nan"), float("inf"), 1e300)


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda c: c["name"])
@pytest.mark.parametrize("bad", BAD)
def test_a_bad_candle_is_no_number(case: dict[str, Any], bad: float) -> None:
    args = [timedelta(days=1) if a == "day" else a for a in case["args"]]
    line = getattr(indicators, case["name"].split("/")[0])(*args)
    seen = []
    for i, row in enumerate(GOLDEN["candles"]):
        row = [bad] * 5 if i == 250 else row
        given = {"close": (row[3],), "pair": (row[3], row[0]), "candle": (Bar(i, row),)}
        line.add(*given[case["feed"]])
        seen.append(line.value)
    at = 264 if case["name"] == "Pivots/day" else 250  # levels are of the day before
    assert seen[at] != seen[at]
    assert all(x == x for x in seen[:at])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: indicators.LinearRegression(1), "from 2 to"),
        (lambda: indicators.Pattern("kicker"), "no shape 'kicker', only doji"),  # type: ignore[arg-type]
        (lambda: indicators.ParabolicSAR(0.3, 0.2), "at most limit"),
        (lambda: indicators.Keltner(20, 0), "ranges is 0"),
        (lambda: indicators.Quantile(5, 1.5), "must be 0 to 1"),
        (lambda: indicators.Ichimoku(9, 53, 52), "at most span"),
        (lambda: indicators.Pivots(timedelta(0)), "at least 1 ms"),
    ],
)
def test_arguments_are_checked(make: Callable[[], object], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        make()


def test_the_feeds_of_strategies_are_those_of_go() -> None:
    """What `Strategy.I` feeds, and the lines that it takes from the host."""
    for case in GOLDEN["cases"]:
        feed, parts = HOW[getattr(indicators, case["name"].split("/")[0])]
        assert {"price": "close", "timed": "candle"}.get(feed, feed) == case["feed"], case["name"]
        assert [p for p in parts if p != "_volume"] == case["parts"], case["name"]
    assert {c.__name__ for c in HOW} == set(indicators.__all__) - {
        *("Bar", "FullBar", "Line", "Shape", "TimedBar")
    }
