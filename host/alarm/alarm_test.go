package alarm

import (
	"slices"
	"testing"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// rows are some of the codes that a run raises.
var rows = []Row{
	{"POSITION_UNPROTECTED", Critical, false}, {"BALANCE_DRIFT", Error, false}, {"OVERFILL", Error, false},
	{"DAILY_LOSS_EXCEEDED", Error, true}, {"CANDLES_MISSING", Error, true},
	{"STREAM_RECONCILING", Warning, true},
	{"CLOCK_SKEW", Warning, true},
}

func codes(list []Alarm) []string {
	var out []string
	for _, a := range list {
		out = append(out, a.Code)
	}
	return out
}

// TestSecondOccurrenceCounts: there is one alarm a code and subject; it counts, keeps its beginning, and
// counts on when it comes back.
func TestSecondOccurrenceCounts(t *testing.T) {
	s := Set{Table: rows}
	first, isNew := s.Raise(Occurrence{Code: "CANDLES_MISSING", Text: "3"}, 1000)
	if !isNew || first.ID != "a-000001" || first.Severity != Error || first.Count != 1 ||
		first.Since != 1000 {
		t.Fatalf("%+v %v", first, isNew)
	}
	again, isNew := s.Raise(Occurrence{Code: "CANDLES_MISSING", Text: "10"}, 2000)
	if isNew || again.ID != first.ID || again.Count != 2 || again.Since != 1000 || again.Last != 2000 ||
		again.Text != "10" {
		t.Errorf("%+v %v", again, isNew)
	}
	if _, isNew := s.Raise(Occurrence{Code: "CANDLES_MISSING", Subject: "BTC/USDT"}, 2000); !isNew {
		t.Error("another subject is another alarm")
	}
	if _, was := s.Clear("CANDLES_MISSING", ""); !was || len(s.Open()) != 1 {
		t.Errorf("%v %v", was, s.Open())
	}
	if _, was := s.Clear("CANDLES_MISSING", ""); was {
		t.Error("it was cleared twice")
	}
	back, isNew := s.Raise(Occurrence{Code: "CANDLES_MISSING"}, 3000)
	if !isNew || back.Count != 3 || back.ID != "a-000003" || back.Since != 3000 || back.Acknowledged {
		t.Errorf("%+v %v", back, isNew)
	}
}

// TestSeverities: the worst come first; what only watches is a warning; a code of no table must not be
// overlooked.
func TestSeverities(t *testing.T) {
	s := Set{Table: rows}
	for i, o := range []Occurrence{{Code: "CLOCK_SKEW"}, {Code: "BALANCE_DRIFT"},
		{Code: "DAILY_LOSS_EXCEEDED", Shadow: true},
		{Code: "POSITION_UNPROTECTED"}, {Code: "NOBODY_KNOWS"}} {
		s.Raise(o, market.Time(i))
	}
	want := []string{"POSITION_UNPROTECTED", "BALANCE_DRIFT", "NOBODY_KNOWS", "CLOCK_SKEW",
		"DAILY_LOSS_EXCEEDED"}
	if got := codes(s.Open()); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestEndOfTheRun: what is about trading is over then; money and orders stay, and whoever saw them.
func TestEndOfTheRun(t *testing.T) {
	s := Set{Table: rows}
	s.Raise(Occurrence{Code: "STREAM_RECONCILING"}, 1)
	kept, _ := s.Raise(Occurrence{Code: "BALANCE_DRIFT"}, 1)
	if _, ok := s.Acknowledge(kept.ID); !ok {
		t.Error("it is not there to be acknowledged")
	}
	if _, ok := s.Acknowledge("a-000009"); ok {
		t.Error("there is no such alarm")
	}
	if over := codes(s.EndRun()); !slices.Equal(over, []string{"STREAM_RECONCILING"}) {
		t.Error(over)
	}
	again := Set{Table: rows}
	for _, a := range s.Open() {
		if !a.Acknowledged {
			t.Errorf("%+v", a)
		}
		again.Restore(a)
	}
	next, _ := again.Raise(Occurrence{Code: "OVERFILL"}, 2)
	if got := codes(again.Open()); next.ID != "a-000003" ||
		!slices.Equal(got, []string{"BALANCE_DRIFT", "OVERFILL"}) {
		t.Errorf("%s %v", next.ID, got)
	}
	again.Raise(Occurrence{Code: "BALANCE_DRIFT"}, 3)
	if a := again.Open()[0]; a.Count != 2 || !a.Acknowledged {
		t.Errorf("%+v", a)
	}
}
