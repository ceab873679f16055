package conformance

import (
	"math"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var candleCards = []card{
	{"history ascending", historyAscending},
	{"paging", paging},
	{"empty range", emptyRange},
	{"each once", eachOnce},
	{"reconnect without loss", func(x *examiner) { x.troubled("cut", true) }},
	{"gap announced", func(x *examiner) { x.troubled("drop", true) }},
	{"duplicate dropped", func(x *examiner) { x.troubled("duplicate", false) }},
	{"silence", func(x *examiner) { x.troubled("silence", true) }},
	{"many symbols", manySymbols},
	{"no forming candle", noFormingCandle},
}

// delivered are the candles of a symbol that the stream has brought.
func (s *session) delivered(symbol market.Symbol) []market.Candle {
	var list []market.Candle
	for _, e := range s.stream() {
		if e.State == "" && e.Symbol == symbol {
			list = append(list, e.Candle)
		}
	}
	return list
}

// some waits for so many candles of a symbol.
func (s *session) some(symbol market.Symbol, n int) {
	s.Helper()
	s.until("candles of "+string(symbol), func() bool { return len(s.delivered(symbol)) >= n })
}

// sane checks what every closed candle is.
func (s *session) sane(c market.Candle) {
	s.Helper()
	for _, v := range []float64{c.Open, c.High, c.Low, c.Close, c.Volume} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			s.Errorf("%s: a value of %v", c.OpenTime, v)
		}
	}
	if c.High < max(c.Open, c.Close, c.Low) || c.Low > min(c.Open, c.Close) {
		s.Errorf("%s: open %v, high %v, low %v, close %v", c.OpenTime, c.Open, c.High, c.Low, c.Close)
	}
	if c.CloseTime != s.req.Timeframe.Next(c.OpenTime) {
		s.Errorf("%s: closes at %s", c.OpenTime, c.CloseTime)
	}
	if now := s.now().Add(time.Second); c.CloseTime > now {
		s.Errorf("%s: closes at %s, it is %s", c.OpenTime, c.CloseTime, now)
	}
}

func historyAscending(x *examiner) {
	s := x.open()
	for _, symbol := range s.req.Symbols {
		list := s.history(symbol)
		for i, c := range list {
			s.sane(c)
			if i > 0 && c.OpenTime <= list[i-1].OpenTime {
				x.Errorf("%s comes after %s", c.OpenTime, list[i-1].OpenTime)
			}
		}
	}
}

func paging(x *examiner) {
	s := x.open()
	s.until("seven candles", func() bool { return len(s.history(s.symbol())) >= 7 })
	all := s.history(s.symbol())
	last := all[len(all)-1]
	var paged []market.Candle
	for from := all[0].OpenTime; ; {
		page, err := s.Candles(x.Context(), exchange.CandleQuery{Symbol: s.symbol(), From: from, To: last.OpenTime + 1, Limit: 3})
		if err != nil {
			x.Fatal(err)
		}
		if len(page) > 3 {
			x.Fatalf("%d candles of at most 3", len(page))
		}
		if len(page) == 0 {
			break
		}
		paged = append(paged, page...)
		from = page[len(page)-1].OpenTime + 1
	}
	if len(paged) != len(all) {
		x.Fatalf("%d candles in pages, %d at once", len(paged), len(all))
	}
	for i := range all {
		if paged[i] != all[i] {
			x.Errorf("in pages %+v, at once %+v", paged[i], all[i])
		}
	}
}

func emptyRange(x *examiner) {
	s := x.open()
	first := s.history(s.symbol())[0]
	future := s.now().Add(1000 * s.req.Timeframe.Approx())
	for _, q := range []exchange.CandleQuery{
		{From: first.OpenTime, To: first.OpenTime}, {From: first.OpenTime + 1, To: first.OpenTime + 2}, {From: future, To: future + 1<<40},
	} {
		q.Symbol, q.Limit = s.symbol(), 1000
		if list, err := s.Candles(x.Context(), q); err != nil || len(list) != 0 {
			x.Errorf("[%s, %s): %d candles, %v", q.From, q.To, len(list), err)
		}
	}
}

func eachOnce(x *examiner) {
	s := x.open()
	s.some(s.symbol(), 10)
	s.checkStream(s.symbol(), false)
}

// checkStream wants the candles of a symbol once each, in order and as history has them.
// Where gaps may be, one that is missing must have been announced by a state between its
// neighbours.
func (s *session) checkStream(symbol market.Symbol, gaps bool) {
	s.Helper()
	truth := map[market.Time]market.Candle{}
	for _, c := range s.history(symbol) {
		truth[c.OpenTime] = c
	}
	var last market.Time
	announced := false
	for _, e := range s.stream() {
		if e.State == exchange.Reconnecting || e.State == exchange.Gap {
			announced = true
		}
		if e.State != "" || e.Symbol != symbol {
			continue
		}
		c := e.Candle
		s.sane(c)
		if want, there := truth[c.OpenTime]; there && c != want {
			s.Errorf("the stream says %+v, history %+v", c, want)
		}
		if last != 0 {
			next := s.req.Timeframe.Next(last)
			switch {
			case c.OpenTime <= last:
				s.Errorf("%s comes after %s", c.OpenTime, last)
			case c.OpenTime > next && !gaps:
				s.Errorf("%s is missing", next)
			case c.OpenTime > next && !announced:
				s.Errorf("%s is missing, and nothing was said", next)
			}
		}
		last, announced = c.OpenTime, false
	}
}

// troubled does something to the stream and wants candles afterwards as before, or a word
// about what is missing.
func (x *examiner) troubled(what string, said bool) {
	s := x.open()
	s.some(s.symbol(), 3)
	before := len(s.stream())
	x.fault(FaultData, what)
	told := func() bool {
		for _, e := range s.stream()[before:] {
			if e.State == exchange.Reconnecting || e.State == exchange.Gap {
				return true
			}
		}
		return false
	}
	if said {
		s.until("a word about the stream", told)
	}
	s.some(s.symbol(), len(s.delivered(s.symbol()))+4)
	s.checkStream(s.symbol(), said)
	if !said && told() {
		x.Errorf("%s is no reason to speak of a gap", what)
	}
}

func manySymbols(x *examiner) {
	s := x.open()
	if len(s.req.Symbols) < 2 {
		x.Fatal("a venue has at least two symbols")
	}
	for _, symbol := range s.req.Symbols {
		s.some(symbol, 5)
	}
	for _, symbol := range s.req.Symbols {
		s.checkStream(symbol, false)
	}
}

func noFormingCandle(x *examiner) {
	s := x.open()
	for range 5 {
		for _, c := range s.history(s.symbol()) {
			s.sane(c)
		}
		s.step()
	}
	s.some(s.symbol(), 5)
	s.checkStream(s.symbol(), false)
}
