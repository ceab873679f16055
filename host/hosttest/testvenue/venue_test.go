package testvenue_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/hosttest/testvenue"
)

func get(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url) //nolint:noctx // loopback
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestTheSameSeedIsTheSameMarket(t *testing.T) {
	at := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	lines := func(seed string, steps int) string {
		v := start(t, testvenue.Options{Start: at, Seed: seed, History: 100})
		for range steps {
			if err := v.Step(); err != nil {
				t.Fatal(err)
			}
		}
		defer http.DefaultClient.CloseIdleConnections()
		return get(t,
			v.URL()+"/api/v3/klines?symbol=BTCUSDT&interval=15m&startTime=1735686000000&endTime=1735690000000")
	}
	first := lines("1", 30)
	if first != lines("1", 30) || first == lines("2", 30) {
		t.Error("a market is its seed")
	}
	var rows [][]any
	if err := json.Unmarshal([]byte(first), &rows); err != nil || len(rows) < 3 {
		t.Fatalf("%v in %s", err, first)
	}
}

func TestTheClockIsAccelerated(t *testing.T) {
	v := start(t, testvenue.Options{Speed: 6000, History: 100})
	begin := v.Now()
	for end := time.Now().Add(5 * time.Second); v.Now() < begin.Add(20*time.Minute); time.Sleep(
		5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("from %s to %s in five seconds", begin, v.Now())
		}
	}
	if wall := v.Wall(time.Minute); wall != 10*time.Millisecond {
		t.Errorf("a minute lasts %s", wall)
	}
}

func TestScriptsOverHTTP(t *testing.T) {
	v := start(t, testvenue.Options{History: 100})
	defer http.DefaultClient.CloseIdleConnections()
	post := func(text string) int {
		resp, err := http.Post(v.ScriptURL()+"/scripts", "application/json",
			strings.NewReader(text)) //nolint:noctx // loopback
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for text, want := range map[string]int{
		`{"match":"GET /api/v3/time","nth":2,"times":2,"action":"503"}`: 204, `{"action":"step"}`: 204,
		`{"action":"halt","args":["BTC/USDT"]}`: 204,
		`{"action":"503"}`:                      400, `{"match":"GET /","action":"halt"}`: 400,
		`{"action":"halt","args":["NO/SUCH"]}`: 400, `{"unknown":1}`: 400, `[]`: 400,
		`{"action":"halt"}`: 400, `{"action":"balance","args":["USDT","x"]}`: 400,
	} {
		if got := post(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
	for i, want := range []string{"serverTime", "-1007", "-1007", "serverTime"} {
		if got := get(t, v.URL()+"/api/v3/time"); !strings.Contains(got, want) {
			t.Errorf("request %d: %s, want %s", i+1, got, want)
		}
	}
	if n := v.Count("GET /api/v3/time"); n != 4 {
		t.Errorf("%d requests counted", n)
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []testvenue.Options{{Speed: -1}, {Cash: "much"}, {Cash: "-5"}, {History: -1},
		{Address: "0.0.0.0:0", History: 1}, {Address: "nowhere", History: 1}} {
		if v, err := testvenue.Start(o); err == nil {
			t.Errorf("%+v was taken", o)
			_ = v.Close()
		}
	}
}
