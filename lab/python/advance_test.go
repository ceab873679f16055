package python_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
)

// drawn asks for orders of all kinds, drawn by its seed, and writes what it sees.
const drawn = `import random
from datetime import timedelta

from assay import (
    AllCash, Buy, Cancel, CancelAll, CashFraction, Close, EquityFraction, Input, MoveStop,
    MoveTarget, Param, Percent, Quantity, Replace, Sell, Strategy, Supports, Target, TrailingPercent,
)
from assay import indicators as I

PERIODS = "SMA EMA WMA DEMA TEMA HMA KAMA RSI ROC StdDev Highest Lowest Bollinger StochRSI ATR Donchian VWAP " \
    "WilliamsR CCI ADX Aroon SuperTrend Keltner MFI CMF LinearRegression ZScore"
OTHERS = "Track MACD Stochastic Ichimoku ParabolicSAR OBV SessionVWAP HeikinAshi Pivots"


class Drawn(Strategy):
    """Asks for orders of all kinds."""

    seed: int = Param(1)
    extra = ("1d",)
    inputs = (Input("mood"),)
    max_symbols = 2
    supports = Supports(short=True, multi_symbol=True)

    def start(self):
        lines = [self.I(getattr(I, name), 5 + self.seed % 9) for name in PERIODS.split()]
        lines += [self.I(getattr(I, name)) for name in OTHERS.split()]
        lines += [self.I(I.Quantile, 9, 0.3), self.I(I.RealizedVolatility, 9, 8760)]
        lines += [self.I(I.Beta, 9, of=("close", "volume")), self.I(I.Correlation, 9, of=("high", "low"))]
        lines += [self.I(I.SessionVWAP, timedelta(hours=6)), self.I(I.Pattern, "doji")]
        if self.seed % 2 == 0:
            lines += [self.I(I.SMA, 7, on=1, of="volume"), self.I(I.Correlation, 9, on=(0, 1))]
        parts = [getattr(x, s) for x in lines for c in type(x).__mro__
                 for s in getattr(c, "__slots__", ()) if s[0] != "_"]
        self.lines = lines + [p for p in parts if isinstance(p, I.Line)]
        self.draw = random.Random(self.seed)
        self.rate = self.draw.choice([0.005, 0.02, 0.1, 0.5])
        self.refs = 0

    def lookback(self):
        return {"": 30, "1d": 1}

    def on_fill(self, v, fill):
        if self.draw.random() < 0.2:
            order = Sell(Quantity(float(fill.quantity))).stop(v[fill.symbol].close * 0.97)
            return order.on(fill.symbol).reduce_only()

    def on_reject(self, v, rejection):
        v.log("rejected", "warn", reason=rejection.reason, id=rejection.order.id)

    def on_candle(self, v):
        d = self.draw
        if v.index % 50 == 0:
            v.log("state", held=v.position.candles_held, equity=v.equity, cash=v.cash,
                  orders=len(v.all_open_orders), stops=[o.stop_price for o in v.all_open_orders],
                  day=v.at("1d").close, past=v.history(3).close, mood=v.input("mood").history(3))
            v.log("lines", **{f"line{k}": [(x.value.hex(), x.previous, x.count) for x in self.lines[k:k + 8]]
                              for k in range(0, len(self.lines), 8)})
        v.publish("equity", v.equity)
        for s in v.symbols:
            v[s].publish("held", v[s].position.candles_held)
        if self.seed % 10 == 9 and v.index == 300:
            raise RuntimeError("three hundred")
        if d.random() > self.rate:
            return None
        return [self.order(v, v[d.choice(v.symbols)]) for _ in range(d.choice([1, 1, 2]))]

    def order(self, v, s):
        d = self.draw
        self.refs += 1
        side = d.choice([Buy, Buy, Sell])
        off = 1 - 0.02 * d.random() if side is Buy else 1 + 0.02 * d.random()
        size = d.choice([AllCash, CashFraction(0.3), EquityFraction(0.5), Quantity(0.01)])
        if side is Sell:
            size = d.choice([EquityFraction(0.5), Quantity(0.02)])
        kind = d.randrange(12)
        if kind == 11:
            return d.choice([MoveStop, MoveTarget])(s.close * off).on(s.symbol)
        if kind == 0:
            return Close().on(s.symbol)
        if kind == 1:
            return CancelAll().on(s.symbol) if d.random() < 0.5 else Cancel(f"r{self.refs - 2}")
        if kind == 2:
            return Target(d.choice([-0.5, 0, 0.4, 1])).on(s.symbol)
        if kind == 3:
            return Replace(f"r{self.refs - 1}").limit(s.close * off)
        order = side(size).on(s.symbol).ref(f"r{self.refs}").tag(f"t{kind}")
        if kind in (4, 5):
            order = order.limit(s.close * off)
        if kind == 6:
            order = order.stop(s.close / off)
        if kind == 7:
            order = order.trail_percent(0.01 + 0.03 * d.random())
        if kind in (5, 6) and d.random() < 0.5:
            order = order.expire_after(d.randrange(1, 30))
        if kind > 5:
            order = order.stop_loss(d.choice([Percent(0.02), TrailingPercent(0.03),
                                              Percent(0.04).tighten(0.01, 0.01)]))
            if d.random() < 0.5:
                order = order.take_profit(Percent(0.03))
        return order
`

// storeInput stores an input with a row for every third hour, which is revised a day later.
func storeInput(t *testing.T, l *run.Launcher, name string) {
	t.Helper()
	text := "time,known,value\n"
	for i := range int64(6000) {
		at := time.Date(2019, 12, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * 3 * time.Hour)
		for k, known := range []time.Time{at.Add(time.Hour), at.Add(24 * time.Hour)} {
			text += fmt.Sprintf("%s,%s,%.5f\n", at.Format(time.RFC3339), known.Format(time.RFC3339),
				float64(i/20*7%11-5+int64(k))/5000)
		}
	}
	if _, err := l.Store.Inputs().Import(t.Context(), candle.InputImport{Name: name,
		File: importer.Bytes("rows.csv", []byte(text))}); err != nil {
		t.Fatal(err)
	}
}

// differing names the first field of the results of two runs that differs, but how they were driven; "" if
// they are equal.
func differing(x, y *run.Execution) string {
	a, b := x.Results(), y.Results()
	for _, r := range []*artifact.Results{a, b} {
		r.Assumptions = slices.DeleteFunc(r.Assumptions, func(n artifact.Note) bool {
			return n.Code == "ADVANCE" || n.Code == "LOCKSTEP"
		})
	}
	left, right := reflect.ValueOf(*a), reflect.ValueOf(*b)
	for i := range left.NumField() {
		one, errOne := json.Marshal(left.Field(i).Interface())
		other, errOther := json.Marshal(right.Field(i).Interface())
		if errOne != nil || errOther != nil || string(one) != string(other) {
			return fmt.Sprintf("%s: %.2000s\nand %.2000s %v %v", left.Type().Field(i).Name, one, other, errOne,
				errOther)
		}
	}
	if x.Digest() != y.Digest() {
		return "ledger digest"
	}
	return ""
}

// TestAdvance: a strategy that plays many steps by itself leads to all that it leads to step by step.
func TestAdvance(t *testing.T) {
	ring.Slow(t, "it copies an interpreter and plays step by step")
	l := played(t, "drawn", "strategy:Drawn", drawn)
	storeInput(t, l, "mood")
	fills, failed, count := 0, 0, ring.Size(3, 100, 300)
	for i := range count {
		seed := i + 7
		p := playing{name: "drawn", seed: seed, to: "2020-03-01T00:00:00Z",
			split: run.Split{LogFile: run.MaxLogFile, Series: true}}
		if seed%2 == 0 {
			p.symbols, p.timeframe, p.to = []string{"BTC/USDT", "ETH/USDT"}, "1d", "2022-02-01T00:00:00Z"
		}
		p.split.DelayCandles, p.split.WorstPrice = max(0, seed%5-3)*2, seed%7 == 0
		x, o := p.play(t, l)
		p.split.Drive.Lockstep = true
		y, u := p.play(t, l)
		if what := differing(x, y); what != "" {
			t.Errorf("seed %d: %s", seed, what)
		}
		if (o.Failure == nil) != (u.Failure == nil) || o.Failure != nil &&
			!reflect.DeepEqual(o.Failure, u.Failure) {
			t.Errorf("seed %d fails with %+v, step by step with %+v", seed, o.Failure, u.Failure)
		}
		if o.Failure != nil {
			failed++
		}
		if s := fmt.Sprint(x.Results().Assumptions); !strings.Contains(s, "{ADVANCE ") {
			t.Errorf("seed %d: %s", seed, s)
		}
		fills += len(x.Results().Fills)
		x.Close()
		y.Close()
	}
	if fills < 10*count || failed < count/20 || failed > count/2 {
		t.Errorf("%d fills, %d failures in %d plays", fills, failed, count)
	}
}

// lying is a strategy that changes how its own process is driven: kind says how.
const lying = `import time

from assay import Param, Strategy, Supports
from assay import _advance, _drive, strategy_pb2 as pb

KIND = ""
honest = _advance.Player.play


def play(self, script):
    answer = honest(self, script)
    if self._next < 100:
        return answer
    if KIND == "beyond":
        answer.step = script.last + 1
    if KIND == "before":
        answer.step = script.steps[0].index - 1
    if KIND == "bad intent":
        answer.intents.add(side=7)
    if KIND == "crash":
        import os
        os._exit(3)
    if KIND == "hang":
        time.sleep(60)
    if KIND == "other":
        return None
    return answer


_advance.Player.play = play


class Lying(Strategy):
    """Lies."""

    kind: str = Param("")
    seed: int = Param(1)
    supports = Supports(short=True)

    def start(self):
        global KIND
        KIND = self.kind

    def on_candle(self, v):
        if self.kind == "points":
            for i in range(70):
                v.publish(f"p{i}", i)
            v.log("x" * 5000, a=v.index)
        return None
`

// TestAdvanceOfLiars: an answer that is none ends the run with a code, at the step that it is about.
func TestAdvanceOfLiars(t *testing.T) {
	ring.Proof(t, "it copies an interpreter, and one process is waited for")
	l := played(t, "lying", "strategy:Lying", lying)
	l.StepLimit = 3 * time.Second
	for kind, want := range map[string]string{
		"": "", "points": "", "beyond": "PLUGIN_PROTOCOL_ERROR step", "before": "PLUGIN_PROTOCOL_ERROR step",
		"bad intent": "PLUGIN_PROTOCOL_ERROR intents[0].side", "crash": "PLUGIN_CRASHED",
		"hang": "PLUGIN_TIMEOUT", "other": "PLUGIN_PROTOCOL_ERROR",
	} {
		p := playing{name: "lying", kind: kind, to: "2020-02-20T00:00:00Z"}
		x, o := p.play(t, l)
		got := ""
		if f := o.Failure; f != nil {
			got = strings.TrimSpace(fmt.Sprint(f.Code, " ", f.Data["field_path"]))
			got = strings.TrimSuffix(got, " <nil>")
		}
		if got != want {
			t.Errorf("%q: %s, want %s: %+v", kind, got, want, o.Failure)
		}
		if done := x.Progress().CandlesDone; kind == "bad intent" && o.Failure != nil &&
			fmt.Sprint(o.Failure.Data["step"]) != fmt.Sprint(done-1) {
			t.Errorf("the host stands behind candle %d: %+v", done, o.Failure)
		}
	}
}
