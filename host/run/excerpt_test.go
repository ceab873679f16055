package run

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assay-run/assay/host/catalog"
	"github.com/assay-run/assay/host/hosttest/ring"
	sdk "github.com/assay-run/assay/plugin-sdk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// marked is a constant of the program: the last byte is how often marker buys.
var marked = "this program buys at each candle of number 5"

type marker struct{ probeParams }

func newMarker(p probeParams) (sdk.Strategy, error) { return &marker{p}, nil }

func (m *marker) Warmup() int { return 40 }

func (m *marker) OnCandle(v sdk.View) (sdk.Intents, error) {
	if v.Index()%int64(marked[len(marked)-1]-'0') == 0 {
		return sdk.Buy(sdk.CashFraction(0.01)), nil
	}
	return nil, nil
}

// excerpt plays so many candles of a lab's program from one on.
func (l *lab) excerpt(first, candles int) string {
	l.t.Helper()
	at := func(i int) market.Time {
		return market.FromTime(time.Date(2020, 1, 1, i, 0, 0, 0, time.UTC))
	}
	sum, level, err := l.launcher.Excerpt(context.Background(), "run_test", request("marker", nil), Split{Seed: 7},
		at(first), at(first+candles))
	if err != nil || len(sum) != 64 || level == "" {
		l.t.Fatalf("%q %q %v", sum, level, err)
	}
	return sum
}

// TestExcerptsTellPrograms: a window has one answer, another window another one, and so has a
// program of which one byte was changed.
func TestExcerptsTellPrograms(t *testing.T) {
	ring.Slow(t, "starts a program eight times")
	l := newLab(t, 900, "marker").patient()
	first := l.excerpt(100, 300)
	if again := l.excerpt(100, 300); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if other := l.excerpt(101, 300); other == first {
		t.Error("another window has the same answer")
	}
	whole := l.excerpt(0, 2000)
	if outside := l.excerpt(5000, 300); outside != whole || outside == first {
		t.Errorf("a window without candles: %s, the whole request has %s", outside, whole)
	}

	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	changed := []byte(marked)
	changed[len(changed)-1] = '6'
	if bytes.Count(program, []byte(marked)) != 1 {
		t.Fatal("the constant is not in the program once")
	}
	program = bytes.Replace(program, []byte(marked), changed, 1)
	if err := os.WriteFile(filepath.Join(dir, "marker"), program, 0o700); err != nil {
		t.Fatal(err)
	}
	opts := l.launcher.Options
	if opts.Catalog, err = catalog.Open(context.Background(), catalog.Options{Dir: dir, StateDir: t.TempDir(),
		Logger: opts.Logger}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(opts.Catalog.Close)
	forged := &lab{t: t, launcher: NewLauncher(opts)}
	if other := forged.excerpt(100, 300); other == first {
		t.Error("a program with another byte has the same answer")
	}
}
