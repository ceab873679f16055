package holdout_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/holdout"
	"github.com/assay-run/assay/host/registry"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const hour = market.Time(time.Hour / time.Millisecond)

// begin is a midnight.
const begin = market.Time(1609459200000)

type bench struct {
	*testing.T
	holdout.Ledger
}

func newBench(t *testing.T) bench {
	t.Helper()
	dir := t.TempDir()
	candles, err := candle.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := registry.Open(t.Context(), artifact.NewStore(filepath.Join(dir, "runs")), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(candles.Close(), reg.Close()); err != nil {
			t.Error(err)
		}
	})
	return bench{t, holdout.Ledger{Candles: candles, Registry: reg}}
}

// walk is candles of an hour with closes of their own by seed.
func walk(seed, first, n int) *market.Series {
	s := &market.Series{Symbol: "A/Q", Timeframe: market.MustTimeframe("1h")}
	for i := first; i < first+n; i++ {
		p := 1000 + float64((i*7919+seed*104729)%997)
		s.Time = append(s.Time, begin+market.Time(i)*hour)
		s.Open, s.High, s.Low = append(s.Open, p), append(s.High, p), append(s.Low, p)
		s.Close, s.Volume = append(s.Close, p), append(s.Volume, 1)
	}
	return s
}

func (b bench) put(exchange, symbol string, s *market.Series) candle.Dataset {
	b.Helper()
	s.Symbol = market.Symbol(symbol)
	d, err := b.Candles.Put(b.Context(), candle.PutRequest{Exchange: exchange, Series: s})
	if err != nil {
		b.Fatal(err)
	}
	return d
}

func (b bench) of(d candle.Dataset) *holdout.Standing {
	b.Helper()
	list, err := b.List(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	at := slices.IndexFunc(list, func(s *holdout.Standing) bool { return s.Has(d.SHA256) })
	if at < 0 {
		b.Fatalf("%s has no market", d.ID)
	}
	return list[at]
}

// show notes that a run shows closes of a dataset, or keeps some locked.
func (b bench) show(id string, d candle.Dataset, shown, locked []registry.Days) {
	b.Helper()
	err := b.Registry.Look(b.Context(), registry.Windows{
		ID: id, FamilyID: "f", Symbols: []string{string(d.Symbol)}, Shown: shown, Locked: locked, Command: registry.LookRun, Author: "eve",
		Data: []artifact.Dataset{{Symbol: string(d.Symbol), SHA256: d.SHA256}},
	})
	if err != nil {
		b.Fatal(err)
	}
}

func at(i int) market.Time { return begin + market.Time(i)*hour }

func span(from, to int) []registry.Days { return []registry.Days{{From: at(from), To: at(to)}} }

// A market keeps its hold-out under any name, with other columns changed, with a tenth of its rows
// changed, as longer candles, in parts and when it grows.
func TestOneMarketUnderAnyName(t *testing.T) {
	b := newBench(t)
	first := b.put("x", "A/Q", walk(1, 0, 2400))
	own := b.of(first)
	if want := at(1920); own.From != want || own.SetBy != holdout.Author { // 1920 = 80 days: a midnight
		t.Errorf("held out from %s, want %s, by %s", own.From, want, own.SetBy)
	}
	volume := walk(1, 0, 2400)
	for i := range volume.Volume {
		volume.Volume[i] = 2
	}
	touched := walk(1, 0, 2400)
	for i := 0; i < 2400; i += 10 {
		touched.Close[i]++
		touched.High[i] = touched.Close[i]
	}
	longer, _, err := candle.Resample(walk(1, 0, 2400), market.MustTimeframe("4h"), candle.AllDays)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]*market.Series{
		"RENAMED/Q": walk(1, 0, 2400), "VOLUME/Q": volume, "TENTH/Q": touched, "PART/Q": walk(1, 300, 700), "GROWN/Q": walk(1, 0, 3000), "LONG/Q": longer,
	} {
		if got := b.of(b.put("y", name, s)); got.Market != own.Market || got.From != own.From {
			t.Errorf("%s is %s, held out from %s", name, got.Market, got.From)
		}
	}
	// A part that follows is the same market by its name alone.
	if got := b.of(b.put("x", "A/Q", walk(9, 5000, 100))); got.Market != own.Market {
		t.Error("the candles after the first are of another market")
	}
	third := walk(1, 0, 2400)
	for i := 0; i < 2400; i += 3 {
		third.Close[i]++
		third.High[i] = third.Close[i]
	}
	for name, s := range map[string]*market.Series{"OTHER/Q": walk(2, 0, 2400), "THIRD/Q": third, "LATER/Q": walk(1, 9000, 100)} {
		if got := b.of(b.put("z", name, s)); got.Market == own.Market {
			t.Errorf("%s is the same market", name)
		}
	}
}

// What shows held out candles is a look: windows that reach into them, tests that are revealed,
// under another name too; what is locked and not shown is none.
func TestLooks(t *testing.T) {
	b := newBench(t)
	d := b.put("x", "A/Q", walk(1, 0, 2400))
	renamed := b.put("y", "B/Q", walk(1, 0, 2400))
	looks := func(want ...string) {
		t.Helper()
		var got []string
		for _, k := range b.of(d).Looks {
			got = append(got, k.SourceID+" "+k.Command)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	b.of(d)
	b.show("run_a", d, span(1, 1920), span(1921, 2400))
	looks()
	if err := b.Registry.Peek(t.Context(), registry.Peek{RunID: "run_a", FamilyID: "f", Command: "compare", Author: "eve"}); err != nil {
		t.Fatal(err)
	}
	looks("run_a compare")
	b.show("run_b", renamed, span(1900, 2200), nil) // data.start was moved, under another name
	b.show("run_b", renamed, span(1900, 2200), nil)
	looks("run_a compare", "run_b days of a run")
	if k := b.of(d).Looks; k[0].From != at(1920) || k[0].To != at(2400) || k[1].From != at(1920) || k[1].To != at(2200) {
		t.Errorf("%+v", k)
	}
}

// What was shown before the market of the candles was known is noted with it.
func TestLooksAreRecalled(t *testing.T) {
	b := newBench(t)
	d := b.put("x", "A/Q", walk(1, 0, 2400))
	b.show("run_a", d, span(1, 1900), span(1921, 2400))
	b.show("run_b", d, span(1, 2000), nil)
	if err := b.Registry.Peek(t.Context(), registry.Peek{RunID: "run_a", FamilyID: "f", Command: "run", Author: "eve"}); err != nil {
		t.Fatal(err)
	}
	got := b.of(d).Looks
	if len(got) != 2 || got[0].SourceID != "run_b" || got[1].SourceID != "run_a" || got[1].Command != "run" {
		t.Errorf("%+v", got)
	}
}

// A hold-out moves forward only, over candles that were looked at; before anything was shown it
// may begin earlier.
func TestItNeverShrinksUnseen(t *testing.T) {
	b := newBench(t)
	d := b.put("x", "A/Q", walk(1, 0, 2400))
	move := func(i int, code string) {
		t.Helper()
		err := b.Move(t.Context(), b.of(d), at(i), "eve")
		var refused *holdout.RefusedError
		switch {
		case code == "" && err != nil:
			t.Errorf("to %d: %v", i, err)
		case code != "" && (!errors.As(err, &refused) || refused.Code != code):
			t.Errorf("to %d: %v, want %s", i, err, code)
		case code == "" && b.of(d).From != at(i):
			t.Errorf("it is %s", b.of(d).From)
		}
	}
	move(1921, holdout.CodeUnseen)
	move(2401, holdout.CodeBeyond)
	move(1700, "")
	move(1720, holdout.CodeUnseen)
	b.show("run_a", d, span(1, 1600), nil)
	move(1650, holdout.CodeBackwards)
	b.show("run_b", d, span(1800, 2000), nil)
	move(1900, holdout.CodeUnseen) // 1701 to 1799 were not seen
	b.show("run_c", d, span(1701, 1799), nil)
	move(2001, holdout.CodeUnseen)
	move(2000, "")
	move(1999, holdout.CodeBackwards)
	if got := b.of(d); len(got.Looks) != 0 || got.SetBy != "eve" {
		t.Errorf("after the move: %+v", got)
	}
	if err := b.Registry.Markets().Move(t.Context(), registry.Holdout{Market: b.of(d).Market, From: at(1)}, at(2100), "eve"); !errors.Is(err, registry.ErrHoldoutMoved) {
		t.Error(err)
	}
}

// The bundled candles have a hold-out, too.
func TestTheSample(t *testing.T) {
	b := newBench(t)
	list, err := b.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Names[0] != "sample BTC/USDT" {
		t.Fatalf("%+v, %v", list, err)
	}
	if got := list[0].From.String(); got != "2022-12-21T00:00:00.000Z" && got != "2022-12-22T00:00:00.000Z" {
		t.Error(got)
	}
}
