package stream_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/api/v1/stream"
	"github.com/assay-run/assay/api/v1/view"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/runner"
)

// hasty looks at the run more often, so that tests do not wait.
func hasty(h *stream.Hub) { h.Hasten(20*time.Millisecond, time.Hour) }

func TestHello(t *testing.T) {
	s := start(t, setup{})
	c, _ := s.dial(t, "chat", stream.Subprotocol)
	hello := c.next()
	want := `{"type":"hello","payload":{"server_id":"01test","service_version":"1.0.0","limits":{"clients":64,"message_bytes":4096,"messages_per_second":10,` +
		`"broadcasts_per_second":10,"series_points":4000,"rows":500,"outbox_frames":256},"risk":null,"on_stop":"leave"},"timestamp":"`
	if !strings.HasPrefix(string(hello.text), want) || !strings.HasSuffix(string(hello.text), `","seq":0}`) {
		t.Errorf("got  %s\nwant %s…", hello.text, want)
	}
}

// The snapshot is the body of /status/detailed and the log.
func TestSnapshot(t *testing.T) {
	x := newScript()
	x.trade(150)
	x.hold("0.5")
	for i := range 230 {
		x.say(fmt.Sprint("line ", i))
	}
	s := start(t, setup{api: launches(x)})
	_, idle := s.rich(t)
	if status, id := statusOf(t, idle); status != "idle" || id != "" ||
		!bytes.Contains(idle.text, []byte(`"log":[]`)) {
		t.Errorf("idle: %s", idle.text)
	}
	s.post(t)
	_, f := s.rich(t)
	var got, want map[string]any
	f.into(t, &got)
	if err := json.Unmarshal(s.Do(t, http.MethodGet, "/api/v1/status/detailed", "",
		"Prefer: points=400, rows=50").Body, &want); err != nil {
		t.Fatal(err)
	}
	log := got["log"].([]any)
	if len(log) != 200 || log[199].(map[string]any)["message"] != "line 229" {
		t.Errorf("%d lines, last %v", len(log), log[len(log)-1])
	}
	delete(got, "log")
	for _, moving := range []string{"health", "runtime_seconds", "updated_at"} {
		if got[moving] == nil {
			t.Errorf("%s is missing", moving)
		}
		delete(got, moving)
		delete(want, moving)
	}
	a, _ := json.Marshal(got)
	b, _ := json.Marshal(want)
	if !bytes.Equal(a, b) {
		t.Errorf("snapshot\n%s\n/status/detailed\n%s", a, b)
	}
}

func TestStatusUpdate(t *testing.T) {
	s := start(t, setup{prepare: hasty})
	c, snapshot := s.rich(t)
	run := s.Begin(t)
	f := c.next()
	want := `{"type":"status_update","payload":{"status":"running","run_id":"` + run.ID +
		`","mode":"backtest","phase":"trading","previous_status":"idle",` +
		`"stop_reason":null,"error":null,"error_details":null},"timestamp":"` + f.Timestamp.String() +
		`","seq":` + fmt.Sprint(snapshot.Seq+1) + `}`
	if string(f.text) != want {
		t.Errorf("got  %s\nwant %s", f.text, want)
	}
	run.Crash(artifact.Failure{Code: "PLUGIN_CRASHED", Message: "it fell", Phase: "trading"})
	var p map[string]any
	c.await("status_update").into(t, &p)
	details, _ := p["error_details"].(map[string]any)
	if p["status"] != "failed" || p["stop_reason"] != "error" || p["error"] != "it fell" ||
		details["code"] != "PLUGIN_CRASHED" || p["previous_status"] != "running" {
		t.Errorf("got %v", p)
	}
}

// book is what a client knows of the run's entries, by id.
type book map[string]map[string]json.RawMessage

func (b book) merge(t *testing.T, table, key string, entries []json.RawMessage) {
	t.Helper()
	for _, e := range entries {
		var fields map[string]json.RawMessage
		if err := json.Unmarshal(e, &fields); err != nil {
			t.Fatal(err)
		}
		if b[table] == nil {
			b[table] = map[string]json.RawMessage{}
		}
		b[table][string(fields[key])] = e
	}
}

var keys = map[string]string{"orders": "order_id", "fills": "fill_id", "trades": "trade_id",
	"positions": "symbol"}

// take merges a frame as a dashboard would.
func (b book) take(t *testing.T, f frame) {
	t.Helper()
	var p map[string]json.RawMessage
	f.into(t, &p)
	list := func(field string) (entries []json.RawMessage) {
		if err := json.Unmarshal(p[field], &entries); err != nil {
			t.Fatalf("%s: %v in %s", field, err, f.text)
		}
		return entries
	}
	switch f.Type {
	case "snapshot":
		for _, table := range []string{"orders", "fills", "trades"} {
			b.merge(t, table, keys[table], list("recent_"+table))
		}
		b.merge(t, "positions", "symbol", list("positions"))
		b.curve(t, list("equity_curve"))
	case "order", "fill", "trade":
		if string(p["omitted"]) != "0" {
			t.Errorf("entries were omitted: %s", p["omitted"])
		}
		b.merge(t, f.Type+"s", keys[f.Type+"s"], list("items"))
	case "position":
		delete(b, "positions")
		b.merge(t, "positions", "symbol", list("items"))
	case "equity":
		for _, point := range list("points") {
			var v []json.Number
			if err := json.Unmarshal(point, &v); err != nil {
				t.Fatal(err)
			}
			at, _ := v[0].Int64()
			b.merge(t, "equity_curve", "at",
				[]json.RawMessage{fmt.Appendf(nil, `{"at":%d,"equity":%s,"cash":%s,"drawdown":%s}`, at, v[1],
					v[2], v[3])})
		}
	}
}

func (b book) curve(t *testing.T, points []json.RawMessage) {
	t.Helper()
	for _, point := range points {
		var v view.EquityPoint
		if err := json.Unmarshal(point, &v); err != nil {
			t.Fatal(err)
		}
		b.merge(t, "equity_curve", "at",
			[]json.RawMessage{fmt.Appendf(nil, `{"at":%d,"equity":%v,"cash":%v,"drawdown":%v}`, v.Timestamp,
				float64(v.Equity), float64(v.Cash), float64(v.Drawdown))})
	}
}

// What a client has merged from its snapshot and the frames behind it is what
// /results has in the end. Clients connect at any time.
func TestSnapshotAndFramesAreResults(t *testing.T) {
	x := newScript()
	s := start(t, setup{api: launches(x), prepare: hasty})
	books := make(chan book)
	join := func() {
		c, first := s.rich(t)
		go func() {
			b := book{}
			b.take(t, first)
			for seq := first.Seq + 1; ; seq++ {
				f, err := c.soon(1500 * time.Millisecond)
				if err != nil {
					books <- b // nothing has come for a while
					return
				}
				if f.Seq != seq {
					t.Errorf("gap: %d after %d", f.Seq, seq-1)
				}
				b.take(t, f)
			}
		}()
	}
	join()
	s.post(t)
	for i := range 20 {
		x.trade(1)
		x.hold([]string{"", "0.5", "0.25"}[i%3])
		if i%5 == 3 {
			join()
		}
		time.Sleep(10 * time.Millisecond)
	}
	x.end <- runner.Outcome{}
	s.Await(t, "completed")
	want := book{}
	results := s.results(t)
	for table, key := range keys {
		for _, e := range results[table].([]any) {
			raw, _ := json.Marshal(e)
			want.merge(t, table, key, []json.RawMessage{raw})
		}
	}
	for range 5 {
		got := <-books
		for table := range keys {
			if ids, all := slices.Sorted(maps.Keys(got[table])),
				slices.Sorted(maps.Keys(want[table])); !slices.Equal(ids, all) {
				t.Errorf("%s: %d of %d", table, len(ids), len(all))
			}
			for id, e := range want[table] {
				if !same(t, got[table][id], e) {
					t.Errorf("%s\ngot  %s\nwant %s", id, got[table][id], e)
				}
			}
		}
		if n := len(got["equity_curve"]); n != 20 {
			t.Errorf("%d equity points", n)
		}
	}
}

// results reads /results as it is: a script has no configuration to show.
func (s *service) results(t *testing.T) (v map[string]any) {
	t.Helper()
	resp, err := http.Get(s.URL + "/api/v1/results")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	if err := json.NewDecoder(resp.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

func same(t *testing.T, a, b json.RawMessage) bool {
	t.Helper()
	var x, y any
	_ = json.Unmarshal(a, &x)
	_ = json.Unmarshal(b, &y)
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return bytes.Equal(p, q)
}

// A client that has missed frames asks for a snapshot and goes on behind it.
func TestSnapshotOnRequest(t *testing.T) {
	x := newScript()
	s := start(t, setup{api: launches(x), prepare: hasty})
	c, _ := s.rich(t)
	s.post(t)
	c.await("status_update")
	for range 3 {
		x.trade(3)
		c.send(`{"type":"snapshot","payload":{}}`)
		f := c.await("snapshot")
		var p struct {
			Rows view.RowsTotal `json:"rows_total"`
		}
		f.into(t, &p)
		seq := f.Seq
		x.trade(1)
		if f = c.next(); f.Seq != seq+1 {
			t.Errorf("%s after a snapshot of seq %d", f.text, seq)
		}
		if p.Rows.Trades < 3 {
			t.Errorf("%d trades in the snapshot", p.Rows.Trades)
		}
		time.Sleep(250 * time.Millisecond) // at most ten messages a second
	}
}

// Every client gets the same bytes.
func TestOneNumbering(t *testing.T) {
	x := newScript()
	s := start(t, setup{api: launches(x), prepare: hasty})
	a, _ := s.rich(t)
	b, _ := s.rich(t)
	s.post(t)
	for range 20 {
		x.trade(1)
		x.say("same")
		if f, g := a.next(), b.next(); !bytes.Equal(f.text, g.text) {
			t.Fatalf("%s\n%s", f.text, g.text)
		}
	}
}

func TestHealth(t *testing.T) {
	s := start(t, setup{prepare: hasty})
	c, _ := s.rich(t)
	s.mu.Lock()
	s.health.Status, s.health.Checks.Disk.Status, s.health.Checks.Disk.Message,
		s.health.Checks.Disk.FreeBytes = "degraded", "warn", "less than 1 GiB left", 5
	s.mu.Unlock()
	f := c.next()
	if want := `{"status":"degraded","checks":{"disk":{"status":"warn","message":"less than 1 GiB left","checked_at":null,"free_bytes":5}}}`; f.Type != "health" || string(f.Payload) != want {
		t.Errorf("got %s", f.text)
	}
	s.mu.Lock()
	s.health.Checks.Disk.FreeBytes = 4 // no other outcome
	s.mu.Unlock()
	if f, err := c.soon(300 * time.Millisecond); err == nil {
		t.Errorf("then %s", f.text)
	}
}

// limits are the rates of a backtest, per second.
var rates = map[string]int{"progress": 4, "equity": 2, "order": 1, "fill": 1, "trade": 1, "position": 1,
	"annotation": 1, "log": 5}

// A run in which everything changes all the time stays within the rates.
func TestRates(t *testing.T) {
	x := newScript()
	s := start(t, setup{api: launches(x)})
	c, _ := s.rich(t)
	s.post(t)
	stop := make(chan struct{})
	go func() {
		defer close(stop)
		for i, begin := 0, time.Now(); time.Since(begin) < 3500*time.Millisecond; i++ {
			x.trade(20)
			x.say("busy")
			x.hold(fmt.Sprint(1 + i%7))
			time.Sleep(2 * time.Millisecond)
		}
	}()
	counts, all, seq := map[string]int{}, 0, uint64(0)
	begin := time.Now()
	for time.Since(begin) < 3*time.Second {
		f := c.next()
		if seq != 0 && f.Seq != seq+1 {
			t.Errorf("gap before %s", f.text)
		}
		if seq = f.Seq; f.Type == "status_update" {
			continue
		}
		counts[f.Type]++
		all++
		checkSize(t, f)
	}
	<-stop
	t.Logf("%v", counts)
	for kind, most := range rates {
		if n := counts[kind]; n == 0 || n > 3*most+1 {
			t.Errorf("%d frames %s in 3 s, at most %d/s", n, kind, most)
		}
	}
	if all > 31 {
		t.Errorf("%d frames in 3 s", all)
	}
}

// checkSize holds a frame against the bounds of its payload.
func checkSize(t *testing.T, f frame) {
	t.Helper()
	var p struct {
		Items   []json.RawMessage
		Points  []json.RawMessage
		Lines   []json.RawMessage
		Omitted *int
	}
	f.into(t, &p)
	if len(p.Items) > 50 || len(p.Points) > 200 || len(p.Lines) > 20 {
		t.Errorf("%s: %d items, %d points, %d lines", f.Type, len(p.Items), len(p.Points), len(p.Lines))
	}
	if (f.Type == "fill" || f.Type == "order") && len(p.Items) == 50 && *p.Omitted == 0 {
		t.Errorf("%s: nothing omitted in %.200s", f.Type, f.text)
	}
}

// Nothing is looked at while no client listens, and what a run did meanwhile is in the
// snapshot and not told again.
func TestNothingToldTwice(t *testing.T) {
	x := newScript()
	s := start(t, setup{api: launches(x), prepare: hasty})
	s.post(t)
	x.trade(30)
	x.say("early")
	c, f := s.rich(t)
	if !bytes.Contains(f.text, []byte("early")) || !bytes.Contains(f.text, []byte(`"t-000030"`)) {
		t.Errorf("snapshot %s", f.text)
	}
	for {
		f, err := c.soon(300 * time.Millisecond)
		if err != nil {
			break
		}
		if f.Type != "progress" {
			t.Errorf("told again: %s", f.text)
		}
	}
}

// In paper and live the newest candle of each symbol is told as well.
func TestCandles(t *testing.T) {
	x := newScript()
	s := start(t, setup{prepare: hasty})
	c, _ := s.rich(t)
	x.mode(t, s, runner.ModePaper)
	f := c.await("candle")
	n := x.series.Len() - 1
	want := fmt.Sprintf(`{"symbol":"BTC/USDT","timeframe":"1h","candle":[%d,`, x.series.Time[n])
	if !strings.HasPrefix(string(f.Payload), want) ||
		!strings.HasSuffix(string(f.Payload), `],"closed":true}`) {
		t.Errorf("got %s", f.text)
	}
}

// An execution that cannot be watched is followed through its results, as is one of
// which only the report is left.
func TestUnwatched(t *testing.T) {
	s := start(t, setup{api: apitest.Options{}, prepare: hasty})
	c, _ := s.rich(t)
	run := s.Begin(t)
	c.await("trade")
	c.send(`{"type":"rows","payload":{"id":"a","table":"orders"}}`)
	if f := c.await("rows_result"); !bytes.Contains(f.text, []byte(`"order_id":"o-000002"`)) {
		t.Errorf("got %s", f.text)
	}
	run.End()
	s.Await(t, "completed")
	c.send(`{"type":"series","payload":{"id":"b","series":"equity","max_points":100}}`)
	if f := c.await("series_result"); !bytes.Contains(f.text, []byte(`"method":"lttb+extremes","of":3000}`)) {
		t.Errorf("got %s", f.text)
	}
	c.send(`{"type":"series","payload":{"id":"c","series":"candles"}}`)
	if f := c.await("error"); !bytes.Contains(f.text, []byte(`"code":"UNSUPPORTED_SYMBOL"`)) {
		t.Errorf("got %s", f.text)
	}
}
