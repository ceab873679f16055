package stream_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/metric"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

type answer struct {
	ID     string
	Points [][]float64
	Method string
	Of     int
	Items  []map[string]any
}

// ask sends a request and waits for its answer.
func (c *socket) ask(kind, payload string) answer {
	c.t.Helper()
	c.send(`{"type":%q,"payload":%s}`, kind, payload)
	f := c.await(kind + "_result")
	var a answer
	f.into(c.t, &a)
	time.Sleep(100 * time.Millisecond) // at most ten messages a second
	return a
}

func TestCandleSeries(t *testing.T) {
	x := newScript()
	s := start(t, setup{api: launches(x), prepare: hasty})
	s.post(t)
	c, _ := s.rich(t)
	all := x.series
	for _, q := range []struct{ from, to, most, k int }{
		{0, 20_000, 2000, 10}, {0, 20_000, 4000, 5}, {0, 20_000, 2, 10_000}, {100, 300, 2000, 1},
		{17, 18_003, 999, 19}, {17, 18, 2, 1},
	} {
		a := c.ask("series",
			fmt.Sprintf(`{"id":"7","series":"candles","symbol":"BTC/USDT","from":%q,"to":%q,"max_points":%d}`,
				epoch.Add(time.Duration(q.from)*time.Hour), all.Time[0].Add(time.Duration(q.to)*time.Hour),
				q.most))
		if a.ID != "7" || a.Of != q.to-q.from || len(a.Points) > q.most || a.Points == nil {
			t.Fatalf("%+v: id %q, of %d, %d points", q, a.ID, a.Of, len(a.Points))
		}
		if aggregated := a.Method == "aggregate"; aggregated != (q.k > 1) || !aggregated &&
			a.Method != "none" {
			t.Errorf("%+v: method %s", q, a.Method)
		}
		checkCandles(t, all, a.Points, q.from, q.to)
	}
	if a := c.ask("series", `{"series":"candles"}`); a.Of != all.Len() || len(a.Points) > 2000 {
		t.Errorf("whole window: %d points of %d", len(a.Points), a.Of)
	}
}

// checkCandles rebuilds each point from the candles up to the next one.
func checkCandles(t *testing.T, all *market.Series, points [][]float64, from, to int) {
	t.Helper()
	at := from
	for i, p := range points {
		end := to
		if i+1 < len(points) {
			end = all.Search(market.Time(points[i+1][0]))
		}
		want := []float64{float64(all.Time[at]), all.Open[at], math.Inf(-1), math.Inf(1), all.Close[end-1], 0}
		for ; at < end; at++ {
			want[2], want[3] = max(want[2], all.High[at]), min(want[3], all.Low[at])
			want[5] += all.Volume[at]
		}
		for j := range want {
			if math.Abs(p[j]-want[j]) > 1e-9 {
				t.Fatalf("point %d: %v, want %v", i, p, want)
			}
		}
	}
	if at != to && len(points) > 0 {
		t.Errorf("points end at candle %d of %d", at, to)
	}
}

func TestLines(t *testing.T) {
	x := newScript()
	x.trade(3000)
	for range 50 {
		x.say("")
	}
	s := start(t, setup{api: launches(x), prepare: hasty})
	s.post(t)
	c, _ := s.rich(t)
	a := c.ask("series", `{"id":"e","series":"equity","max_points":100}`)
	if a.Of != 3000 || len(a.Points) > 100 || a.Method != "lttb+extremes" || len(a.Points[0]) != 4 {
		t.Errorf("equity: %d points of %d, %s", len(a.Points), a.Of, a.Method)
	}
	equity := x.Look().Equity
	peak, trough := metric.WorstDrawdown(equity.Equity)
	for _, i := range []int{0, peak, trough, 2999} {
		found := false
		for _, p := range a.Points {
			found = found || p[0] == float64(equity.Time[i]) && p[1] == equity.Equity[i]
		}
		if !found {
			t.Errorf("point %d is missing", i)
		}
	}
	a = c.ask("series", `{"series":"drawdown","from":"2024-01-02","to":"2024-01-03T00:00:00Z"}`)
	if a.Of != 24 || len(a.Points) != 24 || a.Method != "none" ||
		a.Points[0][0] != float64(epoch.Add(24*time.Hour)) || a.Points[0][1] != 0.01 {
		t.Errorf("drawdown: %+v", a)
	}
	a = c.ask("series", `{"series":"annotation:fast","max_points":10,"from":null,"to":""}`)
	if a.Of != 50 || len(a.Points) > 10 || len(a.Points) < 5 {
		t.Errorf("annotation: %d points of %d", len(a.Points), a.Of)
	}
}

func TestRows(t *testing.T) {
	x := newScript()
	x.trade(1000)
	s := start(t, setup{api: launches(x), prepare: hasty})
	s.post(t)
	c, _ := s.rich(t)
	x.end <- runner.Outcome{}
	s.Await(t, "completed") // rows are there after the end as well
	for _, q := range []struct {
		payload     string
		items, of   int
		key, newest string
	}{
		{`{"id":"8","table":"trades","offset":0,"limit":200}`, 200, 1000, "trade_id", "t-001000"},
		{`{"id":"8","table":"fills","offset":1990,"limit":500}`, 10, 2000, "fill_id", "f-000010"},
		{`{"id":"8","table":"orders","offset":5}`, 200, 2000, "order_id", "o-001995"},
		{`{"id":"8","table":"orders","offset":2000}`, 0, 2000, "", ""},
	} {
		a := c.ask("rows", q.payload)
		if a.ID != "8" || len(a.Items) != q.items || a.Of != q.of || a.Items == nil {
			t.Errorf("%s: %d items of %d", q.payload, len(a.Items), a.Of)
		} else if q.items > 0 && a.Items[0][q.key] != q.newest {
			t.Errorf("%s: newest %v", q.payload, a.Items[0][q.key])
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	x := newScript()
	s := start(t, setup{api: launches(x), prepare: hasty})
	c, _ := s.rich(t)
	refused := func(text, code, message string) {
		t.Helper()
		c.send("%s", text)
		var p struct{ Code, Message, ID string }
		f := c.await("error")
		f.into(t, &p)
		if p.Code != code || !strings.Contains(p.Message, message) ||
			strings.Contains(text, `"id":"x"`) != (p.ID == "x") {
			t.Errorf("%s: %s", text, f.text)
		}
		time.Sleep(101 * time.Millisecond)
	}
	refused(`{"type":"rows","payload":{"id":"x","table":"fills"}}`, "NO_RUN", "no run")
	s.post(t)
	for _, q := range [][2]string{
		{`{"type":"dance","payload":{"id":"x"}}`, `"dance"`},
		{`{"type":"rows"}`, "payload.table"},
		{`{"type":"rows","payload":{"id":"x","table":"fills","limit":501}}`, "payload.limit"},
		{`{"type":"rows","payload":{"id":"x","table":"fills","limit":"5"}}`, "payload.limit"},
		{`{"type":"rows","payload":{"id":"x","table":"fills","offset":-1}}`, "payload.offset"},
		{`{"type":"rows","payload":{"id":7,"table":"fills"}}`, "payload.id"},
		{`{"type":"rows","payload":{"id":"x","table":"fills","Limit":5}}`, "payload.Limit"},
		{`{"type":"series","payload":{"id":"x","series":"volume"}}`, "payload.series"},
		{`{"type":"series","payload":{"id":"x","series":"equity","max_points":4001}}`, "payload.max_points"},
		{`{"type":"series","payload":{"id":"x","series":"equity","from":"yesterday"}}`, "payload.from"},
		{`{"type":"series","payload":{"id":"x","series":"equity","from":"2024-02-01","to":"2024-01-01"}}`,
			"before payload.to"},
		{`{"type":"snapshot","payload":{},"extra":1}`, `"extra"`},
		{`{"type":"snapshot","payload":{"all":true}}`, "payload.all"},
	} {
		refused(q[0], "VALIDATION_FAILED", q[1])
	}
	refused(`{"type":"series","payload":{"id":"x","series":"annotation:none"}}`, "NOT_FOUND", "annotation")
	refused(`{"type":"series","payload":{"id":"x","series":"candles","symbol":"A/B"}}`, "UNSUPPORTED_SYMBOL",
		"BTC/USDT")
}

// Answers carry the number of the newest broadcast.
func TestSeqOfAnswers(t *testing.T) {
	s := start(t, setup{prepare: hasty})
	c, first := s.rich(t)
	for i := range uint64(5) {
		s.hub.Publish("log", json.RawMessage(`{}`))
		c.send(`{"type":"rows","payload":{"table":"fills"}}`)
		for want := first.Seq + 1 + i; ; {
			f := c.next()
			if f.Type == "error" {
				if f.Seq != want {
					t.Errorf("%s, want seq %d", f.text, want)
				}
				break
			}
		}
	}
}

func TestRunRequest(t *testing.T) {
	x := newScript()
	x.say("one")
	s := start(t, setup{api: launches(x), prepare: hasty})
	c, _ := s.rich(t)
	c.send(`{"type":"run","payload":{"id":"1"}}`)
	if f := c.await("error"); !strings.Contains(string(f.Payload), `"code":"NO_RUN"`) {
		t.Errorf("idle: %s", f.text)
	}
	s.post(t)
	c.send(`{"type":"run","payload":{"id":"2"}}`)
	f := c.await("run_result")
	var got struct {
		ID     string
		Config struct {
			Mode, Timeframe string
			Symbols         []string
		}
		Annotations []string
	}
	f.into(t, &got)
	if got.ID != "2" || got.Config.Mode != "backtest" || got.Config.Timeframe != "1h" ||
		!slices.Equal(got.Config.Symbols, []string{"BTC/USDT"}) ||
		!slices.Equal(got.Annotations, []string{"fast"}) {
		t.Errorf("%s", f.text)
	}
	c.send(`{"type":"run","payload":{"id":"3","more":1}}`)
	if f := c.await("error"); !strings.Contains(string(f.Payload), "payload.more is not a field of run") {
		t.Errorf("%s", f.text)
	}
}

func TestFillsSeries(t *testing.T) {
	x := newScript()
	x.trade(1000) // a buy and a sell in each of the first thousand candles
	s := start(t, setup{api: launches(x), prepare: hasty})
	s.post(t)
	c, _ := s.rich(t)
	for _, q := range []struct{ from, to, most, points, of, each int }{
		{0, 20_000, 1000, 1000, 2000, 1}, {0, 20_000, 999, 500, 2000, 2}, {0, 20_000, 250, 250, 2000, 4},
		{0, 20_000, 2, 2, 2000, 512}, {10, 20, 250, 10, 20, 1}, {990, 5000, 250, 10, 20, 1},
		{2000, 3000, 250, 0, 0, 1},
	} {
		a := c.ask("series", fmt.Sprintf(`{"series":"fills","from":%q,"to":%q,"max_points":%d}`,
			epoch.Add(time.Duration(q.from)*time.Hour), epoch.Add(time.Duration(q.to)*time.Hour), q.most))
		if len(a.Points) != q.points || a.Of != q.of || (a.Method == "aggregate") != (q.of > q.points) {
			t.Errorf("%+v: %d points of %d, %s", q, len(a.Points), a.Of, a.Method)
		}
		sum := 0.0
		for i, p := range a.Points {
			at := (q.from + i*q.each) / q.each * q.each
			if p[0] != float64(epoch.Add(time.Duration(at)*time.Hour)) || p[1] != p[2] || p[3] != 0 {
				t.Errorf("%+v: point %d is %v", q, i, p)
				break
			}
			sum += p[1] + p[2]
		}
		if sum != float64(q.of) {
			t.Errorf("%+v: %v fills counted", q, sum)
		}
	}
}
