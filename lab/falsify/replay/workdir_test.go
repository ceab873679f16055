package replay_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/lab/falsify/replay"
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/assay-run/assay/plugin-sdk/sdktest"
)

// What is loaded is the window with its warm-up and nothing behind it.
func TestLoad(t *testing.T) {
	ctx := context.Background()
	hour := market.MustTimeframe("1h")
	all := synth(500, 1, 2)
	for i := range all {
		all[i].Series = sdktest.Synth(uint64(i+1), 500, y2020.Time(), time.Hour)
		all[i].Series.Symbol = market.Symbol([]string{"A/Q", "B/Q"}[i])
	}
	workdir, err := replay.NewWorkdir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer workdir.Close()
	store, err := workdir.Put(ctx, all)
	if err != nil {
		t.Fatal(err)
	}
	pins := []replay.Pin{{"B/Q", hashOf(t, store, "B/Q")}, {"A/Q", hashOf(t, store, "A/Q")}}
	w := replay.Window{Start: y2020.Add(100 * time.Hour), End: y2020.Add(300 * time.Hour), Lead: 24}
	src, err := replay.Load(ctx, store.Store, "sample", hour, pins, w)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := src.Set[0].Series.Symbol, src.Set[1].Series.Symbol; len(src.Set) != 2 || a != "B/Q" ||
		b != "A/Q" {
		t.Error(a, b)
	}
	for _, c := range src.Set {
		s := c.Series
		if before := s.Search(w.Start); before != 24 {
			t.Errorf("%d candles to warm up", before)
		}
		if last := s.Time[s.Len()-1]; last >= w.End || s.Search(w.End) != s.Len() {
			t.Error("a candle behind the window: ", last)
		}
	}
	if err := src.Close(); err != nil || src.Set != nil {
		t.Error(err)
	}
	for _, bad := range []replay.Window{{}, {Start: w.Start}, {Start: w.End, End: w.Start},
		{End: w.End, Lead: -1}, {End: y2020 - 5}} {
		if _, err := replay.Load(ctx, store.Store, "sample", hour, pins, bad); err == nil {
			t.Errorf("%+v is a window", bad)
		}
	}
	if _, err := replay.Load(ctx, store.Store, "sample", hour, []replay.Pin{{"C/Q", ""}}, w); err == nil {
		t.Error("an unknown symbol is loaded")
	}
	if src, err := replay.Load(ctx, store.Store, "sample", hour, pins,
		replay.Window{End: w.End, Lead: 5}); err != nil || src.Set[0].Series.Time[0] != y2020 {
		t.Error("no start is the first candle: ", err)
	} else if err := src.Close(); err != nil {
		t.Error(err)
	}
}

func TestSetTimes(t *testing.T) {
	set := synth(5, 1, 2)
	set[1].Series = set[1].Series.Slice(2, 5)
	if set.Begun() != set[1].Series.CloseTime(0) || set.Joint() {
		t.Error(set.Begun())
	}
	cut := replay.Truncate(set, set.Begun())
	if cut[1].Series.Len() != 1 || cut[0].Series.Len() == 0 || (replay.Set{}).Begun() != 0 {
		t.Error(cut[0].Series.Len(), cut[1].Series.Len())
	}
}

// hashOf is the hash of the candles of a symbol.
func hashOf(t *testing.T, store *replay.Store, symbol market.Symbol) string {
	t.Helper()
	d, err := store.Lookup(t.Context(), "sample", symbol, market.MustTimeframe("1h"))
	if err != nil {
		t.Fatal(err)
	}
	return d.SHA256
}

// A work folder removes what killed processes have left, never what another one is using, and
// itself when it is closed.
func TestWorkdirs(t *testing.T) {
	ctx := context.Background()
	state := t.TempDir()
	root := filepath.Join(state, "tmp", "falsify")
	if err := os.MkdirAll(filepath.Join(root, "room-left", "set-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "room-left", "set-1", "x.candles"), []byte("x"),
		0o400); err != nil {
		t.Fatal(err)
	}
	first, err := replay.NewWorkdir(state)
	if err != nil {
		t.Fatal(err)
	}
	store, err := first.Put(ctx, synth(50, 1, 2))
	if err != nil {
		t.Fatal(err)
	}
	second, err := replay.NewWorkdir(state)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(t, root); n != 2 {
		t.Errorf("%d work folders", n)
	}
	d, err := store.Pinned(ctx, "sample", "B/Q", market.MustTimeframe("1h"), hashOf(t, store, "B/Q"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := store.OpenSeries(d)
	if err != nil || f.Series().Len() != 50 || d.PriceStep.String() != "0.01" ||
		d.Calendar != candle.AllDays {
		t.Fatalf("%+v, %v", d, err)
	}
	path := store.Path(d.SHA256)
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if err := store.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Error("a closed store leaves its files")
	}
	if _, err := first.Put(ctx, replay.Set{{Series: &market.Series{}}}); err == nil {
		t.Error("no candles become a store")
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	if err := first.Close(); err != nil || count(t, root) != 0 {
		t.Error(err, count(t, root))
	}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// BenchmarkPut writes 58,000 candles and opens them as a run does.
func BenchmarkPut(b *testing.B) {
	ctx := context.Background()
	workdir, err := replay.NewWorkdir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer workdir.Close()
	set := synth(58000, 1)
	for b.Loop() {
		store, err := workdir.Put(ctx, set)
		if err != nil {
			b.Fatal(err)
		}
		d, err := store.Lookup(ctx, "sample", "A/Q", market.MustTimeframe("1h"))
		if err != nil {
			b.Fatal(err)
		}
		f, err := store.OpenSeries(d)
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChanges makes each kind of replay of 58,000 candles once.
func BenchmarkChanges(b *testing.B) {
	set := synth(58000, 1)
	for b.Loop() {
		replay.Poison(set, set[0].Series.CloseTime(30000), 1, 0)
		replay.PriceNoise(set, 10, 1, 0)
		replay.Gaps(set, 1, 0)
		replay.Permute(set, 1, 0)
	}
}
