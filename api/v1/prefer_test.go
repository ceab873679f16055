package v1

import (
	"net/http"
	"testing"
	"time"
)

func TestParsePrefer(t *testing.T) {
	none := Prefer{Wait: -1, Points: -1, Rows: -1}
	for text, want := range map[string]Prefer{
		"":                             none,
		"wait=10":                      {Wait: 10 * time.Second, Points: -1, Rows: -1},
		"WAIT = 30 , points=2;x=1":     {Wait: 30 * time.Second, Points: 2, Rows: -1},
		`points="4000", rows=0`:        {Wait: -1, Points: 4000, Rows: 0},
		"wait=0, points=1, rows=1001":  none,
		"wait=31, points=4001":         none,
		"wait=5, wait=6":               {Wait: 5 * time.Second, Points: -1, Rows: -1},
		"wait=x, wait=6":               none,
		"wait=-1, rows=+1, points=1e2": none,
		"return=minimal, rows=1000":    {Wait: -1, Points: -1, Rows: 1000},
		"rows=99999999999999999999":    none,
	} {
		if got := ParsePrefer(http.Header{"Prefer": {text}}); got != want {
			t.Errorf("%q: %+v", text, got)
		}
	}
	p := ParsePrefer(http.Header{"Prefer": {"wait=1", "rows=2, points=3"}})
	if p.AppliedWait() != "wait=1" || p.AppliedSampling() != "points=3, rows=2" ||
		none.AppliedWait()+none.AppliedSampling() != "" {
		t.Errorf("%+v", p)
	}
}

func FuzzPrefer(f *testing.F) {
	for _, s := range []string{"wait=5", "points=100, rows=1", `rows="7"`, ",;=,", "wait=\xff", "wait==5"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p := ParsePrefer(http.Header{"Prefer": {text}})
		if p.Wait != -1 && (p.Wait < time.Second || p.Wait > 30*time.Second) || p.Points != -1 &&
			(p.Points < 2 || p.Points > 4000) || p.Rows < -1 || p.Rows > 1000 {
			t.Fatalf("%q: %+v", text, p)
		}
		again := ParsePrefer(http.Header{"Prefer": {p.AppliedWait(), p.AppliedSampling()}})
		if again != p {
			t.Fatalf("%q: %+v is applied as %+v", text, p, again)
		}
	})
}
