package fetch_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/candle/importer"
	"github.com/assay-run/assay/host/fetch"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

const minutes = 2500

func newVenue(t *testing.T) *testvenue.Venue {
	t.Helper()
	// In the future the newest candle is open by this machine's clock.
	v, err := testvenue.Start(testvenue.Options{Start: time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC),
		History: minutes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() }) // the process ends soon
	return v
}

const klines = "GET /api/v3/klines"

func pagesOf(t *testing.T, r rig) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(r.state, "data", fetch.Folder, "*", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestFetchGoesOnAfterAKill kills a fetch between its pages: the next one asks for what is missing only.
func TestFetchGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	v := newVenue(t)
	r := newRig(t, v.URL(), "1m")
	if err := v.Do(testvenue.Script{Match: klines, Nth: 3, Action: "hang_before"}); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(self)
	child.Env = append(os.Environ(), childDir+"="+r.state, childURL+"="+r.url,
		"ASSAY_TEST_FETCH_CONNECTORS="+r.folder)
	child.Stderr = os.Stderr
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); v.Count(klines) < 3; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the third page was never asked for")
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // killed
	if n := len(pagesOf(t, r)); n != 2 {
		t.Fatalf("%d pages are there", n)
	}
	other := r
	other.url = v.SandboxURL()
	if _, err := other.run(t.Context(), r.request()); err == nil ||
		!strings.Contains(err.Error(), "it came from the endpoint") {
		t.Fatalf("pages of two endpoints become one dataset: %v", err)
	}
	d, err := r.run(t.Context(), r.request())
	if err != nil {
		t.Fatal(err)
	}
	f := d.Report.Fetched
	if d.Rows < minutes-1 || d.Report.Gaps.Missing != 0 || f == nil || len(f.Pages) != 3 ||
		f.Pages[0].Rows < 999 || f.FirstRequest >= f.LastRequest || f.Connector != "binance" ||
		len(f.ConnectorSHA256) != 64 || f.Onto != "" {
		t.Errorf("%d rows, %d missing, %+v", d.Rows, d.Report.Gaps.Missing, f)
	}
	if u, err := url.Parse(r.url); err != nil || f.Endpoint != u.Host {
		t.Errorf("the endpoint is %q", f.Endpoint)
	}
	if d.Last >= v.Now() || d.Timeframe.Next(d.Last) > v.Now() {
		t.Errorf("the candle of %s is not closed at %s", d.Last, v.Now())
	}
	if left := pagesOf(t, r); len(left) != 0 {
		t.Errorf("%v are left", left)
	}
	whole := newRig(t, v.URL(), "1m")
	if twin, err := whole.run(t.Context(), r.request()); err != nil || twin.SHA256 != d.SHA256 {
		t.Errorf("without a kill it is %s, not %s: %v", twin.SHA256, d.SHA256, err)
	}
}

// TestOnlyListedConnectors: who asks for a listed connector gets no other one, and hears its name.
func TestOnlyListedConnectors(t *testing.T) {
	t.Parallel()
	r := newRig(t, "http://127.0.0.1:1", "1m")
	if err := os.Rename(filepath.Join(r.folder, "binance"), filepath.Join(r.folder, elsewhere)); err != nil {
		t.Fatal(err)
	}
	_, err := fetch.Open(t.Context(), fetch.Options{Dir: r.folder, StateDir: r.state, Connector: elsewhere,
		Endpoint: r.url, Listed: true, Symbol: "BTC/USDT", Timeframe: r.timeframe})
	if e := new(fetch.UnlistedError); !errors.As(err, &e) || e.ID != elsewhere || e.Version != "1.0.0" {
		t.Errorf("%v", err)
	}
}

// TestUpdate brings new candles; one that the exchange has changed is refused until the caller decides.
func TestUpdate(t *testing.T) {
	t.Parallel()
	v := newVenue(t)
	r := newRig(t, v.URL(), "1m")
	old, err := r.run(t.Context(), r.request())
	if err != nil {
		t.Fatal(err)
	}
	same, err := r.update(t.Context(), old, r.request())
	if err != nil || same.SHA256 != old.SHA256 ||
		len(same.Report.Fetched.Pages) != len(old.Report.Fetched.Pages) {
		t.Fatalf("nothing new, and %s is %s: %v", old.ID, same.ID, err)
	}
	for range 3 {
		if err := v.Step(); err != nil {
			t.Fatal(err)
		}
	}
	more, err := r.update(t.Context(), old, r.request())
	if err != nil || more.Rows != old.Rows+3 || more.Report.Fetched.Onto != old.SHA256 ||
		more.Report.Fetched.Pages[0].Rows != fetch.Overlap+3 {
		t.Fatalf("%d rows after %d: %+v, %v", more.Rows, old.Rows, more.Report.Fetched, err)
	}
	if err := v.Do(testvenue.Script{Action: "candle_amend", Args: []string{"BTCUSDT"}}); err != nil {
		t.Fatal(err)
	}
	_, err = r.update(t.Context(), more, r.request())
	if e := new(importer.Error); !errors.As(err, &e) || e.Code != importer.ConflictingDuplicates {
		t.Fatalf("a changed candle: %v", err)
	}
	asked := v.Count(klines)
	req := r.request()
	req.Duplicates = importer.DuplicatesLast
	amended, err := r.update(t.Context(), more, req)
	if err != nil || amended.Rows != more.Rows || amended.SHA256 == more.SHA256 ||
		amended.Report.Options["duplicates"] != "last" {
		t.Errorf("%+v, %v", amended, err)
	}
	if n := v.Count(klines) - asked; n != 1 {
		t.Errorf("the decision asked %d times: its pages were there", n)
	}
	err = r.with(t.Context(), func(s *candle.Store, _ *fetch.Source) error {
		f, err := s.OpenSeries(old) // a run that named it still reads it
		if err == nil {
			err = f.Close()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestThrottled waits as long as the exchange says.
func TestThrottled(t *testing.T) {
	t.Parallel()
	v := newVenue(t)
	r := newRig(t, v.URL(), "1m")
	if err := v.Do(testvenue.Script{Match: klines, Nth: 2, Action: "429", Args: []string{"1"}}); err != nil {
		t.Fatal(err)
	}
	var waits []time.Duration
	req := r.request()
	req.Waiting = func(d time.Duration) { waits = append(waits, d) }
	if d, err := r.run(t.Context(), req); err != nil || d.Rows < minutes-1 || len(waits) != 1 ||
		waits[0] < time.Second {
		t.Errorf("%d rows, waits %v, %v", d.Rows, waits, err)
	}
}

// TestOneWriter refuses a second fetch of the same series.
func TestOneWriter(t *testing.T) {
	t.Parallel()
	v := newVenue(t)
	r := newRig(t, v.URL(), "1m")
	req := r.request()
	var second error
	req.Progress = func(int64, int64) {
		if second == nil {
			_, second = r.run(context.Background(), r.request())
		}
	}
	if _, err := r.run(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	if busy := new(fetch.BusyError); !errors.As(second, &busy) {
		t.Errorf("the second: %v", second)
	}
}

// TestRecorded fetches an answer in the exchange's own form.
func TestRecorded(t *testing.T) {
	t.Parallel()
	answer, err := os.ReadFile("testdata/binance_klines_1h.json")
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch start, _ := strconv.ParseInt(req.URL.Query().Get("startTime"), 10, 64); {
		case req.URL.Path == "/api/v3/time":
			_, _ = w.Write([]byte(`{"serverTime":` + strconv.FormatInt(time.Now().UnixMilli(), 10) + `}`))
		case req.URL.Path == "/api/v3/klines" && start == 0:
			_, _ = w.Write(answer)
		default:
			_, _ = w.Write([]byte("[]"))
		}
	}))
	defer s.Close()
	r := newRig(t, s.URL, "1h")
	d, err := r.run(t.Context(), r.request())
	if err != nil {
		t.Fatal(err)
	}
	if d.Rows != 24 || d.Start().String() != "2017-08-17T04:00:00.000Z" {
		t.Errorf("%d rows from %s", d.Rows, d.Start())
	}
	if len(d.Report.Fetched.Pages) != 1 {
		t.Errorf("%+v", d.Report.Fetched)
	}
}
