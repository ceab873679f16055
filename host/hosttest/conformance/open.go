package conformance

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var openCards = []card{
	{"entry", entry},
	{"six keys accepted", sixKeys},
	{"unknown key", unknownKey},
	{"bad key", badKey},
	{"missing permission", missingPermission},
	{"clock offset", clockOffset},
	{"paper without keys", paperWithoutKeys},
	{"sandbox address", sandboxAddress},
	{"second Open", secondOpen},
	{"Close twice", closeTwice},
}

var marketCards = []card{
	{"rules complete", rulesComplete},
	{"unknown symbol", unknownSymbol},
	{"halted symbol", haltedSymbol},
	{"exact decimals", exactDecimals},
	{"rule change", ruleChange},
}

func entry(x *examiner) {
	d := x.description()
	known := []string{"market", "market_quote", "limit", "stop", "stop_limit", "post_only", "exit_pair"}
	for _, kind := range d.OrderTypes {
		if !slices.Contains(known, kind) {
			x.Errorf("order type %q is not known", kind)
		}
	}
	for _, mode := range d.Modes {
		if mode != "paper" && mode != "live" {
			x.Errorf("mode %q is not known", mode)
		}
	}
	switch {
	case d.ID == "" || d.Name == "" || d.Version == "":
		x.Errorf("id %q, name %q and version %q are needed", d.ID, d.Name, d.Version)
	case len(d.Modes) == 0 || len(d.Timeframes) == 0 || len(d.OrderTypes) == 0:
		x.Error("an entry has modes, timeframes and order types")
	case !slices.Contains([]string{"store", "sim", "native", "bridge"}, d.Kind):
		x.Errorf("kind %q is not known", d.Kind)
	case !slices.Contains([]string{"lease", "native", "none"}, d.DeadMan):
		x.Errorf("dead_man %q is not known", d.DeadMan)
	case d.MakerFee.IsNeg() || d.TakerFee.IsNeg() || d.RateLimitMS < 0:
		x.Error("fees and rate limit are not below zero")
	}
	if _, err := exchange.DecodeConfig(d.ConfigSchema, nil); err != nil {
		x.Errorf("config_schema: %v", err)
	}
}

func sixKeys(x *examiner) {
	d := x.description()
	text := `{"apiKey":"an-api-key","secret":"a-secret","password":"a-password","sandbox":false,` +
		`"rateLimit":50,"enableRateLimit":false}`
	c, err := exchange.DecodeConfig(d.ConfigSchema, []byte(text))
	if err != nil {
		x.Fatalf("the six keys are accepted by every exchange: %v", err)
	}
	if c.APIKey.Reveal() != "an-api-key" || c.Secret.Reveal() != "a-secret" ||
		c.Password.Reveal() != "a-password" || c.RateLimitMS != 50 || !c.Unspaced {
		x.Error("a key is lost")
	}
	var schema struct {
		Properties map[string]struct {
			WriteOnly bool   `json:"writeOnly"`
			Format    string `json:"format"`
		} `json:"properties"`
		Additional *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(d.ConfigSchema, &schema); err != nil || schema.Additional == nil ||
		*schema.Additional {
		x.Errorf("config_schema is closed: %v", err)
	}
	for _, key := range []string{"apiKey", "secret", "password"} {
		if p := schema.Properties[key]; !p.WriteOnly || p.Format != "password" {
			x.Errorf("%s is writeOnly with format password", key)
		}
	}
	x.open(func(q *exchange.OpenRequest) {
		q.Config.RateLimitMS, q.Config.Unspaced = 1, true
		if q.Config.Password.Empty() {
			q.Config.Password = exchange.NewSecret("not used by anybody")
		}
	})
}

func unknownKey(x *examiner) {
	d := x.description()
	for _, text := range []string{`{"urls":{"api":"http://evil"}}`, `{"proxy":"socks"}`, `{"apiKey":5}`, `{"rateLimit":-1}`, `[]`} {
		_, err := exchange.DecodeConfig(d.ConfigSchema, []byte(text))
		var bad *exchange.ConfigError
		if !errors.As(err, &bad) {
			x.Errorf("%s: %v", text, err)
			continue
		}
		for _, word := range []string{"urls", "evil", "proxy", "socks"} {
			if strings.Contains(bad.Error(), word) {
				x.Errorf("%s is repeated: %v", text, bad)
			}
		}
	}
}

// refusedOpen requires Open to fail with an outcome.
func (x *examiner) refusedOpen(want exchange.Outcome, change func(*exchange.OpenRequest)) {
	x.Helper()
	conn, req := x.venue.Connect(), x.request()
	change(&req)
	_, err := conn.Open(x.Context(), req)
	if err == nil {
		// A venue may find out with the first request that needs the permission.
		r, _ := conn.Submit(x.Context(), exchange.OrderRequest{
			ClientOrderID: "as" + req.RunTag + "0000000001", Symbol: req.Symbols[0], Side: market.Buy,
			Type: market.Market, QuoteAmount: decimal.MustNew(50, 0),
		})
		_, _ = conn.Close(x.Context(), false)
		if r.Outcome != want {
			x.Errorf("neither Open nor Submit said %s: %+v", want, r)
		}
		return
	}
	var answer *exchange.Error
	if !errors.As(err, &answer) || answer.Result.Outcome != want {
		x.Errorf("Open: %v, want %s", err, want)
	}
}

func badKey(x *examiner) {
	x.credentials()
	x.refusedOpen(exchange.AuthFailed, func(q *exchange.OpenRequest) {
		q.Config.APIKey, q.Config.Secret = exchange.NewSecret("nobodys-key"),
			exchange.NewSecret("nobodys-secret")
	})
}

func missingPermission(x *examiner) {
	x.credentials()
	x.fault(FaultPermission)
	x.refusedOpen(exchange.AuthFailed, func(*exchange.OpenRequest) {})
}

func clockOffset(x *examiner) {
	for _, off := range []time.Duration{1500 * time.Millisecond, -1500 * time.Millisecond} {
		x.fault(FaultClock, strconv.FormatInt(off.Milliseconds(), 10))
		s := x.open()
		if wrong := s.opened.ClockOffset - off; wrong.Abs() > 400*time.Millisecond {
			x.Errorf("the offset is said to be %s, it is %s", s.opened.ClockOffset, off)
		}
		s.submit(s.limit(80)) // and requests are stamped with the venue's time
	}
}

func paperWithoutKeys(x *examiner) {
	s := x.open(func(q *exchange.OpenRequest) {
		q.Trading = false
		q.Config.APIKey, q.Config.Secret, q.Config.Password = exchange.Secret{}, exchange.Secret{},
			exchange.Secret{}
	})
	s.history(s.symbol())
	s.until("a candle", func() bool { return len(s.seen.candlesOf(s.symbol())) > 0 })
	if r, _ := s.Submit(s.Context(), s.market()); r.Outcome != exchange.NotSent &&
		r.Outcome != exchange.Rejected {
		x.Errorf("a submit on paper: %+v", r)
	}
	if n := x.venue.Count(CountKeyed); n > 0 {
		x.Errorf("%d requests with credentials", n)
	}
}

func sandboxAddress(x *examiner) {
	if !x.description().Sandbox {
		conn, req := x.venue.Connect(), x.request()
		req.Config.Sandbox = true
		if _, err := conn.Open(x.Context(), req); err == nil {
			x.Error("there is no sandbox, but it was opened")
			_, _ = conn.Close(x.Context(), false)
		}
		return
	}
	if x.venue.Count(CountSandbox) < 0 {
		x.skip("the venue does not count requests to the sandbox")
	}
	if x.open(); x.venue.Count(CountSandbox) != 0 {
		x.Error("the sandbox was asked without being wanted")
	}
	if x.open(func(q *exchange.OpenRequest) { q.Config.Sandbox = true }); x.venue.Count(CountSandbox) == 0 {
		x.Error("the sandbox was wanted and not asked")
	}
}

func secondOpen(x *examiner) {
	s := x.open()
	if _, err := s.Open(x.Context(), s.req); err == nil {
		x.Error("a second Open is refused")
	}
	s.submit(s.limit(80))
}

func closeTwice(x *examiner) {
	s := x.open()
	q := s.limit(80)
	s.submit(q)
	left, err := s.Close(x.Context(), true)
	if err != nil || len(left) != 0 {
		x.Errorf("Close: %v %v", left, err)
	}
	if left, err := s.Close(x.Context(), true); err != nil || len(left) != 0 {
		x.Errorf("a second Close does nothing: %v %v", left, err)
	}
	if r, _ := s.Submit(x.Context(), q); r.Outcome == exchange.Accepted || r.Outcome == exchange.Unknown {
		x.Errorf("a submit after Close: %+v", r)
	}
	if x.can(FaultRestart) {
		if o := x.open().query(ref(q)); o.Status != exchange.OrderCanceled {
			x.Errorf("after Close the order is %s", o.Status)
		}
	}
}

func rulesComplete(x *examiner) {
	s := x.open()
	if len(s.rules) != len(s.req.Symbols) {
		x.Errorf("%d markets for %d symbols", len(s.rules), len(s.req.Symbols))
	}
	for symbol, m := range s.rules {
		if !m.Trading || m.Status == "" {
			x.Errorf("%s: trading %v, status %q", symbol, m.Trading, m.Status)
		}
		if !m.PriceTick.IsPos() || !m.QuantityStep.IsPos() {
			x.Errorf("%s: tick %s, step %s", symbol, m.PriceTick, m.QuantityStep)
		}
		for name, pair := range map[string][2]decimal.Decimal{
			"quantity":        {m.MinQuantity, m.MaxQuantity},
			"market quantity": {m.MarketMinQuantity, m.MarketMaxQuantity},
			"notional":        {m.MinNotional, m.MaxNotional},
			"percent price":   {m.PercentPriceDown, m.PercentPriceUp},
		} {
			if pair[0].IsNeg() || pair[1].IsNeg() || pair[1].IsPos() && pair[0].Cmp(pair[1]) > 0 {
				x.Errorf("%s: %s from %s to %s", symbol, name, pair[0], pair[1])
			}
		}
		if m.MakerFee.IsNeg() || m.TakerFee.IsNeg() {
			x.Errorf("%s: fees %s and %s", symbol, m.MakerFee, m.TakerFee)
		}
	}
}

func unknownSymbol(x *examiner) {
	const nowhere = market.Symbol("QQQQQ/ZZZZZ")
	s := x.open(func(q *exchange.OpenRequest) { q.Symbols = append(slices.Clone(q.Symbols), nowhere) })
	if _, there := s.rules[nowhere]; there {
		x.Error("a symbol that the exchange does not have is absent")
	}
	if len(s.rules) != len(s.req.Symbols)-1 {
		x.Errorf("%d markets", len(s.rules))
	}
}

func haltedSymbol(x *examiner) {
	s := x.open()
	halted := s.symbol()
	q := s.limit(80)
	x.fault(FaultHalt, string(halted))
	s.await("the halt", func() bool { s.refresh(); return !s.rules[halted].Trading }, true)
	if s.rules[halted].Status == "" {
		x.Error("the status is the exchange's own word")
	}
	if !s.rules[s.req.Symbols[1]].Trading {
		x.Error("another symbol is halted too")
	}
	s.outcome(q, exchange.Rejected)
	x.fault(FaultResume, string(halted))
	s.await("the resumption", func() bool { s.refresh(); return s.rules[halted].Trading }, true)
	q.ClientOrderID = s.id()
	s.submit(q)
}

func exactDecimals(x *examiner) {
	s := x.open()
	q := s.limit(80)
	m := s.rules[q.Symbol]
	// One tick and one step further: digits that a float would lose are the last ones.
	q.LimitPrice, q.Quantity = sum(s, q.LimitPrice, m.PriceTick), sum(s, q.Quantity, m.QuantityStep)
	for _, o := range []exchange.Order{s.submit(q), s.query(ref(q))} {
		if o.Quantity.Cmp(q.Quantity) != 0 || o.LimitPrice.Cmp(q.LimitPrice) != 0 {
			x.Errorf("%s at %s became %s at %s", q.Quantity, q.LimitPrice, o.Quantity, o.LimitPrice)
		}
	}
}

func sum(t testing.TB, a, b decimal.Decimal) decimal.Decimal {
	t.Helper()
	c, err := a.Add(b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ruleChange(x *examiner) {
	s := x.open()
	tick, step := decimal.MustNew(5, 1), decimal.MustNew(1, 3)
	x.fault(FaultRules, string(s.symbol()), tick.String(), step.String())
	s.await("the new rules", func() bool {
		s.refresh()
		m := s.rules[s.symbol()]
		return m.PriceTick.Cmp(tick) == 0 && m.QuantityStep.Cmp(step) == 0
	}, true)
}

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
func (s *streams) candlesOf(symbol market.Symbol) []market.Candle {
	var list []market.Candle
	for _, e := range s.candleEvents() {
		if e.State == "" && e.Symbol == symbol {
			list = append(list, e.Candle)
		}
	}
	return list
}

// some waits for so many candles of a symbol.
func (s *session) some(symbol market.Symbol, n int) {
	s.Helper()
	s.until("candles of "+string(symbol), func() bool { return len(s.seen.candlesOf(symbol)) >= n })
}

// checkCandle checks what is true of every closed candle.
func checkCandle(s *session, c market.Candle) {
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
			checkCandle(s, c)
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
		page, err := s.Candles(x.Context(),
			exchange.CandleQuery{Symbol: s.symbol(), From: from, To: last.OpenTime + 1, Limit: 3})
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
		{From: first.OpenTime, To: first.OpenTime}, {From: first.OpenTime + 1, To: first.OpenTime + 2},
		{From: future, To: future + 1<<40},
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

// checkStream requires the candles of a symbol once each, in order and as history has them.
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
	for _, e := range s.seen.candleEvents() {
		if e.State == exchange.Reconnecting || e.State == exchange.Gap {
			announced = true
		}
		if e.State != "" || e.Symbol != symbol {
			continue
		}
		c := e.Candle
		checkCandle(s, c)
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

// troubled disturbs the stream and requires candles afterwards as before, or a word
// about what is missing.
func (x *examiner) troubled(what string, reported bool) {
	s := x.open()
	s.some(s.symbol(), 3)
	before := len(s.seen.candleEvents())
	x.fault(FaultData, what)
	told := func() bool {
		for _, e := range s.seen.candleEvents()[before:] {
			if e.State == exchange.Reconnecting || e.State == exchange.Gap {
				return true
			}
		}
		return false
	}
	if reported {
		s.until("a word about the stream", told)
	}
	s.some(s.symbol(), len(s.seen.candlesOf(s.symbol()))+4)
	s.checkStream(s.symbol(), reported)
	if !reported && told() {
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
			checkCandle(s, c)
		}
		s.step()
	}
	s.some(s.symbol(), 5)
	s.checkStream(s.symbol(), false)
}
