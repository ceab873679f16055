package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/library"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// TestSharedTrades compares the trades of runs, of which the locked ones stay locked.
func TestSharedTrades(t *testing.T) {
	a := newArchive(t)
	apitest.AddRun(t, a.store, a.runs, "svc_busy", 5, withBusy)
	l := library.New(a.store, a.runs, nil)
	shared := func(split string, ids ...string) string {
		got, err := l.Shared(t.Context(), ids, split)
		if err != nil {
			t.Fatal(err)
		}
		got.Differing = got.Differing[:min(1, len(got.Differing))]
		text, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for want, got := range map[string]string{
		`{"common":0,"only":[],"differing":[],"differing_total":0,"unread":["run_lab","svc_a"]}`: shared("test",
			"run_lab", "svc_a"),
		`{"common":1,"only":[{"run_id":"svc_a","alone":0,"of":1},{"run_id":"svc_b","alone":0,"of":1}],` +
			`"differing":[],"differing_total":0,"unread":[]}`: shared("full", "svc_a", "svc_b"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	got := shared("full", "svc_busy", "svc_a")
	if !strings.Contains(got, `{"run_id":"svc_busy","alone":1200,"of":1200}`) ||
		!strings.Contains(got, `"differing_total":1201`) || !strings.Contains(got, `"common":0`) {
		t.Error(got)
	}
	if _, err := l.Shared(t.Context(), []string{"svc_a", "nobody"}, "full"); err == nil {
		t.Error("a run that there is not")
	}
}

func withBusy(_ *artifact.Manifest, run *artifact.Run) { run.Splits[0].Results = busy() }

const busyTrades = 1200

// busy is a result with a trade every two hours, bought at the even hour and sold at the odd one; every tenth
// buy is ambiguous.
func busy() *artifact.Results {
	r := apitest.SampleResults(2 * busyTrades)
	trade, order, fill := r.Trades[0], r.Orders[0], r.Fills[0]
	r.Trades, r.Orders, r.Fills = nil, nil, nil
	for i, at := range r.Equity.Time {
		fill.ID, fill.Time, fill.Ambiguous, fill.Side = market.FillID(i+1), at, i%20 == 0, market.Side(i%2)
		order.ID, order.CreatedAt, order.UpdatedAt = market.OrderID(i+1), at, at
		r.Fills, r.Orders = append(r.Fills, fill), append(r.Orders, order)
		if i%2 == 1 {
			trade.ID, trade.EntryTime, trade.ExitTime = market.TradeID(i/2+1), r.Equity.Time[i-1], at
			r.Trades = append(r.Trades, trade)
		}
	}
	return r
}

// TestStretches asks for a part of what a run has, as a chart that is zoomed in does.
func TestStretches(t *testing.T) {
	a := newArchive(t)
	apitest.AddRun(t, a.store, a.runs, "svc_busy", 5, withBusy)
	const run = "/api/v1/runs/svc_busy"
	begin := time.UnixMilli(int64(busy().Equity.Time[0])).UTC()
	at := func(hours int) string { return begin.Add(time.Duration(hours) * time.Hour).Format(time.RFC3339) }
	stretch := func(from, to int) string { return "from=" + at(from) + "&to=" + at(to) }
	type answer struct {
		Items []struct {
			Timestamp string `json:"timestamp"`
			Trade     string `json:"trade_id"`
		}
		Points   [][]float64
		Of       int
		Total    int
		Next     *string `json:"next_cursor"`
		Sampling struct{ Of int }
	}
	ask := func(path string) (got answer) {
		t.Helper()
		if r := a.Do(t, "GET", run+path, ""); r.StatusCode != http.StatusOK ||
			json.Unmarshal(r.Body, &got) != nil {
			t.Fatalf("%s: %d %s", path, r.StatusCode, r.Body)
		}
		return got
	}
	last := 2*busyTrades - 1
	if got := ask("/equity?points=4&" + stretch(last-9, last)); len(got.Items) != 4 ||
		got.Sampling.Of != 9 || !strings.HasPrefix(got.Items[0].Timestamp, strings.TrimSuffix(at(last-9), "Z")) {
		t.Errorf("nine points thinned to four: %+v", got)
	}
	if got := ask("/equity?from=" + at(last)); len(got.Items) != 1 {
		t.Errorf("the last point: %+v", got)
	}
	// A trade that is held over an end of the stretch is in it, one that begins at its end is not.
	if got := ask("/trades?" + stretch(3, 6)); got.Total != 2 || got.Items[0].Trade != "t-000002" ||
		got.Items[1].Trade != "t-000003" {
		t.Errorf("trades of three hours: %+v", got)
	}
	if got := ask("/trades?points=500"); len(got.Items) != 500 || got.Total != busyTrades || got.Next != nil ||
		got.Items[0].Trade != "t-000001" ||
		got.Items[499].Trade != fmt.Sprintf("t-%06d", busyTrades) {
		t.Errorf("trades taken evenly: %d of %d", len(got.Items), got.Total)
	}
	for _, table := range []string{"/orders?", "/fills?"} {
		if got := ask(table + stretch(last-1, last)); got.Total != 1 {
			t.Errorf("%s of the hour before the last: %+v", table, got)
		}
	}
	got := ask("/marks?points=100&symbol=BTC%2FUSDT")
	var sums [3]float64
	for _, p := range got.Points {
		sums = [3]float64{sums[0] + p[1], sums[1] + p[2], sums[2] + p[3]}
	}
	if len(got.Points) > 100 || len(got.Points) <= 50 || got.Of != 2*busyTrades ||
		sums != [3]float64{busyTrades, busyTrades, busyTrades / 10} {
		t.Errorf("%d marks stand for %v of %d fills", len(got.Points), sums, got.Of)
	}
	if got := ask("/marks?" + stretch(last, last+1)); len(got.Points) != 1 || got.Points[0][2] != 1 {
		t.Errorf("the last fill, a sale: %+v", got)
	}
	for _, path := range []string{"/equity?", "/trades?", "/orders?", "/fills?", "/marks?"} {
		if got := ask(path + stretch(20, 10)); len(got.Items)+len(got.Points)+got.Total+got.Of != 0 {
			t.Errorf("%s of a stretch that ends before it begins: %+v", path, got)
		}
		for query, pointer := range map[string]string{
			"from=never": "/query/from", "to=12": "/query/to", "from=": "/query/from",
			"to=2024-13-01": "/query/to", "points=1": "/query/points",
			"from=2024-01-01&from=2024-01-02": "/query/from",
			"form=2024-01-01":                 "/query/form",
		} {
			r := a.Do(t, "GET", run+path+query, "")
			if r.Code() != "VALIDATION_FAILED" ||
				!strings.Contains(string(r.Body), `"pointer":"`+pointer+`"`) {
				t.Errorf("%s%s: %d %s", path, query, r.StatusCode, r.Body)
			}
		}
	}
}
