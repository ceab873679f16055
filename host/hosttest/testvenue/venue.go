// Package testvenue is an exchange on loopback that speaks Binance's dialect over HTTP and
// WebSocket, for tests and demonstrations only: it holds no money and has no market but
// its own synthetic one.
//
// The market of a symbol is a tape of minutes drawn from the seed, which moves every two
// seconds. Around its price stands a book of twenty levels a side, drawn anew with each
// move from the same seed. What can trade trades at once, level by level, and the answer
// reports the fills, while the reports of the stream race with it. What rests is met by the
// market on its way: one that the price goes through is filled whole, one that it only
// touches by what a move trades there. The account's own trades leave no mark on the
// tape; a level that was taken from is full again after the next move.
//
// What a venue has around that is its own: balances, client order ids, filters,
// signatures, recvWindow, weights, counts of orders, streams. It shares no code with any
// connector, because it is the one that knows what really happened.
//
// Requests are judged by this machine's clock and the offset that a script gave it. The
// market has a clock of its own, which may run faster or stand still until Step.
//
// Everything that can go wrong is a Script, taken by Venue.Do or by the second listener.
package testvenue

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The credentials of the one account, unless Options say otherwise.
const (
	DefaultKey    = "testvenue-api-key"
	DefaultSecret = "testvenue-secret"
)

// Venue is a running test venue. Its parts stand on each other: the market, which has the one
// lock of them all; the hub, which sends to the streams; the matcher with the account and its
// orders; the api, which answers requests; the director, which takes scripts; and the server,
// which carries requests and streams.
type Venue struct {
	servers  []*http.Server
	urls     []string
	markets  *markets
	hub      *hub
	matcher  *matcher
	director *director
	server   *server
}

// leastPause is the time between two looks at a market that moves faster than that.
const leastPause = 5 * time.Millisecond

// Order is an order of the account, as a test compares it with a client's books.
type Order struct {
	Client, Symbol, Side, Kind, Status string
	Quantity, Filled, Price            decimal.Decimal
	Open                               bool
}

// Trade is an execution of the account.
type Trade struct {
	ID                   int64
	Client, Symbol, Side string
	Price, Quantity, Fee decimal.Decimal
	FeeAsset             string
}

// Orders are all orders that were ever accepted, in the order in which they were.
func (v *Venue) Orders() []Order {
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	list := []Order{}
	for _, o := range v.matcher.account.orders {
		list = append(list, Order{Client: o.client, Symbol: string(o.symbol.pair), Side: o.side, Kind: o.kind,
			Status: o.status, Quantity: o.qty, Filled: o.cum, Price: o.price, Open: o.open()})
	}
	return list
}

// Trades are all executions, in their order.
func (v *Venue) Trades() []Trade {
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	list := []Trade{}
	for _, t := range v.matcher.account.trades {
		o := t.order
		list = append(list, Trade{ID: t.id, Client: o.client, Symbol: string(o.symbol.pair), Side: o.side,
			Price: t.price, Quantity: t.qty, Fee: t.fee, FeeAsset: t.feeAsset})
	}
	return list
}

// Listeners are how many connections hear of an account (user) or of the market.
func (v *Venue) Listeners(user bool) int {
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	n := 0
	for c := range v.hub.clients {
		if user && c.user || !user && len(c.streams) > 0 {
			n++
		}
	}
	return n
}

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
	// Symbols are the markets that are listed; all.
	Symbols []market.Symbol
	// Script, if it is there, says instead of the seed where the minute that opens at a time goes to
	// from a price, and what it trades of the base, in every market.
	Script func(open market.Time, price float64) (to, volume float64)
}

// Start opens the market and its three listeners: the exchange, the test network, which is
// the same exchange under a second address, and the scripts.
func Start(o Options) (*Venue, error) {
	o.Address, o.ScriptAddress = cmp.Or(o.Address, "127.0.0.1:0"), cmp.Or(o.ScriptAddress, "127.0.0.1:0")
	o.Key, o.Secret, o.Seed = cmp.Or(o.Key, DefaultKey), cmp.Or(o.Secret, DefaultSecret), cmp.Or(o.Seed, "1")
	o.History, o.Cash, o.Ping = cmp.Or(o.History, 20000), cmp.Or(o.Cash, "10000"),
		cmp.Or(o.Ping, 20*time.Second)
	o.Weight, o.Orders = cmp.Or(o.Weight, weightPerMinute), cmp.Or(o.Orders, ordersPerSpan)
	own := o.Speed != 1 || !o.Start.IsZero()
	if o.Start.IsZero() {
		o.Start = time.Now()
	}
	if o.Speed < 0 || o.Speed > 100_000 || o.History < 1 || o.History > 5_000_000 {
		return nil, errors.New("speed is from 0 to 100000, history from 1 to 5000000 minutes")
	}
	m := &markets{opts: o, done: make(chan struct{}), spans: spans(), own: own}
	h := &hub{markets: m, clients: map[*client]struct{}{}}
	x := &matcher{markets: m, hub: h, limits: limits{weight: o.Weight, orders: o.Orders}}
	d := &director{markets: m, hub: h, matcher: x}
	a := &api{markets: m, hub: h, matcher: x}
	v := &Venue{
		markets: m, hub: h, matcher: x, director: d,
		server: &server{markets: m, hub: h, matcher: x, director: d, api: a, counts: map[string]int{}},
	}
	if err := x.open(o.Cash); err != nil {
		return nil, err
	}
	m.open()
	for i, address := range []string{o.Address, "127.0.0.1:0", o.ScriptAddress} {
		handler := []http.Handler{v.server.handler(false), v.server.handler(true), v.scripts()}[i]
		if err := v.listen(address, handler); err != nil {
			return nil, errors.Join(err, v.Close())
		}
	}
	if o.Speed > 0 {
		v.markets.wg.Go(v.run)
	}
	return v, nil
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
	v.markets.wg.Go(func() { _ = s.Serve(ln) })
	return nil
}

// URL returns the exchange's address, for REST and WebSockets.
func (v *Venue) URL() string { return v.urls[0] }

// SandboxURL returns the address of the test network.
func (v *Venue) SandboxURL() string { return v.urls[1] }

// ScriptURL returns where scripts are posted to, one JSON object each, at /scripts.
func (v *Venue) ScriptURL() string { return v.urls[2] }

// Close ends everything and waits for it.
func (v *Venue) Close() error {
	close(v.markets.done)
	var err error
	for _, s := range v.servers {
		err = errors.Join(err, s.Close())
	}
	v.markets.mu.Lock()
	for c := range v.hub.clients {
		c.cut()
	}
	v.markets.mu.Unlock()
	v.markets.wg.Wait()
	return err
}

// Count returns how many requests of a kind have arrived: submit, cancel, query, subscribe, keyed, sandbox,
// all (of REST), streams (handshakes of WebSockets), credentials (a key or a signature came with it), or any
// "METHOD /path".
func (v *Venue) Count(kind string) int {
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	return v.server.counts[kind]
}

// Now returns the market's time.
func (v *Venue) Now() market.Time {
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	return v.markets.now()
}

// Wall returns how long a stretch of the market's time lasts.
func (v *Venue) Wall(d time.Duration) time.Duration { return v.markets.wall(d) }

// run lets the market's time pass.
func (v *Venue) run() {
	begun := market.FromTime(v.markets.opts.Start)
	if v.markets.opts.Speed != 1 {
		begun = v.markets.first
	}
	due := func(n int) time.Time {
		return v.markets.opened.Add(
			v.Wall(time.Duration(v.markets.first+market.Time(n)*moveTime-begun) * time.Millisecond))
	}
	for n := 1; ; {
		timer := time.NewTimer(max(time.Until(due(n)), min(leastPause, v.Wall(time.Minute))))
		select {
		case <-v.markets.done:
			timer.Stop()
			return
		case now := <-timer.C:
			before := n
			for !due(n).After(now) {
				n++
			}
			v.markets.mu.Lock()
			v.matcher.pass(n - before)
			v.markets.mu.Unlock()
		}
	}
}

// Step lets the market go on to the end of the minute: orders trade on the way, then the streams tell.
func (v *Venue) Step() error {
	v.matcher.step()
	return nil
}

// Leap lets whole minutes pass at once. Nothing rests that could trade in them, and no stream tells of
// them.
func (v *Venue) Leap(minutes int) {
	v.markets.mu.Lock()
	defer v.markets.mu.Unlock()
	for _, s := range v.markets.symbols {
		for range minutes {
			s.tape.draw()
		}
		s.book.move(s.last())
	}
}

// Do takes a script.
func (v *Venue) Do(s Script) error { return v.director.do(s) }

// scripts is the handler that takes scripts.
func (v *Venue) scripts() http.Handler {
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
		v.markets.mu.Lock()
		defer v.markets.mu.Unlock()
		_ = json.NewEncoder(w).Encode(v.server.counts)
	})
	return mux
}
