package api_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/assay-run/assay/api/v1/apitest"
	"github.com/assay-run/assay/host/hosttest/ring"
)

// TestStopAgainstNaturalEnd lets both happen at once: the first makes the end, and
// the answer to the stop fits the status afterwards.
func TestStopAgainstNaturalEnd(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Prepare: func(r *apitest.Run) { r.Canned = apitest.SampleResults(2) }})
	stops, ends := 0, 0
	for i := range 1000 {
		run := s.Begin(t)
		var wg sync.WaitGroup
		wg.Go(func() {
			// about as long as the stop takes to arrive
			time.Sleep(time.Duration(i%8) * 40 * time.Microsecond)
			run.End()
		})
		a := s.Do(t, "POST", stopPath, "")
		wg.Wait()
		s.Await(t, "completed")
		final := s.Do(t, "GET", status, "").JSON(t)
		switch {
		case a.StatusCode == 200 && a.JSON(t)["status"] == "completed" && final["stop_reason"] == "stopped" &&
			final["partial"] == true:
			stops++
		case a.Code() == "RUN_NOT_ACTIVE" && final["stop_reason"] == "finished" && final["partial"] == false:
			ends++
		default:
			t.Fatalf("stop: %d %s\nstatus: %v", a.StatusCode, a.Body, final)
		}
		if final["run_id"] != run.ID {
			t.Fatalf("run %v, want %s", final["run_id"], run.ID)
		}
		if a := s.Do(t, "DELETE", resetPath, ""); a.StatusCode != 200 {
			t.Fatalf("reset: %d %s", a.StatusCode, a.Body)
		}
	}
	t.Logf("%d by stop, %d by themselves", stops, ends)
}

// TestStopOfARunThatHangs: the stop of a backtest answers within ten seconds, also
// when the run ignores it, and further stops meanwhile get the same run.
func TestStopOfARunThatHangs(t *testing.T) {
	ring.Slow(t, "it waits eight seconds for a run that does not end")
	t.Parallel()
	s := apitest.Start(t, apitest.Options{Prepare: func(r *apitest.Run) { r.Hang = true }})
	run := s.Begin(t)
	defer run.End()
	began := time.Now()
	first := make(chan apitest.Answer, 1)
	go func() { first <- s.Do(t, "POST", stopPath, "") }()
	for s.Do(t, "GET", status, "").JSON(t)["phase"] != "stopping" {
		time.Sleep(time.Millisecond)
	}
	play(t, s, []exchange{
		{"start while stopping", "POST", startPath, apitest.Backtest, nil, 409, "RUN_ALREADY_ACTIVE"},
		{"reset while stopping", "DELETE", resetPath, "", nil, 409, "RUN_STILL_RUNNING"},
		{"results while stopping", "GET", results, "", nil, 409, "RESULTS_NOT_READY"},
	})
	if v := s.Do(t, "POST", stopPath, "").JSON(t); v["status"] != "running" || v["run_id"] != run.ID {
		t.Errorf("second stop: %v", v)
	}
	v := (<-first).JSON(t)
	if took := time.Since(began); v["status"] != "completed" || v["run_id"] != run.ID ||
		took > 10*time.Second {
		t.Errorf("%v after %s", v, took)
	}
	if v := s.Do(t, "GET", status, "").JSON(t); v["stop_reason"] != "stopped" || v["partial"] != true ||
		!strings.Contains(v["message"].(string), "did not end") {
		t.Errorf("%v", v)
	}
}

// TestLongPollsAreLimited: 32 wait, the next is answered at once, and a change
// answers all.
func TestLongPollsAreLimited(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	tag := "If-None-Match: " + s.Do(t, "GET", status, "").Header.Get("ETag")
	answers := make(chan apitest.Answer, 40)
	for range 40 {
		go func() { answers <- s.Do(t, "GET", status, "", tag, "Prefer: wait=30") }()
	}
	for range 8 {
		if v := (<-answers).JSON(t); v["status"] != "idle" {
			t.Errorf("one poll too many is answered %v", v)
		}
	}
	time.Sleep(300 * time.Millisecond)
	if len(answers) > 0 {
		t.Fatalf("%d of 32 polls are answered without news", len(answers))
	}
	run := s.Begin(t)
	defer run.End()
	deadline := time.After(20 * time.Second) // less than they wait for
	for i := range 32 {
		select {
		case a := <-answers:
			if v := a.JSON(t); v["run_id"] != run.ID || a.Header.Get("Preference-Applied") != "wait=30" {
				t.Fatalf("%v %v", v, a.Header)
			}
		case <-deadline:
			t.Fatalf("%d polls were answered", i)
		}
	}
}

// TestAbandonedPollsFreeTheirPlaces: clients that hang up do not keep others from waiting.
func TestAbandonedPollsFreeTheirPlaces(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	tag := s.Do(t, "GET", status, "").Header.Get("ETag")
	for range 32 {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(c,
			"GET "+status+" HTTP/1.1\r\nHost: localhost\r\nPrefer: wait=30\r\nIf-None-Match: "+tag+"\r\n\r\n")
		defer c.Close()
		time.AfterFunc(200*time.Millisecond, func() { c.Close() })
	}
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		began := time.Now()
		s.Do(t, "GET", status, "", "If-None-Match: "+tag, "Prefer: wait=1")
		if time.Since(began) > 900*time.Millisecond {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Error("the places stay taken")
}

// TestManyConnections: 256 are served, the next waits until one of them ends.
func TestManyConnections(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	request := "GET " + status + " HTTP/1.1\r\nHost: localhost\r\n\r\n"
	dial := func() net.Conn {
		c, err := net.Dial("tcp", s.Addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		_, _ = io.WriteString(c, request)
		return c
	}
	answered := func(c net.Conn, wait time.Duration) bool {
		_ = c.SetReadDeadline(time.Now().Add(wait))
		got := readAnswers(t, s, c, 1)
		return len(got) == 1 && got[0].StatusCode == 200
	}
	conns := make([]net.Conn, 256)
	for i := range conns {
		if conns[i] = dial(); !answered(conns[i], 10*time.Second) {
			t.Fatalf("connection %d is not served", i+1)
		}
	}
	late := dial()
	if answered(late, 200*time.Millisecond) {
		t.Error("connection 257 is served")
	}
	_ = conns[7].Close()
	if !answered(late, 10*time.Second) {
		t.Error("connection 257 is never served")
	}
	for _, c := range conns[100:110] { // those that are in stay usable
		if _, _ = io.WriteString(c, request); !answered(c, 10*time.Second) {
			t.Error("an old connection is not served any more")
		}
	}
}

// TestKeptKeys: the last 64 successful starts are repeated, whatever the run does now.
func TestKeptKeys(t *testing.T) {
	s := apitest.Start(t, apitest.Options{Prepare: func(r *apitest.Run) { r.Canned = apitest.SampleResults(2) }})
	key := func(i int) string { return fmt.Sprintf("Idempotency-Key: key-%d", i) }
	bodies := map[int]string{}
	for i := range 65 {
		bodies[i] = string(s.Do(t, "POST", startPath, apitest.Backtest, key(i)).Body)
		s.Do(t, "POST", stopPath, "")
		if a := s.Do(t, "DELETE", resetPath, ""); a.StatusCode != 200 {
			t.Fatalf("reset: %s", a.Body)
		}
	}
	for i := 1; i < 65; i++ {
		a := s.Do(t, "POST", startPath, apitest.Backtest, key(i))
		if string(a.Body) != bodies[i] || a.Header.Get("Idempotency-Replayed") != "true" ||
			a.StatusCode != 200 {
			t.Fatalf("key %d: %d %s", i, a.StatusCode, a.Body)
		}
	}
	if got := s.Do(t, "GET", status, "").JSON(t)["status"]; got != "idle" {
		t.Errorf("a repeated answer started a run: %v", got)
	}
	if a := s.Do(t, "POST", startPath, apitest.Backtest,
		key(0)); a.Header.Get("Idempotency-Replayed") != "" || string(a.Body) == bodies[0] {
		t.Errorf("key 0 is still there: %s", a.Body)
	}
}

// TestOneKeyStartsOneRun: concurrent starts with one key are one start.
func TestOneKeyStartsOneRun(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	var mu sync.Mutex
	seen, fresh := map[string]int{}, 0
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			a := s.Do(t, "POST", startPath, apitest.Backtest, "Idempotency-Key: same")
			mu.Lock()
			defer mu.Unlock()
			seen[string(a.Body)]++
			if a.Header.Get("Idempotency-Replayed") == "" {
				fresh++
			}
		})
	}
	wg.Wait()
	if len(seen) != 1 || fresh != 1 || len(s.Runs) != 1 {
		t.Errorf("%d answers, %d fresh, %d runs", len(seen), fresh, len(s.Runs))
	}
}

// TestHTTP10 is how old clients ask: no keep-alive, no chunks.
func TestHTTP10(t *testing.T) {
	s := apitest.Start(t, apitest.Options{})
	s.Begin(t).End()
	s.Await(t, "completed")
	for _, path := range []string{"/api/v1/health", status, status + "/detailed", results,
		"/api/v1/strategies", "/api/v1/exchanges", "/api/v1/meta", "/openapi.json"} {
		for _, zip := range []string{"", "Accept-Encoding: gzip\r\n"} {
			got := raw(t, s, "GET "+path+" HTTP/1.0\r\nHost: localhost\r\n"+zip+"\r\n", 2)
			if len(got) != 1 || got[0].StatusCode != http.StatusOK || len(got[0].TransferEncoding) > 0 ||
				!got[0].Close {
				t.Errorf("%s: %d answers", path, len(got))
			}
		}
	}
}
