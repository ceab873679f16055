package testvenue

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The credentials of the one account, unless Options say otherwise.
const (
	DefaultKey    = "testvenue-api-key"
	DefaultSecret = "testvenue-secret"
)

// Options are what a venue is started with; zero values are defaults.
type Options struct {
	// Address and ScriptAddress to listen on, loopback only; default a free port.
	Address, ScriptAddress string
	Key, Secret            string
	Seed                   string // of the synthetic market; "1"
	// Start is the market's time when it opens, to the minute; default now.
	Start time.Time
	// Speed is market time per real time. 0: the market stands still until Step.
	Speed float64
	// History is how many minutes there are before Start; 20000.
	History int
	// Cash in USDT; 10000.
	Cash string
	// Ping is how often WebSockets are pinged; 20 s.
	Ping time.Duration
	// Weight is the request weight that may be used in a minute; 6000, as at the exchange.
	Weight int
	// Orders is how many orders that do not trade may be placed in ten seconds; 100, as at the exchange.
	Orders int
}

// Venue is a running test venue.
type Venue struct {
	opts    Options
	servers []*http.Server
	urls    []string
	done    chan struct{}
	wg      sync.WaitGroup
	spans   map[string]market.Time
	own     bool // the market's time is not the day's

	mu         sync.Mutex
	symbols    []*symbol
	account    account
	executions int64         // reports so far
	settled    int64         // those whose balances were told
	offset     time.Duration // of the clock that requests are judged by
	scripts    []*pending
	counts     map[string]int
	limits     limits
	clients    map[*client]struct{}
	trouble    trouble
	readOnly   bool
	opened     time.Time // when the market began to move
	first      market.Time
}

// Start opens the market and its three listeners: the exchange, the test network, which is
// the same exchange under a second address, and the scripts.
func Start(o Options) (*Venue, error) {
	o.Address, o.ScriptAddress = cmp.Or(o.Address, "127.0.0.1:0"), cmp.Or(o.ScriptAddress, "127.0.0.1:0")
	o.Key, o.Secret, o.Seed = cmp.Or(o.Key, DefaultKey), cmp.Or(o.Secret, DefaultSecret), cmp.Or(o.Seed, "1")
	o.History, o.Cash, o.Ping = cmp.Or(o.History, 20000), cmp.Or(o.Cash, "10000"), cmp.Or(o.Ping, 20*time.Second)
	o.Weight, o.Orders = cmp.Or(o.Weight, weightPerMinute), cmp.Or(o.Orders, ordersPerSpan)
	own := o.Speed != 1 || !o.Start.IsZero()
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	if o.Speed < 0 || o.Speed > 100_000 || o.History < 1 || o.History > 5_000_000 {
		return nil, errors.New("speed is from 0 to 100000, history from 1 to 5000000 minutes")
	}
	v := &Venue{opts: o, done: make(chan struct{}), spans: spans(), counts: map[string]int{},
		clients: map[*client]struct{}{}, own: own,
		limits: limits{weight: o.Weight, orders: o.Orders}}
	if err := v.openMarket(); err != nil {
		return nil, err
	}
	for i, address := range []string{o.Address, "127.0.0.1:0", o.ScriptAddress} {
		handler := []http.Handler{v.api(false), v.api(true), v.desk()}[i]
		if err := v.listen(address, handler); err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	if o.Speed > 0 {
		v.wg.Go(v.run)
	}
	return v, nil
}

func (v *Venue) openMarket() error {
	cash, err := decimal.Parse(v.opts.Cash)
	if err != nil || !cash.IsPos() {
		return fmt.Errorf("cash %q is not an amount above 0", v.opts.Cash)
	}
	start := market.FromTime(v.opts.Start)
	v.first = start - start%minute
	for _, l := range listings() {
		v.symbols = append(v.symbols, newSymbol(l, v.opts.Seed, v.first, v.opts.History))
	}
	v.account = account{balances: map[string]decimal.Decimal{"USDT": cash}, told: map[string][2]string{}}
	v.account.told["USDT"] = [2]string{fixed(cash), fixed(decimal.Decimal{})}
	v.opened = time.Now()
	return nil
}

func (v *Venue) listen(address string, h http.Handler) error {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	if tcp, ok := ln.Addr().(*net.TCPAddr); !ok || !tcp.IP.IsLoopback() {
		return errors.Join(fmt.Errorf("%s is not a loopback address", address), ln.Close())
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	v.servers, v.urls = append(v.servers, s), append(v.urls, "http://"+ln.Addr().String())
	v.wg.Go(func() { _ = s.Serve(ln) })
	return nil
}

// URL is the exchange's address, for REST and WebSockets.
func (v *Venue) URL() string { return v.urls[0] }

// SandboxURL is the address of the test network.
func (v *Venue) SandboxURL() string { return v.urls[1] }

// ScriptURL is where scripts are posted to, one JSON object each, at /scripts.
func (v *Venue) ScriptURL() string { return v.urls[2] }

// Close ends everything and waits for it.
func (v *Venue) Close() error {
	close(v.done)
	var err error
	for _, s := range v.servers {
		err = errors.Join(err, s.Close())
	}
	v.mu.Lock()
	for c := range v.clients {
		c.cut()
	}
	v.mu.Unlock()
	v.wg.Wait()
	return err
}

// Count is how many requests of a kind have arrived: submit, cancel, query, subscribe, keyed, sandbox, all
// (of
// REST), streams (handshakes of WebSockets), credentials (a key or a signature came with it), or any "METHOD
// /path".
func (v *Venue) Count(kind string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.counts[kind]
}

// Now is the market's time.
func (v *Venue) Now() market.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now()
}

func (v *Venue) now() market.Time {
	at, next := v.symbols[0].tape.at(), v.symbols[0].tape.next()
	if v.opts.Speed == 0 {
		return at
	}
	moved := market.Time(float64(time.Since(v.opened).Milliseconds()) * v.opts.Speed)
	begun := v.first
	if v.opts.Speed == 1 {
		begun = market.FromTime(v.opts.Start)
	}
	return max(at, min(begun+moved, next+minute-1))
}

// Wall is how long a stretch of the market's time lasts.
func (v *Venue) Wall(d time.Duration) time.Duration {
	if v.opts.Speed == 0 {
		return d
	}
	return time.Duration(float64(d) / v.opts.Speed)
}

// timeInfo is the answer to time. Binance's has no market time: there it passes as everywhere.
func (v *Venue) timeInfo() map[string]any {
	m := map[string]any{"serverTime": v.server().UnixMilli()}
	if v.opts.Speed > 0 && v.own {
		m["marketTime"], m["marketPace"] = int64(v.now()), v.opts.Speed
	}
	return m
}

// server is the time by which requests are judged.
func (v *Venue) server() time.Time { return time.Now().Add(v.offset) }

// leastPause is the time between two looks at a market that moves faster than that.
const leastPause = 5 * time.Millisecond

// run lets the market's time pass.
func (v *Venue) run() {
	begun := market.FromTime(v.opts.Start)
	if v.opts.Speed != 1 {
		begun = v.first
	}
	due := func(n int) time.Time {
		return v.opened.Add(v.Wall(time.Duration(v.first+market.Time(n)*moveTime-begun) * time.Millisecond))
	}
	for n := 1; ; {
		timer := time.NewTimer(max(time.Until(due(n)), min(leastPause, v.Wall(time.Minute))))
		select {
		case <-v.done:
			timer.Stop()
			return
		case now := <-timer.C:
			before := n
			for !due(n).After(now) {
				n++
			}
			v.mu.Lock()
			v.pass(n - before)
			v.mu.Unlock()
		}
	}
}

// Step lets the market go on to the end of the minute: orders trade on the way, then the streams tell.
func (v *Venue) Step() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.pass(moves - v.symbols[0].tape.moved)
	return nil
}

// pass makes so many moves of two seconds each; the streams hear of the last one and of every candle
// that closes.
func (v *Venue) pass(n int) {
	for range n {
		closed := false
		for _, s := range v.symbols {
			if s.through > 0 { // there and back
				s.tape.touch(s.tape.units(s.through))
				s.through = 0
				v.travel(s, s.last(), false)
			}
			before := s.tape.price
			closed = s.tape.move()
			s.record(before)
			v.travel(s, s.last(), false)
		}
		if v.executions != v.settled { // something was reported
			v.settled = v.executions
			v.publishBalances()
		}
		if closed {
			v.publishClosed()
		}
	}
	if n > 0 {
		v.publishMarket()
	}
}

// desk takes scripts.
func (v *Venue) desk() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /scripts", func(w http.ResponseWriter, r *http.Request) {
		var s Script
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<16))
		d.DisallowUnknownFields()
		err := d.Decode(&s)
		if err == nil {
			err = v.Do(s)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) {
		v.mu.Lock()
		defer v.mu.Unlock()
		_ = json.NewEncoder(w).Encode(v.counts)
	})
	return mux
}

// wait is for a request that hangs.
func (v *Venue) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-v.done:
	}
}
