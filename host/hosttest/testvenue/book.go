package testvenue

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/govalues/decimal"
)

const (
	depthLevels = 20
	spreadParts = 20_000 // levels are so many parts of the price apart, at least a tick
)

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
	told       int64           // the number that the streams know
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

// portion is what an amount of the quote currency is of the base, on the grid and at least a step.
func (s *symbol) portion(worth, price decimal.Decimal) decimal.Decimal {
	if q := floorTo(over(worth, price).Trunc(8), s.step); q.IsPos() {
		return q
	}
	return s.step
}

// flow is what one move trades at a price with an order that rests there.
func (s *symbol) flow(price decimal.Decimal) decimal.Decimal {
	return s.portion(times(decimal.MustParse(s.depth), s.book.thin), price)
}

// plan is what the book gives an order now, at which prices; whole: all that it wants.
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

// match lets an order take what the book has, and ends it or rests it with what is left.
func (v *Venue) match(o *order) {
	s := o.symbol
	parts, whole := s.plan(o)
	blocked := v.preventSelfTrade(o, &parts)
	if o.tif == tifFOK && (!whole || blocked) {
		v.end(o, statusExpired)
		return
	}
	if o.quoteQty.IsPos() {
		for _, p := range parts {
			o.qty = plus(o.qty, p.qty)
		}
	}
	side := s.levels(o.buy())
	for _, p := range parts {
		if (*side)[0].qty = minus((*side)[0].qty, p.qty); !(*side)[0].qty.IsPos() {
			*side = (*side)[1:]
		}
	}
	if len(parts) > 0 {
		s.book.update++
		v.fill(o, parts, false)
	}
	switch {
	case blocked:
		v.end(o, statusPrevented)
	case o.kind == kindMarket || o.kind == kindStop || o.kind == kindTake || o.tif == tifIOC || o.tif == tifFOK:
		v.end(o, statusExpired)
	}
}

// preventSelfTrade ends what would trade with an order of the same account: those that rest, or the
// one that comes, whose parts are then cut. true: it is the one that comes.
func (v *Venue) preventSelfTrade(o *order, parts *[]level) bool {
	for i, p := range *parts {
		for _, r := range slices.Clone(o.symbol.live) {
			if r.side == o.side || !r.rests() || worse(o, r.price, p.price) {
				continue
			}
			if o.prevention != expireTaker {
				v.end(r, statusPrevented)
			}
			if o.prevention != expireMaker {
				*parts = (*parts)[:i]
				return true
			}
		}
	}
	return false
}

// travel moves the market of a symbol to a price: whatever waits or rests on the way has its turn, the
// nearest first. Over a gap there is no way: what is triggered meets the book beyond it.
func (v *Venue) travel(s *symbol, to decimal.Decimal, gap bool) {
	defer s.book.move(to)
	if s.halted || len(s.live) == 0 {
		return
	}
	begun := s.book.at
	if gap {
		s.book.move(to)
	}
	served := map[*order]bool{}
	for {
		o := s.nearest(to, served)
		if o == nil {
			return
		}
		price := o.threshold()
		if between(begun, price, to) && !gap {
			s.book.move(price)
		}
		if o.waits() {
			v.trigger(o)
			continue
		}
		served[o] = true
		amount := minus(o.qty, o.cum)
		if through := !worse(o, price, begun) && worse(o, price, to); !through {
			amount = least(amount, s.flow(price))
		}
		v.fill(o, []level{{price, amount}}, true)
	}
}

// worse says that a price is worse than another for who sent an order.
func worse(o *order, a, b decimal.Decimal) bool {
	if o.buy() {
		return a.Cmp(b) > 0
	}
	return a.Cmp(b) < 0
}

func between(a, x, b decimal.Decimal) bool {
	return a.Cmp(x) <= 0 && x.Cmp(b) <= 0 || b.Cmp(x) <= 0 && x.Cmp(a) <= 0
}

// nearest is the order that the market reaches first on its way to a price; at one place what rests comes
// before what waits.
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

// trigger puts an order that waited to work.
func (v *Venue) trigger(o *order) {
	o.working, o.updated, o.worked = true, v.now(), v.now()
	if o.sibling != nil {
		v.end(o.sibling, statusExpired)
	}
	v.report(o, statusNew, nil)
	v.match(o)
}
