package run

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/assay-run/assay/host/hosttest/playtest"

	"github.com/govalues/decimal"
)

func TestSnapshotOfAFailure(t *testing.T) {
	l := newLab(t, 2000, "panics", "nan", "errs", "exits", "lateexit", "good")
	for _, c := range []struct {
		plugin, field string
		kind          string // type of what the SDK reports
	}{
		{"panics", "", "string"}, {"errs", "", "*errors.errorString"}, {"nan", "intents[0].quantity", ""},
		{"exits", "", ""},
	} {
		for _, mode := range []Mode{ModeCoSimulation, ModeLockstep} {
			x, o := l.in(mode).run(context.Background(), request(c.plugin, nil))
			s, err := x.Snapshot(200)
			if err != nil {
				t.Fatal(err)
			}
			exact := c.plugin != "exits" || mode == ModeLockstep // what a dying process had in hand is lost
			if exact && s.Step != playtest.MisdeedStep || !exact && s.Step > playtest.MisdeedStep || s.Over {
				t.Errorf("%s in mode %d: step %d", c.plugin, mode, s.Step)
			}
			n := len(s.Candles)
			if s.CandlesTotal != s.Step+1 || n != int(min(200, s.Step+1)) || n > 0 &&
				(s.Candles[n-1].Step != s.Step || s.Candles[n-1].CloseTime != s.Time ||
					s.Candles[0].Step != s.Step-int64(n)+1) {
				t.Errorf("%s in mode %d: %d candles, %d kept", c.plugin, mode, s.CandlesTotal, len(s.Candles))
			}
			if field, _ := o.Failure.Data["field_path"].(string); field != c.field {
				t.Errorf("%s in mode %d: field %q", c.plugin, mode, field)
			}
			if kind, _ := o.Failure.Data["type"].(string); kind != c.kind {
				t.Errorf("%s in mode %d: type %q", c.plugin, mode, kind)
			}
			if s.Cash.Cmp(decimal.MustParse("10000")) != 0 || s.Equity.Cmp(s.Cash) != 0 ||
				s.LinesTotal != 0 || len(s.OpenOrders) != 0 {
				t.Errorf("%s in mode %d: %+v", c.plugin, mode, s)
			}
		}
	}
}

func TestSnapshotOfTheEnd(t *testing.T) {
	l := newLab(t, 2000, "lateexit", "randomly")
	x, o := l.in(ModeLockstep).run(context.Background(), request("lateexit", nil))
	s, err := x.Snapshot(50)
	if err != nil || o.Failure == nil || !s.Over || s.Step != s.CandlesTotal-1 || len(s.Candles) != 50 ||
		len(s.Lines) != 50 {
		t.Errorf("%v, %+v, %d lines of %d", err, o.Failure, len(s.Lines), s.LinesTotal)
	}
	// Two symbols, with a warm-up before the window.
	req := request("randomly", nil, one, two)
	start := "2020-01-11T00:00:00Z"
	req.StartDate = &start
	x, o = l.run(context.Background(), req)
	if o.Failure != nil {
		t.Fatal(o.Failure)
	}
	if s, err = x.Snapshot(20); err != nil {
		t.Fatal(err)
	}
	ordered := slices.IsSortedFunc(s.Candles, func(a, b SnapshotCandle) int {
		return cmp.Compare(a.Step, b.Step)
	})
	both := slices.ContainsFunc(s.Candles, func(c SnapshotCandle) bool {
		return c.Symbol != s.Candles[0].Symbol
	})
	if s.Window < 5 || x.WindowStep() != s.Window || s.CandlesTotal <= s.Step+1 || len(s.Candles) != 20 ||
		!ordered || !both || s.Candles[19].Step != s.Step {
		t.Errorf("window %d, %d candles: %+v", s.Window, s.CandlesTotal, s.Candles)
	}
	var last struct{ Seq int64 }
	if err := json.Unmarshal(s.Lines[len(s.Lines)-1], &last); err != nil || last.Seq != s.LinesTotal-1 {
		t.Errorf("%v: the last line is %d of %d", err, last.Seq, s.LinesTotal)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Snapshot(7); err == nil {
		t.Error("a snapshot after Close")
	}
}
