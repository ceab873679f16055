package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	v1 "github.com/assay-run/assay/api/v1"
)

// TestImportArguments: each option is one argument, and what is not given is none.
func TestImportArguments(t *testing.T) {
	got := importArgs(v1.ImportOptions{Exchange: "here", Symbol: "--merge", Columns: "time,a b", TZ: "UTC",
		OHLCViolations: "keep"}, true)
	want := []string{"data", "import", "--exchange=here", "--symbol=--merge", "--columns=time,a b", "--tz=UTC",
		"--ohlc-violations=keep", "--merge=false", "--dry-run=true"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// FuzzReport: whatever a lab says, the job keeps a report that can be shown, and short lists.
func FuzzReport(f *testing.F) {
	warnings := strings.Repeat(`{"code":"X","message":"m"},`, 20) + `{}`
	f.Add([]byte(`{"dataset":{"id":"d","symbol":"A/B","timeframe":"1h","price_step":"0.01","report":{"warnings":[` +
		warnings + `],"gaps":{"gaps":null},"fetched":{"pages":[]}}},"stored":true}`))
	f.Add([]byte(`{"dataset":{"timeframe":"never"}}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, text []byte) {
		kept, err := readReport(text)
		if err != nil {
			return
		}
		var report v1.CandleReport
		if err := json.Unmarshal(kept, &report); err != nil {
			t.Fatalf("%v in %s", err, kept)
		}
		for _, n := range []int{len(report.Report.Files), len(report.Report.Warnings),
			len(report.Report.Gaps.Gaps)} {
			if n > shownReport {
				t.Errorf("a list of %d", n)
			}
		}
	})
}
