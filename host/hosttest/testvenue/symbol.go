package testvenue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	depthLevels = 20
	spreadParts = 20_000 // levels are so many parts of the price apart, at least a tick
)

// The filters that are the same everywhere.
const (
	maxOrders     = 200 // open ones of a symbol
	maxAlgoOrders = 5   // of which wait for a trigger
	maxOrderLists = 20
	icebergParts  = 10
	averaged      = 5 // minutes of the average price
)

// symbol is one market: its rules, its book, and the orders of the account that are open in it.
type symbol struct {
	listing
	pair             market.Symbol
	name             string
	base, quote      string
	tick, step       decimal.Decimal
	minimum, maximum decimal.Decimal // quantity
	atMarket         decimal.Decimal // the most of a market order
	notional         decimal.Decimal // the least
	halted           bool
	through          float64 // the next move trades there first; 0: nowhere
	tape             *tape
	seed             string
	book             book
	live             []*order
	prints           []print
	lastSent         int64 // the print that the streams know
}

// cut divides a fill.
func (s *symbol) cut(whole level, n int) []level {
	each := floorTo(over(whole.qty, decimal.MustNew(int64(n), 0)).Trunc(8), s.step)
	var list []level
	for range n - 1 {
		if each.IsPos() {
			list = append(list, level{whole.price, each})
			whole.qty = minus(whole.qty, each)
		}
	}
	return append(list, whole)
}

// level is what is offered at a price.
type level struct{ price, qty decimal.Decimal }

// book is the order book of a symbol: what the market offers around its price, anew after each move
// and the less what the account took of it since. The last trade was at the best bid. It is the same
// for the same seed and the same moves.
type book struct {
	at         decimal.Decimal // the price of the market
	bids, asks []level         // best first; nil: not drawn yet
	drawn      bool
	thin       decimal.Decimal // what a level has is multiplied by it
	update     int64           // its number
	lastSent   int64           // the number that the streams know
	shown      [2]map[string]string
}

// move puts the market somewhere else.
func (b *book) move(to decimal.Decimal) {
	b.at, b.drawn = to, false
	b.update++
}

// levels are the offers that a side takes: the asks of who buys.
func (s *symbol) levels(buy bool) *[]level {
	b := &s.book
	if !b.drawn {
		s.drawBook()
	}
	if buy {
		return &b.asks
	}
	return &b.bids
}

func (s *symbol) drawBook() {
	b := &s.book
	b.drawn, b.bids, b.asks = true, b.bids[:0], b.asks[:0]
	bid := floorTo(b.at, s.tick)
	if !bid.IsPos() {
		bid = s.tick
	}
	gap := floorTo(over(bid, decimal.MustNew(spreadParts, 0)), s.tick)
	if !gap.IsPos() {
		gap = s.tick
	}
	random := rand.New(rand.NewPCG(seeds("book\x00" + s.seed + "\x00" + s.name + "\x00" +
		strconv.FormatInt(s.tape.count(), 10))))
	best := decimal.MustParse(s.depth)
	for i := range int64(depthLevels) {
		away := times(gap, decimal.MustNew(i, 0))
		for _, side := range []*[]level{&b.bids, &b.asks} {
			price := plus(plus(bid, s.tick), away)
			if side == &b.bids {
				price = minus(bid, away)
			}
			share := decimal.MustNew((750+random.Int64N(501))*(i+1), 3)
			if price.IsPos() {
				*side = append(*side, level{price, s.portion(times(times(best, share), b.thin), price)})
			}
		}
	}
}

// portion returns what an amount of the quote currency is of the base, on the grid and at least a step.
func (s *symbol) portion(worth, price decimal.Decimal) decimal.Decimal {
	if q := floorTo(over(worth, price).Trunc(8), s.step); q.IsPos() {
		return q
	}
	return s.step
}

// flow returns what one move trades at a price with an order that rests there.
func (s *symbol) flow(price decimal.Decimal) decimal.Decimal {
	return s.portion(times(decimal.MustParse(s.depth), s.book.thin), price)
}

// plan returns what the book gives an order now, at which prices; whole: all of it.
func (s *symbol) plan(o *order) (parts []level, whole bool) {
	rest, money := minus(o.qty, o.cum), o.quoteQty
	for _, l := range *s.levels(o.buy()) {
		if o.price.IsPos() && worse(o, l.price, o.price) {
			break
		}
		if o.quoteQty.IsPos() {
			rest = floorTo(over(money, l.price).Trunc(8), s.step)
		}
		q := least(rest, l.qty)
		if !q.IsPos() {
			break
		}
		parts = append(parts, level{l.price, q})
		rest, money = minus(rest, q), minus(money, times(q, l.price))
	}
	return parts, !rest.IsPos()
}

// nearest returns the order that the market reaches first on its way to a price; at one place what rests
// comes before what waits.
func (s *symbol) nearest(to decimal.Decimal, served map[*order]bool) *order {
	var first *order
	var distance decimal.Decimal
	for _, o := range s.live {
		if served[o] || !o.reached(to) {
			continue
		}
		away := minus(o.threshold(), s.book.at).Abs()
		if !between(s.book.at, o.threshold(), to) {
			away = decimal.Decimal{} // the market is beyond it already
		}
		c := 0
		if first != nil {
			c = away.Cmp(distance)
		}
		if first == nil || c < 0 || c == 0 && first.waits() && !o.waits() {
			first, distance = o, away
		}
	}
	return first
}

// difference returns what the book has changed since it was last sent.
func (s *symbol) difference(now int64) map[string]any {
	b := &s.book
	bids, asks := s.offers(depthLevels + maxOrders)
	e := map[string]any{"e": "depthUpdate", "E": now, "s": s.name, "U": b.lastSent + 1, "u": b.update}
	for i, side := range [2][][2]string{rows(bids), rows(asks)} {
		seen := map[string]string{}
		changed := [][2]string{}
		for _, row := range side {
			if seen[row[0]] = row[1]; b.shown[i][row[0]] != row[1] {
				changed = append(changed, row)
			}
		}
		for _, price := range slices.Sorted(maps.Keys(b.shown[i])) {
			if seen[price] == "" {
				changed = append(changed, [2]string{price, "0.00000000"})
			}
		}
		b.shown[i] = seen
		e[[2]string{"b", "a"}[i]] = changed
	}
	b.lastSent = b.update
	return e
}

// record keeps the trade of a move.
func (s *symbol) record(before uint64) {
	t := s.tape
	if len(s.prints) >= 2*keptPrints {
		s.prints = slices.Delete(s.prints, 0, keptPrints)
	}
	s.prints = append(s.prints, print{id: t.count(), time: t.at(), price: t.price, falls: t.price < before})
}

// size returns how much a trade of the market was.
func (s *symbol) size(p print) decimal.Decimal {
	return s.portion(over(decimal.MustParse(s.depth), decimal.MustNew(20, 0)), s.tape.decimal(p.price))
}

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

func (s *symbol) snapshot(limit int) map[string]any {
	bids, asks := s.offers(limit)
	return map[string]any{"lastUpdateId": s.book.update, "bids": rows(bids), "asks": rows(asks)}
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

// window returns what happened in the last minutes.
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
		"symbol": s.name, "priceChange": text(change),
		"priceChangePercent": strconv.FormatFloat(percent, 'f', 3,
			64), "weightedAvgPrice": text(mean),
		"openPrice": text(c.Open), "highPrice": text(c.High), "lowPrice": text(c.Low),
		"lastPrice":   text(c.Close),
		"volume":      text(c.Volume),
		"quoteVolume": text(c.Volume * mean), "openTime": int64(from), "closeTime": int64(t.at()),
		"firstId": int64((from-t.start)/minute)*moves + 1,
		"lastId":  s.newest().id, "count": t.count() - int64((from-t.start)/minute)*moves,
	}
}

// newest returns the last trade of the market.
func (s *symbol) newest() print {
	if len(s.prints) == 0 {
		return print{price: s.tape.price, time: s.tape.at()}
	}
	return s.prints[len(s.prints)-1]
}

// listing is how a symbol begins.
type listing struct {
	pair, step string
	scale      int    // digits of the tick
	units      uint64 // the first price, in ticks
	bulk       float64
	depth      string // what the best level is worth, in the quote currency
	notional   string // the least
	maximum    string // quantity
	atMarket   string // quantity of market orders; "": maximum
	percent    string // name of the filter; "": by side
	minimal    string // name of the filter of the least notional; "": NOTIONAL
}

// listings are the symbols of the exchange: three plain ones, then twelve that round badly. The digits
// are those that real ones have had.
func listings() []listing {
	return []listing{
		{pair: "BTC/USDT", step: "0.00001", scale: 2, units: 30000_00, bulk: 1, depth: "1000", notional: "5",
			maximum: "9000"},
		{pair: "ETH/USDT", step: "0.0001", scale: 2, units: 2000_00, bulk: 1, depth: "1000", notional: "5",
			maximum: "9000"},
		{pair: "SOL/USDT", step: "0.001", scale: 2, units: 100_00, bulk: 1, depth: "1000", notional: "5",
			maximum: "9000"},
		// Ticks of 10^-8, whole steps, quantities of ten digits.
		{pair: "PEPE/USDT", step: "1", scale: 8, units: 1234, bulk: 1e8, depth: "1000", notional: "1",
			maximum: "9214157800"},
		{pair: "SHIB/USDT", step: "100", scale: 8, units: 2345, bulk: 1e8, depth: "1000", notional: "1",
			maximum: "4614157800"},
		// One tick is nearly a hundredth of the price.
		{pair: "BTTC/USDT", step: "1", scale: 8, units: 120, bulk: 1e9, depth: "500", notional: "1",
			maximum: "9214157800"},
		{pair: "1000SATS/USDT", step: "1", scale: 7, units: 2560, bulk: 1e6, depth: "500", notional: "5",
			maximum: "921415780"},
		{pair: "DOGE/USDT", step: "1", scale: 5, units: 12345, bulk: 1e4, depth: "1000", notional: "1",
			maximum: "9000000", percent: "PERCENT_PRICE"},
		{pair: "USDC/USDT", step: "1", scale: 4, units: 10001, bulk: 1e3, depth: "5000", notional: "5",
			maximum: "9000000"},
		{pair: "BNB/USDT", step: "0.001", scale: 2, units: 600_00, bulk: 1, depth: "1000", notional: "5",
			maximum: "9000"},
		// Quoted in coins: amounts far below one.
		{pair: "CAKE/BNB", step: "0.01", scale: 6, units: 3912, bulk: 10, depth: "2", notional: "0.01",
			maximum: "90000"},
		{pair: "VET/BNB", step: "0.1", scale: 8, units: 4321, bulk: 1e4, depth: "2", notional: "0.01",
			maximum: "90000000", minimal: "MIN_NOTIONAL"},
		{pair: "ETH/BTC", step: "0.0001", scale: 5, units: 6667, bulk: 1, depth: "0.05", notional: "0.0001",
			maximum: "100000"},
		// A price of nine digits without decimals, and a step of market orders that is not that of others.
		{pair: "BTC/IDRT", step: "0.00001", scale: 0, units: 480_000_000, bulk: 1, depth: "16000000",
			notional: "20000", maximum: "9000"},
		{pair: "PAXG/USDT", step: "0.0001", scale: 0, units: 2400, bulk: 1, depth: "1000", notional: "5",
			maximum: "1000", atMarket: "2"},
	}
}

func newSymbol(l listing, o Options, start market.Time) *symbol {
	seed, history := o.Seed, o.History
	pair := market.Symbol(l.pair)
	s := &symbol{
		listing: l, pair: pair, name: pair.Base() +
			pair.Quote(), base: pair.Base(), quote: pair.Quote(), tick: decimal.MustNew(1, l.scale),
		step: decimal.MustParse(l.step), maximum: decimal.MustParse(l.maximum),
		notional: decimal.MustParse(l.notional), seed: seed,
	}
	s.minimum, s.atMarket = s.step, s.maximum
	if l.atMarket != "" {
		s.atMarket = decimal.MustParse(l.atMarket)
	}
	s.tape = newTape(seed, s.name, start-market.Time(history)*minute, l.units, l.scale, l.bulk)
	if s.tape.script = o.Script; o.Script != nil {
		s.tape.begin()
	}
	for i := range history {
		if i < history-keptPrints/moves { // the trades of this minute are gone
			s.tape.draw()
			continue
		}
		for closed := false; !closed; {
			before := s.tape.price
			closed = s.tape.move()
			s.record(before)
		}
	}
	s.book = book{at: s.tape.decimal(s.tape.price), thin: one}
	return s
}

// status is TRADING or HALT.
func (s *symbol) status() string {
	if s.halted {
		return "HALT"
	}
	return "TRADING"
}

// last returns the price of the last trade.
func (s *symbol) last() decimal.Decimal { return s.tape.decimal(s.tape.price) }

// average returns the price of the last minutes, weighted by what was traded.
func (s *symbol) average() decimal.Decimal {
	var worth, volume float64
	have := len(s.tape.candles)
	for i := max(0, have-averaged); i <= have; i++ {
		c := s.tape.minute(i)
		worth, volume = worth+float64(c.Close*c.Volume), volume+c.Volume
	}
	if volume == 0 {
		return s.last()
	}
	return fromFloat(worth / volume).Round(8)
}

// info returns the entry of exchangeInfo.
func (s *symbol) info() map[string]any {
	percent := map[string]any{"filterType": "PERCENT_PRICE_BY_SIDE", "bidMultiplierUp": "5",
		"bidMultiplierDown": "0.2", "askMultiplierUp": "5",
		"askMultiplierDown": "0.2", "avgPriceMins": averaged}
	if s.percent != "" {
		percent = map[string]any{"filterType": s.percent, "multiplierUp": "5", "multiplierDown": "0.2",
			"avgPriceMins": averaged}
	}
	notional := map[string]any{"filterType": "NOTIONAL", "minNotional": fixed(s.notional),
		"applyMinToMarket": true,
		"maxNotional":      "9000000000.00000000", "applyMaxToMarket": false, "avgPriceMins": averaged}
	if s.minimal != "" {
		notional = map[string]any{"filterType": s.minimal, "minNotional": fixed(s.notional),
			"applyToMarket": true,
			"avgPriceMins":  averaged}
	}
	return map[string]any{
		"symbol": s.name, "status": s.status(), "baseAsset": s.base, "baseAssetPrecision": 8,
		"quoteAsset":          s.quote,
		"quotePrecision":      8,
		"quoteAssetPrecision": 8, "baseCommissionPrecision": 8, "quoteCommissionPrecision": 8,
		"orderTypes":     kinds(),
		"icebergAllowed": true, "ocoAllowed": true, "otoAllowed": false, "quoteOrderQtyMarketAllowed": true,
		"allowTrailingStop":    false,
		"cancelReplaceAllowed": true, "amendAllowed": false, "isSpotTradingAllowed": true,
		"isMarginTradingAllowed": false,
		"filters": []map[string]any{
			{"filterType": "PRICE_FILTER", "minPrice": fixed(s.tick), "maxPrice": "10000000000.00000000",
				"tickSize": fixed(s.tick)},
			{"filterType": "LOT_SIZE", "minQty": fixed(s.minimum), "maxQty": fixed(s.maximum),
				"stepSize": fixed(s.step)},
			{"filterType": "ICEBERG_PARTS", "limit": icebergParts},
			{"filterType": "MARKET_LOT_SIZE", "minQty": "0.00000000", "maxQty": fixed(s.atMarket),
				"stepSize": "0.00000000"},
			percent, notional,
			{"filterType": "MAX_NUM_ORDERS", "maxNumOrders": maxOrders},
			{"filterType": "MAX_NUM_ORDER_LISTS", "maxNumOrderLists": maxOrderLists},
			{"filterType": "MAX_NUM_ALGO_ORDERS", "maxNumAlgoOrders": maxAlgoOrders},
		},
		"permissions": []string{}, "permissionSets": [][]string{{"SPOT"}},
		"defaultSelfTradePreventionMode":  expireMaker,
		"allowedSelfTradePreventionModes": selfTradeModes(),
	}
}

// refuse holds an order against the filters.
func (s *symbol) refuse(o *order) *apiError {
	average := s.average()
	for _, p := range []decimal.Decimal{o.price, o.stop} {
		if !multiple(p, s.tick) {
			return filter("PRICE_FILTER")
		}
	}
	if o.price.IsPos() && (o.price.Cmp(times(average, five)) > 0 ||
		o.price.Cmp(times(average, decimal.MustNew(2, 1))) < 0) {
		if s.percent != "" {
			return filter(s.percent)
		}
		return filter("PERCENT_PRICE_BY_SIDE")
	}
	worth := o.quoteQty
	if worth.IsZero() {
		if !multiple(o.qty, s.step) || o.qty.Cmp(s.minimum) < 0 || o.qty.Cmp(s.maximum) > 0 {
			return filter("LOT_SIZE")
		}
		if o.kind == kindMarket && o.qty.Cmp(s.atMarket) > 0 {
			return filter("MARKET_LOT_SIZE")
		}
		price := average
		for _, p := range []decimal.Decimal{o.stop, o.price} {
			if p.IsPos() {
				price = p
			}
		}
		worth = times(price, o.qty)
	}
	if o.iceberg.IsPos() {
		switch parts, rest, err := o.qty.QuoRem(o.iceberg); {
		case !multiple(o.iceberg, s.step):
			return filter("LOT_SIZE")
		case err != nil || parts.Cmp(decimal.MustNew(icebergParts, 0)) > 0 ||
			parts.Cmp(decimal.MustNew(icebergParts, 0)) == 0 && rest.IsPos():
			return filter("ICEBERG_PARTS")
		}
	}
	if worth.Cmp(s.notional) < 0 {
		if s.minimal != "" {
			return filter(s.minimal)
		}
		return filter("NOTIONAL")
	}
	return nil
}

// crowded holds so many more orders, of which some wait for a trigger, against the limits of open ones.
func (s *symbol) crowded(orders ...*order) *apiError {
	count := map[string]int{}
	for _, o := range slices.Concat(s.live, orders) {
		count["all"]++
		if o.waits() {
			count["algo"]++
		}
	}
	switch {
	case count["all"] > maxOrders:
		return filter("MAX_NUM_ORDERS")
	case count["algo"] > maxAlgoOrders && slices.ContainsFunc(orders, (*order).waits):
		return filter("MAX_NUM_ALGO_ORDERS")
	}
	return nil
}

var one, five = decimal.MustNew(1, 0), decimal.MustNew(5, 0)

func multiple(d, step decimal.Decimal) bool {
	_, rest, err := d.QuoRem(step)
	return err == nil && rest.IsZero()
}

// floorTo rounds down to a multiple.
func floorTo(d, step decimal.Decimal) decimal.Decimal {
	_, rest, err := d.QuoRem(step)
	if err != nil {
		return d
	}
	return minus(d, rest)
}

// The arithmetic of amounts, whose digits are bounded by the filters; what does not fit all
// the same counts as nothing.
func times(a, b decimal.Decimal) decimal.Decimal { c, _ := a.Mul(b); return c }
func plus(a, b decimal.Decimal) decimal.Decimal  { c, _ := a.Add(b); return c }
func minus(a, b decimal.Decimal) decimal.Decimal { c, _ := a.Sub(b); return c }
func over(a, b decimal.Decimal) decimal.Decimal  { c, _ := a.Quo(b); return c }

func least(a, b decimal.Decimal) decimal.Decimal {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func fromFloat(f float64) decimal.Decimal { d, _ := decimal.NewFromFloat64(f); return d }

// fixed returns a number as the exchange writes it: eight decimals.
func fixed(d decimal.Decimal) string { return d.Round(8).Pad(8).String() }

// scripted returns a price that a script names.
func (s *symbol) scripted(text string) (float64, error) {
	price, err := strconv.ParseFloat(text, 64)
	if err != nil || !(price >= s.tape.float(leastFar)) || price > 1e10 {
		return 0, fmt.Errorf("the price %q is not from %v to 1e10", text, s.tape.float(leastFar))
	}
	return price, nil
}
