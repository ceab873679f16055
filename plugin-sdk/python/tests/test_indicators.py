"""The values are those of the Go SDK, bit for bit: golden/indicators.json is written by it."""

import json
import struct
from pathlib import Path
from typing import Any

import pytest

from assay import indicators

GOLDEN = json.loads((Path(__file__).parent / "golden" / "indicators.json").read_text())


class Bar:
    def __init__(self, row: list[float]) -> None:
        self.open, self.high, self.low, self.close, self.volume = row


def bits(x: float) -> str:
    return struct.pack(">d", x).hex()


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda c: c["name"])
def test_equals_go(case: dict[str, Any]) -> None:
    line = getattr(indicators, case["name"].split("/")[0])(*case["args"])
    parts = [line, *(getattr(line, p) for p in case["parts"])]
    whole = case["candles"]
    got = []
    for row in GOLDEN["candles"]:
        line.add(Bar(row) if whole else row[3])
        got.append([bits(p.value) if p.ready else "" for p in parts])
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
