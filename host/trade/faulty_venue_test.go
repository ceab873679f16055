package trade

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/hosttest/exchangetest"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// faultyID is the exchange whose stream is not to be trusted.
const faultyID = "faulty"

// faultyVenue is a venue whose history is true and whose stream is what a script makes of it. Its
// time is that of its candles and passes as fast as they are answered.
type faultyVenue struct {
	symbols []market.Symbol
	history [][]market.Candle // by symbol
	tick    []decimal.Decimal
	from    market.Time // the clock at the start
	span    market.Time
	script  *exchangetest.Script
	random  *rand.Rand
	asked   chan struct{} // history was
	failing int           // so many requests of history fail first

	mu    sync.Mutex
	now   market.Time
	late  []lateEvent
	polls int
}

type lateEvent struct {
	due market.Time
	exchange.CandleEvent
}

// faultyConfig is exchange_config of the faultyVenue.
type faultyConfig struct {
	Seed    uint64      `json:"seed"`
	From    market.Time `json:"from"`
	Odds    int         `json:"odds"` // of a fault; 0: none
	Failing int         `json:"failing"`
	To      market.Time `json:"to"` // candles open before
}

// testVenues are the venues of a testHost with the faulty one among them.
type testVenues struct {
	Venues
	host *testHost

	mu     sync.Mutex
	faults map[string]int
}

// Choose implements Venues.
func (l *testVenues) Choose(ctx context.Context, req runner.StartRequest, p *run.Plan) (Venue, error) {
	if req.Exchange != faultyID {
		return l.Venues.Choose(ctx, req, p)
	}
	var conf faultyConfig
	if err := json.Unmarshal([]byte(req.ExchangeConfig.Reveal()), &conf); err != nil {
		return Venue{}, err
	}
	v := &faultyVenue{
		symbols: p.Symbols, from: conf.From, now: conf.From,
		span:   market.Time(p.Timeframe.Duration() / time.Millisecond),
		random: rand.New(rand.NewPCG(conf.Seed, 3)), asked: make(chan struct{}, 1), failing: conf.Failing,
	}
	for _, symbol := range p.Symbols {
		set, err := l.host.store.Lookup(ctx, stored, symbol, p.Timeframe)
		if err != nil {
			return Venue{}, err
		}
		file, err := l.host.store.OpenSeries(set)
		if err != nil {
			return Venue{}, err
		}
		s := file.Series()
		var list []market.Candle
		for i := range s.Search(conf.To) {
			list = append(list, s.At(i))
		}
		v.history, v.tick = append(v.history, list), append(v.tick, set.PriceStep)
		if err := file.Close(); err != nil {
			return Venue{}, err
		}
	}
	v.script = &exchangetest.Script{
		Random: v.random, Span: v.span, LongGap: 500, Odds: conf.Odds, Faults: map[string]int{},
		Later: func(wait market.Time, e exchange.CandleEvent) {
			v.late = append(v.late, lateEvent{v.now + wait, e})
			slices.SortStableFunc(v.late, func(a, b lateEvent) int { return int(a.due - b.due) })
		},
	}
	return Venue{
		ID: faultyID, Description: exchange.Description{ID: faultyID, Kind: "native",
			Modes: []string{runner.ModePaper}, Timeframes: []market.Timeframe{p.Timeframe}},
		Connect: func(context.Context) (*exchange.Connection, error) {
			return &exchange.Connection{Connector: &liarSession{faultyVenue: v, all: l}, Clock: v}, nil
		},
	}, nil
}

// liarSession is the faultyVenue as its host opens and closes it.
type liarSession struct {
	exchange.Trader
	*faultyVenue
	all *testVenues
}

func (s *liarSession) Describe(context.Context) (exchange.Description, error) {
	return exchange.Description{ID: faultyID}, nil
}

func (s *liarSession) Open(_ context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	return exchange.Opened{AccountID: req.RunID}, nil
}

func (s *liarSession) ArmDeadMan(context.Context, time.Duration) error { return errors.ErrUnsupported }

func (s *liarSession) Beat(context.Context, int64) (exchange.Ack, error) { return exchange.Ack{}, nil }

func (s *liarSession) Markets(context.Context) ([]exchange.Market, error) {
	var list []exchange.Market
	for i, symbol := range s.symbols {
		list = append(list, exchange.Market{Symbol: symbol, Trading: true, PriceTick: s.tick[i]})
	}
	return list, nil
}

// Close adds what the stream has done to the account of all venues.
func (s *liarSession) Close(context.Context, bool) ([]string, error) {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	for name, n := range s.script.Faults {
		s.all.faults[name] += n
	}
	s.all.faults["poll"] += s.polls
	return nil, nil
}

// Now implements exchange.VenueClock.
func (v *faultyVenue) Now() market.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// Wall implements exchange.VenueClock: nobody waits for time that is made up.
func (v *faultyVenue) Wall(time.Duration) time.Duration { return 0 }

func (v *faultyVenue) set(now market.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.now = max(v.now, now)
}

var errNoHistory = errors.New("connection reset")

// Candles implements exchange.Connector.
func (v *faultyVenue) Candles(_ context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.failing > 0 {
		v.failing--
		return nil, errNoHistory
	}
	i := slices.Index(v.symbols, q.Symbol)
	if i < 0 {
		return nil, fmt.Errorf("no %s here", q.Symbol)
	}
	list := v.history[i]
	n, _ := slices.BinarySearchFunc(list, q.From, func(c market.Candle, at market.Time) int {
		return int(c.OpenTime - at)
	})
	var page []market.Candle
	for ; n < len(list) && list[n].OpenTime < q.To && list[n].CloseTime <= v.now && len(page) < q.Limit; n++ {
		page = append(page, list[n])
	}
	select {
	case v.asked <- struct{}{}:
	default:
	}
	return page, nil
}

// StreamCandles implements exchange.Connector.
func (v *faultyVenue) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	v.script.Send = on
	on(exchange.CandleEvent{State: exchange.Connected})
	next := make([]int, len(v.history))
	for i, list := range v.history {
		next[i], _ = slices.BinarySearchFunc(list, v.from, func(c market.Candle, at market.Time) int {
			return int(c.OpenTime - at)
		})
	}
	for ctx.Err() == nil {
		var at market.Time
		for i, list := range v.history {
			if next[i] < len(list) && (at == 0 || list[next[i]].CloseTime < at) {
				at = list[next[i]].CloseTime
			}
		}
		if at == 0 {
			return exchange.ErrEnded
		}
		for len(v.late) > 0 && v.late[0].due < at {
			e := v.late[0]
			v.late = v.late[1:]
			v.set(e.due)
			on(e.CandleEvent)
		}
		v.set(at)
		if v.closed(at, next, on) == 0 && v.random.IntN(4) == 0 {
			v.quiet(at)
		}
	}
	return nil
}

// closed hands the candles of a moment to the script and tells how many it has sent.
func (v *faultyVenue) closed(at market.Time, next []int, on func(exchange.CandleEvent)) int {
	sent := 0
	for i, list := range v.history {
		if next[i] == len(list) || list[next[i]].CloseTime != at {
			continue
		}
		e := exchange.CandleEvent{Symbol: v.symbols[i], Candle: list[next[i]]}
		next[i]++
		switch {
		case v.script.Odds == 0:
			on(e)
			sent++
		case next[i] == len(list): // nothing would come after it
			v.script.Plain(i, e)
			sent++
		case v.script.Candle(i, e):
			sent++
		}
	}
	return sent
}

// quiet lets enough time pass for the feed to ask for what it has not heard of.
func (v *faultyVenue) quiet(at market.Time) {
	select {
	case <-v.asked:
	default:
	}
	v.set(at + min(15_000, v.span/2))
	select {
	case <-v.asked:
		v.polls++
	case <-time.After(20 * time.Millisecond):
	}
}
