package tests_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/tests/buyandhold"
	"github.com/assay-run/assay/lab/falsify/tests/capacity"
	"github.com/assay-run/assay/lab/falsify/tests/outliertrades"
	"github.com/assay-run/assay/lab/falsify/tests/randomentry"
	"github.com/assay-run/assay/lab/falsify/tests/regime"
	"github.com/assay-run/assay/lab/falsify/tests/symbolholdout"
	"github.com/assay-run/assay/lab/falsify/tests/tradeshuffle"
	"github.com/assay-run/assay/lab/stat"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Who holds all the time is no better than holding, by less than what it costs.
func TestHoldingAgainstItself(t *testing.T) {
	candles := []*market.Series{walk("A/Q", 400, 3)}
	r := play(t, candles, []hold{{0, 1, 0, 1, .999}}, .001)
	b, why, err := buyandhold.AgainstHolding(r, 1, 199)
	if why != "" || err != nil {
		t.Fatal(why, err)
	}
	if !(b.Low < 0 && b.High > 0) || b.P < .025 || len(b.Difference) != 399 || b.B != 199 {
		t.Errorf("%+v", [...]float64{b.Mean, b.Low, b.High, b.P})
	}
	near(t, "exposure", b.Exposure, .996, .01)
	near(t, "a day's difference", b.Difference[100],
		b.Strategy[100]-b.Exposure*(candles[0].Close[101]/candles[0].Close[100]-1), 1e-15)
}

// Who buys in the first hour of a market that rises has held it, no more: that hour is
// in no daily return, so it must not be in the exposure either.
func TestAlwaysInvestedIsHolding(t *testing.T) {
	candles, moves := walk("A/Q", 24*100, 4), random.New(1, random.Calibrate, 2)
	candles.Timeframe = market.MustTimeframe("1h")
	price := 100.0
	for i := range candles.Time {
		candles.Time[i] = y2020.Add(time.Duration(i) * time.Hour)
		candles.Open[i] = price
		price *= 1.001 + .002*moves.Normal()
		candles.Close[i] = price
	}
	b, why, err := buyandhold.AgainstHolding(play(t, []*market.Series{candles}, []hold{{0, 1, 0, 1, .99999}},
		0), 1, 999)
	if why != "" || err != nil || b.Low > 0 || b.High < 0 || len(b.Difference) != 99 {
		t.Errorf("%+v, %s, %v", [...]float64{b.Mean, b.Low, b.High, b.P, b.Exposure}, why, err)
	}
}

func TestHoldingByHand(t *testing.T) {
	a, b := walk("A/Q", 40, 1), walk("B/Q", 40, 2)
	r := play(t, []*market.Series{a, b}, []hold{{0, 10, 20, -1, .5}}, 0)
	got, why, err := buyandhold.AgainstHolding(r, 1, 19)
	if why != "" || err != nil {
		t.Fatal(why, err)
	}
	exposure := 0.0
	for i, e := range r.Results.Equity.Equity[:39] {
		exposure += r.Results.Equity.PositionValue[i] / e / 39
	}
	near(t, "exposure", got.Exposure, exposure, 1e-12)
	equal := ((a.Close[6]/a.Close[5] - 1) + (b.Close[6]/b.Close[5] - 1)) / 2
	near(t, "equal parts", got.Holding[5], exposure*equal, 1e-15)
	if got.Time[5] != a.Time[6] || exposure >= 0 {
		t.Error(got.Time[5], exposure)
	}
}

// A constant difference has no interval but itself; too few days have none at all.
func TestHoldingWithoutSpread(t *testing.T) {
	r := play(t, []*market.Series{walk("A/Q", 100, 3)}, nil, 0)
	if b, why, err := buyandhold.AgainstHolding(r, 1, 99); why != "" || err != nil || b.Low != 0 ||
		b.High != 0 || b.P != 1 || b.MeanBlock != 1 {
		t.Errorf("%+v, %s, %v", b, why, err)
	}
	short := play(t, []*market.Series{walk("A/Q", 8, 3)}, []hold{{0, 1, 3, 1, 1}}, 0)
	if _, why, err := buyandhold.AgainstHolding(short, 1, 99); why != stat.TooFewReturns || err != nil {
		t.Error(why, err)
	}
}

// On noise one p-value in twenty is at most 0.05.
func TestHoldingIsCalibrated(t *testing.T) {
	const runs = 300
	small := 0
	for k := range uint64(runs) {
		candles := []*market.Series{walk("A/Q", 250, 1000+k)}
		b, why, err := buyandhold.AgainstHolding(play(t, candles, noise(candles, k), 0), k, 99)
		if why != "" || err != nil || b.MeanBlock < 1 {
			t.Fatal(why, err, b.MeanBlock)
		}
		if b.P <= .05 {
			small++
		}
	}
	// 99 % of the binomial is 15 +- 9.7; the bootstrap is a little liberal besides.
	if small < 5 || small > 30 {
		t.Errorf("%d of %d p-values are at most 0.05", small, runs)
	}
}

func TestShuffleTrades(t *testing.T) {
	candles := walk("A/Q", 12, 1)
	for i := range candles.Time {
		candles.Open[i], candles.Close[i] = 100, 100
	}
	candles.Open[2], candles.Open[4], candles.Open[6] = 150, 50, 120 // +50 %, -50 %, +20 %
	r := play(t, []*market.Series{candles}, []hold{{0, 1, 2, 1, 1}, {0, 3, 4, 1, 1}, {0, 5, 6, 1, 1}}, 0)
	d, why, err := tradeshuffle.ShuffleTrades(r, 1, 999)
	if why != "" || err != nil {
		t.Fatal(why, err)
	}
	// Only one trade loses: the drawdown is 50 % in every order.
	for _, x := range []float64{d.Observed, d.P50, d.P95, d.P99} {
		near(t, "drawdown", x, .5, 1e-9)
	}
	// Two that lose: next to each other, or with a gain between that does not make it good.
	candles.Open[6] = 80
	r = play(t, []*market.Series{candles}, []hold{{0, 1, 2, 1, 1}, {0, 3, 4, 1, 1}, {0, 5, 6, 1, 1}}, 0)
	if d, _, _ = tradeshuffle.ShuffleTrades(r, 1, 999); !(d.Half > .99) || d.Orders != 999 {
		t.Errorf("%+v", d)
	}
	// In two of the six orders the gain stands between: 1 - .5 and 1 - .8 * 1.5 * .5 = .4 .
	near(t, "median", d.P50, .6, 1e-9)
	if _, why, err := tradeshuffle.ShuffleTrades(play(t, []*market.Series{candles}, nil, 0), 1,
		9); why != stat.NoTrades || err != nil {
		t.Error(why, err)
	}
}

func TestByRegime(t *testing.T) {
	candles := []*market.Series{walk("A/Q", 400, 5)}
	for i := range 200 { // the first half hardly moves
		candles[0].Open[i], candles[0].Close[i] = 100+.001*float64(i%7), 100+.001*float64((i+1)%7)
	}
	r := play(t, candles, []hold{{0, 1, 399, 1, 1}}, 0)
	got, err := regime.ByRegime(r)
	if err != nil {
		t.Fatal(err)
	}
	days, money := 0, 0.0
	for _, x := range got.Years {
		days += x.Days
		money += x.PnL
	}
	equity := r.Input.Curves[0].Equity
	if near(t, "profit", got.Total, equity[399]-equity[0], 1e-8); days != 399 {
		t.Error(days)
	}
	near(t, "profit of the years", money, got.Total, 1e-8)
	if len(got.Years) != 2 || got.Years[0].Name != "2020" || got.Years[0].Days != 365 ||
		got.Years[1].Name != "2021" {
		t.Errorf("%+v", got.Years)
	}
	if len(got.Terciles) != 3 || got.Terciles[0].Days+got.Terciles[1].Days+got.Terciles[2].Days != 399-29 {
		t.Fatalf("%+v", got.Terciles)
	}
	if low, high := got.Terciles[0], got.Terciles[2]; low.Name != "volatility_low" ||
		math.Abs(low.PnL) > math.Abs(high.PnL)/10 {
		t.Errorf("%+v, %+v", low, high)
	}
	short, err := regime.ByRegime(play(t, []*market.Series{walk("A/Q", 20, 1)}, nil, 0))
	if err != nil || len(short.Terciles) != 0 || len(short.Years) != 1 || short.Years[0].Sharpe != nil {
		t.Errorf("%+v, %v", short, err)
	}
}

func TestBySymbol(t *testing.T) {
	candles := []*market.Series{walk("A/Q", 50, 1), walk("B/Q", 50, 2), walk("C/Q", 50, 3)}
	r := play(t, candles, []hold{{0, 1, 10, 1, .3}, {1, 5, 0, -1, .3}, {0, 20, 30, -1, .3}}, .001)
	got, err := symbolholdout.BySymbol(r)
	if err != nil {
		t.Fatal(err)
	}
	total, err := account.Net(r.Results)
	if err != nil {
		t.Fatal(err)
	}
	sum, _ := got[0].PnL.Add(got[1].PnL)
	a, _ := sum.Float64()
	b, _ := total.Float64()
	near(t, "all symbols", a, b, 1e-6)
	if !got[2].PnL.IsZero() || got[1].Symbol != "B/Q" {
		t.Errorf("%+v", got)
	}
	shares := 0.0
	for _, x := range got {
		if (x.Share == nil) == total.IsPos() {
			t.Error("shares of a loss, or none of a profit")
		}
		if x.Share != nil {
			shares += *x.Share
		}
	}
	if total.IsPos() {
		near(t, "shares", shares, 1, 1e-9)
	}
}

func TestWithoutBest(t *testing.T) {
	run := func(n int) *account.Run {
		candles := []*market.Series{walk("A/Q", 2*n+3, 1)}
		var holds []hold
		for i := range n {
			holds = append(holds, hold{0, 1 + 2*i, 2 + 2*i, 1, .9})
		}
		return play(t, candles, holds, .001)
	}
	for _, c := range []struct{ trades, removed int }{{1, 1}, {19, 1}, {39, 1}, {40, 2}} {
		r := run(c.trades)
		o, why, err := outliertrades.WithoutBest(r)
		if why != "" || err != nil || o.Removed != c.removed {
			t.Errorf("%d trades: %+v, %s, %v", c.trades, o, why, err)
		}
		// One after the other, so that each has multiplied the account.
		var factors []float64
		equity, left := float64(cash), 1.0
		for i := range r.Results.Trades {
			pnl, _ := r.Results.Trades[i].PnL.Float64()
			factors = append(factors, 1+pnl/equity)
			equity += pnl
		}
		slices.Sort(factors)
		for _, f := range factors[:len(factors)-c.removed] {
			left *= f
		}
		near(t, "net return", o.Net, left-1, 1e-9)
	}
	if _, why, err := outliertrades.WithoutBest(run(0)); why != stat.NoTrades || err != nil {
		t.Error(why, err)
	}
}

// An account that has grown a thousandfold and is given its last, best trade back in money
// would owe eighteen times what it began with. In proportion it has what the others made.
func TestWithoutBestOfAGrownAccount(t *testing.T) {
	s := &market.Series{Symbol: "A/Q", Timeframe: market.MustTimeframe("1d")}
	price := 1.0
	var holds []hold
	for i := range 24 {
		next := price
		if i%2 == 1 {
			next = price * 2 // each trade doubles
		}
		if i == 21 {
			next = price * 2.5 // the best, when there is most
		}
		s.Append(market.Candle{OpenTime: y2020.Add(time.Duration(i) * 24 * time.Hour), Open: price,
			Close: next, High: next, Low: price, Volume: 1})
		if price = next; i%2 == 1 && i < 23 {
			holds = append(holds, hold{0, i, i + 1, 1, 1})
		}
	}
	r := play(t, []*market.Series{s}, holds, 0)
	o, why, err := outliertrades.WithoutBest(r)
	if why != "" || err != nil || o.Removed != 1 {
		t.Fatal(o, why, err)
	}
	near(t, "net return", o.Net, 1<<10-1, 1e-6)
	// What is still open at the end stays in, a loss as well as a win.
	r = play(t, []*market.Series{s}, append(holds[:10:10], hold{0, 21, 0, 1, .5}), 0)
	if o, _, err = outliertrades.WithoutBest(r); err != nil {
		t.Fatal(err)
	}
	near(t, "net return with an open position", o.Net, math.Pow(2, 9)*(1+.5*(2.5*2-1))-1, 1e-6)
}

// A replica has the numbers of a run: its return, its drawdown and its money, too.
func TestReplicasHaveAllNumbers(t *testing.T) {
	candles := []*market.Series{walk("A/Q", 60, 1)}
	r := play(t, candles, []hold{{0, 1, 59, 1, .9}}, .002) // there is one place for it
	m, why, err := randomentry.NewRandomEntry(r)
	if why != "" || err != nil {
		t.Fatal(why, err)
	}
	report, err := metric.Compute(r.Input)
	if err != nil {
		t.Fatal(err)
	}
	got := m.Draw(1, 1)[0]
	for key, x := range map[string]float64{"total_return": got.Return, "max_drawdown": got.MaxDrawdown} {
		want, _ := report.Metrics.Get(key)
		near(t, key, x, want, 1e-6)
	}
	near(t, "net", got.NetMoney, got.Return*cash, 1e-6)
}

func TestCostOf(t *testing.T) {
	fill := market.Fill{Quantity: decimal.MustParse("2"), Price: decimal.MustParse("100"),
		Fee: decimal.MustParse("0.2"), Slippage: decimal.MustParse("0.3")}
	r := &artifact.Results{InitialCash: "1000", FinalValue: "1009", Fills: []market.Fill{fill, fill}}
	var in metric.Input
	for i := range r.Fills {
		in.Totals.AddFill(&r.Fills[i])
	}
	c, err := account.CostOf(2, r, in)
	if err != nil || c.Net.String() != "9" || c.Costs.String() != "1.0" || c.Gross.String() != "10.0" ||
		c.Turnover != 400 || c.Multiplier != 2 {
		t.Fatalf("%+v, %v", c, err)
	}
	near(t, "break even", *c.BreakEvenBps, 250, 1e-9)
	if c, err := account.CostOf(1, &artifact.Results{InitialCash: "1", FinalValue: "1"},
		metric.Input{}); err != nil || c.BreakEvenBps != nil {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := account.CostOf(1, &artifact.Results{InitialCash: "1"}, metric.Input{}); err == nil {
		t.Error("a run without a value")
	}
}

func TestCapacityOf(t *testing.T) {
	s := walk("A/Q", 3, 1)
	copy(s.Volume, []float64{100, 10, 0})
	at := func(i int, q string, role market.Role) market.Fill {
		return market.Fill{Symbol: "A/Q", Time: s.Time[i], Quantity: decimal.MustParse(q), Role: role}
	}
	r := &account.Run{Candles: []*market.Series{s},
		Results: &artifact.Results{Fills: []market.Fill{at(0, "5", 0), at(1, "2", 0),
			at(1, "5", market.RoleEndOfData)}}}
	c, why, err := capacity.CapacityOf(r, .1)
	if why != "" || err != nil {
		t.Fatal(why, err)
	}
	var shares []float64
	for _, f := range c.Fills {
		shares = append(shares, *f.Share)
	}
	// The last one is stamped with the close of the first candle.
	if !slices.Equal(shares, []float64{.05, .2, .05}) || c.MaxScale != .5 {
		t.Errorf("%v, %+v", shares, c)
	}
	near(t, "within", c.Within, 2.0/3, 1e-12)
	r.Results.Fills = append(r.Results.Fills, at(2, "1", 0))
	if c, _, err := capacity.CapacityOf(r, .1); err != nil || c.Fills[3].Share != nil || c.MaxScale != 0 ||
		c.Within != .5 {
		t.Errorf("%+v, %v", c, err)
	}
	r.VolumeUnits = []string{"quote"}
	if c, _, err := capacity.CapacityOf(r, .1); err != nil || c.Fills[0].Volume != 100/s.Close[0] {
		t.Errorf("%+v, %v", c, err)
	}
	r.VolumeUnits = []string{"ticks"}
	if _, why, err := capacity.CapacityOf(r, .1); why != stat.NotApplicable || err != nil {
		t.Error(why, err)
	}
	r.VolumeUnits, s.Volume = nil, make([]float64, 3)
	if _, why, err := capacity.CapacityOf(r, .1); why != stat.NotApplicable || err != nil {
		t.Error(why, err)
	}
	r.Results.Fills[0].Time = s.Time[2].Add(72 * time.Hour)
	if _, _, err := capacity.CapacityOf(r, .1); err == nil {
		t.Error("a fill without a candle")
	}
	r.Results.Fills = nil
	if _, why, err := capacity.CapacityOf(r, .1); why != stat.NoTrades || err != nil {
		t.Error(why, err)
	}
}
