package conformance

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

var (
	refFrame   = market.MustTimeframe("1m")
	refSymbols = []market.Symbol{"BTC/USDT", "ETH/USDT"}
)

const (
	refKey, refSecret = "reference-api-key", "reference/secret+value"
	refStart          = market.Time(1_700_000_040_000) // on the grid
)

// refVenue is an exchange over plain maps: matching, an account, streams, and everything
// that can go wrong. It knows nothing of connectors.
type refVenue struct {
	mu       sync.Mutex
	connect  func() exchange.Connection
	offset   time.Duration
	readOnly bool
	markets  map[market.Symbol]*exchange.Market
	candles  map[market.Symbol][]market.Candle
	through  map[market.Symbol]float64 // of the next candle
	orders   []*exchange.Order
	fills    []exchange.Fill
	free     map[string]decimal.Decimal
	faults   map[string]string // by kind of request
	counts   map[string]int
	split    int
	feeAsset string
	subs     []*refSub
	dropNext bool
	doubled  bool
	refuse   bool
	trades   int
	thin     bool
}

// refSub is one subscription.
type refSub struct {
	data   bool
	queue  []any // refCandle, exchange.Order, exchange.Fill
	cut    bool
	silent bool
}

type refCandle struct {
	symbol market.Symbol
	candle market.Candle
	closed bool
}

// refAnswer is what comes back over the wire.
type refAnswer struct {
	cut    error
	hang   bool
	late   bool
	status int
	body   string // json, html, empty, truncated
	code   string
	text   string
	retry  int // seconds
	id     string
	orders []exchange.Order
	fills  []exchange.Fill
}

func newRefVenue() *refVenue {
	v := &refVenue{
		markets: map[market.Symbol]*exchange.Market{}, candles: map[market.Symbol][]market.Candle{},
		through: map[market.Symbol]float64{},
		free:    map[string]decimal.Decimal{"USDT": decimal.MustNew(10000, 0)},
		faults:  map[string]string{}, counts: map[string]int{},
	}
	for _, s := range refSymbols {
		v.markets[s] = &exchange.Market{
			Symbol: s, Trading: true, Status: "TRADING", PriceTick: decimal.MustParse("0.01"),
			QuantityStep: decimal.MustParse("0.00001"),
			MinQuantity:  decimal.MustParse("0.00001"), MaxQuantity: decimal.MustNew(9000, 0),
			MinNotional: decimal.MustNew(5, 0),
			MakerFee:    decimal.MustParse("0.001"), TakerFee: decimal.MustParse("0.001"),
		}
		for range 10 {
			v.closeCandle(s)
		}
	}
	return v
}

func (v *refVenue) Connect() exchange.Connection { return v.connect() }

func (v *refVenue) Request() exchange.OpenRequest {
	return exchange.OpenRequest{Symbols: slices.Clone(refSymbols), Timeframe: refFrame,
		Config: exchange.Config{APIKey: exchange.NewSecret(refKey), Secret: exchange.NewSecret(refSecret)}}
}

func (v *refVenue) Count(kind string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.counts[kind]
}

// Now returns the close of the newest candle.
func (v *refVenue) Now() market.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.nowLocked()
}

func (v *refVenue) nowLocked() market.Time {
	list := v.candles[refSymbols[0]]
	if len(list) == 0 {
		return refStart
	}
	return list[len(list)-1].CloseTime
}

func (v *refVenue) Wall(d time.Duration) time.Duration { return d }

func (v *refVenue) Fault(name string, args ...string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	arg := ""
	if len(args) > 0 {
		arg = args[0]
	}
	symbol := market.Symbol(arg)
	switch name {
	case FaultStep:
		v.step()
	case FaultPrice:
		v.through[symbol], _ = strconv.ParseFloat(args[1], 64)
		v.step()
	case FaultSubmit, FaultCancel, FaultQuery:
		v.faults[name] = arg
	case FaultEcho:
		v.faults[FaultSubmit] = "echo"
	case FaultClock:
		ms, _ := strconv.Atoi(arg)
		v.offset = time.Duration(ms) * time.Millisecond
	case FaultPermission:
		v.readOnly = true
	case FaultHalt, FaultResume:
		v.markets[symbol].Trading = name == FaultResume
		v.markets[symbol].Status = map[bool]string{true: "TRADING", false: "HALT"}[name == FaultResume]
	case FaultRules:
		v.markets[symbol].PriceTick, v.markets[symbol].QuantityStep = decimal.MustParse(args[1]),
			decimal.MustParse(args[2])
	case FaultData:
		v.dropNext, v.doubled = v.dropNext || arg == "drop", v.doubled || arg == "duplicate"
		v.trouble(true, arg)
	case FaultAccount:
		v.refuse = arg == "refuse"
		v.trouble(false, arg)
	case FaultSplit:
		v.split, _ = strconv.Atoi(arg)
	case FaultThin:
		v.thin = true
	case FaultFeeAsset:
		v.feeAsset = arg
	case FaultForeignOrder:
		v.add(exchange.Order{ClientOrderID: "web_1", Symbol: symbol, Type: market.Limit,
			Quantity: decimal.MustNew(1, 1), LimitPrice: decimal.MustNew(50, 0)})
	case FaultForeignFill:
		o := v.add(exchange.Order{ClientOrderID: "web_2", Symbol: symbol, Type: market.Market,
			Quantity: decimal.MustNew(1, 1)})
		v.fill(o, v.last(symbol))
	case FaultManualCancel:
		v.end(v.find(arg), exchange.OrderCanceled)
	case FaultRestart:
	default:
		return ErrCannot
	}
	return nil
}

func (v *refVenue) trouble(data bool, what string) {
	for _, s := range v.subs {
		if s.data == data {
			s.cut = s.cut || what == "cut"
			s.silent = s.silent || what == "silence"
		}
	}
}

func (v *refVenue) last(s market.Symbol) float64 {
	list := v.candles[s]
	return list[len(list)-1].Close
}

func (v *refVenue) closeCandle(s market.Symbol) market.Candle {
	n := len(v.candles[s])
	open := 100.0
	if n > 0 {
		open = v.last(s)
	}
	c := market.Candle{OpenTime: refStart.Add(time.Duration(n) * time.Minute), Open: open,
		Close: 100 + float64(n%5)/10, Volume: 1}
	c.High, c.Low = max(c.Open, c.Close)+0.05, min(c.Open, c.Close)-0.05
	if p, wanted := v.through[s]; wanted {
		c.High, c.Low = max(c.High, p), min(c.Low, p)
		delete(v.through, s)
	}
	c.CloseTime = refFrame.Next(c.OpenTime)
	v.candles[s] = append(v.candles[s], c)
	return c
}

// step closes a candle of every symbol, after news of how it forms.
func (v *refVenue) step() {
	for _, s := range refSymbols {
		forming := market.Candle{OpenTime: v.nowLocked(), CloseTime: refFrame.Next(v.nowLocked()),
			Open: v.last(s), High: 101, Low: 99, Close: 99.5}
		if s == refSymbols[0] {
			v.push(true, refCandle{s, forming, false})
		}
		c := v.closeCandle(s)
		if !v.dropNext {
			v.push(true, refCandle{s, c, true})
		}
		if v.doubled {
			v.push(true, refCandle{s, c, true})
		}
		for _, o := range slices.Clone(v.orders) {
			if o.Symbol == s && working(o) {
				v.match(o, c)
			}
		}
	}
	v.dropNext, v.doubled = false, false
}

func (v *refVenue) match(o *exchange.Order, c market.Candle) {
	limit, _ := o.LimitPrice.Float64()
	stop, _ := o.StopPrice.Float64()
	hit := func(price float64, up bool) bool { return up && c.High >= price || !up && c.Low <= price }
	switch o.Type {
	case market.Limit:
		if hit(limit, o.Side == market.Sell) {
			v.fill(o, limit)
		}
	case market.Stop, market.StopLimit:
		if hit(stop, o.Side == market.Buy) {
			v.fill(o, stop)
		}
	}
}

// working reports whether an order is open.
func working(o *exchange.Order) bool {
	return o.Status == exchange.OrderOpen || o.Status == exchange.OrderPartiallyFilled
}

func (v *refVenue) push(data bool, message any) {
	for _, s := range v.subs {
		if s.data == data && !s.silent && !s.cut {
			s.queue = append(s.queue, message)
		}
	}
}

func (v *refVenue) find(id string) *exchange.Order {
	for _, o := range slices.Backward(v.orders) {
		if o.ClientOrderID == id {
			return o
		}
	}
	return nil
}

func (v *refVenue) add(o exchange.Order) *exchange.Order {
	o.Status, o.VenueOrderID, o.UpdatedAt = exchange.OrderOpen, fmt.Sprint(len(v.orders)+1), v.nowLocked()
	v.orders = append(v.orders, &o)
	v.push(false, o)
	return &o
}

func (v *refVenue) end(o *exchange.Order, status exchange.OrderStatus) {
	o.Status, o.UpdatedAt = status, v.nowLocked()
	v.push(false, *o)
}

func must(d decimal.Decimal, err error) decimal.Decimal {
	if err != nil {
		panic(err)
	}
	return d
}

// fill executes an order at a price, in parts if it was told so, and ends its sibling. A thin book
// has ten prices with a tenth of a unit each, and one of them for what rests.
func (v *refVenue) fill(o *exchange.Order, price float64) {
	p := must(decimal.NewFromFloat64(math.Round(price*100) / 100))
	rest := must(o.Quantity.Sub(o.CumQuantity))
	parts, each := max(v.split, 1), must(rest.Quo(decimal.MustNew(int64(max(v.split, 1)), 0))).Trunc(8)
	last := rest
	if v.thin {
		parts, each, last = 10, decimal.MustNew(1, 1), decimal.MustNew(1, 1)
		if o.CumQuantity.IsPos() {
			parts = 1
		}
	}
	v.split = 0
	for i := range parts {
		q := each
		if i == parts-1 && !v.thin {
			q = last
		}
		if q.Cmp(rest) > 0 {
			q = rest
		}
		if q.IsZero() {
			break
		}
		rest, last = must(rest.Sub(q)), must(last.Sub(q))
		v.trade(o, p, q)
		if v.thin {
			p = must(p.Add(decimal.MustNew(1, 2)))
		}
	}
	for _, sibling := range v.orders {
		if o.Reason != "" && sibling != o && sibling.Reason == o.Reason &&
			sibling.Status == exchange.OrderOpen {
			v.end(sibling, exchange.OrderExpired)
		}
	}
}

// trade is one execution.
func (v *refVenue) trade(o *exchange.Order, price, quantity decimal.Decimal) {
	v.trades++
	asset := v.feeAsset
	if asset == "" {
		asset = o.Symbol.Quote()
	}
	f := exchange.Fill{TradeID: fmt.Sprint(v.trades), ClientOrderID: o.ClientOrderID,
		VenueOrderID: o.VenueOrderID, Symbol: o.Symbol, Side: o.Side,
		Price: price, Quantity: quantity, Fee: decimal.MustParse("0.001"), FeeAsset: asset,
		Time: v.nowLocked()}
	v.fills = append(v.fills, f)
	before := must(o.AveragePrice.Mul(o.CumQuantity))
	o.CumQuantity = must(o.CumQuantity.Add(quantity))
	o.AveragePrice = must(must(before.Add(must(price.Mul(quantity)))).Quo(o.CumQuantity)).Round(12).Trim(0)
	if o.Status = exchange.OrderPartiallyFilled; o.CumQuantity.Cmp(o.Quantity) >= 0 {
		o.Status = exchange.OrderFilled
	}
	base, quote, paid := o.Symbol.Base(), o.Symbol.Quote(), must(price.Mul(quantity))
	if o.Side == market.Sell {
		quantity, paid = quantity.Neg(), paid.Neg()
	}
	v.free[base] = must(v.free[base].Add(quantity))
	v.free[quote] = must(v.free[quote].Sub(paid))
	v.free[asset] = must(v.free[asset].Sub(f.Fee))
	v.push(false, *o)
	v.push(false, f)
}

// signed returns a request with credentials: its own checks, the fault that waits for it, and
// what it does.
func (v *refVenue) signed(kind, key, secret string, stamp time.Time, act func() refAnswer) refAnswer {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.counts[CountKeyed]++
	v.counts[kind]++
	if key != refKey || secret != refSecret {
		return refAnswer{status: 401, body: "json", code: "-2014", text: "API-key format invalid."}
	}
	if off := stamp.Sub(time.Now().Add(v.offset)); off.Abs() > time.Second {
		return refAnswer{status: 400, body: "json", code: "-1021",
			text: "Timestamp for this request is outside of the recvWindow."}
	}
	if v.readOnly {
		return refAnswer{status: 401, body: "json", code: "-2015",
			text: "Invalid API-key, IP, or permissions for action."}
	}
	fault := v.faults[kind]
	delete(v.faults, kind)
	switch fault {
	case CutBefore:
		return refAnswer{cut: errors.New("connection reset by peer")}
	case HangBefore:
		return refAnswer{hang: true}
	case Status429:
		return refAnswer{status: 429, body: "json", code: "-1003", text: "Too much request weight used.",
			retry: 2}
	case Status418:
		return refAnswer{status: 418, body: "json", code: "-1003", text: "Way too much request weight used.",
			retry: 2}
	case WrongClock:
		return refAnswer{status: 400, body: "json", code: "-1021",
			text: "Timestamp for this request is outside of the recvWindow."}
	case "echo":
		return refAnswer{status: 400, body: "json", code: "-1022",
			text: "bad request: key=" + key + "&secret=" + secret + "&signature=deadbeef"}
	}
	a := act()
	switch fault {
	case CutAfter:
		return refAnswer{cut: errors.New("unexpected EOF")}
	case LateAnswer:
		a.late = true
	case HangAfter:
		return refAnswer{hang: true}
	case HTML, Empty, Truncated:
		return refAnswer{status: 200, body: fault}
	case ForeignID:
		a.id = "somebody-elses"
	case Status500:
		return refAnswer{status: 500, body: "html"}
	case Status503:
		return refAnswer{status: 503, body: "json", code: "-1007",
			text: "Timeout waiting for response from backend server."}
	}
	return a
}

// place checks the filters as an exchange does and takes orders; what an immediate one does not get expires.
func (v *refVenue) place(immediate bool, orders ...exchange.Order) refAnswer {
	no := func(code, text string) refAnswer {
		return refAnswer{status: 400, body: "json", code: code, text: text}
	}
	for _, o := range orders {
		m := v.markets[o.Symbol]
		price := o.LimitPrice
		if price.IsZero() {
			price = must(decimal.NewFromFloat64(v.last(o.Symbol)))
		}
		cost := must(price.Mul(o.Quantity))
		known := v.find(o.ClientOrderID)
		switch {
		case !m.Trading:
			return no("-1013", "Market is closed.")
		case known != nil && known.Status == exchange.OrderOpen:
			return no("-2010", "Duplicate order sent.")
		case !must2(o.LimitPrice.QuoRem(m.PriceTick)).IsZero():
			return no("-1013", "Filter failure: PRICE_FILTER")
		case !must2(o.Quantity.QuoRem(m.QuantityStep)).IsZero():
			return no("-1013", "Filter failure: LOT_SIZE")
		case cost.Cmp(m.MinNotional) < 0:
			return no("-1013", "Filter failure: NOTIONAL")
		case o.Side == market.Buy && cost.Cmp(v.free["USDT"]) > 0:
			return no("-2010", "Account has insufficient balance for requested action.")
		}
	}
	a := refAnswer{status: 200, body: "json"}
	for _, q := range orders {
		o := v.add(q)
		limit, _ := o.LimitPrice.Float64()
		if o.Type == market.Market || o.Type == market.Limit &&
			(o.Side == market.Buy && limit >= v.last(o.Symbol) || o.Side == market.Sell &&
				limit <= v.last(o.Symbol)) {
			v.fill(o, v.last(o.Symbol))
		}
		if immediate && working(o) {
			v.end(o, exchange.OrderExpired)
		}
		a.id, a.orders = o.ClientOrderID, append(a.orders, *o)
	}
	return a
}

func must2(_, rest decimal.Decimal, err error) decimal.Decimal { return must(rest, err) }

func (v *refVenue) subscribe(data bool) (*refSub, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !data && v.refuse {
		return nil, errors.New("status 401")
	}
	s := &refSub{data: data}
	v.subs = append(v.subs, s)
	return s, nil
}

// read returns the news of a subscription; false: it is cut. Nothing at all, not even a sign of
// life, comes from a silent one.
func (v *refVenue) read(s *refSub) (news []any, alive, open bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	news, s.queue = s.queue, nil
	return news, !s.silent, !s.cut
}

func refHarness(wrap func(exchange.Connection) exchange.Connection, bug string) Harness {
	return Harness{
		Patience: 5 * time.Second,
		Start: func(testing.TB) Venue {
			v := newRefVenue()
			v.connect = func() exchange.Connection {
				c := &refConnector{venue: v, bug: bug}
				return wrap(exchange.Connection{Connector: c, Clock: v})
			}
			return v
		},
	}
}
