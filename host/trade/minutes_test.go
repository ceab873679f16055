package trade

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/sim"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// unpaced is the simulated market with its candles as fast as they are answered.
type unpaced struct{ Venues }

// Choose implements Venues.
func (u unpaced) Choose(ctx context.Context, req runner.StartRequest, p *run.Plan) (Venue, error) {
	v, err := u.Venues.Choose(ctx, req, p)
	v.Connect = func(context.Context) (*exchange.Connection, error) {
		c := sim.NewUnpaced(nil)
		return &c, nil
	}
	return v, err
}

const minutesPerDay = 24 * 60

// TestMonthOfMinutes trades a market of one-minute candles on paper for 30 days of its time in
// make prove (a day in make test, 365 in make soak): every candle is in the journal once and in order, the
// books are what the fills say at every minute, and what the run holds grows by no more than a megabyte an
// hour.
func TestMonthOfMinutes(t *testing.T) {
	ring.Undetected(t, "it plays a day of minutes, as shorter tests do")
	days := ring.Size(1, 30, 365)
	// One more than the books are held to: where the stop falls is not a matter of candles.
	candles := int64(days*minutesPerDay) + 1
	d := openTestHost(t, testHostOptions{candles: 10, names: []string{"randomly"}})
	d.launcher.opts.Venues = unpaced{d.launcher.opts.Venues}
	req := onSim(runner.ModePaper, "randomly", map[string]any{"seed": 5}, "")
	req.Timeframe = "1m"

	before := holds()
	x := d.launch(req)
	type point struct {
		candles int64
		heap    uint64
	}
	var points []point
	ctx, cancel := context.WithCancelCause(context.Background())
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		next := int64(minutesPerDay / 2)
		for done := int64(0); done < candles; time.Sleep(2 * time.Millisecond) {
			if done = x.Progress().CandlesDone; done >= next {
				points = append(points, point{done, heap()})
				next = done + max(candles/16, minutesPerDay/2)
			}
			if ctx.Err() != nil {
				return
			}
		}
		cancel(runner.ErrStopRequested)
	}()
	begun := time.Now()
	o := x.Run(ctx)
	took := time.Since(begun)
	cancel(nil)
	<-watched
	if o.Failure != nil || !o.Stopped {
		t.Fatalf("%+v %+v", o, o.Failure)
	}
	checkJournal(t, d, x, "BTC/USDT", x.chart.candles[0])
	minutes := checkMinutes(t, x.chart.candles[0])
	fills := checkBooks(t, d, x)
	if len(points) > 1 {
		a, b := points[0], points[len(points)-1]
		grown := (float64(b.heap) - float64(a.heap)) / (1 << 20) / (float64(b.candles-a.candles) / 60)
		t.Logf("the heap grows by %.3f MiB an hour of candles: from %.1f MiB at candle %d to %.1f at %d",
			grown, float64(a.heap)/(1<<20), a.candles, float64(b.heap)/(1<<20), b.candles)
		if grown >= 1 {
			t.Error("that is too much")
		}
	}
	if err := x.Close(); err != nil {
		t.Error(err)
	}
	after := holds()
	for end := time.Now().Add(5 * time.Second); (after.goroutines > before.goroutines ||
		after.files > before.files) && time.Now().Before(end); after = holds() {
		time.Sleep(10 * time.Millisecond)
	}
	if after.goroutines > before.goroutines || after.files > before.files {
		t.Errorf("goroutines %d, then %d; open files %d, then %d", before.goroutines, after.goroutines,
			before.files, after.files)
	}
	t.Logf("%d candles in %s, %d fills", minutes, took.Round(time.Millisecond), fills)
	if fills < minutes/50 {
		t.Error("too few to prove anything")
	}
	if ring.At() >= ring.Prove {
		ring.Count(t, "days of 1m candles", minutes/minutesPerDay, days)
	}
}

// held is what a process holds.
type held struct{ goroutines, files int }

func holds() held {
	h := held{goroutines: runtime.NumGoroutine()}
	if open, err := os.ReadDir("/proc/self/fd"); err == nil {
		h.files = len(open)
	}
	return h
}

// heap returns what is in use after a collection.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// checkMinutes holds candles to the grid and counts them.
func checkMinutes(t *testing.T, s *market.Series) int {
	t.Helper()
	for i := 1; i < s.Len(); i++ {
		if s.Time[i] != s.Time[i-1]+60_000 {
			t.Fatalf("candle %d opens at %s, the one before at %s", i, s.Time[i], s.Time[i-1])
		}
	}
	return s.Len()
}

// checkBooks computes cash, position and equity of every minute anew from the fills in the
// journal, in fractions, and holds the equity in the journal against them. It returns how many fills
// there are.
func checkBooks(t *testing.T, d *testHost, x *Execution) int {
	t.Helper()
	fills := everyPage(t, func(p journal.Page) (journal.Rows[journal.Fill], error) {
		return d.journal.Fills(t.Context(), x.runID, p)
	})
	points := everyPage(t, func(p journal.Page) (journal.Rows[journal.Equity], error) {
		return d.journal.Equity(t.Context(), x.runID, p)
	})
	s := x.chart.candles[0]
	if len(points) < s.Len() {
		t.Errorf("%d points of equity for %d candles", len(points), s.Len())
	}
	cash, position, next := fraction(x.setup.plan.Cash), new(big.Rat), 0
	for _, p := range points {
		for ; next < len(fills) && fills[next].Time < p.At; next++ {
			f := &fills[next]
			money := cents(new(big.Rat).Mul(fraction(f.Quantity), fraction(f.Price)))
			if f.Side == market.Buy {
				cash.Sub(cash, money)
				position.Add(position, fraction(f.Quantity))
			} else {
				cash.Add(cash, money)
				position.Sub(position, fraction(f.Quantity))
			}
			cash.Sub(cash, fraction(f.Fee))
		}
		if cash.Cmp(fraction(p.Cash)) != 0 {
			t.Fatalf("at %s the journal has cash %s, the fills say %s", p.At, p.Cash, cash.FloatString(12))
		}
		i := s.Search(p.At - 60_000)
		if i >= s.Len() {
			break // the last step, whose candle was not shown any more
		}
		equity, _ := new(big.Rat).Add(cash,
			new(big.Rat).Mul(position, new(big.Rat).SetFloat64(s.Close[i]))).Float64()
		if have, _ := p.Equity.Float64(); math.Abs(have-equity) > 1e-8 {
			t.Fatalf("at %s the journal has equity %s, the fills say %v", p.At, p.Equity, equity)
		}
	}
	if next < len(fills) {
		t.Errorf("%d fills are behind the last point of equity", len(fills)-next)
	}
	return len(fills)
}

func everyPage[T any](t *testing.T, read func(journal.Page) (journal.Rows[T], error)) []T {
	t.Helper()
	all, err := journal.All(read)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fraction returns a decimal without a rounding to come.
func fraction(d decimal.Decimal) *big.Rat {
	r, ok := new(big.Rat).SetString(d.String())
	if !ok {
		panic(fmt.Sprintf("%q is a decimal", d))
	}
	return r
}

// cents rounds an amount half-even to the unit of an account of 10,000: ten decimals.
func cents(amount *big.Rat) *big.Rat {
	unit := big.NewInt(10_000_000_000)
	n := new(big.Int).Mul(amount.Num(), unit)
	q, rest := new(big.Int).QuoRem(n, amount.Denom(), new(big.Int)) // amounts are above 0
	if c := rest.Lsh(rest, 1).Cmp(amount.Denom()); c > 0 || c == 0 && q.Bit(0) == 1 {
		q.Add(q, big.NewInt(1))
	}
	return new(big.Rat).SetFrac(q, unit)
}
