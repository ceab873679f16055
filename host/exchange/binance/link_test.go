package binance

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/testvenue"
)

// visits are the connections of a link to a server of its own.
type visits struct {
	*httptest.Server
	mu    sync.Mutex
	count int
	next  chan struct{} // closed when another one comes
}

// newVisits serves each connection with what serve does, and closes it then. next is closed when
// the one after it has come.
func newVisits(t *testing.T, serve func(ws *websocket.Conn, next <-chan struct{})) *visits {
	t.Helper()
	v := &visits{next: make(chan struct{})}
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer ws.Close()
		v.mu.Lock()
		v.count++
		close(v.next)
		v.next = make(chan struct{})
		next := v.next
		v.mu.Unlock()
		serve(ws, next)
	}))
	t.Cleanup(v.Close)
	return v
}

var upgrader = websocket.Upgrader{}

func (v *visits) seen() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.count
}

func (v *visits) link(times tuning) *link {
	return &link{url: "ws" + strings.TrimPrefix(v.URL, "http"), times: times, leaving: leaving}
}

// runs runs a link until there were so many connections, and returns how long that took.
func (v *visits) runs(t *testing.T, l *link, connections int) time.Duration {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	began := time.Now()
	wg.Go(func() {
		if err := l.run(ctx, func(exchange.LinkState, string) {}, func([]byte) {}); err != nil {
			t.Error(err)
		}
	})
	for deadline := began.Add(20 * time.Second); v.seen() < connections; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Errorf("%d connections, want %d", v.seen(), connections)
			break
		}
	}
	took := time.Since(began)
	cancel()
	wg.Wait()
	return took
}

// TestBackoffOfConnectionsThatBreak: a server that takes connections and ends them at once is
// asked less and less often.
func TestBackoffOfConnectionsThatBreak(t *testing.T) {
	var later atomic.Bool
	for name, serve := range map[string]func(*websocket.Conn, <-chan struct{}){
		"successors closed": func(ws *websocket.Conn, _ <-chan struct{}) {
			if !later.Swap(true) {
				_, _, _ = ws.ReadMessage() // until the link closes it
			}
		},
		"closed": func(*websocket.Conn, <-chan struct{}) {},
		"announced": func(ws *websocket.Conn, next <-chan struct{}) {
			for ws.WriteMessage(websocket.TextMessage, []byte(`{"e":"serverShutdown","E":1}`)) == nil {
				select {
				case <-next:
					time.Sleep(5 * time.Millisecond) // the successor is in use then
					return
				case <-time.After(2 * time.Millisecond):
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newVisits(t, serve)
			times := brisk
			times.steady = time.Hour
			if name == "successors closed" {
				times.age = time.Millisecond
			}
			// Between the first and the twelfth the waits are 20, 40, 80, 160 and seven times 200 ms, less a
			// fifth; of a successor and of a lost connection they may pass at the same time.
			if took := v.runs(t, v.link(times), 12); took < 600*time.Millisecond {
				t.Errorf("12 connections within %s", took)
			}
		})
	}
}

// TestBackoffBeginsAnew: once a connection has lived the loss of it is mended as soon as that of
// the first was.
func TestBackoffBeginsAnew(t *testing.T) {
	v := newVisits(t, func(*websocket.Conn, <-chan struct{}) {})
	times := brisk
	times.shortest, times.longest, times.steady = 10*time.Millisecond, time.Hour, time.Nanosecond
	v.runs(t, v.link(times), 16) // the sixteenth would else come after five minutes
}

// account is what a session's account stream reports.
type account struct {
	mu     sync.Mutex
	states []exchange.LinkState
	orders int
}

func (a *account) add(e exchange.AccountEvent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if e.State != "" {
		a.states = append(a.states, e.State)
	}
	if e.Order != nil {
		a.orders++
	}
}

func (a *account) said() []exchange.LinkState {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.states)
}

// listens opens the account's stream for the rest of the test.
func listens(t *testing.T, s *session) *account {
	t.Helper()
	a := &account{}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		if err := s.StreamAccount(ctx, a.add); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); wg.Wait() })
	comes(t, "the account's stream", func() bool { return len(a.said()) == 1 })
	return a
}

func comes(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s does not come", what)
		}
	}
}

// TestATerminatedSubscriptionIsABreak: a connection on which the exchange has ended the account's
// stream is replaced although it stays open.
func TestATerminatedSubscriptionIsABreak(t *testing.T) {
	b := newBench(t, plainWrap)
	s := openedSession(t, b, brisk)
	a := listens(t, s)
	if err := b.Do(testvenue.Script{Action: "end_user_stream"}); err != nil {
		t.Fatal(err)
	}
	comes(t, "the second subscription", func() bool { return len(a.said()) == 3 && b.Listeners(true) == 1 })
	if want := []exchange.LinkState{exchange.Connected, exchange.Reconnecting,
		exchange.Connected}; !slices.Equal(a.said(), want) {
		t.Errorf("states %v", a.said())
	}
	if err := b.Do(testvenue.Script{Action: "foreign_order", Args: []string{"BTCUSDT"}}); err != nil {
		t.Fatal(err)
	}
	comes(t, "an event", func() bool {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.orders == 1
	})
}

// TestStreamsKeepTheSilence: in the window that the exchange asked for, wherever it did, no stream
// is connected; then they are.
func TestStreamsKeepTheSilence(t *testing.T) {
	const asked = 2 * time.Second // the venue's Retry-After
	for _, match := range []string{"GET /api/v3/account", "GET /ws-api/v3", "userDataStream.subscribe"} {
		for _, action := range []string{"418", "429"} {
			t.Run(match+" "+action, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, plainWrap)
				s := openedSession(t, b, brisk)
				a := listens(t, s)
				if err := b.Do(testvenue.Script{Match: match, Action: action}); err != nil {
					t.Fatal(err)
				}
				began, tries := time.Now(), b.Count("streams")
				if match == "GET /api/v3/account" {
					if _, err := s.Balances(t.Context()); err == nil {
						t.Fatal("balances")
					}
				} else {
					tries++ // the one that is refused
				}
				if err := b.Do(testvenue.Script{Action: "stream_cut", Args: []string{"all"}}); err != nil {
					t.Fatal(err)
				}
				comes(t, "the silence", func() bool {
					return s.rest.queue.silence() > 0 && len(a.said()) == 2
				})
				if _, r := s.account(t.Context()); r.Outcome != exchange.NotSent || r.RetryAfterMS == 0 {
					t.Errorf("a request in the window: %+v", r)
				}
				for {
					n := b.Count("streams")
					if time.Since(began) >= asked {
						break
					}
					if n != tries {
						t.Fatalf("%d connections after %s", n-tries, time.Since(began))
					}
					time.Sleep(5 * time.Millisecond)
				}
				comes(t, "the stream again", func() bool {
					return len(a.said()) == 3 && b.Listeners(true) == 1
				})
			})
		}
	}
}

// TestTheFirstSubscriptionSaysWhyNot: before the host loses patience it learns what keeps the
// account's stream from being connected; a short silence is waited out.
func TestTheFirstSubscriptionSaysWhyNot(t *testing.T) {
	b := newBench(t, plainWrap)
	s := openedSession(t, b, brisk)
	open := func() *exchange.Error {
		var e *exchange.Error
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.StreamAccount(ctx, func(exchange.AccountEvent) {
			cancel()
		}); err != nil && !errors.As(err, &e) {
			t.Fatal(err)
		}
		return e
	}
	s.rest.queue.hush(50*time.Millisecond, false)
	if e := open(); e != nil || b.Count("subscribe") != 1 {
		t.Errorf("after a short silence: %v", e)
	}
	s.rest.queue.hush(time.Minute, false)
	if e := open(); e == nil || e.Result.Outcome != exchange.NotSent || e.Result.RetryAfterMS < 50_000 ||
		b.Count("streams") != 1 {
		t.Errorf("in a long silence: %v", e)
	}
	broken := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
	defer broken.Close()
	s.rest.at, s.rest.queue, s.tuning.first = At(broken.URL), &queue{}, 100*time.Millisecond
	if e := open(); e == nil || e.Result.Outcome != exchange.Unknown ||
		!strings.Contains(e.Result.Message, "could not be opened") {
		t.Errorf("at a broken server: %v", e)
	}
}

// TestASubscriptionWithAWrongClock: the clock is measured before the second attempt.
func TestASubscriptionWithAWrongClock(t *testing.T) {
	b := newBench(t, plainWrap)
	s := openedSession(t, b, brisk)
	s.rest.queue.space(50 * time.Millisecond)
	if err := b.Do(testvenue.Script{Action: "clock_offset", Args: []string{"60000"}}); err != nil {
		t.Fatal(err)
	}
	listens(t, s)
	if n := b.Count("subscribe"); n != 2 || s.rest.clockOffset() < 50*time.Second {
		t.Errorf("%d subscriptions, the clock is %s off", n, s.rest.clockOffset())
	}
}
