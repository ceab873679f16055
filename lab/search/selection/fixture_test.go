package selection

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/stat/random"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	day    = market.Time(24 * time.Hour / time.Millisecond)
	epoch  = market.Time(1577836800000) // 2020-01-01
	year24 = 365
)

// daily is a series of returns on successive days.
func daily(returns []float64) *Series {
	s := &Series{Return: returns, NetExposure: 0.5}
	for i := range returns {
		at := epoch + market.Time(i)*day
		s.Date, s.From, s.To = append(s.Date, at), append(s.From, at), append(s.To, at+day)
	}
	return s
}

// noise is n normal returns with a deviation of 1 % and an annual Sharpe ratio.
func noise(seed uint64, index, n int, annual float64) []float64 {
	s := random.New(seed, random.Noise, uint64(index))
	out := make([]float64, n)
	for i := range out {
		out[i] = 0.01 * (s.Normal() + annual/math.Sqrt(year24))
	}
	return out
}

// ledgerOf is a ledger of series, nil for a trial without one; the last is judged.
func ledgerOf(list ...*Series) *TrialList {
	l := &TrialList{Judged: len(list) - 1, PeriodsPerYear: year24}
	for i, s := range list {
		l.Trials = append(l.Trials, Trial{
			Key: fmt.Sprintf("%064d", i), RunID: fmt.Sprintf("run_%03d", i), Exchange: "test", Series: s,
			Data: []artifact.Dataset{{Symbol: "A/B", Timeframe: "1h", SHA256: "aa"}},
		})
	}
	return l
}

// search is n trials of noise over so many days and one with an annual ratio, judged.
func search(seed uint64, n, days int, annual float64) *TrialList {
	var list []*Series
	for i := range n - 1 {
		list = append(list, daily(noise(seed, i, days, 0)))
	}
	return ledgerOf(append(list, daily(noise(seed, n-1, days, annual)))...)
}

// flat is a market that stands still; err is what it answers instead for a symbol.
type flat struct{ broken string }

func (f flat) Holding(_ context.Context, _ string, data []artifact.Dataset, from,
	_ []market.Time) ([]float64, error) {
	if data[0].Symbol == f.broken {
		return nil, errors.New("no candles")
	}
	return make([]float64, len(from)), nil
}

func (l *TrialList) mustSelect(t testing.TB) *Result {
	t.Helper()
	r, err := l.Select(t.Context(), flat{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func near(t testing.TB, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, deref(got), want)
	}
}

func deref(x *float64) any {
	if x == nil {
		return nil
	}
	return *x
}
