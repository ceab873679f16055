import json
from collections.abc import Sequence

import pytest

from assay import (
    OCO,
    AllCash,
    At,
    Buy,
    Cancel,
    Close,
    EquityFraction,
    Fill,
    Intent,
    Intents,
    InvalidParam,
    MoveStop,
    Param,
    Percent,
    Plot,
    PlotLevel,
    Quantity,
    Rejection,
    Replace,
    RiskFraction,
    Sell,
    Strategy,
    Target,
    View,
    WholePosition,
)
from assay import strategy_pb2 as pb
from assay._drive import Author, Failure, _plain, build, spec
from assay.indicators import SMA
from assay.random import Random
from assay.testing import conformance, play, walk


class Cross(Strategy):
    """Buys when a fast average crosses above a slow one."""

    fast: int = Param(3, ge=1, le=500, title="Fast average", search="log")
    slow: int = Param(8, ge=2, le=1000)
    mode: str = Param("close", choices=["close", "typical"])
    risk: float = Param(0.02, gt=0, lt=1, step=0.005, group="Money")
    on: bool = Param(True)

    def start(self) -> None:
        if self.fast >= self.slow:
            raise InvalidParam("fast", "must be below slow")
        self.f, self.s = SMA(self.fast), SMA(self.slow)

    def warmup(self) -> int:
        return self.slow

    def on_candle(self, v: View) -> Intents:
        self.f.add(v.close)
        self.s.add(v.close)
        if v.flat and self.f.crossed_above(self.s):
            return Buy(AllCash).stop_loss(Percent(0.05)).tag("up")
        if v.long and self.f.crossed_below(self.s):
            return Close()
        return None


def test_conformance() -> None:
    conformance(Cross)


def test_plots_reach_the_host() -> None:
    class Drawn(Cross):
        plots = (
            Plot("fast", title="Fast average", color="accent"),
            Plot("rsi", pane="RSI", levels=(PlotLevel("fast", "oversold"), PlotLevel(70))),
            Plot("low", kind="band", upper="high"),
        )

    assert not spec(Cross).plots
    assert list(spec(Drawn).plots) == [
        pb.Plot(series="fast", title="Fast average", kind="line", color="accent"),
        pb.Plot(
            series="rsi",
            pane="RSI",
            kind="line",
            levels=[pb.PlotLevel(param="fast", title="oversold"), pb.PlotLevel(value=70)],
        ),
        pb.Plot(series="low", kind="band", upper="high"),
    ]


def test_schema_is_that_of_the_go_sdk() -> None:
    schema = json.loads(spec(Cross).params_schema)
    assert schema["additionalProperties"] is False
    assert schema["properties"]["fast"] == {
        "type": "integer",
        "title": "Fast average",
        "default": 3,
        "minimum": 1,
        "maximum": 500,
        "x-ui": {"order": 1},
        "x-search": {"low": 1, "high": 500, "log": True},
    }
    assert schema["properties"]["mode"]["x-search"] == {"choices": ["close", "typical"]}
    assert schema["properties"]["risk"]["exclusiveMinimum"] == 0


@pytest.mark.parametrize(
    ("params", "pointer", "message"),
    [
        ('{"fast":0}', "/fast", "must be at least 1"),
        ('{"fast":1.5}', "/fast", "must be an integer"),
        ('{"fast":true}', "/fast", "must be an integer"),
        ('{"risk":1}', "/risk", "must be below 1"),
        ('{"mode":"open"}', "/mode", "must be one of close, typical"),
        ('{"extra":1}', "/extra", "is not a parameter of this strategy"),
        ('{"fast":9}', "/fast", "must be below slow"),
        ("[]", "", "must be a JSON object of parameters"),
        ("{", "", "must be a JSON object of parameters"),
    ],
)
def test_bad_parameters(params: str, pointer: str, message: str) -> None:
    strategy, _, failed = build(Cross, params)
    assert strategy is None
    assert failed.code == "INVALID_STRATEGY_PARAMS"
    assert failed.errors[0].pointer == pointer
    assert failed.errors[0].message.startswith(message)


def test_values_arrive() -> None:
    strategy, looked, _ = build(Cross, '{"fast":2,"slow":5}')
    assert strategy is not None
    assert (strategy.fast, looked.warmup) == (2, 5)  # type: ignore[attr-defined]


def test_a_bad_default_is_a_mistake_of_the_author() -> None:
    with pytest.raises(TypeError, match="must be at least 5"):

        class Bad(Strategy):
            n: int = Param(1, ge=5)


def author(cls: type[Strategy], symbols: Sequence[str] = ("A/B",)) -> Author:
    strategy, _, failed = build(cls, "{}")
    assert strategy is not None, failed
    return Author(strategy, pb.Start(symbols=symbols, purpose=pb.PURPOSE_BACKTEST, root_seed="1"))


def answering(answer: object) -> type[Strategy]:
    class Answers(Strategy):
        """Returns what the test wants."""

        def on_candle(self, v: View) -> Intents:
            return answer  # type: ignore[return-value]

    return Answers


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("buy", "return an order, a list of them or None"),
        ([1], "intent 0 is int, not an order"),
        (Buy(None), "has no size"),  # type: ignore[arg-type]
        (Cancel(""), "without a reference"),
        (Replace(""), "without a reference"),
        (Close("C/D"), "C/D is not part of this run"),
        ([Close()] * 10_001, "at most 10000 intents"),
    ],
)
def test_wrong_answers(answer: object, message: str) -> None:
    with pytest.raises(Failure, match=message):
        author(answering(answer)).decide(pb.Step(index=0, close_time=1))


def test_an_exception_names_place_and_candle() -> None:
    class Fails(Strategy):
        """Fails."""

        def on_candle(self, v: View) -> Intents:
            return {"y": None}["x"]

    with pytest.raises(Failure) as caught:
        author(Fails).decide(pb.Step(index=0, close_time=1_577_840_400_000))
    text = str(caught.value)
    assert "KeyError: 'x' at test_strategy.py:" in text
    assert "candle closed at 2020-01-01T01:00:00Z" in text
    assert "Traceback" in caught.value.stack


def test_orders_travel_whole() -> None:
    order = (
        Sell(Quantity(0.1)).limit(2.5).stop(3.0).expire_after(4).reduce_only().ref("r").tag("t")
    ).take_profit(Percent(0.1))
    [m] = author(answering(order)).decide(pb.Step(index=0, close_time=1))
    assert (m.side, m.type, m.quantity, m.limit_price, m.stop_price) == (1, 3, "0.1", "2.5", "3")
    assert (m.time_in_force, m.expire_after, m.reduce_only) == (1, 4, True)
    assert (m.client_ref, m.tag, m.take_profit.percent) == ("r", "t", "0.1")
    assert not m.post_only
    [m] = author(answering(Sell(Quantity(1)).limit(2).post_only())).decide(
        pb.Step(index=0, close_time=1)
    )
    assert m.post_only
    parted = Buy(Quantity(1)).take_part(0.25, Percent(0.1)).take_part(0.75, At(9.0))
    one, two = author(answering(OCO(parted, Buy(Quantity(1)).stop(5.0)))).decide(
        pb.Step(index=0, close_time=1)
    )
    assert [(t.share, t.level.percent, t.level.price) for t in one.targets] == [
        ("0.25", "0.1", ""),
        ("0.75", "", "9"),
    ]
    assert (one.oco, two.oco, two.stop_price) == (1, 2, "5")
    with pytest.raises(Failure, match="of OCO is to close"):
        author(answering(OCO(parted, Close()))).decide(pb.Step(index=0, close_time=1))
    [m] = author(answering(Sell(WholePosition))).decide(pb.Step(index=0, close_time=1))
    assert m.reduce_only
    assert m.WhichOneof("size") is None


@pytest.mark.parametrize(
    ("order", "what"),
    [
        (Buy(AllCash).limit(float("nan")), "intent 0, to submit: limit_price is nan"),
        (Buy(Quantity(float("inf"))), "quantity is inf"),
        (Buy(AllCash).stop_loss(Percent(float("nan"))), "stop_loss is nan"),
        (MoveStop(float("nan")), "to set_leg: stop_loss is nan"),
        (Buy(Quantity("3")), "quantity is '3', it must be a finite number"),
    ],
)
def test_numbers_are_finite(order: Intent, what: str) -> None:
    with pytest.raises(Failure, match=f"{what}.*, candle closed at 1970-01-01T00:00:00Z"):
        author(answering(order)).decide(pb.Step(index=0, close_time=1))


@pytest.mark.parametrize(
    ("x", "text"),
    [(1.0, "1"), (0.1, "0.1"), (1e22, "1" + "0" * 22), (1e-8, "0.00000001"), (-2.5, "-2.5")],
)
def test_numbers_are_plain(x: float, text: str) -> None:
    assert _plain(x) == text
    assert float(text) == x


def test_random_is_that_of_go() -> None:
    # rand.New(drive.Source(42, "strategy", 0)): Uint64, Float64, IntN(10), IntN(8).
    r = Random(42)
    golden = json.loads(
        (__import__("pathlib").Path(__file__).parent / "golden" / "random.json").read_text()
    )
    assert [str(r.uint64()) for _ in range(3)] == golden["uint64"]
    assert [r.random() for _ in range(3)] == golden["float64"]
    assert [r.integer(10) for _ in range(20)] == golden["int10"]
    assert [r.integer(8) for _ in range(5)] == golden["int8"]


def test_play_shows_orders() -> None:
    asked = play(Cross, walk(200))
    assert asked
    assert all(a.action == "submit" and a.side == "buy" for a in asked)


def test_log_lines_are_bounded() -> None:
    class Talks(Strategy):
        """Talks."""

        def on_candle(self, v: View) -> Intents:
            for i in range(5000):
                v.log("line", n=i)
            v.publish("x", float("nan"))
            v.publish("x", 1.0)
            return None

    a = author(Talks)
    a.decide(pb.Step(index=0, close_time=1))
    lines, points = a.notes.take()
    assert len(lines.log_lines.lines) == 4096
    assert lines.log_lines.dropped == 904
    assert list(points.annotations.series[0].values) == [1.0]


def test_series_are_of_a_symbol_or_of_the_run() -> None:
    class Publishes(Strategy):
        """Publishes."""

        def on_candle(self, v: View) -> Intents:
            v.publish("x", 1.0)
            for i, symbol in enumerate(v.symbols):
                assert v[symbol].symbol == symbol
                assert v[symbol].flat == v.flat
                v[symbol].publish("x", 2.0 + i)
            return None

    a = author(Publishes, symbols=["A/X", "B/X"])
    a.decide(pb.Step(index=0, close_time=1))
    [points] = a.notes.take()
    got = [(s.symbol, s.name, list(s.values)) for s in points.annotations.series]
    assert got == [("", "x", [1.0]), ("A/X", "x", [2.0]), ("B/X", "x", [3.0])]


def test_shares_of_the_equity_travel() -> None:
    [m] = author(answering(Buy(EquityFraction(0.5)))).decide(pb.Step(index=0, close_time=1))
    assert (m.WhichOneof("size"), m.equity_fraction) == ("equity_fraction", "0.5")
    [m] = author(answering(Buy(RiskFraction(0.01)).stop_loss(Percent(0.1)))).decide(
        pb.Step(index=0, close_time=1)
    )
    assert (m.WhichOneof("size"), m.risk_fraction) == ("risk_fraction", "0.01")
    for fraction, text in ((-0.5, "-0.5"), (0, "0")):
        [m] = author(answering(Target(fraction))).decide(pb.Step(index=0, close_time=1))
        assert (m.WhichOneof("size"), m.target_fraction) == ("target_fraction", text)


class Replies(Strategy):
    """Answers fills and rejections."""

    told: list[str]
    flood: int = 1

    def start(self) -> None:
        self.told = []

    def reply(self, what: str) -> Intents:
        self.told.append(what)
        return [Cancel(what)] * self.flood

    def on_fill(self, v: View, fill: Fill) -> Intents:
        return self.reply(f"fill of {fill.order_id}")

    def on_reject(self, v: View, rejection: Rejection) -> Intents:
        return self.reply(f"rejection of {rejection.order.id} {rejection.reason}")

    def on_candle(self, v: View) -> Intents:
        return Close()


def events() -> pb.Step:
    """The step of TestPartialFillsAndRejectionsInOrder of the Go SDK."""
    step = pb.Step(index=0, close_time=1)
    for order_id, status in ((1, 1), (2, 5), (1, 2), (3, 5), (1, 3), (4, 6)):
        step.orders.add(order_id=order_id, status=status, reason="venue")
    for order_id in (1, 1, 9):
        step.fills.add(order_id=order_id)
    return step


def test_fills_and_rejections_are_answered() -> None:
    strategy, _, _ = build(Replies, "{}")
    assert isinstance(strategy, Replies)
    a = Author(strategy, pb.Start(symbols=["A/B"], purpose=pb.PURPOSE_BACKTEST, root_seed="1"))
    said = a.decide(events())
    assert strategy.told == [
        "rejection of 2 venue",
        "fill of 1",
        "rejection of 3 venue",
        "fill of 1",
        "fill of 9",
    ]
    assert [m.ref for m in said] == [*strategy.told, ""]
    assert [m.action for m in said] == [1, 1, 1, 1, 1, 3]


def test_answers_to_fills_are_bounded() -> None:
    class Floods(Replies):
        """Answers too much."""

        flood = 21

    with pytest.raises(Failure, match="returned 105 intents at one step, at most 100"):
        author(Floods).decide(events())

    class Confused(Replies):
        """Returns no order."""

        def on_fill(self, v: View, fill: Fill) -> Intents:
            return 1  # type: ignore[return-value]

    with pytest.raises(Failure, match="on_fill returned int: return an order"):
        author(Confused).decide(events())


@pytest.mark.parametrize(
    "execution", ["", "{}", '{"quantity_step":"0.001"}', '{"quantity_step":0.001}']
)
def test_quantity_step(execution: str) -> None:
    strategy, looked, _ = build(Strategy, "{}")
    assert strategy is not None
    start = pb.Start(symbols=["BTC/USDT"], timeframe="1h", account=pb.Account(execution=execution))
    want = 0.001 if "0.001" in execution else 1e-8
    assert Author(strategy, start, looked).view.quantity_step == want
