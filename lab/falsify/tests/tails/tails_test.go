package tails_test

import (
	"math"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/judge/account"
	"github.com/assay-run/assay/lab/falsify/tests/tails"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	symbol = market.Symbol("A/Q")
	cash   = 10_000.0
)

// walk is a random walk of days without drift, 3 % a day.
func walk(seed uint64, days int) *market.Series {
	s := random.New(seed, random.Calibrate, 0)
	out := &market.Series{Symbol: symbol, Timeframe: market.MustTimeframe("1d")}
	price, at := 100.0, market.Time(1577836800000)
	for range days {
		c := price * (1 + .03*s.Normal())
		out.Append(market.Candle{OpenTime: at, Open: price, Close: c, High: max(price, c), Low: min(price, c),
			Volume: 1000})
		price, at = c, at.Add(24*time.Hour)
	}
	return out
}

// books are plain ones: what is asked for at a close is done at the next open.
type books struct {
	t        *testing.T
	s        *market.Series
	k        int // the candle that has just closed
	run      *account.Run
	money    float64
	quantity float64
	average  float64
	last     float64 // price of the last order that made the position larger
	paid     float64
	since    int
	orders   int
}

func (b *books) price() float64  { return b.s.Close[b.k] }
func (b *books) equity() float64 { return b.money + b.quantity*b.price() }
func (b *books) gain() float64   { return b.price()/b.average - 1 }
func (b *books) mean(n int) float64 {
	sum := 0.0
	for i := b.k - n + 1; i <= b.k; i++ {
		sum += b.s.Close[max(i, 0)]
	}
	return sum / float64(n)
}

func (b *books) dec(x float64) decimal.Decimal {
	d, err := decimal.NewFromFloat64(x)
	if err != nil {
		b.t.Fatal(err)
	}
	return d.Round(8)
}

const fee = .0005

// trade changes the position by a quantity at the open of candle k+1.
func (b *books) trade(amount float64) {
	open, at := b.s.Open[b.k+1], b.s.Time[b.k+1]
	b.orders++
	f := market.Fill{OrderID: market.OrderID(b.orders), Symbol: symbol, Side: market.Buy, Price: b.dec(open),
		Quantity: b.dec(math.Abs(amount)), Time: at, PositionAfter: b.dec(b.quantity + amount)}
	b.money -= amount*open + fee*math.Abs(amount*open)
	b.paid += fee * math.Abs(amount*open)
	if amount < 0 {
		f.Side = market.Sell
	}
	b.run.Results.Fills = append(b.run.Results.Fills, f)
	if amount > 0 {
		if b.quantity == 0 {
			b.since = b.k + 1
		}
		b.average = (b.quantity*b.average + amount*open) / (b.quantity + amount)
		b.quantity += amount
		b.last = open
		return
	}
	gross := -amount * (open - b.average)
	b.run.Results.Trades = append(b.run.Results.Trades, market.Trade{Symbol: symbol, Direction: market.Long,
		Quantity: b.dec(-amount), EntryTime: b.s.Time[b.since], ExitTime: at, GrossPnL: b.dec(gross),
		PnL: b.dec(gross - b.paid)})
	b.quantity, b.paid = 0, 0
}

// play lets a rule trade a walk: it answers with the change of the position.
func play(t *testing.T, s *market.Series, rule func(*books) float64) *account.Run {
	b := &books{t: t, s: s, money: cash, run: &account.Run{Candles: []*market.Series{s},
		Results: &artifact.Results{}}}
	c := metric.Curve{}
	for k := range s.Time {
		b.k = k
		e := b.equity()
		c.OpenTime, c.CloseTime = append(c.OpenTime, s.Time[k]), append(c.CloseTime, s.CloseTime(k))
		c.Equity, c.Exposure = append(c.Equity, e), append(c.Exposure, b.quantity*b.price()/e)
		if e <= 0 {
			break // bankrupt
		}
		if k+1 < s.Len() {
			if amount := rule(b); amount != 0 {
				b.trade(amount)
			}
		}
	}
	b.run.Input = metric.Input{Timeframe: s.Timeframe, Calendar: metric.Calendar24x7, Curves: []metric.Curve{c},
		Trades: b.run.Results.Trades}
	return b.run
}

func measured(t *testing.T, r *account.Run) *tails.Tails {
	g, err := account.NewGrid(r)
	if err != nil {
		t.Fatal(err)
	}
	return tails.Measure(g, g.Positions())
}

func judged(t *testing.T, r *account.Run) *judge.Test {
	j := &judge.Judge{Policy: judge.DefaultPolicy(), Base: judge.Base{Fills: len(r.Results.Fills),
		Trades: len(r.Results.Trades), T: 1499}}
	return tails.Judge(j, measured(t, r))
}

// share buys for a share of the equity.
func (b *books) share(x float64) float64 { return x * b.equity() / b.price() }

func martingale(b *books) float64 {
	switch {
	case b.quantity == 0:
		return b.share(.01)
	case b.gain() > .01:
		return -b.quantity
	case b.price() < .97*b.last:
		return b.quantity // twice what is held
	}
	return 0
}

func averageDown(b *books) float64 {
	switch {
	case b.quantity == 0:
		return b.share(.05)
	case b.gain() > .02:
		return -b.quantity
	case b.price() < .97*b.last:
		return b.share(.05)
	}
	return 0
}

func neverAtALoss(b *books) float64 {
	switch {
	case b.quantity == 0:
		return b.share(.9)
	case b.gain() > .01:
		return -b.quantity
	}
	return 0
}

func trend(b *books) float64 {
	above := b.price() > b.mean(50)
	switch {
	case b.quantity == 0 && above:
		return b.share(.95)
	case b.quantity > 0 && !above:
		return -b.quantity
	}
	return 0
}

func pyramid(b *books) float64 {
	switch {
	case b.price() < b.mean(20):
		return -b.quantity
	case b.quantity == 0:
		return b.share(.1)
	case b.price() > 1.03*b.last && b.quantity*b.price() < .8*b.equity():
		return b.share(.1)
	}
	return 0
}

// stops takes small wins often, and a loss six times as large when it is wrong.
func stops(b *books) float64 {
	switch {
	case b.quantity == 0:
		return b.share(.9)
	case b.gain() > .02, b.gain() < -.12:
		return -b.quantity
	}
	return 0
}

func tranches(b *books) float64 {
	part := b.share(.3)
	switch {
	case b.quantity == 0:
		return part
	case b.gain() > .03, b.gain() < -.10:
		return -b.quantity
	case b.price() < .98*b.last && b.quantity*b.price() < .65*b.equity():
		return part
	}
	return 0
}

// What is refuted on random walks: they have no drift, so nothing but the way to hold a position
// differs. A rule that never sells at a loss is left with fewer than ten closed trades on some
// walks, which is open and no pass.
func TestWhatIsCaught(t *testing.T) {
	const paths = 40
	for _, c := range []struct {
		name   string
		rule   func(*books) float64
		caught bool
	}{
		{"martingale", martingale, true}, {"averaging down", averageDown, true},
		{"never sells at a loss", neverAtALoss, true},
		{"trend", trend, false}, {"pyramiding", pyramid, false}, {"stops", stops, false},
		{"three tranches", tranches, false},
	} {
		count := map[judge.Verdict]int{}
		for seed := range uint64(paths) {
			got := judged(t, play(t, walk(seed, 1500), c.rule))
			count[got.Verdict]++
			if !c.caught && got.Verdict != judge.Pass {
				t.Errorf("%s, walk %d: %s", c.name, seed, got.Sentence())
			}
		}
		t.Logf("%s: %v", c.name, count)
		if c.caught && (count[judge.Pass] > 0 || count[judge.Fail] < 3*paths/4) {
			t.Errorf("%s: %v", c.name, count)
		}
	}
}

// The numbers of a rule, each at its border.
func TestRules(t *testing.T) {
	averaged := &account.Position{Adds: 5, Losing: 3, First: 1, Largest: 4}
	for _, c := range []struct {
		what   string
		x      tails.Tails
		v      judge.Verdict
		reason string
		said   string
	}{
		{"averages down", tails.Tails{Averaged: averaged, Name: symbol, Trades: 3, Won: 3}, judge.Fail,
			judge.AddsToLosses, "Not shown: that no rare or open loss pays for its wins, because its position " +
				"in A/Q of 1970-01-01 was added to 5 times, 3 of them while it was losing, until it " +
				"was 4.0 times its first order."},
		{"nine trades", tails.Tails{Trades: 9, Won: 9}, judge.Inconclusive, "insufficient", ""},
		{"wins 85 %", tails.Tails{Trades: 20, Won: 17, AverageWin: .001, WorstLoss: .9}, judge.Pass, "", ""},
		{"20 wins", tails.Tails{Trades: 20, Won: 18, AverageWin: .25, WorstLoss: 5}, judge.Pass, "", ""},
		{"21 wins", tails.Tails{Trades: 20, Won: 18, AverageWin: .25, WorstLoss: 5.25}, judge.Fail, judge.RareLosses,
			"Not shown: that no rare or open loss pays for its wins, because 90.0 % of its trades win, and its " +
				"worst open loss is 21 times the average win."},
		{"hides 15 %", tails.Tails{Trades: 20, Won: 18, AverageWin: 1, Hidden: .15}, judge.Pass, "", ""},
		{"hides 16 %", tails.Tails{Trades: 20, Won: 18, AverageWin: 1, Hidden: .16, Closed: .05}, judge.Fail,
			judge.RareLosses, "Not shown: that no rare or open loss pays for its wins, because 90.0 % of its " +
				"trades win and their drawdown is 5.0 %, while losses of up to 16.0 % of the balance were left open."},
		{"shows its losses", tails.Tails{Trades: 20, Won: 18, AverageWin: 1, Hidden: .2, Closed: .07}, judge.Pass, "", ""},
	} {
		j := &judge.Judge{Policy: judge.DefaultPolicy(), Base: judge.Base{Fills: 40, Trades: c.x.Trades, T: 500}}
		got := tails.Judge(j, &c.x)
		if got.Verdict != c.v || got.ReasonCode != c.reason || c.said != "" && got.Sentence() != c.said {
			t.Errorf("%s: %s %s\n%s", c.what, got.Verdict, got.ReasonCode, got.Sentence())
		}
		if s := got.Statistic; c.v == judge.Fail && s.Direction == "<=" && *s.Value <= *s.Threshold {
			t.Errorf("%s: %s is %g, at most %g", c.what, s.Name, *s.Value, *s.Threshold)
		}
	}
	if got := tails.Judge(&judge.Judge{}, &tails.Tails{}); got.Verdict != judge.Inconclusive || got.ReasonCode != "no_trades" {
		t.Errorf("idle: %+v", got)
	}
}

// Fills by hand: an order in parts is one, a turn of the sign closes and opens, and a loss of a
// short position grows as the price does.
func TestPositionsOfFills(t *testing.T) {
	s := walk(1, 6)
	for i, price := range []float64{100, 100, 90, 120, 130, 100} {
		s.Open[i], s.Close[i] = price, price
	}
	d := decimal.MustParse
	fill := func(k int, order market.OrderID, side market.Side, quantity, after string) market.Fill {
		return market.Fill{OrderID: order, Symbol: symbol, Side: side, Price: d(decimal.MustNew(int64(s.Open[k]), 0).String()),
			Quantity: d(quantity), PositionAfter: d(after), Time: s.Time[k]}
	}
	c := metric.Curve{}
	for k := range s.Time {
		c.OpenTime, c.CloseTime = append(c.OpenTime, s.Time[k]), append(c.CloseTime, s.CloseTime(k))
		c.Equity, c.Exposure = append(c.Equity, 1000+float64(k)), append(c.Exposure, 0)
	}
	r := &account.Run{Candles: []*market.Series{s}, Results: &artifact.Results{Fills: []market.Fill{
		fill(1, 1, market.Buy, "1", "1"), fill(1, 1, market.Buy, "1", "2"), // one order
		fill(2, 2, market.Buy, "2", "4"), // 90 under 100: it loses
		fill(3, 3, market.Buy, "1", "5"), // it wins
		fill(3, 4, market.Sell, "2", "3"), fill(3, 5, market.Sell, "6", "-3"),
		fill(4, 6, market.Sell, "1", "-4"), // 130 over 120: the short one loses
	}}, Input: metric.Input{Timeframe: s.Timeframe, Calendar: metric.Calendar24x7, Curves: []metric.Curve{c}}}
	g, err := account.NewGrid(r)
	if err != nil {
		t.Fatal(err)
	}
	held := g.Positions()
	if len(held.List) != 2 {
		t.Fatalf("%+v", held.List)
	}
	long, short := held.List[0], held.List[1]
	if long.Adds != 2 || long.Losing != 1 || long.First != 2 || long.Largest != 5 || long.Enter != 1 ||
		long.Leave != 3 || long.WorstLoss != 20 || long.Equity != 1000 {
		t.Errorf("%+v", long)
	}
	// 3 at 120 and 1 at 130 are 122.5: at 130 four of them lose 30.
	if short.Adds != 1 || short.Losing != 1 || short.First != 3 || short.Largest != 4 || short.Leave != -1 ||
		short.WorstLoss != 30 || short.Last != 90 || held.OpenLoss[4] != 30 || held.OpenLoss[5] != -90 ||
		held.OpenLoss[2] != 20 {
		t.Errorf("%+v %v", short, held.OpenLoss)
	}
}
