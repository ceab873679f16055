package conformance

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
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
	known := []string{"market", "market_quote", "limit", "stop", "stop_limit", "exit_pair"}
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
	text := `{"apiKey":"an-api-key","secret":"a-secret","password":"a-password","sandbox":false,"rateLimit":50,"enableRateLimit":false}`
	c, err := exchange.DecodeConfig(d.ConfigSchema, []byte(text))
	if err != nil {
		x.Fatalf("the six keys are accepted by every exchange: %v", err)
	}
	if c.APIKey.Reveal() != "an-api-key" || c.Secret.Reveal() != "a-secret" || c.Password.Reveal() != "a-password" || c.RateLimitMS != 50 || !c.Unspaced {
		x.Error("a key is lost")
	}
	var schema struct {
		Properties map[string]struct {
			WriteOnly bool   `json:"writeOnly"`
			Format    string `json:"format"`
		} `json:"properties"`
		Additional *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(d.ConfigSchema, &schema); err != nil || schema.Additional == nil || *schema.Additional {
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
		var misfit *exchange.ConfigError
		if !errors.As(err, &misfit) {
			x.Errorf("%s: %v", text, err)
			continue
		}
		for _, word := range []string{"urls", "evil", "proxy", "socks"} {
			if strings.Contains(misfit.Error(), word) {
				x.Errorf("%s is repeated: %v", text, misfit)
			}
		}
	}
}

// refusedOpen wants an Open that fails with an outcome.
func (x *examiner) refusedOpen(want exchange.Outcome, change func(*exchange.OpenRequest)) {
	x.Helper()
	conn, req := x.venue.Connect(), x.request()
	change(&req)
	_, err := conn.Open(x.Context(), req)
	if err == nil {
		// A venue may find out with the first request that needs the permission.
		r, _ := conn.Submit(x.Context(), exchange.OrderRequest{
			ClientOrderID: "as" + req.RunTag + "0000000001", Symbol: req.Symbols[0], Side: market.Buy, Type: market.Market, QuoteAmount: decimal.MustNew(50, 0),
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
		q.Config.APIKey, q.Config.Secret = exchange.NewSecret("nobodys-key"), exchange.NewSecret("nobodys-secret")
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
		q.Config.APIKey, q.Config.Secret, q.Config.Password = exchange.Secret{}, exchange.Secret{}, exchange.Secret{}
	})
	s.history(s.symbol())
	s.until("a candle", func() bool { return len(s.delivered(s.symbol())) > 0 })
	if r, _ := s.Submit(s.Context(), s.market()); r.Outcome != exchange.NotSent && r.Outcome != exchange.Rejected {
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
			"quantity": {m.MinQuantity, m.MaxQuantity}, "market quantity": {m.MarketMinQuantity, m.MarketMaxQuantity},
			"notional": {m.MinNotional, m.MaxNotional}, "percent price": {m.PercentPriceDown, m.PercentPriceUp},
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
	q.LimitPrice, q.Quantity = s.sum(q.LimitPrice, m.PriceTick), s.sum(q.Quantity, m.QuantityStep)
	for _, o := range []exchange.Order{s.submit(q), s.query(ref(q))} {
		if o.Quantity.Cmp(q.Quantity) != 0 || o.LimitPrice.Cmp(q.LimitPrice) != 0 {
			x.Errorf("%s at %s became %s at %s", q.Quantity, q.LimitPrice, o.Quantity, o.LimitPrice)
		}
	}
}

func (s *session) sum(a, b decimal.Decimal) decimal.Decimal {
	s.Helper()
	c, err := a.Add(b)
	if err != nil {
		s.Fatal(err)
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
