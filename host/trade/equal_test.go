package trade

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/base/digest"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/exchangetest"
	"github.com/assay-run/assay/host/hosttest/playtest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// picture is everything about a run that must not depend on where its candles came from: the
// hash of the results, the numbers that go into it, and every line of decision.
func picture(r *artifact.Results, x runner.Described) (string, error) {
	var lines bytes.Buffer
	if err := x.WriteDecisions(&lines); err != nil {
		return "", err
	}
	hash, err := digest.Of(map[string]any{"decision_hash": r.DecisionHash,
		"splits": map[string]metric.Values{artifact.FullSplitID: r.Metrics.Portable()}})
	if err != nil {
		return "", err
	}
	text, err := json.Marshal([]any{hash, r.Metrics, r.Trades, r.Fills, r.Orders, r.Equity, r.FinalValue,
		r.DecisionHash, r.Window})
	return lines.String() + string(text), err
}

// equal is one strategy that is played on one stretch, on paper and as a backtest.
type equal struct {
	name      string
	params    map[string]any
	execution string
	symbols   []string
	candles   int // of the first symbol, about
	seed      uint64
	failing   int // requests of history that fail
	seen      func(*artifact.Results)
}

// equals are the bundled strategies, each several times, and seeded random ones. The first of
// each kind sees the full stretch, the others only in [ring.Soak].
func equals(randoms, full, short int, bundled bool) []equal {
	executions := []string{
		`{}`, `{"allow_short":true}`, `{"intrabar":"ohlc_color","allow_short":true,"close_at_end":true}`,
		`{"profile":"compat:backtesting.py"}`, `{"profile":"compat:backtrader","quantity_step":1}`,
		`{"intrabar":"target_first","protect_from":"next_candle","limit_touch":"through_tick","resting_gap":"open"}`,
	}
	var list []equal
	if bundled {
		for _, b := range []equal{
			{name: "sma_cross"}, {name: "buy_hold"}, {name: "rsi_bracket"}, {name: "limit_entry"},
			{name: "breakout"},
			{name: "sma_cross", params: map[string]any{"fast": 3, "slow": 8, "stake": 900}},
			{name: "buy_hold", params: map[string]any{"start_candle": 40}},
			{name: "rsi_bracket",
				params: map[string]any{"period": 5, "stop_loss": 0.01, "take_profit": 0.01}},
			{name: "limit_entry", params: map[string]any{"every": 2, "offset": 0.002, "ttl": 2}},
			{name: "breakout", params: map[string]any{"lookback": 4, "hold": 2}},
		} {
			b.execution = `{}`
			if len(list) >= 5 {
				b.execution = executions[3+len(list)%2]
			}
			list = append(list, b)
		}
	}
	for seed := 1; seed <= randoms; seed++ {
		e := equal{name: "randomly", params: map[string]any{"seed": seed},
			execution: executions[seed%len(executions)]}
		if seed%3 == 0 {
			e.symbols = []string{one, two}
		}
		if seed%25 == 0 {
			e.failing = 1 + seed%2
		}
		list = append(list, e)
	}
	for _, wanted := range []int{3, 13} { // there are eight
		list = append(list, equal{name: "framed", params: map[string]any{"wanted": wanted}, execution: `{}`,
			symbols: []string{one, two}})
	}
	for i := range list {
		list[i].seed, list[i].candles = uint64(i+1), short
		if i == 0 || i > 0 && list[i].name == "randomly" && list[i-1].name != "randomly" {
			list[i].candles = full
		}
		if list[i].symbols == nil {
			list[i].symbols = []string{one}
		}
	}
	return list
}

// TestPaperEqualsBacktest plays the same candles as a backtest, out of the store, and on paper,
// as a stream brings them that is cut, repeats, delays, corrects and leaves out.
func TestPaperEqualsBacktest(t *testing.T) {
	const full = 20_000
	list := equals(200, full, ring.Size(150, 150, full), true)
	opts := testHostOptions{candles: full + 100, names: []string{"framed"},
		reattach: playtest.Debugged(t, "randomly")}
	if ring.At() < ring.Prove {
		list = equals(8, 300, 200, false)
		opts.candles = 600
	} else {
		opts.plugins = buildStrategies(t, "sma_cross", "buy_hold", "rsi_bracket", "limit_entry", "breakout")
	}
	var mu sync.Mutex
	fills, candles, faults := 0, 0, map[string]int{}
	// A journal for each few, so that none grows without bound.
	for group := range slices.Chunk(list, ring.Size(len(list), len(list), 12)) {
		t.Run("", func(t *testing.T) {
			d := openTestHost(t, opts)
			free := make(chan struct{}, 4) // a run waits for its strategy half of the time
			var all sync.WaitGroup
			for _, e := range group {
				free <- struct{}{}
				all.Go(func() {
					defer func() { <-free }()
					n, c := e.play(t, d)
					mu.Lock()
					defer mu.Unlock()
					fills, candles = fills+n, candles+c
				})
			}
			all.Wait()
			for name, n := range d.venues.faults {
				faults[name] += n
			}
		})
	}
	t.Logf("%d strategies, %d candles, %d fills, faults %v", len(list), candles, fills, faults)
	if fills < len(list)*5 {
		t.Errorf("only %d fills in %d runs: the strategies do too little to prove anything", fills, len(list))
	}
	for _, name := range append(exchangetest.Kinds(), "poll", string(feed.Backfill)) {
		if faults[name] == 0 {
			t.Errorf("no stream had the fault %q", name)
		}
	}
	if ring.At() >= ring.Prove {
		ring.Count(t, "strategies equal on paper", len(list), 205)
	}
}

// play runs both and compares; it returns fills and candles. More backtests are compared, too.
func (e equal) play(t *testing.T, d *testHost, more ...*run.Launcher) (fills, candles int) {
	start, err := market.ParseTime("2020-01-03T00:00:00Z")
	if err != nil {
		t.Fatal(err)
	}
	from, to := start.String(), start.Add(time.Duration(e.candles)*time.Hour).String()
	conf := fmt.Sprintf(`{"seed":%d,"from":%q,"to":%q,"odds":%d,"failing":%d}`, e.seed, from, to,
		18+10*(e.seed%3), e.failing)
	req := request(e.name, e.params, conf, e.symbols...)
	req.Exchange, req.Execution = faultyID, json.RawMessage(e.execution)
	if e.params == nil {
		req.StrategyParams = nil
	}
	what := fmt.Sprintf("%s %v %s", e.name, e.params, e.execution)
	x, err := d.start(req)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer x.Close()
	if o := x.Run(context.Background()); o.Failure != nil || o.Stopped {
		t.Errorf("%s: %+v %+v", what, o, o.Failure)
		return
	}
	for _, backtests := range append(more, d.backtests) {
		sameBacktest(t, backtests, x, req, from, to)
	}
	r := x.Results()
	if e.seen != nil {
		e.seen(r)
	}
	for i, symbol := range e.symbols {
		n := checkJournal(t, d, x, market.Symbol(symbol), x.chart.candles[i])
		d.venues.mu.Lock()
		d.venues.faults[string(feed.Backfill)] += n
		d.venues.mu.Unlock()
	}
	return len(r.Fills), int(r.Window.Candles)
}

// sameBacktest holds a paper run that has ended against a backtest of the stored candles from a day to
// another, or to their end.
func sameBacktest(t *testing.T, backtests *run.Launcher, x *Execution, req runner.StartRequest,
	from, to string) {
	t.Helper()
	what := fmt.Sprintf("%s %s %s", req.StrategyName, req.StrategyParams, req.Execution)
	req.Mode, req.Exchange, req.ExchangeConfig, req.StartDate, req.EndDate = runner.ModeBacktest, stored,
		exchange.Secret{}, &from, &to
	if to == "" {
		req.EndDate = nil
	}
	b, err := backtests.Launch(context.Background(), x.runID+"_back", req)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer b.(io.Closer).Close()
	if o := b.Run(context.Background()); o.Failure != nil {
		t.Errorf("%s: %+v", what, o.Failure)
		return
	}
	got, err := picture(x.Results(), x)
	want, err2 := picture(b.Results(), b.(runner.Described))
	if err != nil || err2 != nil || got != want {
		t.Errorf("%s: %v %v; paper %x backtest %x\n%s", what, err, err2, sha256.Sum256([]byte(got)),
			sha256.Sum256([]byte(want)), firstDifference(got, want))
	}
}

// firstDifference returns where two texts begin to differ.
func firstDifference(a, b string) string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	around := func(s string) string { return s[max(0, n-200):min(len(s), n+200)] }
	return fmt.Sprintf("paper    ...%s...\nbacktest ...%s...", around(a), around(b))
}

// checkJournal holds the candles of the journal against those that were shown: each once, in
// order, in steps that go up. It tells how many had to be fetched.
func checkJournal(t *testing.T, d *testHost, x *Execution, symbol market.Symbol,
	shown *market.Series) (fetched int) {
	t.Helper()
	n, step := 0, int64(-1)
	err := journal.Each(func(p journal.Page) (journal.Rows[journal.Candle], error) {
		return d.journal.Candles(context.Background(), x.runID, symbol, p)
	}, func(row journal.Candle) error {
		if row.Step <= step {
			return fmt.Errorf("candle %s in step %d after step %d", row.Candle.OpenTime, row.Step, step)
		}
		step = row.Step
		if row.Step < x.chart.layout.window {
			return nil
		}
		if n >= shown.Len() || row.Candle != shown.At(n) {
			return fmt.Errorf("candle %d of the journal is %+v", n, row.Candle)
		}
		n++
		if row.Source == string(feed.Backfill) {
			fetched++
		}
		return nil
	})
	if err != nil {
		t.Errorf("%s: %v", x.runID, err)
		return fetched
	}
	if n != shown.Len() || n == 0 {
		t.Errorf("%s: %d candles of %s in the journal, %d were shown", x.runID, n, symbol, shown.Len())
	}
	return fetched
}

// buildStrategies builds bundled strategies into a folder of their own.
func buildStrategies(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	programs := make([]string, len(names))
	for i, name := range names {
		programs[i] = "strategies/" + name
	}
	if err := hosttest.Build(dir, "v1", programs...); err != nil {
		t.Fatal(err)
	}
	return dir
}
