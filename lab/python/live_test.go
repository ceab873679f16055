package python_test

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/host/trade"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// guarded is a strategy of signals over two symbols: level signals of which the guards make trades.
const guarded = `import numpy as np

from assay import EquityFraction, Param, Signals, SignalStrategy, Supports


class Guarded(SignalStrategy):
    """Is long, or long and short, for two candles of every five."""

    kind: str = Param("long")
    candles = "numpy"
    max_symbols = 2
    supports = Supports(short=True, multi_symbol=True)

    def signals(self, c):
        days = c.time.astype("datetime64[D]").astype(int)
        on, off = days % 5 < 2, days % 5 > 2
        if self.kind == "turns":
            return Signals(entry=on, exit=off, entry_short=off, exit_short=on, size=EquityFraction(0.3))
        if self.kind == "moves":
            return Signals(entry=on, exit=off, size=EquityFraction(0.3), stop_loss=0.3, take_profit=0.5,
                           move_stop=np.where(days % 2, c.low * 0.99, np.nan), move_target=c.close * 1.02)
        if self.kind == "room":
            return Signals(entry=c.close > c.open, exit=c.close < c.open, size=EquityFraction(0.3), max_open=1)
        return Signals(entry=on, exit=off, size=EquityFraction(0.3), tag="level")
`

// TestSignalsLive plays signals of two symbols on paper, to the books of a backtest, and on the simulated
// venue, to its orders.
func TestSignalsLive(t *testing.T) {
	ring.Proof(t, "it copies an interpreter and plays runs at the pace of a venue")
	backtests := played(t, "guarded", "strategy:Guarded", guarded)
	trades := liveBeside(t, backtests)
	start, end := "2020-01-01T00:00:00Z", "2020-02-20T00:00:00Z"
	const candles = 100 // of both symbols
	for i, kind := range []string{"long", "room", "turns", "moves"} {
		shorts := kind == "turns"
		req := runner.StartRequest{
			Mode: runner.ModeBacktest, StrategyName: "guarded",
			StrategyParams: fmt.Appendf(nil, `{"kind":%q}`, kind), Symbols: []string{"BTC/USDT", "ETH/USDT"},
			Timeframe: "1d", InitialCash: "10000", Exchange: "sample", StartDate: &start, EndDate: &end,
			Execution: fmt.Appendf(nil, `{"allow_short":%t}`, shorts),
		}
		back := ended(t, backtests, fmt.Sprintf("run_back%d", i), req, 0)
		if len(back.Fills) < 16 || !strings.Contains(fmt.Sprint(back.Warnings), "GUARDED") {
			t.Errorf("%s: %d fills, %+v", kind, len(back.Fills), back.Warnings)
		}
		req.StartDate, req.EndDate, req.Mode = nil, nil, runner.ModePaper
		req.ExchangeConfig = exchange.NewSecret(fmt.Sprintf(`{"candles_per_second":200,"start":%q}`, start))
		paper := ended(t, trades, fmt.Sprintf("run_paper%d", i), req, candles)
		if got, want := fills(paper, true), fills(back, true); !begins(got, want) {
			t.Errorf("%s: paper\n%s\nbacktest\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if shorts || kind == "moves" {
			continue // a live run opens no shorts, and renews no exits as fast
		}
		req.Mode, req.Exchange, req.Execution = runner.ModeLive, "sim", []byte(`{}`)
		req.ExchangeConfig = exchange.NewSecret(fmt.Sprintf(
			`{"market":"replay","source":"sample","candles_per_second":20,"start":%q}`, start))
		sold := ended(t, trades, fmt.Sprintf("run_live%d", i), req, candles)
		if got, want := fills(sold, false), fills(back, false); !begins(got, want) {
			t.Errorf("%s: live\n%s\nbacktest\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

// begins reports whether two lists are equal but for what the last candles have brought.
func begins(got, want []string) bool {
	n := min(len(got), len(want)) - 2
	return n > 10 && slices.Equal(got[:n], want[:n])
}

// fills are what was bought and sold when, and at which price unless the venue rounds it.
func fills(r *artifact.Results, priced bool) (list []string) {
	decided := map[market.OrderID]market.Time{}
	for _, o := range r.Orders {
		decided[o.ID] = o.CreatedAt
	}
	for _, f := range r.Fills {
		text := fmt.Sprint(decided[f.OrderID], " ", f.Symbol, " ", f.Side, " ", f.Role, " ", f.Tag)
		if priced {
			text += fmt.Sprint(" ", f.Quantity.Trim(0), " at ", f.Price.Trim(0))
		}
		list = append(list, text)
	}
	return list
}

// launcher starts runs.
type launcher interface {
	Launch(ctx context.Context, id string, req runner.StartRequest) (runner.Execution, error)
}

// liveBeside is a launcher of paper and live runs over the catalogue and the candles of another.
func liveBeside(t *testing.T, l *run.Launcher) launcher {
	t.Helper()
	book, err := journal.Open(t.Context(), filepath.Join(t.TempDir(), "live"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	})
	limits, err := risk.Parse(func(o risk.Option) (string, string) {
		return map[string]string{"max-drawdown": "0.9", "max-daily-loss": "0.9", "max-order-fraction": "2",
			"max-position-fraction": "2", "max-gross-fraction": "2"}[o.Name], o.Flag()
	})
	if err != nil {
		t.Fatal(err)
	}
	limits.Paper = risk.Enforce
	return trade.NewLauncher(trade.Options{Catalog: l.Options.Catalog, Journal: book.Journal,
		Venues: &trade.Exchanges{Store: l.Options.Store}, Risk: limits, SpoolDir: t.TempDir(),
		Engine: artifact.Engine{Name: "test"}, StepLimit: time.Minute})
}

// ended plays a run to its end, or until it has had so many candles.
func ended(t *testing.T, l launcher, id string, req runner.StartRequest, candles int64) *artifact.Results {
	t.Helper()
	x, err := l.Launch(t.Context(), id, req)
	if err != nil {
		t.Fatalf("%s: %v", id, err)
	}
	defer x.(io.Closer).Close()
	ctx, stop := context.WithCancelCause(t.Context())
	defer stop(nil)
	if candles > 0 {
		go func() {
			for x.Progress().CandlesDone < candles && ctx.Err() == nil {
				time.Sleep(2 * time.Millisecond)
			}
			stop(runner.ErrStopRequested)
		}()
	}
	if o := x.Run(ctx); o.Failure != nil {
		t.Fatalf("%s: %+v", id, o.Failure)
	}
	return x.Results()
}
