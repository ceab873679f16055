package falsify

import (
	"bytes"
	"encoding/xml"
	"strings"
	"testing"

	"github.com/assay-run/assay/lab/falsify/judge"
	"github.com/assay-run/assay/lab/falsify/tests"
	"github.com/assay-run/assay/lab/falsify/tests/causal"
	"github.com/assay-run/assay/lab/falsify/tests/pricenoise"
)

func sample() pageView {
	list := []*judge.Test{}
	for _, e := range tests.All() {
		list = append(list, tests.Skip(e.ID, judge.NoParameters))
	}
	cost := list[5]
	cost.Verdict, cost.ReasonCode, cost.PValue, cost.PHolm = judge.Fail, judge.NetLoss, number(0.031),
		number(0.062)
	cost.Statistic = judge.Statistic{Name: "net_return", Value: number(-0.0181), Threshold: number(0),
		Direction: ">"}
	cost.Evidence = []judge.Evidence{{Path: "falsify/cost_stress/costs.csv", Rows: 4}}
	list[12].Verdict, list[12].ReasonCode = judge.Fail, judge.Concentrated
	list[13].ReasonCode = judge.SkippedByUser
	list[18].Verdict, list[18].Detail = judge.Pass, "the drawdown is large"
	noise := []judge.Replay{}
	for i := range 20 {
		noise = append(noise, judge.Replay{Replica: i, Sharpe: number(float64(i) / 10)})
	}
	return pageView{
		RunID: "run_a", BaseRunID: "run_b", Strategy: `<script>alert("x")</script>`, Params: `{"fast":10}`,
		From: "2020-01-01", To: "2020-12-31",
		Profile: "falsify-profile/1", Overall: judge.Fail, Conclusion: "fail: 1 gate failed, cost_stress",
		Sentences: []string{"Not shown: that it earns money."},
		Reasons: []judge.Reason{{Code: judge.ProfileDeviation,
			Message: "the plan of the run names another profile"}},
		Tests: list, Sharpe: number(1),
		Replays: map[string][]judge.Replay{pricenoise.ID: noise, causal.Determinism.ID: noise},
		Equity:  []float64{10000, 10100, 9900, 10300}, Trials: 3,
	}
}

func TestThePageNeedsNothingElse(t *testing.T) {
	text, err := renderPage(sample())
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"http:", "https:", "<script", "src=", "url(", "@import", "javascript:"} {
		if bytes.Contains(text, []byte(bad)) {
			t.Errorf("the page has %s", bad)
		}
	}
	for _, want := range []string{
		"default-src 'none'", "prefers-color-scheme: dark", "<p>Not shown: that it earns money.</p>",
		"✗ fail: 1 gate failed, cost_stress",
		"cannot be told from skill", "! warn", "<p class=\"soft\">1 not run.</p>", "<h2>Informs</h2>",
		"The drawdown is large.",
		"&lt;script&gt;", `<a href="cost_stress/costs.csv">`, "-0.0181", "&gt; 0", "0.031 (0.062)",
		"net loss", "no parameters", "3 trials in the ledger", "the plan of the run names another profile.",
		"<span>2020-01-01: 10000</span><span>lowest 9900, highest 10300</span><span>2020-12-31: 10300</span>",
	} {
		if !bytes.Contains(text, []byte(want)) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if n := bytes.Count(text, []byte(`<svg class="strip"`)); n != 1 {
		t.Errorf("%d strips, want that of price_noise", n)
	}
	again, err := renderPage(sample())
	if err != nil || !bytes.Equal(text, again) {
		t.Error("the page differs from itself", err)
	}
}

func TestChartsAreWellFormed(t *testing.T) {
	list := []judge.Replay{{Sharpe: number(-1)}, {}, {Sharpe: number(0)}, {Sharpe: number(0)},
		{Sharpe: number(2)}, {Sharpe: number(1)}}
	for name, svg := range map[string]string{
		"strip": string(strip(list, number(1.5))), "flat": string(curve([]float64{5, 5, 5}, "", "")),
		"curve": string(curve(make([]float64, 5000), "2020-01-01", "<a>")),
	} {
		d := xml.NewDecoder(strings.NewReader(svg))
		elements := 0
		for {
			token, err := d.Token()
			if token == nil {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, start := token.(xml.StartElement); start {
				elements++
			}
		}
		if elements < 2 || strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
			t.Errorf("%s: %d elements: %.200s", name, elements, svg)
		}
	}
	grown := string(curve([]float64{100, 10000, 1000000}, "", ""))
	if !strings.Contains(grown, "highest 1000000, logarithmic") || !strings.Contains(grown, "L480.0 90.0") {
		t.Errorf("a hundredfold twice is a straight line: %s", grown)
	}
	if strip(list[:3], number(1)) != "" || strip(list, nil) != "" || curve([]float64{1}, "", "") != "" {
		t.Error("something is drawn from nothing")
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
