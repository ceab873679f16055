package testvenue

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// markets are all symbols, the clock that they share, and what all parts of the venue share.
type markets struct {
	opts  Options
	done  chan struct{} // closed at the end
	wg    sync.WaitGroup
	spans map[string]market.Time
	own   bool // its time is not the day's

	mu      sync.Mutex // of all parts of the venue
	symbols []*symbol
	offset  time.Duration // of the clock that requests are judged by
	opened  time.Time     // when the market began to move
	first   market.Time
}

const keptPrints = 1000 // trades of the market that a symbol remembers

// open lets the market begin.
func (v *markets) open() {
	start := market.FromTime(v.opts.Start)
	v.first = start - start%minute
	for _, l := range listings() {
		if len(v.opts.Symbols) == 0 || slices.Contains(v.opts.Symbols, market.Symbol(l.pair)) {
			v.symbols = append(v.symbols, newSymbol(l, v.opts, v.first))
		}
	}
	v.opened = time.Now()
}

// wall returns how long a stretch of the market's time lasts.
func (v *markets) wall(d time.Duration) time.Duration {
	if v.opts.Speed == 0 {
		return d
	}
	return time.Duration(float64(d) / v.opts.Speed)
}

func (v *markets) now() market.Time {
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

// timeInfo returns the answer to time. Binance's has no market time: there it passes as everywhere.
func (v *markets) timeInfo() map[string]any {
	m := map[string]any{"serverTime": v.server().UnixMilli()}
	if v.opts.Speed > 0 && v.own {
		m["marketTime"], m["marketPace"] = int64(v.now()), v.opts.Speed
	}
	return m
}

// server returns the time by which requests are judged.
func (v *markets) server() time.Time { return time.Now().Add(v.offset) }

// find returns a symbol by its name, BTCUSDT or BTC/USDT.
func (v *markets) find(name string) *symbol {
	name = strings.ReplaceAll(name, "/", "")
	for _, s := range v.symbols {
		if s.name == name {
			return s
		}
	}
	return nil
}

// symbolIn returns the market that a request names.
func (v *markets) symbolIn(q request) (*symbol, *apiError) {
	name := q.Get("symbol")
	if name == "" {
		return nil, missing("symbol")
	}
	if s := v.find(name); s != nil && s.name == name {
		return s, nil
	}
	return nil, badSymbol()
}

// wanted are the symbols that a request names, all if it names none.
func (v *markets) wanted(q request) ([]*symbol, *apiError) {
	var names []string
	switch {
	case q.Has("symbol") && q.Has("symbols"):
		return nil, bad(-1128, "Combination of optional parameters invalid.")
	case q.Has("symbols"):
		if json.Unmarshal([]byte(q.Get("symbols")), &names) != nil {
			return nil, illegal("symbols", `^\["[A-Z0-9-_.]{1,20}"(,"[A-Z0-9-_.]{1,20}"){0,}\]$`)
		}
	case q.Has("symbol"):
		names = []string{q.Get("symbol")}
	default:
		return v.symbols, nil
	}
	var list []*symbol
	for _, name := range names {
		s := v.find(name)
		if s == nil || s.name != name {
			return nil, badSymbol()
		}
		list = append(list, s)
	}
	return list, nil
}

// each answers about one symbol, or with a list.
func (v *markets) each(q request, say func(*symbol) map[string]any) (any, *apiError) {
	symbols, e := v.wanted(q)
	if e != nil {
		return nil, e
	}
	if q.Has("symbol") {
		return say(symbols[0]), nil
	}
	list := []any{}
	for _, s := range symbols {
		list = append(list, say(s))
	}
	return list, nil
}

// print is a trade of the market; its number is that of the move that made it.
type print struct {
	id    int64
	time  market.Time
	price uint64
	falls bool // the buyer was the one that rested
}

func (v *markets) klines(q request) (any, *apiError) {
	s, e := v.symbolIn(q)
	if e != nil {
		return nil, e
	}
	length := v.spans[q.Get("interval")]
	if length == 0 {
		return nil, bad(-1120, "Invalid interval.")
	}
	limit, e := integer(q, "limit", 500, 1, 1000)
	if e != nil {
		return nil, e
	}
	from, e := integer(q, "startTime", -1, 0, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	to, e := integer(q, "endTime", int64(s.tape.next()), 0, math.MaxInt64)
	if e != nil {
		return nil, e
	}
	last := min(market.Time(to), s.tape.next())
	if from < 0 {
		from = int64(last - market.Time(limit-1)*length - last%length)
	}
	rows := []any{}
	for _, c := range s.tape.between(length, market.Time(from), last, int(limit)) {
		rows = append(rows, []any{int64(c.OpenTime), text(c.Open), text(c.High), text(c.Low), text(c.Close),
			text(c.Volume), int64(c.CloseTime) - 1,
			text(c.Volume * c.Close), 1, text(c.Volume / 2), text(c.Volume * c.Close / 2), "0"})
	}
	return rows, nil
}

func text(f float64) string { return strconv.FormatFloat(f, 'f', 8, 64) }

func rows(levels []level) [][2]string {
	list := [][2]string{}
	for _, l := range levels {
		list = append(list, [2]string{fixed(l.price), fixed(l.qty)})
	}
	return list
}

func (v *markets) tickerPrice(q request) (any, *apiError) {
	return v.each(q, func(s *symbol) map[string]any {
		return map[string]any{"symbol": s.name,
			"price": fixed(s.last())}
	})
}

func (v *markets) bookTicker(q request) (any, *apiError) {
	return v.each(q, func(s *symbol) map[string]any {
		bid, ask := s.best()
		return map[string]any{"symbol": s.name, "bidPrice": fixed(bid.price), "bidQty": fixed(bid.qty),
			"askPrice": fixed(ask.price), "askQty": fixed(ask.qty)}
	})
}

func (v *markets) tickerDay(q request) (any, *apiError) {
	return v.each(q, func(s *symbol) map[string]any {
		out := s.window(market.Time(24 * 60))
		bid, ask := s.best()
		for name, value := range map[string]any{
			"prevClosePrice": out["openPrice"], "lastQty": fixed(s.size(s.newest())),
			"bidPrice": fixed(bid.price),
			"bidQty":   fixed(bid.qty),
			"askPrice": fixed(ask.price), "askQty": fixed(ask.qty),
		} {
			out[name] = value
		}
		return out
	})
}

func (v *markets) tickerWindow(q request) (any, *apiError) {
	if !q.Has("symbol") && !q.Has("symbols") {
		return nil, bad(-1102, "Param 'symbol' or 'symbols' must be sent, but both were empty/null!")
	}
	minutes := market.Time(24 * 60)
	if name := q.Get("windowSize"); name != "" {
		n, err := strconv.ParseUint(name[:len(name)-1], 10, 8)
		unit := map[byte]market.Time{'m': 1, 'h': 60, 'd': 24 * 60}[name[len(name)-1]]
		if minutes = market.Time(n) * unit; err != nil || minutes < 1 {
			return nil, illegal("windowSize", "^([0-9]+[mhd])$")
		}
	}
	return v.each(q, func(s *symbol) map[string]any { return s.window(minutes) })
}

func (v *markets) averagePrice(q request) (any, *apiError) {
	s, e := v.symbolIn(q)
	if e != nil {
		return nil, e
	}
	return map[string]any{"mins": averaged, "price": fixed(s.average()), "closeTime": int64(s.tape.at())}, nil
}

func (v *markets) trades(q request) (any, *apiError) {
	return v.printed(q, func(s *symbol, p print) map[string]any {
		price := s.tape.decimal(p.price)
		return map[string]any{"id": p.id, "price": fixed(price), "qty": fixed(s.size(p)),
			"quoteQty": fixed(times(price, s.size(p))), "time": int64(p.time),
			"isBuyerMaker": p.falls, "isBestMatch": true}
	})
}

func (v *markets) aggregated(q request) (any, *apiError) {
	return v.printed(q, func(s *symbol, p print) map[string]any {
		return map[string]any{"a": p.id, "p": fixed(s.tape.decimal(p.price)), "q": fixed(s.size(p)),
			"f": p.id,
			"l": p.id, "T": int64(p.time), "m": p.falls, "M": true}
	})
}

// printed are trades of the market, as far as they are remembered.
func (v *markets) printed(q request, say func(*symbol, print) map[string]any) (any, *apiError) {
	s, e := v.symbolIn(q)
	if e != nil {
		return nil, e
	}
	p, e := spanOf(q, "fromId", 1000)
	if e != nil {
		return nil, e
	}
	list := []any{}
	for _, t := range s.prints {
		if p.holds(t.id, int64(t.time)) {
			list = append(list, say(s, t))
		}
	}
	return page(p, list), nil
}
