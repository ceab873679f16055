package feed_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/feed"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var minute = market.MustTimeframe("1m")

const perMinute = market.Time(60_000)

// fakeVenue is a venue whose history is true and whose stream is what a script says. Its
// clock is that of the test.
type fakeVenue struct {
	mu      sync.Mutex // guards history, fail and edit
	history map[market.Symbol][]market.Candle
	events  chan exchange.CandleEvent // closed: the stream gives up with err
	err     error
	asked   []exchange.CandleQuery
	fail    func(q exchange.CandleQuery) error
	edit    func(q exchange.CandleQuery, page []market.Candle) []market.Candle
}

func (v *fakeVenue) Candles(_ context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.asked = append(v.asked, q)
	if v.fail != nil {
		if err := v.fail(q); err != nil {
			return nil, err
		}
	}
	var page []market.Candle
	now := market.FromTime(time.Now())
	for _, c := range v.history[q.Symbol] {
		if c.OpenTime >= q.From && c.OpenTime < q.To && c.CloseTime <= now && len(page) < q.Limit {
			page = append(page, c)
		}
	}
	if v.edit != nil {
		page = v.edit(q, page)
	}
	return page, nil
}

func (v *fakeVenue) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	on(exchange.CandleEvent{State: exchange.Connected})
	for {
		select {
		case <-ctx.Done():
			return nil
		case e, more := <-v.events:
			if !more {
				return v.err
			}
			on(e)
		}
	}
}

// makeCandles is n sound candles of a minute from a time on.
func makeCandles(r *rand.Rand, from market.Time, n int) []market.Candle {
	return makeSpans(r, from, perMinute, n, func(int) bool { return false })
}

// makeSpans is sound candles of any length, without those that skip picks.
func makeSpans(r *rand.Rand, from, span market.Time, n int, skip func(i int) bool) []market.Candle {
	list := make([]market.Candle, 0, n)
	price := 100.0
	for i := range n {
		open := price
		price += float64(r.IntN(21)-10) / 10
		price = max(price, 1)
		at := from + market.Time(i)*span
		if !skip(i) {
			list = append(list,
				market.Candle{OpenTime: at, CloseTime: at + span, Open: open, High: max(open, price) + 1,
					Low: min(open, price) - 0.5, Close: price, Volume: float64(i)})
		}
	}
	return list
}

// log collects what a feed delivers.
type log struct {
	mu     sync.Mutex
	steps  []*feed.Step
	alarms []feed.Alarm
	states []exchange.LinkState
	answer func(*feed.Step) error
}

func (l *log) config(stored bool, symbols ...market.Symbol) feed.Config {
	return feed.Config{
		Symbols: symbols, Timeframe: minute, Stored: stored,
		Step: func(_ context.Context, s *feed.Step) error {
			l.mu.Lock()
			l.steps = append(l.steps, s)
			answer := l.answer
			l.mu.Unlock()
			if answer != nil {
				return answer(s)
			}
			return nil
		},
		Alarm: func(a feed.Alarm) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.alarms = append(l.alarms, a)
		},
		State: func(s exchange.LinkState, _ string) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.states = append(l.states, s)
		},
	}
}

// codes are the alarms by code.
func (l *log) codes() map[string]int {
	n := map[string]int{}
	for _, a := range l.alarms {
		n[a.Code]++
	}
	return n
}

// candles are what was delivered of a symbol, and from where.
func (l *log) candles(i int) ([]market.Candle, []feed.Source) {
	var list []market.Candle
	var sources []feed.Source
	for _, s := range l.steps {
		if s.Closed[i] {
			list, sources = append(list, s.Candles[i]), append(sources, s.Sources[i])
		}
	}
	return list, sources
}

// nextMinute returns the next boundary of the test's clock.
func nextMinute() market.Time {
	now := market.FromTime(time.Now())
	return now - now%perMinute + perMinute
}

func sleepUntil(at market.Time) { time.Sleep(time.Until(at.Time())) }

var errNetwork = errors.New("connection reset")
