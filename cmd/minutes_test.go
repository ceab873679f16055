package cmd_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/host/hosttest/ring"
	"github.com/assay-run/assay/host/trade/journal"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const minutesPerDay = 24 * 60

// listener reads the stream of a service as a dashboard would, and keeps what it was told.
type listener struct {
	conn *websocket.Conn
	done chan struct{}

	mu       sync.Mutex
	faults   []string
	seq      int64
	told     map[string][]string // ids of fills and trades, in the order in which they came
	orders   map[string]bool
	statuses []string
	newest   time.Time // of a candle
}

func listenRich(t *testing.T, s *service) *listener {
	t.Helper()
	dialer := websocket.Dialer{Subprotocols: []string{"assay.v1.rich"}}
	c, _, err := dialer.Dial("ws"+strings.TrimPrefix(s.url, "http")+"/api/v1/ws/status", nil)
	if err != nil {
		t.Fatal(err)
	}
	l := &listener{conn: c, done: make(chan struct{}), told: map[string][]string{}, orders: map[string]bool{}}
	go func() {
		defer close(l.done)
		for {
			_, text, err := c.ReadMessage()
			if err != nil {
				return
			}
			l.take(text)
		}
	}()
	t.Cleanup(l.close)
	return l
}

func (l *listener) close() {
	_ = l.conn.Close()
	<-l.done
}

func (l *listener) take(text []byte) {
	var f struct {
		Type    string
		Seq     int64
		Payload struct {
			Items   []map[string]any
			Omitted int
			Status  string
			Candle  []float64
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := json.Unmarshal(text, &f); err != nil {
		l.faults = append(l.faults, err.Error())
		return
	}
	switch {
	case f.Type == "snapshot":
		l.seq = f.Seq
		return
	case f.Type == "hello":
		return
	case f.Seq != l.seq+1:
		l.faults = append(l.faults, fmt.Sprintf("%s has seq %d after %d", f.Type, f.Seq, l.seq))
	case f.Payload.Omitted > 0:
		l.faults = append(l.faults, fmt.Sprintf("%d of %s are omitted", f.Payload.Omitted, f.Type))
	}
	l.seq = f.Seq
	p := &f.Payload
	slices.Reverse(p.Items) // the newest comes first
	for _, item := range p.Items {
		switch f.Type {
		case "order":
			l.orders[item["order_id"].(string)] = true
		case "fill", "trade":
			l.told[f.Type] = append(l.told[f.Type], item[f.Type+"_id"].(string))
		}
	}
	switch f.Type {
	case "status_update":
		if n := len(l.statuses); n == 0 || l.statuses[n-1] != p.Status {
			l.statuses = append(l.statuses, p.Status)
		}
	case "candle":
		at := time.UnixMilli(int64(p.Candle[0]))
		if !at.After(l.newest) {
			l.faults = append(l.faults, fmt.Sprintf("the candle of %s comes after that of %s", at, l.newest))
		}
		l.newest = at
	}
}

// TestDayOfMinutes trades the simulated venue live for a day of one-minute candles (a quarter in make test),
// through the whole service: every candle is in the journal once, the books are what the fills say, every
// order, fill and trade is told on the stream once and in order, and nothing stays behind.
func TestDayOfMinutes(t *testing.T) {
	ring.Slow(t, "200 candles a second is as fast as the venue goes")
	candles := ring.Size(minutesPerDay/4, minutesPerDay, minutesPerDay)
	tradeMinutes(t, "live", candles, func(seen int) bool { return seen < candles })
}

// TestSoakMinutes does so for minutes of ours at the fastest pace, half of them on paper.
func TestSoakMinutes(t *testing.T) {
	ring.Long(t, "it goes on for minutes")
	for _, mode := range []string{"live", "paper"} {
		end := time.Now().Add(time.Duration(ring.Minutes()) * time.Minute / 2)
		n := tradeMinutes(t, mode, minutesPerDay, func(int) bool { return time.Now().Before(end) })
		ring.Count(t, "days of 1m candles through the service, "+mode, n/minutesPerDay, 1)
	}
}

func minutesRun(mode string) object {
	body := object{
		"strategy_name": "sma_cross", "strategy_params": object{"fast": 3, "slow": 9, "stake": 300},
		"symbols": []string{"BTC/USDT"}, "timeframe": "1m",
		"mode": mode, "exchange": "sim", "exchange_config": object{"candles_per_second": 200, "seed": "11"},
	}
	if mode == "paper" { // live has the cash of its account, which is as much
		body["initial_cash"] = 10000
	}
	return body
}

// tradeMinutes runs until more says no, and returns how many candles there were.
func tradeMinutes(t *testing.T, mode string, least int, more func(seen int) bool) int {
	state := t.TempDir()
	// The market is a random walk, on which fees eat the cash: limits of loss and of fills would end the
	// trading.
	s := serve(t, state, "--risk-fills-per-hour", "100000", "--risk-max-daily-loss", "1",
		"--risk-max-drawdown", "1", "--risk-orders-per-minute", "100000")
	// what the first run allocates for good is not growth
	s.live(minutesRun(mode), 200, func(int) bool { return true })
	l := listenRich(t, s)
	time.Sleep(200 * time.Millisecond)
	goroutines, before, files := s.holds(t)
	first := 0.0
	begun := time.Now()
	results := s.live(minutesRun(mode), least, func(seen int) bool {
		if first == 0 {
			_, first, _ = s.holds(t)
		}
		return more(seen)
	}, l)
	took := time.Since(begun)
	_, last, _ := s.holds(t)
	if resp := s.call("DELETE", "/run/reset", nil, nil); resp.StatusCode != http.StatusOK {
		t.Fatal(resp.StatusCode)
	}
	time.Sleep(500 * time.Millisecond)
	g, _, f := s.holds(t)
	if g > goroutines+2 || f > files+2 {
		t.Errorf("goroutines %v, then %v; open files %d, then %d", goroutines, g, files, f)
	}
	l.close()
	if code := s.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit code %d\n%s", code, s.stderr)
	}
	candles := checkRun(t, state, results, l)
	t.Logf("%s: %d candles in %s, %d fills; heap %.1f MiB before, %.1f after a day, %.1f at the end",
		mode, candles, took.Round(time.Millisecond), len(l.told["fill"]), before/(1<<20), first/(1<<20),
		last/(1<<20))
	if candles > 3*minutesPerDay { // less says more about the garbage that there is at a moment
		grown := (last - first) / (1 << 20) / (float64(candles-minutesPerDay) / 60)
		t.Logf("the heap grows by %.3f MiB an hour of candles", grown)
		if grown >= 1 {
			t.Error("that is too much")
		}
	}
	return candles
}

// live starts a run, lets it see so many candles and then as many as more wants, and stops it.
func (s *service) live(body object, least int, more func(seen int) bool, listening ...*listener) object {
	s.t.Helper()
	var answer, status, results object
	if resp := s.call("POST", "/run/live", body, &answer); resp.StatusCode != http.StatusOK {
		s.t.Fatalf("start: %d %v", resp.StatusCode, answer)
	}
	for seen := 0; seen < least || len(listening) > 0 && more(seen); time.Sleep(50 * time.Millisecond) {
		s.call("GET", "/status/detailed", nil, &status)
		if status["status"] != "running" {
			s.t.Fatalf("the run ended: %v\n%s", status, s.stderr)
		}
		n, _ := status["candles_done"].(float64)
		seen = int(n)
	}
	if resp := s.call("POST", "/run/stop", nil, nil); resp.StatusCode != http.StatusOK {
		s.t.Fatal(resp.StatusCode)
	}
	s.await("completed")
	s.call("GET", "/results", nil, &results)
	if len(listening) == 0 {
		s.call("DELETE", "/run/reset", nil, nil)
		return results
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if l := listening[0]; l.knows("fill") >= total(results, "fills") &&
			l.knows("trade") >= total(results, "trades") && l.knows("order") >= total(results, "orders") {
			break
		}
	}
	return results
}

func (l *listener) knows(kind string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if kind == "order" {
		return len(l.orders)
	}
	return len(l.told[kind])
}

func total(results object, table string) int {
	n, _ := results["rows_total"].(object)[table].(float64)
	return int(n)
}

// checkRun holds the journal, the results and what the stream told against each other.
func checkRun(t *testing.T, state string, results object, l *listener) int {
	t.Helper()
	for _, fault := range l.faults {
		t.Errorf("the stream: %s", fault)
	}
	if got := strings.Join(l.statuses, " "); !strings.HasPrefix(got, "running completed") {
		t.Errorf("the stream told the statuses %s", got)
	}
	for kind, letter := range map[string]string{"fill": "f", "trade": "t"} {
		want := total(results, kind+"s")
		if len(l.told[kind]) != want || want == 0 {
			t.Errorf("%d %ss were told, there are %d", len(l.told[kind]), kind, want)
		}
		for i, id := range l.told[kind] {
			if want := fmt.Sprintf("%s-%06d", letter, i+1); id != want {
				t.Errorf("%s %d was told as %s", kind, i+1, id)
				break
			}
		}
	}
	if len(l.orders) != total(results, "orders") {
		t.Errorf("%d orders were told, there are %d", len(l.orders), total(results, "orders"))
	}
	return checkJournal(t, journalOf(t, state), results)
}

// checkJournal reads a run back: candles minute by minute, and the account from its fills.
func checkJournal(t *testing.T, book *journal.Journal, results object) int {
	t.Helper()
	id := results["run_id"].(string)
	candles := journalRows(t, func(p journal.Page) (journal.Rows[journal.Candle], error) {
		return book.Candles(t.Context(), id, "BTC/USDT", p)
	})
	fills := journalRows(t, func(p journal.Page) (journal.Rows[journal.Fill], error) {
		return book.Fills(t.Context(), id, p)
	})
	points := journalRows(t, func(p journal.Page) (journal.Rows[journal.Equity], error) {
		return book.Equity(t.Context(), id, p)
	})
	closes := map[market.Time]float64{}
	live := 0
	for i, c := range candles {
		closes[c.Candle.CloseTime] = c.Candle.Close
		if c.Source != "warmup" {
			live++
		}
		if i > 0 && (c.Candle.OpenTime != candles[i-1].Candle.CloseTime || c.Step != candles[i-1].Step+1) {
			t.Fatalf("candle %s in step %d follows %s in step %d", c.Candle.OpenTime, c.Step,
				candles[i-1].Candle.OpenTime, candles[i-1].Step)
		}
	}
	if len(fills) != total(results, "fills") {
		t.Errorf("%d fills in the journal, %d in the results", len(fills), total(results, "fills"))
	}
	cash, position, next := 10000.0, 0.0, 0
	apply := func(until market.Time) {
		for ; next < len(fills) && fills[next].Time <= until; next++ {
			f := &fills[next]
			quantity, _ := f.Quantity.Float64()
			price, _ := f.Price.Float64()
			fee, _ := f.Fee.Float64()
			if f.Side == market.Sell {
				quantity = -quantity
			}
			cash, position = cash-quantity*price-fee, position+quantity
		}
	}
	for _, p := range points {
		if results["mode"] == "paper" { // a fill is stamped with the open of its candle there
			apply(p.At - 1)
		} else {
			apply(p.At)
		}
		last, ok := closes[p.At]
		if !ok {
			continue // the start of the run, or its end
		}
		have, _ := p.Equity.Float64()
		money, _ := p.Cash.Float64()
		if want := cash + position*last; math.Abs(have-want) > 1e-5 || math.Abs(money-cash) > 1e-5 {
			t.Fatalf("at %s the journal has equity %v and cash %v, the fills say %v and %v", p.At, have,
				money, want, cash)
		}
	}
	apply(math.MaxInt64) // those of a candle that closed while the run was stopping
	if value := results["final_value"].(float64); math.Abs(
		value-(cash+position*candles[len(candles)-1].Candle.Close)) > 1e-5 {
		t.Errorf("the results say %v in the end, the fills %v", value,
			cash+position*candles[len(candles)-1].Candle.Close)
	}
	return live
}

func journalRows[T any](t *testing.T, read func(journal.Page) (journal.Rows[T], error)) []T {
	t.Helper()
	all, err := journal.All(read)
	if err != nil {
		t.Fatal(err)
	}
	return all
}
