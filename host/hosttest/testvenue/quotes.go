package testvenue

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const keptPrints = 1000 // trades of the market that a symbol remembers

// print is a trade of the market; its number is that of the move that made it.
type print struct {
	id    int64
	time  market.Time
	price uint64
	falls bool // the buyer was the one that rested
}

// record keeps the trade of a move.
func (s *symbol) record(before uint64) {
	t := s.tape
	if len(s.prints) >= 2*keptPrints {
		s.prints = slices.Delete(s.prints, 0, keptPrints)
	}
	s.prints = append(s.prints, print{id: t.count(), time: t.at(), price: t.price, falls: t.price < before})
}

// size is how much a trade of the market was.
func (s *symbol) size(p print) decimal.Decimal {
	return s.portion(over(decimal.MustParse(s.depth), decimal.MustNew(20, 0)), s.tape.decimal(p.price))
}

func (v *Venue) exchangeInfo(q request) (any, *apiError) {
	list, e := v.wanted(q)
	if e != nil {
		return nil, e
	}
	infos := []any{}
	for _, s := range list {
		infos = append(infos, s.info())
	}
	rules, _ := v.limits.rules(v.server())
	return map[string]any{"timezone": "UTC", "serverTime": v.server().UnixMilli(), "exchangeFilters": []any{},
		"symbols": infos, "rateLimits": rules}, nil
}

// wanted are the symbols that a request names, all if it names none.
func (v *Venue) wanted(q request) ([]*symbol, *apiError) {
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
func (v *Venue) each(q request, say func(*symbol) map[string]any) (any, *apiError) {
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

func (v *Venue) klines(q request) (any, *apiError) {
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

// offers are the best levels of both sides, with what the account rests there.
func (s *symbol) offers(limit int) (bids, asks []level) {
	sides := [2][]level{slices.Clone(*s.levels(false)), slices.Clone(*s.levels(true))}
	for _, o := range s.live {
		if !o.rests() {
			continue
		}
		shown := minus(o.qty, o.cum)
		if o.iceberg.IsPos() {
			shown = least(shown, o.iceberg)
		}
		i := 1
		if o.buy() {
			i = 0
		}
		at, there := slices.BinarySearchFunc(sides[i], o.price, func(l level, p decimal.Decimal) int {
			if i == 0 {
				return p.Cmp(l.price)
			}
			return l.price.Cmp(p)
		})
		if there {
			sides[i][at].qty = plus(sides[i][at].qty, shown)
		} else {
			sides[i] = slices.Insert(sides[i], at, level{o.price, shown})
		}
	}
	return sides[0][:min(limit, len(sides[0]))], sides[1][:min(limit, len(sides[1]))]
}

func rows(levels []level) [][2]string {
	list := [][2]string{}
	for _, l := range levels {
		list = append(list, [2]string{fixed(l.price), fixed(l.qty)})
	}
	return list
}

func (v *Venue) depth(q request) (any, *apiError) {
	s, e := v.symbolIn(q)
	if e != nil {
		return nil, e
	}
	limit, e := integer(q, "limit", 100, 1, 5000)
	if e != nil {
		return nil, e
	}
	v.publishBook(s)
	return s.snapshot(int(limit)), nil
}

func (s *symbol) snapshot(limit int) map[string]any {
	bids, asks := s.offers(limit)
	return map[string]any{"lastUpdateId": s.book.update, "bids": rows(bids), "asks": rows(asks)}
}

func (v *Venue) tickerPrice(q request) (any, *apiError) {
	return v.each(q, func(s *symbol) map[string]any {
		return map[string]any{"symbol": s.name,
			"price": fixed(s.last())}
	})
}

func (v *Venue) bookTicker(q request) (any, *apiError) {
	return v.each(q, func(s *symbol) map[string]any {
		bid, ask := s.best()
		return map[string]any{"symbol": s.name, "bidPrice": fixed(bid.price), "bidQty": fixed(bid.qty),
			"askPrice": fixed(ask.price), "askQty": fixed(ask.qty)}
	})
}

// best are the best offers; nothing if all was taken.
func (s *symbol) best() (bid, ask level) {
	bids, asks := s.offers(1)
	if len(bids) > 0 {
		bid = bids[0]
	}
	if len(asks) > 0 {
		ask = asks[0]
	}
	return bid, ask
}

func (v *Venue) tickerDay(q request) (any, *apiError) {
	return v.each(q, func(s *symbol) map[string]any {
		out := s.window(market.Time(24 * 60))
		bid, ask := s.best()
		for name, value := range map[string]any{
			"prevClosePrice": out["openPrice"], "lastQty": fixed(s.size(s.newest())), "bidPrice": fixed(bid.price),
			"bidQty":   fixed(bid.qty),
			"askPrice": fixed(ask.price), "askQty": fixed(ask.qty),
		} {
			out[name] = value
		}
		return out
	})
}

func (v *Venue) tickerWindow(q request) (any, *apiError) {
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

// window is what happened in the last minutes.
func (s *symbol) window(minutes market.Time) map[string]any {
	t := s.tape
	from := max(t.start, t.next()-(minutes-1)*minute)
	c := t.whole(from, t.next()+minute-from)
	change, percent := c.Close-c.Open, 0.0
	if c.Open > 0 {
		percent = change / c.Open * 100
	}
	mean := (c.High + c.Low + c.Close) / 3
	return map[string]any{
		"symbol": s.name, "priceChange": text(change), "priceChangePercent": strconv.FormatFloat(percent, 'f', 3,
			64), "weightedAvgPrice": text(mean),
		"openPrice": text(c.Open), "highPrice": text(c.High), "lowPrice": text(c.Low), "lastPrice": text(c.Close),
		"volume":      text(c.Volume),
		"quoteVolume": text(c.Volume * mean), "openTime": int64(from), "closeTime": int64(t.at()),
		"firstId": int64((from-t.start)/minute)*moves + 1,
		"lastId":  s.newest().id, "count": t.count() - int64((from-t.start)/minute)*moves,
	}
}

// newest is the last trade of the market.
func (s *symbol) newest() print {
	if len(s.prints) == 0 {
		return print{price: s.tape.price, time: s.tape.at()}
	}
	return s.prints[len(s.prints)-1]
}

func (v *Venue) averagePrice(q request) (any, *apiError) {
	s, e := v.symbolIn(q)
	if e != nil {
		return nil, e
	}
	return map[string]any{"mins": averaged, "price": fixed(s.average()), "closeTime": int64(s.tape.at())}, nil
}

func (v *Venue) trades(q request) (any, *apiError) {
	return v.printed(q, func(s *symbol, p print) map[string]any {
		price := s.tape.decimal(p.price)
		return map[string]any{"id": p.id, "price": fixed(price), "qty": fixed(s.size(p)),
			"quoteQty": fixed(times(price, s.size(p))), "time": int64(p.time),
			"isBuyerMaker": p.falls, "isBestMatch": true}
	})
}

func (v *Venue) aggregated(q request) (any, *apiError) {
	return v.printed(q, func(s *symbol, p print) map[string]any {
		return map[string]any{"a": p.id, "p": fixed(s.tape.decimal(p.price)), "q": fixed(s.size(p)), "f": p.id,
			"l": p.id, "T": int64(p.time), "m": p.falls, "M": true}
	})
}

// printed are trades of the market, as far as they are remembered.
func (v *Venue) printed(q request, say func(*symbol, print) map[string]any) (any, *apiError) {
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
