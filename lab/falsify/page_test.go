package falsify

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/causal"
	"github.com/assay-run/assay/lab/falsify/tests/pricenoise"
	"github.com/assay-run/assay/lab/page/pagetest"
	"github.com/assay-run/assay/plugin-sdk/market"
)

func sample() *Page {
	h := pagetest.Hostile
	list := []*judge.Test{}
	for _, e := range tests.All() {
		list = append(list, tests.Skip(e.ID, judge.NoParameters))
	}
	cost := list[5]
	cost.Verdict, cost.ReasonCode, cost.PValue, cost.PHolm = judge.Fail, judge.NetLoss, number(0.031),
		number(0.062)
	cost.Statistic = judge.Statistic{Name: "net_return", Value: number(-0.0181), Threshold: number(0),
		Direction: ">"}
	cost.Detail = h
	cost.Evidence = []judge.Evidence{{Path: "falsify/cost_stress/costs.csv", Rows: 4}}
	list[12].Verdict, list[12].ReasonCode = judge.Fail, judge.Concentrated
	list[13].ReasonCode = judge.SkippedByUser
	list[18].Verdict, list[18].Detail = judge.Pass, "the drawdown is large"
	noise := []judge.Replay{}
	for i := range 20 {
		noise = append(noise, judge.Replay{Replica: i, Sharpe: number(float64(i) / 10)})
	}
	s := &Summary{BaseRunID: "run_b", Overall: judge.Fail, Tests: list, Profile: ProfileRef{ID: h, SHA256: h},
		Seed: h, Reasons: []judge.Reason{{Code: judge.ProfileDeviation, Message: "another profile " + h}}}
	s.Ledger.NTrials = 3
	return &Page{RunID: "run_a", Strategy: h, Params: h, Summary: s, Sharpe: number(1), Inside: true,
		Replays: map[string][]judge.Replay{pricenoise.ID: noise, causal.Determinism.ID: noise},
		Time:    []market.Time{1, 2, 3, 4}, Equity: []float64{10000, 10100, 9900, 10300}}
}

func TestFailuresComeFirst(t *testing.T) {
	text, err := sample().Bytes()
	if err != nil {
		t.Fatal(err)
	}
	pagetest.Check(t, text)
	for _, want := range []string{
		"This idea does not survive (fail: 1 gate failed, cost_stress).", "cannot be told from skill",
		"1 tests were left out", "What only informs", "The drawdown is large.",
		`<a href="cost_stress/costs.csv">`, "net return -0.0181, passes at &gt; 0; p = 0.031, 0.062 by Holm",
		"../../../reports/run_b/report.html", "Sharpe ratios of 20 replays from 0.00 to 1.90, base 1.00",
		"equity from 10000 to 10300, between 9900 and 10300",
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page lacks %s", want)
		}
	}
	failed, skipped := bytes.Index(text, []byte("What failed")), bytes.Index(text, []byte("What was skipped"))
	if failed < 0 || skipped < failed {
		t.Errorf("failures at %d, what was skipped at %d", failed, skipped)
	}
	if n := bytes.Count(text, []byte("Sharpe ratios of the replays")); n != 2 { // caption and label
		t.Errorf("%d, want the replays of price_noise once", n)
	}
	again, err := sample().Bytes()
	if err != nil || !bytes.Equal(text, again) {
		t.Error("the page differs from itself", err)
	}
}

// TestReadPage: the page from the files is the page as it was made.
func TestReadPage(t *testing.T) {
	p := sample()
	p.Inside, p.Strategy, p.Params = false, "x", "{}"
	files := map[string][]byte{}
	for id, list := range p.Replays {
		f := judge.Replays(id, list)
		files[f.Path] = f.Content
		for _, x := range p.Summary.Tests {
			if x.ID == id {
				x.Attach(f)
			}
		}
	}
	var err error
	if files[summaryName], err = p.Summary.encode(); err != nil {
		t.Fatal(err)
	}
	read, err := ReadPage(&artifact.Metadata{RunID: "run_a", Slug: "x", Params: json.RawMessage("{}")},
		func(name string) ([]byte, error) { return files[name], nil })
	if err != nil {
		t.Fatal(err)
	}
	read.Time, read.Equity, read.Sharpe = p.Time, p.Equity, p.Sharpe
	want, err := p.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	got, err := read.Bytes()
	if err != nil || !bytes.Equal(got, want) {
		t.Error("another page is made from the files", err)
	}
	if !strings.Contains(string(got), `href="../run_b/report.html"`) ||
		strings.Contains(string(got), "costs.csv\">") {
		t.Error("links of the folder stand in a page outside of it")
	}
}

func TestNumbersAreShort(t *testing.T) {
	for want, x := range map[string]float64{"0.5217": 0.521714916994, "-12346": -12345.6, "1e-09": 1e-9,
		"0": 0, "9999": 9999.4, "2.303": 2.3028397278} {
		if got := shortNumber(&x); got != want {
			t.Errorf("%v is %s, want %s", x, got, want)
		}
	}
	if shortNumber(nil) != "" {
		t.Error("nothing is a number")
	}
}
