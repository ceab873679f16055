package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/artifact"
	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/runner"
)

// TestModel plays random histories of starts, stops, resets, ends, crashes and
// clients that come and go from eight goroutines over real TCP. The sequence of
// published changes must be legal, and every answer must be right in some state that
// held while its request went on.
func TestModel(t *testing.T) {
	ring.Slow(t, "each history opens connections")
	m := newModel(t)
	words := rapid.SampledFrom([]string{"start", "start", "start broken", "start invalid", "replace",
		"replace broken", "stop", "stop", "reset", "reset", "end", "end",
		"crash", "results", "status", "detailed", "connect", "hang up", "half a request"})
	plans := rapid.SliceOfN(rapid.SliceOfN(words, 1, 2), 8, 8)
	left := ring.Size(1_000, 10_000, 100_000)
	for left > 0 {
		rapid.Check(t, func(rt *rapid.T) {
			plan := plans.Draw(rt, "plan")
			for range 5 { // other interleavings of the same plan
				left--
				if err := m.play(t, plan); err != nil {
					rt.Fatal(err)
				}
			}
		})
		if t.Failed() {
			return
		}
	}
}

// model is a service with what the outside has seen of it.
type model struct {
	*apitest.Service
	client  *http.Client
	changes <-chan runner.Change
	frames  *plainClient

	mu     sync.Mutex
	newest *apitest.Run
	log    []observed
}

// observed is one request with its answer. From and to are the numbers of changes
// made before it and after it.
type observed struct {
	op            string
	from, to      uint64
	ok            bool
	code          string
	run, state    string // run_id and status in the answer
	reason, phase string
	replaced      string // whom a replace names; "" when idle
}

func newModel(t *testing.T) *model {
	m := &model{client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	t.Cleanup(m.client.CloseIdleConnections)
	m.Service = apitest.Start(t,
		apitest.Options{Extend: streaming(t),
			Launch: func(_ context.Context, id string, req runner.StartRequest) (runner.Execution, error) {
				if req.StrategyName == "broken" {
					return nil, errors.New("broken")
				}
				run := apitest.NewRun(id, req)
				run.Canned = apitest.SampleResults(3)
				m.mu.Lock()
				defer m.mu.Unlock()
				m.newest = run
				return run, nil
			}})
	changes, cancel := m.Runner.Subscribe()
	t.Cleanup(cancel)
	m.changes = changes
	m.frames = connect(t, m.Addr)
	if f := m.frames.read(t); f.Status != "idle" {
		t.Fatalf("the stream begins with %+v", f)
	}
	return m
}

func (m *model) play(t *testing.T, plan [][]string) error {
	m.log = nil
	first := m.Runner.Status()
	var wg sync.WaitGroup
	for _, ops := range plan {
		wg.Go(func() {
			for _, op := range ops {
				m.do(t, op)
			}
		})
	}
	wg.Wait()
	if err := m.settle(t); err != nil {
		return err
	}
	states := []runner.Snapshot{first}
	for last := m.Runner.Status().Seq; first.Seq+uint64(len(states))-1 < last; {
		c := <-m.changes
		if before := states[len(states)-1]; c.Previous != before.Status || c.Snapshot.Seq != before.Seq+1 {
			return fmt.Errorf("change %d is %s>%s after %d %s", c.Snapshot.Seq, c.Previous, c.Snapshot.Status,
				before.Seq, before.Status)
		}
		if f := m.frames.change(t); f.Status != c.Snapshot.Status || f.RunID != c.Snapshot.RunID {
			return fmt.Errorf("the stream says %+v of change %d to %s %s", f, c.Snapshot.Seq,
				c.Snapshot.Status, c.Snapshot.RunID)
		}
		states = append(states, c.Snapshot)
	}
	for _, o := range m.log {
		if !o.fits(states, first.Seq) {
			return fmt.Errorf("%s answered %+v in %v", o.op, o,
				words(states[o.from-first.Seq:o.to-first.Seq+1]))
		}
	}
	return nil
}

// settle brings the service back to idle, whatever the hung-up clients still do.
func (m *model) settle(t *testing.T) error {
	for range 1000 {
		m.ask(t, "POST", stopPath, "", "")
		if a := m.ask(t, "DELETE", resetPath, "", ""); a.ok && m.quiet() {
			return nil
		}
		time.Sleep(time.Millisecond)
	}
	return fmt.Errorf("it never becomes idle: %+v", m.Runner.Status())
}

// quiet reports whether the service stays idle for a moment.
func (m *model) quiet() bool {
	seq := m.Runner.Status().Seq
	time.Sleep(200 * time.Microsecond)
	now := m.Runner.Status()
	return now.Status == "idle" && now.Seq == seq
}

const brokenStart = `{"strategy_name":"broken","symbols":["BTC/USDT"],"timeframe":"1h"}`

func (m *model) do(t *testing.T, op string) {
	requests := map[string][3]string{
		"start":          {"POST", startPath, apitest.Backtest},
		"start invalid":  {"POST", startPath, `{"strategy_name":1}`},
		"start broken":   {"POST", startPath, brokenStart},
		"replace":        {"POST", startPath, apitest.Backtest},
		"replace broken": {"POST", startPath, brokenStart},
		"stop":           {"POST", stopPath, ""}, "reset": {"DELETE", resetPath, ""},
		"results": {"GET", results, ""}, "status": {"GET", status, ""},
		"detailed": {"GET", status + "/detailed", ""},
	}
	r, ok := requests[op]
	if !ok && op != "connect" {
		m.disturb(op)
		return
	}
	o := observed{op: op, from: m.Runner.Status().Seq}
	var a answer
	if strings.HasPrefix(op, "replace") {
		o.replaced = m.Runner.Status().RunID
	}
	if ok {
		a = m.ask(t, r[0], r[1], r[2], o.replaced)
	} else {
		a = m.look(t)
	}
	o.to = m.Runner.Status().Seq
	o.ok, o.code, o.run, o.state, o.reason, o.phase = a.ok, a.code, a.RunID, a.Status, a.StopReason, a.Phase
	m.mu.Lock()
	m.log = append(m.log, o)
	m.mu.Unlock()
}

// answer is what the model looks at.
type answer struct {
	ok            bool
	code          string
	Error         json.RawMessage
	RunID         string `json:"run_id"`
	Status, Phase string
	StopReason    string `json:"stop_reason"`
}

// ask sends without the recorder of the service, which would let one request after
// the other through.
func (m *model) ask(t *testing.T, method, path, body, replaced string) (a answer) {
	t.Helper()
	req, err := http.NewRequest(method, m.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if replaced != "" {
		req.Header.Set("Replace-Run", replaced)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		t.Errorf("%s %s: %v", method, path, err)
		return a
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&a); err != nil ||
		resp.Header.Get("X-Service-API-Version") != "v1" {
		t.Errorf("%s %s: %d %v %v", method, path, resp.StatusCode, err, resp.Header)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	if a.ok = resp.StatusCode == http.StatusOK; !a.ok {
		var e struct{ Code string }
		if err := json.Unmarshal(a.Error, &e); err != nil {
			t.Errorf("%s %s: %v in %s", method, path, err, a.Error)
		}
		a.code = e.Code
	}
	return a
}

// disturb does what has no answer.
func (m *model) disturb(op string) {
	text := "POST " + startPath +
		" HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
	switch op {
	case "hang up":
		text = "POST " + stopPath + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"
		fallthrough
	case "half a request":
		c, err := net.Dial("tcp", m.Addr)
		if err == nil {
			_, _ = c.Write([]byte(text))
			_ = c.Close()
		}
		return
	}
	m.mu.Lock()
	run := m.newest
	m.mu.Unlock()
	switch {
	case run == nil:
	case op == "end":
		run.End()
	default:
		run.Crash(artifact.Failure{Code: "PLUGIN_CRASHED", Message: "gone"})
	}
}

// fits reports whether the answer was right at some moment of the request.
func (o *observed) fits(states []runner.Snapshot, first uint64) bool {
	for i := o.from; i <= o.to; i++ {
		at := int(i - first)
		if o.refused(&states[at]) || o.ok && o.fitsIn(states, at, i > o.from) {
			return true
		}
	}
	return false
}

// refused reports whether a refusal is right in a state.
func (o *observed) refused(s *runner.Snapshot) bool {
	switch o.code {
	case "VALIDATION_FAILED":
		return o.op == "start invalid"
	case "RUN_ALREADY_ACTIVE":
		return s.Status != "idle"
	case "RUN_START_FAILED":
		left := s.Status == "idle" || s.RunID == o.replaced && s.Status != "running"
		return s.Status == "idle" && o.op == "start broken" || left && o.op == "replace broken"
	case "RUN_NOT_ACTIVE":
		return s.Status != "running"
	case "RUN_STILL_RUNNING", "RESULTS_NOT_READY":
		return s.Status == "running"
	case "NO_RUN":
		return s.Status == "idle"
	}
	return false
}

func (o *observed) fitsIn(states []runner.Snapshot, at int, changed bool) bool {
	s := &states[at]
	switch o.op {
	case "start", "replace":
		if before := &states[max(at, 1)-1]; before.Status != "idle" && before.RunID != o.replaced {
			return false
		}
		return changed && s.Status == "running" && o.state == "running" && s.RunID == o.run
	case "stop":
		ended := o.state == "completed" && s.StopReason == "stopped"
		return s.RunID == o.run && s.Status == o.state && (ended || o.state == "running")
	case "reset":
		return s.Status == "idle" && o.state == "idle" &&
			(o.run == "" || changed && states[at-1].RunID == o.run)
	case "connect":
		return s.Status == o.state && s.RunID == o.run
	case "results", "status", "detailed":
		return s.Status == o.state && s.RunID == o.run && s.StopReason == o.reason &&
			(o.phase != "") == (o.state == "running" && o.op != "results")
	}
	return false
}

func words(states []runner.Snapshot) (out []string) {
	for _, s := range states {
		out = append(out, fmt.Sprint(s.Seq, " ", s.Status, " ", s.RunID, " ", s.StopReason))
	}
	return out
}
