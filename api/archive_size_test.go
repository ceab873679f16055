package api_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/library"
)

// manyRuns is a registry of many runs, with what a list reads of their folders.
func manyRuns(t testing.TB, n int) *archive {
	t.Helper()
	a := newArchive(t)
	apitest.AddRuns(t, a.store, a.runs, n)
	a.Service = apitest.Start(t, apitest.Options{Library: library.New(a.store, a.runs, nil)})
	return a
}

// TestListsOfManyRuns: what a page asks of ten thousand runs is answered in 200 ms, or the machine is to
// blame: it fails at three times that.
func TestListsOfManyRuns(t *testing.T) {
	ring.Proof(t, "it fills a registry with thousands of runs")
	ring.Alone(t, "it measures")
	const budget = 200 * time.Millisecond
	begun := time.Now()
	a := manyRuns(t, ring.Size(1_000, 10_000, 100_000))
	t.Logf("filled in %s", time.Since(begun).Round(time.Millisecond))
	bare := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 64<<10))
	}))
	defer bare.Close()
	ask := func(url string) (time.Duration, []byte) {
		began := time.Now()
		answer, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if err = errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s %v", url, answer.Status, err)
		}
		return time.Since(began), body
	}
	first, _ := ask(a.URL + "/api/v1/runs")
	if took, _ := ask(a.URL + "/api/v1/runs/run_000007"); took > 3*budget {
		t.Errorf("the first run that is opened took %s, the budget is %s", took, budget)
	}
	t.Logf("%-40s %8s", "the first list after the start", first.Round(100*time.Microsecond))
	var list struct {
		NextCursor string `json:"next_cursor"`
		Total      int
	}
	if _, body := ask(a.URL + "/api/v1/runs?limit=200"); json.Unmarshal(body, &list) != nil || list.Total <
		1_000 || list.NextCursor == "" {
		t.Fatalf("%d runs, next %q", list.Total, list.NextCursor)
	}
	for _, question := range []string{
		"", "?limit=200", "?slug=idea_7", "?timeframe=4h&kind=run", "?sort=-sharpe_ratio", "?q=idea_3",
		"?q=nothing+like+this", "?limit=200&cursor=" + list.NextCursor, "?sort=sharpe_ratio&q=idea_1&limit=200",
	} {
		var took, base []time.Duration
		for range 7 {
			answered, _ := ask(a.URL + "/api/v1/runs" + question)
			alone, _ := ask(bare.URL)
			took, base = append(took, answered), append(base, alone)
		}
		slices.Sort(took)
		slices.Sort(base)
		t.Logf("%-40s %8s, bare handler %8s", "/runs"+question, took[3].Round(100*time.Microsecond),
			base[3].Round(100*time.Microsecond))
		if took[3] > 3*budget {
			t.Errorf("/runs%s took %s, the budget is %s", question, took[3], budget)
		}
	}
}
