package engine

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/sim"
	"github.com/assay-run/assay/host/live/crash"
	"github.com/assay-run/assay/host/live/journal"
	"github.com/assay-run/assay/host/live/order"
	"github.com/assay-run/assay/plugin-sdk/market"
	simulator "github.com/assay-run/assay/plugin-sdk/sim"
)

// childDir makes the test binary a run on the simulated market that uses a folder.
const childDir = "ASSAY_TEST_ENGINE_CHILD"

const submitsName = "submits"

// TestCrashPoints kills a run at every labelled place, twice, by SIGKILL: what the venue was sent was
// written down before, the journal is whole, and the next run begins and ends in good order.
func TestCrashPoints(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program and kills it 40 times")
	}
	binary := filepath.Join(t.TempDir(), "engine.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-tags", "crashpoints", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, label := range crash.Labels() {
		t.Run(string(label), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for _, n := range []int{1, 2} {
				if label == crash.MidReconcile || label == crash.StopBarrier {
					n = 1 // a run passes there once
				}
				err := runChild(t, binary, dir, fmt.Sprintf("%s:%d", label, n))
				var exit *exec.ExitError
				if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
					t.Fatalf("it was not killed: %v", err)
				}
				inspect(t, dir)
			}
			if err := runChild(t, binary, dir, ""); err != nil {
				t.Errorf("the run after the crash: %v", err)
			}
		})
	}
}

func runChild(t *testing.T, binary, dir, at string) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary)
	cmd.Env = append(os.Environ(), childDir+"="+dir)
	if at != "" {
		cmd.Env = append(cmd.Env, crash.Env+"="+at)
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if out.Len() > 0 {
		t.Logf("%s", out.Bytes())
	}
	return err
}

// inspect opens what a killed run left, as the next start of the service does.
func inspect(t *testing.T, dir string) {
	t.Helper()
	book, err := journal.Open(t.Context(), filepath.Join(dir, "live"), journal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer book.Close()
	if book.Quarantined != nil {
		t.Fatalf("the journal is damaged: %+v", book.Quarantined)
	}
	sent := submits(t, dir)
	if strange, err := book.NotOurs(t.Context(), sent); err != nil || len(strange) > 0 {
		t.Errorf("sent and not written down: %v %v", strange, err)
	}
	slices.Sort(sent)
	if len(slices.Compact(slices.Clone(sent))) != len(sent) {
		t.Errorf("an order was sent twice: %v", sent)
	}
	runs, err := book.Interrupted(t.Context())
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d interrupted runs %v", len(runs), err)
	}
	info := runs[0]
	if _, err := ReadBack(t.Context(), book.Journal, info, 0, nil, nothing{}, func(int64, *simulator.Batch) {}); err != nil {
		t.Error(err)
	}
	run, err := book.Resume(t.Context(), info.RunID)
	if err == nil {
		err = run.End(t.Context(), journal.End{Status: journal.Failed, StopReason: "error", At: market.FromTime(time.Now())})
	}
	if err != nil {
		t.Error(err)
	}
}

// submits are the client order ids that were handed to the venue.
func submits(t *testing.T, dir string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, submitsName))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var ids []string
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		ids = append(ids, lines.Text())
	}
	return ids
}

// nothing records nothing.
type nothing struct{}

func (nothing) Intent(int64, *market.Intent, string) {}
func (nothing) Order(int64, *market.Order)           {}
func (nothing) Fill(int64, *market.Fill)             {}
func (nothing) Trade(int64, *market.Trade)           {}
func (nothing) Equity(int64, *simulator.Mark)        {}

// scribe writes down what it is given before it passes it on. Of two market orders nothing is
// heard, neither an answer nor on the stream, so that it must be asked for.
type scribe struct {
	exchange.Trader
	exchange.Account
	file *os.File

	mu   sync.Mutex
	n    int
	lost map[string]bool
}

func (s *scribe) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	return s.Account.StreamAccount(ctx, func(ev exchange.AccountEvent) {
		s.mu.Lock()
		drop := ev.Order != nil && s.lost[ev.Order.ClientOrderID] || ev.Fill != nil && s.lost[ev.Fill.ClientOrderID]
		s.mu.Unlock()
		if !drop {
			on(ev)
		}
	})
}

func (s *scribe) Submit(ctx context.Context, req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	fmt.Fprintln(s.file, req.ClientOrderID)
	s.mu.Lock()
	if req.Type == market.Market {
		s.n++
	}
	lost := req.Type == market.Market && s.n <= 2
	s.lost[req.ClientOrderID] = lost
	s.mu.Unlock()
	r, o := s.Trader.Submit(ctx, req)
	if lost {
		return exchange.Result{Outcome: exchange.Unknown}, exchange.Order{}
	}
	return r, o
}

func (s *scribe) SubmitPair(ctx context.Context, req exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	fmt.Fprintf(s.file, "%s\n%s\n", req.LimitID, req.StopID)
	return s.Trader.SubmitPair(ctx, req)
}

// child is one run on the simulated market; it stops by itself.
func child(dir string) error {
	ctx := context.Background()
	book, err := journal.Open(ctx, filepath.Join(dir, "live"), journal.Options{})
	if err != nil {
		return err
	}
	all, err := book.Runs(ctx)
	if err != nil {
		return err
	}
	id := fmt.Sprintf("svc_child%d", len(all)+1)
	run, err := book.Begin(ctx, journal.Info{RunID: id, RunTag: order.Tag(id), Mode: journal.Live, Exchange: sim.ID, Symbols: []market.Symbol{btc}, Timeframe: market.MustTimeframe("1m"), Request: json.RawMessage(`{}`)})
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(dir, submitsName), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	config, err := exchange.DecodeConfig(sim.Describe().ConfigSchema, []byte(`{"candles_per_second":100}`))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	e := New(Config{
		RunID: id, Symbols: []market.Symbol{btc}, Timeframe: market.MustTimeframe("1m"), Venue: sim.Describe(), Journal: book.Journal, Run: run,
		Open: exchange.OpenRequest{RunID: id, RunTag: order.Tag(id), Trading: true, Symbols: []market.Symbol{btc}, Timeframe: market.MustTimeframe("1m"), Config: config},
		Connect: func(context.Context) (*exchange.Connection, error) {
			c := sim.New(nil)
			s := &scribe{Trader: c.Trader, Account: c.Account, file: file, lost: map[string]bool{}}
			c.Trader, c.Account = s, s
			return &c, nil
		},
		Limits: loose(), Orderly: func(err error) bool { return errors.Is(err, errStop) }, Gate: &sync.Mutex{}, Host: &busy{cancel: cancel},
	})
	if err := e.Run(ctx); !errors.Is(err, errStop) {
		return fmt.Errorf("the run ended by %w", err)
	}
	if err := run.End(context.Background(), journal.End{Status: journal.Completed, StopReason: "stopped", At: market.FromTime(time.Now())}); err != nil {
		return err
	}
	return book.Close()
}

// busy trades a little of everything and has the run stopped in the end.
type busy struct {
	nothing
	cancel context.CancelCauseFunc
}

func (b *busy) Begin(Layout) (simulator.Recorder, error) { return b, nil }
func (b *busy) Candles(int64, *simulator.Batch)          {}
func (b *busy) Phase(string)                             {}
func (b *busy) Warn(string, string)                      {}

func (b *busy) Decide(v *View) ([]market.Intent, error) {
	last := v.Candles[0].Close
	low := limit(market.Buy, 0.01, last*0.97)
	switch n := v.Step; {
	case n == 240: // at 100 a second: the lost answers have been asked for
		b.cancel(errStop)
	case n%12 == 0:
		return []market.Intent{buy(0.02)}, nil
	case n%12 == 2:
		return []market.Intent{low, low}, nil
	case n%12 == 5 && n < 230:
		return []market.Intent{{Action: market.Cancel, Symbol: btc}}, nil
	case n%12 == 8:
		return []market.Intent{{Action: market.Close}}, nil
	}
	return nil, nil
}
