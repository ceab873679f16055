"""Signals: what rows ask for, and what cannot be read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import assay
from assay import (
    At,
    Buy,
    Close,
    MoveStop,
    MoveTarget,
    Quantity,
    Sell,
    SignalError,
    Signals,
    SignalStrategy,
    Strategy,
)
from assay import strategy_pb2 as pb
from assay.signals import Rows, Table, columns, crossed_above, crossed_below
from assay.testing import conformance, play, walk

_YES = np.ones(4, bool)
_TIMES = np.arange(4, dtype=np.int64) * 3_600_000


class Breakout(SignalStrategy):
    """Buys new highs of five candles."""

    candles = "numpy"

    def signals(self, c: Any) -> Signals:
        high = np.full(len(c), np.inf)
        for i in range(5, len(c)):
            high[i] = c.high[i - 5 : i].max()
        return Signals(entry=c.close > high, exit=c.close < c.open * 0.99, stop_loss=0.05)


def _asked(**given: Any) -> list[str]:
    found = Table(Signals(**given), _TIMES).intents(3)
    return [f"{i.action} {i.side} {','.join(i.guard.position if i.guard else ())}" for i in found]


def test_rows() -> None:
    assert _asked(entry=_YES) == ["submit buy flat"]
    assert _asked(exit=_YES) == ["close buy long"]
    assert _asked(entry_short=True, exit_short=False) == ["submit sell flat"]
    assert _asked(entry=_YES, exit_short=_YES) == ["close buy short", "submit buy flat,short"]
    assert _asked(entry_short=_YES, exit=_YES) == ["close buy long", "submit sell flat,long"]
    assert _asked(entry=_YES, exit=_YES) == ["close buy long"]
    assert _asked(entry=_YES, entry_short=_YES) == []
    assert _asked() == []


def test_max_open_is_of_entries() -> None:
    found = Table(Signals(entry=_YES, exit_short=_YES, max_open=2), _TIMES).intents(0)
    assert [i.guard.max_open for i in found if i.guard] == [0, 2]
    assert _asked(entry=_YES, max_open=0) == ["submit buy flat"]
    for wrong in (-1, 1.5, "2", None):
        with pytest.raises(SignalError, match=r"the column max_open at test_signals.py:\d+ is"):
            _asked(entry=_YES, max_open=wrong)


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    rows = Rows()
    for i, row in enumerate(walk(60)):
        rows.add(i * 3_600_000, *row)

    class Polars(SignalStrategy):
        """Crosses."""

        candles = "polars"
        holes = False

        def signals(self, c: Any) -> Signals:
            assert c["time"].dtype == pl.Datetime("ms", "UTC")
            f, s = c["close"].rolling_mean(3), c["close"].rolling_mean(9)
            entry = f > s if self.holes else crossed_above(f, s)
            return Signals(entry=entry, exit=(f < s).fill_null(False), stop_loss=0.05)

    table = rows.table(Polars())
    close = rows.candles("numpy").close
    f, s = (np.convolve(close, np.ones(n) / n)[: close.size] for n in (3, 9))
    assert table.entries[9:].tolist() == crossed_above(f, s)[9:].tolist()
    assert table.entries.any()
    Polars.holes = True
    with pytest.raises(SignalError, match="entry"):
        rows.table(Polars())


def test_values() -> None:
    column = np.array([1.0, 2.0, 3.0, 4.0])
    said = Signals(
        entry=_YES,
        size=Quantity(column),
        limit=column * 10,
        expire_after=[1, 2, 3, 4],
        stop_loss=At(column * 9),
        take_profit=0.1,
        tag=list("abcd"),
    )
    want = Buy(Quantity(4.0)).when("flat").limit(40.0).expire_after(4)
    want = want.stop_loss(At(36.0)).take_profit(assay.Percent(0.1)).tag("d")
    assert Table(said, _TIMES).intents(3) == [want]


def test_moves() -> None:
    stops = np.array([np.nan, 2.0, 3.0, 4.0])
    said = Signals(
        entry=_YES, stop_loss=0.1, take_profit=At(9.0), move_stop=stops, move_target_short=7
    )
    table = Table(said, _TIMES)
    short = MoveTarget(7.0).when("short")
    assert [i for i in table.intents(0) if i.action == "set_leg"] == [short]
    assert [i for i in table.intents(3) if i.action == "set_leg"] == [
        MoveStop(4.0).when("long"),
        short,
    ]
    rose = Table(Signals(entry=_YES, exit=_YES, stop_loss=0.1, move_stop=stops), _TIMES)
    assert [i.action for i in rose.intents(3)] == ["close", "set_leg"]


def test_columns_are_the_rows() -> None:
    said = Signals(
        entry=[True, False, True, True],
        exit=_YES,
        entry_short=[False, True, True, False],
        stop_loss=At(1.0),
        move_stop=1.0,
    )
    table = Table(said, _TIMES)
    steps = np.array([-1, 5, 6, 8])
    message = assay._drive.Author(Strategy(), pb.Start(symbols=["A/B"]))._message
    (m,) = columns(pb, [("A/B", table, steps)], lambda n: message(0, n))
    at = np.frombuffer(m.steps, "<i8")
    got = [(s, m.templates[k]) for s, k in zip(at, m.template, strict=True)]
    want = [(steps[r], message(0, n.on("A/B"))) for r in range(1, 4) for n in table.intents(r)]
    assert got == want
    assert m.last


@pytest.mark.parametrize(
    ("given", "want"),
    [
        ({"entry": [1, 0, 1, 0]}, "entry at test_signals.py:[0-9]+ has the type int64, .* bool"),
        ({"exit": np.array([None, True, True, True])}, "exit .* object, .*fill_value=False"),
        ({"entry": _YES[1:]}, "entry .* has 3 values for 4 candles: .*dropna"),
        (
            {"entry": _YES, "limit": np.array([1, np.nan, 1, 1])},
            r"limit .* row 1 \(1970-01-01T01:00",
        ),
        ({"entry": _YES, "limit": np.array(["a"] * 4)}, "limit .* it must be numbers"),
        ({"entry": _YES, "expire_after": 3}, "expire_after .* only for limit orders"),
        ({"entry": _YES, "limit": 1.0, "expire_after": 0}, "expire_after .* whole number"),
        ({"entry": _YES, "size": 3}, "size .* must be a size such as AllCash"),
        ({"entry": _YES, "size": assay.WholePosition}, "size .* is a position"),
        ({"entry": _YES, "stop_loss": assay.Level()}, "stop_loss .* one level"),
        ({"entry": _YES, "move_stop": 9.0}, "move_stop .* no leg to move: set stop_loss"),
        (
            {"stop_loss": assay.TrailingPercent(0.1), "move_stop": 9.0},
            "move_stop .* moves by itself",
        ),
        ({"take_profit": 0.1, "move_target": ["a"] * 4}, "move_target .* it must be numbers"),
        (
            {"take_profit": 0.1, "move_target_short": [np.nan, np.inf, 1, 1]},
            r"move_target_short .* row 1 \(1970-01-01T01:00.* is not finite",
        ),
        ({"entry": _YES, "tag": ["a"]}, "tag .* has 1 values for 4"),
        ({"entry": _YES, "tag": ["a", 1, "b", "c"]}, r"tag .* row 1 \(.* is int, not text"),
    ],
)
def test_bad_columns(given: dict[str, Any], want: str) -> None:
    with pytest.raises(SignalError, match=want):
        Table(Signals(**given), _TIMES)


def test_many_symbols_have_messages_of_their_own() -> None:
    n = 40
    row, times = np.arange(n), np.arange(n, dtype="int64") * 3_600_000
    names = [f"S{s}/B" for s in range(60)]
    message = assay._drive.Author(Strategy(), pb.Start(symbols=names))._message
    found, want = [], []
    for s, name in enumerate(names):
        enter, leave = row % 3 == s % 3, row % 7 == s % 7
        said = Signals(
            entry=enter,
            exit=leave,
            entry_short=leave,
            exit_short=enter,
            stop_loss=At(1.0),
            move_stop=np.where(row % 2 == 1, 5.0, np.nan),
        )
        table = Table(said, times)
        found.append((name, table, row))
        want += [
            (r, s, i, message(0, n.on(name)))
            for r in range(40)
            for i, n in enumerate(table.intents(r))
        ]
    messages = columns(pb, found, lambda n: message(0, n))
    assert len({(k.symbol, k.SerializeToString()) for m in messages for k in m.templates}) > 256
    assert max(len(m.templates) for m in messages) <= 256
    assert [m.last for m in messages] == [False] * (len(messages) - 1) + [True]
    got = []
    for m in messages:
        at = np.frombuffer(m.steps, "<i8")
        got += [(int(r), m.templates[k]) for r, k in zip(at, m.template, strict=True)]
    want.sort(key=lambda w: w[:3])
    assert [g[0] for g in got] == [w[0] for w in want]
    for (_, a), (*_, b) in zip(got, want, strict=True):
        assert (a.symbol, a.action, a.side) == (b.symbol, b.action, b.side)


def test_holes_without_an_entry_do_not_matter() -> None:
    Table(Signals(entry=[False, True, True, True], limit=[np.nan, 1, 1, 1]), _TIMES)


def test_crossed() -> None:
    a, b = np.array([np.nan, 1, 3, 3, 1]), np.array([2.0, 2, 2, 3, 2])
    assert list(crossed_above(a, b)) == [False, False, True, False, False]
    assert list(crossed_below(a, b)) == [False, False, False, False, True]
    assert list(crossed_above(a, 2)) == [False, False, True, False, False]


def test_strategy() -> None:
    conformance(Breakout)
    assert len({a.step for a in play(Breakout, walk(200))}) > 10
    assert assay._drive.spec(Breakout).signals


def test_never_called() -> None:
    with pytest.raises(TypeError, match=r"Bad\.on_fill is never called"):
        type("Bad", (SignalStrategy,), {"on_fill": lambda *_: None})
    with pytest.raises(TypeError, match="no extra"):
        type("Bad", (SignalStrategy,), {"extra": ("1d",)})


def test_candles_cannot_be_written() -> None:
    rows = Rows(1)
    for i in range(3):
        rows.add(i, 1.0, 2.0, 0.5, 1.5, 9.0)
    with pytest.raises(ValueError, match="read-only"):
        rows.candles("numpy").close[0] = 3.0
    assert len(rows.candles("numpy")) == 3


def test_guards() -> None:
    n = Sell(Quantity(1)).when("flat", "long").max_entries(2).max_open(3).even_while_working()
    assert n.guard == assay.intents.Guard(("flat", "long"), True, 2, 3)
    message = assay._drive.Author(Strategy(), pb.Start(symbols=["A/B"]))._message(0, n)
    assert (message.guard.position, message.guard.max_entries, message.guard.max_open) == (3, 2, 3)
    with pytest.raises(assay._drive.Failure, match="flat, long or short"):
        assay._drive.Author(Strategy(), pb.Start(symbols=["A/B"]))._message(0, Close().when("x"))  # type: ignore[arg-type]
