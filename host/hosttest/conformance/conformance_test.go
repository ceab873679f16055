package conformance

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire"
	"github.com/assay-run/assay/host/hosttest/exchangetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func guarded(c exchange.Connection) exchange.Connection { return wire.Guard(c, nil) }

// TestReference: a right connector passes every card.
func TestReference(t *testing.T) {
	t.Parallel()
	if r := Run(t, refHarness(guarded, "")); r.Passed != Cards || len(r.Skipped) != 0 {
		t.Errorf("%s: %v", r, r.Skipped)
	}
}

// TestReferenceOverTheWire: so it does as the host sees it.
func TestReferenceOverTheWire(t *testing.T) {
	t.Parallel()
	over := func(c exchange.Connection) exchange.Connection { return exchangetest.Over(t, c) }
	if r := Run(t, refHarness(over, "")); r.Passed != Cards || len(r.Skipped) != 0 {
		t.Errorf("%s: %v", r, r.Skipped)
	}
}

// TestNames: the cards have the numbers and names of the design.
func TestNames(t *testing.T) {
	d := deck()
	if len(d) != Cards {
		t.Fatalf("%d cards", len(d))
	}
	for n, name := range map[int]string{1: "entry", 10: "Close twice", 15: "rule change",
		25: "no forming candle", 36: "duplicate open id", 45: "one request per Submit",
		53: "fills attributed", 58: "manual cancel", 60: "no secret in output",
		65: "leg of a pair cancelled", 66: "post-only"} {
		if d[n-1].name != name {
			t.Errorf("card %d is %q", n, d[n-1].name)
		}
	}
}

// bugs is which card finds which.
var bugs = map[string][]int{
	"no offset":           {6},
	"keyed paper":         {7},
	"no sandbox":          {8},
	"invented market":     {12},
	"floats":              {14},
	"descending":          {16},
	"pages too long":      {17},
	"silent reconnect":    {57},
	"says nothing":        {20, 21, 23},
	"mute gap":            {21},
	"duplicates":          {22},
	"one symbol":          {24},
	"forming":             {25},
	"loose pair":          {32},
	"time-out is reject":  {37, 38, 39, 49},
	"garbage is accepted": {40},
	"5xx is reject":       {41},
	"retry":               {45},
	"cancels the filled":  {47},
	"error is absence":    {51},
	"first page only":     {52},
	"foreign fills":       {53},
	"silent refusal":      {56},
	"last fill only":      {54, 61},
	"frozen balances":     {54},
	"part is whole":       {62},
	"open is untouched":   {63},
	"deaf while sending":  {64},
	"leg is unknown":      {65},
	"maker takes":         {66},
}

// unguarded bugs are those that the guard of package wire would hide.
var unguarded = map[string][]int{"": {9, 10, 59}, "leak": {60}}

// TestBrokenConnectors: the card that is about it finds a fault.
func TestBrokenConnectors(t *testing.T) {
	for bug, cards := range bugs {
		t.Run(bug, func(t *testing.T) { t.Parallel(); mustFail(t, refHarness(guarded, bug), cards) })
	}
	for bug, cards := range unguarded {
		t.Run("unguarded "+bug, func(t *testing.T) {
			t.Parallel()
			mustFail(t, refHarness(func(c exchange.Connection) exchange.Connection { return c }, bug), cards)
		})
	}
}

func mustFail(t *testing.T, h Harness, cards []int) {
	t.Helper()
	h.Patience = time.Second
	for _, n := range cards {
		tr := play(t, h, n)
		if !tr.failed || tr.skipped != "" {
			t.Errorf("card %d %q finds nothing (skipped: %q)", n, deck()[n-1].name, tr.skipped)
		}
	}
}

// TestSkipsAreCounted: neither a card that is excused nor one that the venue cannot play
// is passed.
func TestSkipsAreCounted(t *testing.T) {
	h := refHarness(guarded, "")
	h.Skip = map[int]string{1: "because"}
	start := h.Start
	h.Start = func(tb testing.TB) Venue { return poor{start(tb)} }
	for n, want := range map[int]string{1: "because", 37: "the venue cannot do submit cut_before",
		45: "the venue does not count requests"} {
		if tr := play(t, h, n); tr.skipped != want || tr.failed {
			t.Errorf("card %d: %+v", n, tr)
		}
	}
	report := Report{Passed: 57, Skipped: map[int]string{1: "", 37: "", 45: ""}}
	if s := report.String(); s != "57 of 66 cards, 3 skipped" {
		t.Error(s)
	}
}

// poor is a venue that can do nothing but let candles close.
type poor struct{ Venue }

func (p poor) Fault(name string, args ...string) error {
	if name != FaultStep {
		return ErrCannot
	}
	return p.Venue.Fault(name, args...)
}

func (poor) Count(string) int { return -1 }

// play runs one card and keeps its verdict.
func play(t *testing.T, h Harness, n int) *trial {
	tr := &trial{TB: t}
	ctx, cancel := context.WithCancel(t.Context())
	tr.ctx = ctx
	report := Report{Skipped: map[int]string{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer func() {
			cancel()
			for _, f := range slices.Backward(tr.cleanups) {
				f()
			}
		}()
		h.play(tr, n, deck()[n-1], &report)
	})
	wg.Wait()
	return tr
}

// trial is a testing.TB whose verdict does not reach the test.
type trial struct {
	testing.TB
	ctx      context.Context
	cleanups []func()

	mu      sync.Mutex
	failed  bool
	skipped string
}

func (tr *trial) fail() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.failed = true
}

func (tr *trial) Context() context.Context { return tr.ctx }
func (tr *trial) Cleanup(f func())         { tr.cleanups = append(tr.cleanups, f) }
func (tr *trial) Error(args ...any)        { tr.fail() }
func (tr *trial) Errorf(string, ...any)    { tr.fail() }
func (tr *trial) Fatal(args ...any)        { tr.fail(); runtime.Goexit() }
func (tr *trial) Fatalf(string, ...any)    { tr.fail(); runtime.Goexit() }
func (tr *trial) Logf(string, ...any)      {}
func (tr *trial) Skip(args ...any)         { tr.skipped = fmt.Sprint(args...); runtime.Goexit() }
func (tr *trial) TempDir() string {
	dir, err := os.MkdirTemp(tr.TB.TempDir(), "")
	if err != nil {
		tr.TB.Fatal(err)
	}
	return dir
}
