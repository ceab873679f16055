package cmd_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/hosttest"
	"github.com/assay-run/assay/host/hosttest/testvenue"
	"github.com/assay-run/assay/host/trade/journal"
)

var connectors struct {
	once sync.Once
	err  error
}

// connectorFolder returns a folder with the binance connector, apart from what other tests see.
func connectorFolder(t testing.TB) string {
	t.Helper()
	folder := filepath.Join(bin(t), "live", "connectors")
	connectors.once.Do(func() {
		if connectors.err = os.MkdirAll(folder, 0o755); connectors.err == nil {
			connectors.err = hosttest.Build(folder, "v1", "cmd/connectors/binance")
		}
	})
	if connectors.err != nil {
		t.Fatal(connectors.err)
	}
	return folder
}

// liveVenue returns a test venue of which one second of ours is so many of its market.
func liveVenue(t testing.TB, o testvenue.Options) *testvenue.Venue {
	t.Helper()
	v, err := testvenue.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	return v
}

// serveLive starts the service with a venue in the place of Binance. On a machine that is busy
// a candle may be late by many of a market that runs a hundred times too fast.
func serveLive(t testing.TB, state string, v *testvenue.Venue, args ...string) *service {
	t.Helper()
	return serve(t, state,
		append([]string{"--connectors", connectorFolder(t), "--connector-endpoint", "binance=" + v.URL(),
			"--risk-max-candle-age", "60", "--risk-stale-candles", "200/1000", "--risk-fills-per-hour",
			"100000", "--risk-orders-per-minute", "100000"}, args...)...)
}

func liveRun(strategy string, params object) object {
	return object{"strategy_name": strategy, "strategy_params": params, "symbols": []string{"BTC/USDT"},
		"timeframe": "1m", "mode": "live", "exchange": "binance",
		"exchange_config": object{"apiKey": testvenue.DefaultKey, "secret": testvenue.DefaultSecret}}
}

// crossing returns a strategy that is in and out every few candles.
func crossing() object { return liveRun("sma_cross", object{"fast": 1, "slow": 2}) }

// start starts a run and returns its id.
func (s *service) start(body object) string {
	s.t.Helper()
	var answer object
	if resp := s.call("POST", "/run/live", body, &answer); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("start: %d %v", resp.StatusCode, answer)
	}
	return answer["run_id"].(string)
}

// until polls the status of a run until it is as wanted.
func (s *service) until(what string, wanted func(object) bool) object {
	s.t.Helper()
	var status object
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); time.Sleep(
		50 * time.Millisecond) {
		status = nil
		s.call("GET", "/status/detailed", nil, &status)
		if wanted(status) {
			return status
		}
		if status["status"] != "running" {
			break
		}
	}
	delete(status, "health")
	s.t.Fatalf("not %s: %v\n%s", what, status, s.stderr)
	return nil
}

func trades(n float64) func(object) bool {
	return func(status object) bool { return status["trade_count"].(float64) >= n }
}

// books are the parts of /results that are held against a venue.
type books struct {
	Status string
	Fills  []struct {
		Symbol, Side         string
		Quantity, Price, Fee json.Number
		Liquidity            string
	}
	Trades []struct {
		Quantity json.Number
	}
	Orders []struct {
		Exchange *string `json:"exchange_order_id"`
		Status   string
		Filled   json.Number `json:"filled_quantity"`
	}
	Positions []struct{ Quantity json.Number }
	Curve     []struct{ Cash json.Number } `json:"equity_curve"`
}

func number(t testing.TB, n json.Number) decimal.Decimal {
	t.Helper()
	d, err := decimal.Parse(n.String())
	if err != nil {
		t.Fatalf("%q: %v", n, err)
	}
	return d
}

func must(d decimal.Decimal, err error) decimal.Decimal {
	if err != nil {
		panic(err)
	}
	return d
}

// agree holds results against what the venue did: every trade of it is a fill, with its fee as
// the quote currency counts it, and the position is their sum.
func agree(t testing.TB, b books, v *testvenue.Venue) {
	t.Helper()
	theirs := v.Trades()
	if len(b.Fills) != len(theirs) {
		t.Fatalf("%d fills, the venue has %d trades", len(b.Fills), len(theirs))
	}
	position := decimal.Decimal{}
	for i, f := range b.Fills {
		at := theirs[i]
		fee := at.Fee
		if at.FeeAsset == "BTC" {
			fee = must(fee.Mul(at.Price))
		}
		if f.Symbol != at.Symbol || !strings.EqualFold(f.Side, at.Side) ||
			number(t, f.Quantity).Cmp(at.Quantity) != 0 || number(t, f.Price).Cmp(at.Price) != 0 ||
			must(number(t, f.Fee).SubAbs(fee)).Cmp(decimal.MustParse("0.00000001")) > 0 {
			t.Errorf("fill %d is %+v, the venue's trade %+v", i, f, at)
		}
		moved := at.Quantity
		if at.Side == "SELL" {
			moved = moved.Neg()
		}
		if position = must(position.Add(moved)); at.FeeAsset == "BTC" {
			position = must(position.Sub(at.Fee))
		}
	}
	held := decimal.Decimal{}
	for _, p := range b.Positions {
		held = must(held.Add(number(t, p.Quantity)))
	}
	// What is below a step is dust, which the results show as flat.
	if rest := must(position.SubAbs(held)); rest.Cmp(decimal.MustParse("0.0001")) > 0 {
		t.Errorf("the position is %s, the venue's trades make %s", held, position)
	}
	orders := map[string]string{}
	for _, o := range b.Orders {
		if o.Exchange != nil {
			orders[*o.Exchange] = o.Status
		}
	}
	for i, o := range v.Orders() {
		want := map[string]string{"FILLED": "filled", "CANCELED": "canceled", "EXPIRED": "canceled"}[o.Status]
		if got := orders[fmt.Sprint(i+1)]; got != want && !(o.Status == "EXPIRED" && got == "expired") {
			t.Errorf("order %d of the venue is %s, in the results %q", i+1, o.Status, got)
		}
	}
}

// openAt are the open orders of a venue.
func openAt(v *testvenue.Venue) []string {
	open := []string{}
	for _, o := range v.Orders() {
		if o.Open {
			open = append(open, o.Client)
		}
	}
	slices.Sort(open)
	return open
}

// TestLiveOnTestVenue trades over the whole service: a strategy's process, the connector's, and
// HTTP and WebSockets to a venue. In the middle the network goes.
func TestLiveOnTestVenue(t *testing.T) {
	t.Parallel()
	v := liveVenue(t, testvenue.Options{Speed: 120})
	state := t.TempDir()
	s := serveLive(t, state, v)
	id := s.start(crossing())
	s.until("two round trips", trades(2))
	// five seconds of ours
	if err := v.Do(testvenue.Script{Action: "offline", Args: []string{"600"}}); err != nil {
		t.Fatal(err)
	}
	told := s.until("a word about the network", func(status object) bool {
		link := status["health"].(object)["checks"].(object)["exchange_connectivity"].(object)
		return link["status"] != "pass"
	})
	if told["status"] != "running" {
		t.Errorf("%v", told)
	}
	before := told["trade_count"].(float64)
	after := s.until("two round trips after that", trades(before+2))
	if said := fmt.Sprint(after["warnings"]); after["phase"] != "trading" ||
		!strings.Contains(said, "STREAM_RECONCILING") || strings.Contains(said, "CANDLE_CORRECTED") {
		t.Errorf("phase %v, warnings %s", after["phase"], said)
	}
	var answer object
	if resp := s.call("POST", "/run/stop", nil, &answer); resp.StatusCode != 200 ||
		answer["status"] != "completed" {
		t.Fatalf("stop: %v", answer)
	}
	var got books
	s.call("GET", "/results", nil, &got)
	if open := openAt(v); len(open) > 0 || got.Status != "completed" || len(got.Trades) < 4 {
		t.Errorf("%s, %d trades, open %v", got.Status, len(got.Trades), open)
	}
	agree(t, got, v)
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.stderr)
	}
	accounted(t, state, id, v)
}

// journalOf opens the journal of a service that has ended, until the test has too.
func journalOf(t testing.TB, state string) *journal.Journal {
	t.Helper()
	o, err := journal.Open(t.Context(), filepath.Join(state, "live"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	if o.Quarantined != nil {
		t.Errorf("the journal was damaged: %+v", o.Quarantined)
	}
	return o.Journal
}

// accounted holds the journal against the venue: no order without an intent, and every trade.
func accounted(t testing.TB, state, run string, v *testvenue.Venue) {
	t.Helper()
	ctx, book := context.Background(), journalOf(t, state)
	defer book.Close() // the service may start again
	intents, err := book.Intents(ctx, run, journal.Page{})
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	for _, i := range intents.Items {
		known[i.ClientOrderID] = true
	}
	ids := map[string]bool{}
	for _, at := range v.Orders() {
		if !known[at.Client] {
			t.Errorf("the venue has order %s and the journal no intent", at.Client)
		}
		if ids[at.Client] {
			t.Errorf("the venue took %s twice", at.Client)
		}
		ids[at.Client] = true
	}
	fills, err := book.Fills(ctx, run, journal.Page{})
	if err != nil {
		t.Fatal(err)
	}
	for i, at := range v.Trades() {
		if i >= len(fills.Items) || fills.Items[i].TradeID != fmt.Sprint(at.ID) ||
			fills.Items[i].Quantity.Cmp(at.Quantity) != 0 || fills.Items[i].ClientOrderID != at.Client {
			t.Errorf("trade %+v of the venue is not in the journal", at)
		}
	}
	if len(ids) == 0 || len(fills.Items) != len(v.Trades()) {
		t.Errorf("%d orders, %d fills", len(ids), len(fills.Items))
	}
}

// holding returns a strategy that buys at once and then has a stop and a target at the venue, as far
// from the price as the collar lets them be.
func holding() object {
	return liveRun("rsi_bracket",
		object{"period": 2, "oversold": 99.9, "overbought": 100, "stop_loss": 0.045, "take_profit": 0.045})
}

// leased waits until the connector of a run that lost its host has cancelled what it was to cancel, and
// returns that and what it kept.
func leased(t *testing.T, state, run string, v *testvenue.Venue) (canceled, kept []string) {
	t.Helper()
	file := filepath.Join(state, "live", run, "lease.json")
	for deadline := time.Now().Add(40 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(file); err == nil {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("there is no lease.json, open %v", openAt(v))
		}
	}
	var lease struct {
		Reason                 string
		Cancelled, Unconfirmed []string
		Kept                   []string
	}
	text, err := os.ReadFile(file)
	if err != nil || json.Unmarshal(text, &lease) != nil {
		t.Fatalf("%v %s", err, text)
	}
	canceled = []string{}
	for _, o := range v.Orders() {
		if o.Status == "CANCELED" {
			canceled = append(canceled, o.Client)
		}
	}
	slices.Sort(canceled)
	if open := openAt(v); !slices.Equal(open, lease.Kept) || lease.Reason != "stream_broken" ||
		len(lease.Unconfirmed) > 0 || !slices.Equal(lease.Cancelled, canceled) {
		t.Errorf("open %v, canceled %v, %s", open, canceled, text)
	}
	return canceled, lease.Kept
}

// bareAt returns what the venue's trades make less what working stops there sell: what nobody protects.
func bareAt(v *testvenue.Venue) decimal.Decimal {
	bare := decimal.Decimal{}
	for _, x := range v.Trades() {
		change := x.Quantity
		if x.Side == "SELL" {
			change = change.Neg()
		}
		if bare = must(bare.Add(change)); x.FeeAsset == "BTC" {
			bare = must(bare.Sub(x.Fee))
		}
	}
	for _, o := range v.Orders() {
		if o.Open && o.Side == "SELL" && strings.HasPrefix(o.Kind, "STOP") {
			bare = must(bare.Sub(must(o.Quantity.Sub(o.Filled))))
		}
	}
	return bare
}

// bareDust is less than the venue takes.
var bareDust = decimal.MustNew(2, 4)

// guardedAt fails where more than dust is held without a working stop at the venue.
func guardedAt(t *testing.T, v *testvenue.Venue) {
	t.Helper()
	if bare := bareAt(v); bare.Cmp(bareDust) > 0 {
		t.Errorf("%s BTC is held without a stop; open %v", bare, openAt(v))
	}
}

// TestLiveStopUnconfirmed stops a run whose cancels hang for longer than a stop may take. The run fails and
// names the orders; its connector goes on by itself, and cancels them once the venue answers.
func TestLiveStopUnconfirmed(t *testing.T) {
	t.Parallel()
	v := liveVenue(t, testvenue.Options{Speed: 30})
	state := t.TempDir()
	s := serveLive(t, state, v, "--on-stop", "cancel")
	id := s.start(holding())
	s.until("exits at the venue", func(object) bool { return len(openAt(v)) >= 2 })
	// The stop gives up after 20 seconds, and 5 more in which the connector is to close its session.
	if err := v.Do(testvenue.Script{Match: "DELETE /api/v3/order", Action: "hang_before",
		Times: 1_000_000}); err != nil {
		t.Fatal(err)
	}
	calm := time.AfterFunc(29*time.Second, func() { _ = v.Do(testvenue.Script{Action: "calm"}) })
	defer calm.Stop()
	children := plugins(t, s.cmd.Process.Pid)
	s.call("POST", "/run/stop", nil, nil)
	s.await("failed")
	var status struct {
		Details struct {
			Code string
			Data struct{ Orders []string }
		} `json:"error_details"`
	}
	s.call("GET", "/status", nil, &status)
	named := status.Details.Data.Orders
	slices.Sort(named)
	if status.Details.Code != "STOP_UNCONFIRMED" || len(named) != 2 {
		t.Errorf("%+v", status)
	}
	if canceled, kept := leased(t, state, id, v); !slices.Equal(canceled, named) || len(kept) > 0 {
		t.Errorf("%v were named, %v canceled, %v kept", named, canceled, kept)
	}
	gone(t, children)
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.stderr)
	}
}

// TestLiveHostKilled kills the service while a run holds something: the connector leaves its exits, the next
// start knows all of it, until the reset, and the next run refuses, or sells it first.
func TestLiveHostKilled(t *testing.T) {
	t.Parallel()
	v := liveVenue(t, testvenue.Options{Speed: 60})
	state := t.TempDir()
	s := serveLive(t, state, v)
	id := s.start(holding())
	s.until("exits at the venue", func(object) bool { return len(openAt(v)) >= 2 })
	children := plugins(t, s.cmd.Process.Pid)
	s.end(syscall.SIGKILL)
	canceled, kept := leased(t, state, id, v)
	if len(canceled) > 0 || len(kept) != 2 {
		t.Errorf("%v canceled, %v kept", canceled, kept)
	}
	guardedAt(t, v)
	gone(t, children)

	for range 2 { // it stays, through any further restart
		s = serveLive(t, state, v)
		var status struct {
			RunID   string `json:"run_id"`
			Status  string
			Details struct {
				Code, Phase string
				Data        struct {
					Open      []string `json:"open_orders"`
					Unknown   []string `json:"unknown_orders"`
					Positions map[string]json.Number
					Lease     struct{ Kept []string }
				}
			} `json:"error_details"`
		}
		s.call("GET", "/status", nil, &status)
		d := status.Details
		if status.RunID != id || status.Status != "failed" || d.Code != "RUN_INTERRUPTED" ||
			d.Phase != "trading" || !slices.Equal(d.Data.Lease.Kept, kept) {
			t.Errorf("%+v", status)
		}
		named := map[string]bool{}
		for _, id := range slices.Concat(d.Data.Open, d.Data.Unknown) {
			named[id] = true
		}
		for _, id := range kept {
			if !named[id] {
				t.Errorf("%s was open at the end and is not named: %+v", id, d.Data)
			}
		}
		held := decimal.Decimal{}
		for _, at := range v.Trades() {
			held = must(must(held.Add(at.Quantity)).Sub(at.Fee))
		}
		if d.Data.Positions["BTC/USDT"] == "" || number(t, d.Data.Positions["BTC/USDT"]).Cmp(held) != 0 {
			t.Errorf("positions %v, the venue's trades make %s", d.Data.Positions, held)
		}
		if resp := s.call("POST", "/run/live", holding(), nil); resp.StatusCode != http.StatusConflict {
			t.Errorf("a start before the reset: %d", resp.StatusCode)
		}
		if code := s.end(syscall.SIGTERM); code != 0 {
			t.Errorf("exit code %d\n%s", code, s.stderr)
		}
	}
	accounted(t, state, id, v)

	s = serveLive(t, state, v)
	if resp := s.call("DELETE", "/run/reset", nil, nil); resp.StatusCode != 200 {
		t.Errorf("reset: %d", resp.StatusCode)
	}
	s.start(crossing())
	s.await("failed")
	var refused struct {
		Details struct {
			Code string
			Data struct {
				Reason string
				Left   []struct {
					Symbol, Quantity string
					Orders           []string
				}
			}
		} `json:"error_details"`
	}
	s.call("GET", "/status", nil, &refused)
	if d := refused.Details; d.Code != "EXCHANGE_ERROR" || d.Data.Reason != "positions_left" ||
		len(d.Data.Left) != 1 || d.Data.Left[0].Symbol != "BTC/USDT" ||
		!slices.Equal(slices.Sorted(slices.Values(d.Data.Left[0].Orders)), kept) {
		t.Errorf("%+v", refused)
	}
	guardedAt(t, v)
	if resp := s.call("DELETE", "/run/reset", nil, nil); resp.StatusCode != 200 {
		t.Errorf("reset: %d", resp.StatusCode)
	}
	// What the run that died left is settled when the next one starts on the account.
	flat := crossing()
	flat["resume"] = "flat"
	s.start(flat)
	s.until("trading", func(status object) bool { return status["phase"] == "trading" })
	s.call("POST", "/run/stop", nil, nil)
	s.await("completed")
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.stderr)
	}
	book := journalOf(t, state)
	if left, err := book.OpenOrders(t.Context(), id); err != nil || len(left) > 0 {
		t.Errorf("the journal still has open orders of the dead run: %+v %v", left, err)
	}
}

// killConnector kills the process of the connector.
func (s *service) killConnector() {
	s.t.Helper()
	killed := 0
	for _, pid := range plugins(s.t, s.cmd.Process.Pid) {
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.HasPrefix(name,
			[]byte("binance")) {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				s.t.Error(err)
			}
			killed++
		}
	}
	if killed != 1 {
		s.t.Errorf("%d connectors", killed)
	}
}

// TestPaperConnectorProcess kills the connector of a paper run. Another one is started, and no candle is
// lost or comes twice; the fourth time ends the run.
func TestPaperConnectorProcess(t *testing.T) {
	t.Parallel()
	v := liveVenue(t, testvenue.Options{Speed: 120})
	state := t.TempDir()
	s := serveLive(t, state, v)
	body := crossing()
	body["mode"], body["exchange_config"] = "paper", object{}
	id := s.start(body)
	candles := func(n float64) object {
		return s.until("more candles", func(status object) bool {
			return status["candles_done"].(float64) >= n
		})
	}
	done := candles(3)["candles_done"].(float64)
	for range 3 {
		s.killConnector()
		status := candles(done + 8)
		done = status["candles_done"].(float64)
		if said := fmt.Sprint(status["warnings"]); !strings.Contains(said, "CONNECTOR_CRASHED") ||
			!strings.Contains(said, "CONNECTOR_RELAUNCHED") || strings.Contains(said, "CANDLE_MISSING") {
			t.Errorf("warnings %s", said)
		}
	}
	s.killConnector()
	s.await("failed")
	var status object
	s.call("GET", "/status", nil, &status)
	failedWith(t, "the fourth", status, "EXCHANGE_ERROR", "connector_crashed")
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.stderr)
	}
	book := journalOf(t, state)
	list := journalRows(t, func(p journal.Page) (journal.Rows[journal.Candle], error) {
		return book.Candles(t.Context(), id, "BTC/USDT", p)
	})
	if float64(len(list)) < done {
		t.Errorf("%d candles in the journal, %v were shown", len(list), done)
	}
	for i := 1; i < len(list); i++ {
		if list[i].Candle.OpenTime != list[i-1].Candle.CloseTime || list[i].Step != list[i-1].Step+1 {
			t.Errorf("%+v after %+v", list[i], list[i-1])
		}
	}
}

// TestDemoLive is make demo-live.
func TestDemoLive(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "demo")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := hosttest.Build(folder, "v1", "cmd/tools/demolive", "cmd/tools/testvenue"); err != nil {
		t.Fatal(err)
	}
	before := maps.Clone(temporary(t))
	out, err := exec.Command(filepath.Join(folder, "demolive"), "-bin", bin(t), "-connectors",
		connectorFolder(t), "-testvenue", filepath.Join(folder, "testvenue")).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "All was as it should be.") ||
		!strings.Contains(string(out), "RUN_INTERRUPTED") {
		t.Errorf("%v\n%s", err, out)
	}
	for name := range temporary(t) {
		if !before[name] {
			t.Errorf("it leaves %s behind", name)
		}
	}
}

// temporary are the folders that demonstrations have made.
func temporary(t testing.TB) map[string]bool {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(os.TempDir(), "assay-demo-live-*"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range list {
		found[name] = true
	}
	return found
}
