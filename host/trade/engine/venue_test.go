package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const btc = market.Symbol("BTC/USDT")

func d(s string) dec { return decimal.MustParse(s) }

// act is what goes wrong with a call.
type act string

const (
	fine      act = ""
	hangs     act = "hang before accept" // until its deadline; nothing happens
	hungAfter act = "hang after accept"  // it happens, and nobody hears of it
	cutBefore act = "cut before accept"
	cutAfter  act = "cut after accept"
	foreign   act = "answer about another order"
	refuses   act = act(exchange.Rejected)
	notSent   act = act(exchange.NotSent)
	throttles act = act(exchange.Throttled)
	bans      act = act(exchange.Banned)
	clocks    act = act(exchange.Clock)
	doubles   act = act(exchange.Duplicate) // it happens, and the answer says that it had before
)

// venue is an exchange in memory: market orders fill at once, others when a candle reaches
// them. It outlives the sessions that are opened on it.
type venue struct {
	mu         sync.Mutex
	rng        *rand.Rand
	orders     []*held
	trades     []exchange.Fill
	cash       dec
	symbols    []market.Symbol
	fillsAsked func(market.Symbol)
	bnb        dec // fees are taken in it, as long as there is some
	noPair     bool
	feeCoin    string // what Open says of that
	coins      dec
	subs       []chan exchange.AccountEvent
	stop       chan struct{} // closed: the process of the connector is gone
	price      func(n int64) float64
	split      int  // market orders fill in so many trades
	feeBase    bool // fees of buys in the base
	// wrong is what goes wrong with the n-th call of a kind, from 1; events with that of the stream.
	wrong  func(call string, n int) act
	events func(exchange.AccountEvent) []exchange.AccountEvent
	count  map[string]int
	// wait is what the venue asks for with a refusal; a second when zero.
	wait time.Duration
	// These are called, if set, as the connector is started, the account stream confirmed, candles
	// asked for and the session closed.
	connecting func(context.Context) error
	streaming  func()
	paging     func(conn int) error
	closing    func(context.Context) error
	conns      int
	follows    int // streams of candles that were begun
	// released and left count the ends of connections.
	released, left int
	// submitted is told every submit that arrives.
	submitted func(id string)
	accepted  map[string]int
	account   string
	offset    time.Duration
	refusal   exchange.Outcome // of the account stream
	halted    bool
	dark      bool // no candle comes, by stream or by REST
	step      dec  // of quantities; 0.0001 when zero
	opens     int
	peak      dec // the most that was held or could still be bought, at any time
}

type held struct {
	exchange.Order
	amount dec
	pair   *held
}

func newVenue() *venue {
	return &venue{
		rng: rand.New(rand.NewPCG(1, 2)), cash: d("10000"), stop: make(chan struct{}),
		count: map[string]int{}, accepted: map[string]int{}, split: 1, account: "acc-1",
		price: func(n int64) float64 { return 100 + float64(n%7) - float64(n%3) },
	}
}

// connect returns a new connector in front of the venue.
func (v *venue) connect(ctx context.Context) (*exchange.Connection, error) {
	if v.connecting != nil {
		if err := v.connecting(ctx); err != nil {
			return nil, err
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.conns++
	ended := func(n *int) func() {
		return func() {
			v.mu.Lock()
			defer v.mu.Unlock()
			*n++
		}
	}
	return &exchange.Connection{Connector: data{v, v.conns}, Gone: v.stop, Release: ended(&v.released),
		Leave: ended(&v.left)}, nil
}

// data is the candles over one connection.
type data struct {
	*venue
	conn int
}

func (d data) Candles(ctx context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	if d.paging != nil {
		if err := d.paging(d.conn); err != nil {
			return nil, err
		}
	}
	return d.venue.Candles(ctx, q)
}

// crash ends the connector; the venue lives on.
func (v *venue) crash() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.crashLocked()
}

func (v *venue) crashLocked() {
	close(v.stop)
	v.stop = make(chan struct{})
	for _, s := range v.subs {
		close(s)
	}
	v.subs = nil
}

func (v *venue) Describe(context.Context) (exchange.Description, error) { return description(), nil }

func description() exchange.Description {
	return exchange.Description{ID: "fake", Kind: "native",
		OrderTypes: []string{"market", "market_quote", "limit", "stop", "stop_limit", "exit_pair"}}
}

func (v *venue) Open(context.Context, exchange.OpenRequest) (exchange.Opened, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.opens++
	if a := v.next("open"); a != fine {
		return exchange.Opened{},
			&exchange.Error{Result: exchange.Result{Outcome: exchange.Outcome(a),
				RetryAfterMS: v.wait.Milliseconds()}}
	}
	return exchange.Opened{AccountID: v.account, ClockOffset: v.offset, FeeAsset: v.feeCoin}, nil
}

func (v *venue) Markets(context.Context) ([]exchange.Market, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	status, step := "TRADING", d("0.0001")
	if v.halted {
		status = "HALT"
	}
	if v.step.IsPos() {
		step = v.step
	}
	v.count["markets"]++
	var list []exchange.Market
	for _, s := range v.symbols {
		list = append(list, exchange.Market{
			Symbol: s, Trading: !v.halted, Status: status, PriceTick: d("0.01"), QuantityStep: step,
			MinNotional: d("5"), MakerFee: d("0.001"), TakerFee: d("0.001"),
		})
	}
	return list, nil
}

func (v *venue) Close(ctx context.Context, _ bool) ([]string, error) {
	if v.closing != nil {
		return nil, v.closing(ctx)
	}
	return nil, nil
}

const minute = time.Minute

func nth(t time.Time) int64 { return t.Unix() / 60 }

func (v *venue) candle(n int64) market.Candle {
	open, last := v.price(n-1), v.price(n)
	at := time.Unix(n*60, 0)
	return market.Candle{
		OpenTime: market.FromTime(at), CloseTime: market.FromTime(at.Add(minute)), Open: open, Close: last,
		High: max(open, last) + 0.5, Low: min(open, last) - 0.5, Volume: 1,
	}
}

func (v *venue) Candles(_ context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	v.mu.Lock()
	dark, pair := v.dark, !v.noPair
	v.mu.Unlock()
	if q.Symbol == "BNB/USDT" && !pair {
		return nil, &exchange.Error{Result: exchange.Result{Outcome: exchange.Rejected, VenueCode: "-1121"}}
	}
	if dark {
		return nil, &exchange.Error{Result: exchange.Result{Outcome: exchange.NotSent}}
	}
	var list []market.Candle
	for n := nth(q.From.Time()); len(list) < q.Limit; n++ {
		c := v.candle(n)
		if c.CloseTime > market.FromTime(time.Now()) || c.OpenTime >= q.To {
			return list, nil
		}
		if c.OpenTime >= q.From {
			list = append(list, c)
		}
	}
	return list, nil
}

func (v *venue) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	v.mu.Lock()
	v.follows++
	v.mu.Unlock()
	on(exchange.CandleEvent{State: exchange.Connected})
	for {
		n := nth(time.Now())
		if !exchange.Pause(ctx, time.Until(time.Unix((n+1)*60, 0))) {
			return nil
		}
		c := v.candle(n)
		v.mu.Lock()
		v.match(c)
		dark := v.dark
		v.mu.Unlock()
		if dark {
			continue
		}
		for _, s := range v.symbols {
			on(exchange.CandleEvent{Symbol: s, Candle: c})
		}
	}
}

// match fills what a candle reaches.
func (v *venue) match(c market.Candle) {
	for _, o := range v.orders {
		price, reached := o.LimitPrice, false
		if o.StopPrice.IsPos() {
			price = o.StopPrice
		}
		p, _ := price.Float64()
		switch {
		case o.Status != exchange.OrderOpen:
		case o.Side == market.Buy && o.Type == market.Limit:
			reached = c.Low <= p
		case o.Type == market.Limit:
			reached = c.High >= p
		case o.Side == market.Sell:
			reached = c.Low <= p
		default:
			reached = c.High >= p
		}
		if reached {
			v.fill(o, price)
		}
	}
}

// next returns what goes wrong with the next call of a kind; with the lock held.
func (v *venue) next(call string) act {
	v.count[call]++
	if v.wrong == nil {
		return fine
	}
	return v.wrong(call, v.count[call])
}

// tell gives an event to the account streams.
func (v *venue) tell(ev exchange.AccountEvent) {
	list := []exchange.AccountEvent{ev}
	if v.events != nil {
		list = v.events(ev)
	}
	for _, s := range v.subs {
		for _, ev := range list {
			s <- ev
		}
	}
}

func (v *venue) show(o *held) {
	state := o.Order
	v.tell(exchange.AccountEvent{Order: &state})
}

func must(x dec, err error) dec {
	if err != nil {
		panic(err)
	}
	return x
}

// fill executes an order whole, in parts.
func (v *venue) fill(o *held, price dec) {
	q := o.Quantity
	if o.amount.IsPos() {
		q = must(o.amount.Quo(price)).Floor(4)
		o.Quantity = q
	}
	part := must(q.Quo(decimal.MustNew(int64(v.split), 0))).Floor(4)
	for i := range v.split {
		if i == v.split-1 {
			part = order.Minus(q, o.CumQuantity)
		}
		n := order.Times(part, price)
		f := exchange.Fill{
			TradeID: fmt.Sprint(len(v.trades) + 1), ClientOrderID: o.ClientOrderID,
			VenueOrderID: o.VenueOrderID, Symbol: o.Symbol, Side: o.Side,
			Price: price, Quantity: part, Fee: order.Times(n, d("0.001")), FeeAsset: "USDT",
			Time: market.FromTime(time.Now().Add(v.offset)),
		}
		switch {
		case v.bnb.IsPos():
			f.Fee, f.FeeAsset = d("0.001"), "BNB"
			v.bnb = order.Minus(v.bnb, f.Fee)
		case v.feeBase && o.Side == market.Buy:
			f.Fee, f.FeeAsset = order.Times(part, d("0.001")), "BTC"
			v.coins = order.Minus(v.coins, f.Fee)
		default:
			v.cash = order.Minus(v.cash, f.Fee)
		}
		if o.Side == market.Buy {
			v.cash, v.coins = order.Minus(v.cash, n), order.Plus(v.coins, part)
		} else {
			v.cash, v.coins = order.Plus(v.cash, n), order.Minus(v.coins, part)
		}
		o.CumQuantity = order.Plus(o.CumQuantity, part)
		o.AveragePrice = price
		v.trades = append(v.trades, f)
		v.tell(exchange.AccountEvent{Fill: &f})
	}
	o.Status = exchange.OrderFilled
	v.show(o)
	if o.pair != nil && o.pair.Status == exchange.OrderOpen {
		o.pair.Status = exchange.OrderCanceled
		v.show(o.pair)
	}
}

func (v *venue) find(id string) *held {
	for _, o := range v.orders {
		if o.ClientOrderID == id {
			return o
		}
	}
	return nil
}

// call plays what goes wrong around do.
func (v *venue) call(ctx context.Context, kind string, do func() exchange.Result) exchange.Result {
	v.mu.Lock()
	a := v.next(kind)
	var r exchange.Result
	switch a {
	case hangs, cutBefore:
	case hungAfter, cutAfter, doubles, fine, foreign:
		r = do()
	default:
		r = exchange.Result{Outcome: exchange.Outcome(a),
			RetryAfterMS: cmp.Or(v.wait, time.Second).Milliseconds(), VenueCode: "X"}
	}
	v.mu.Unlock()
	switch a {
	case hangs, hungAfter:
		<-ctx.Done()
		return exchange.Result{Outcome: exchange.Unknown, Message: "no answer"}
	case cutBefore, cutAfter, foreign:
		return exchange.Result{Outcome: exchange.Unknown, Message: "cut"}
	case doubles:
		return exchange.Result{Outcome: exchange.Duplicate}
	}
	return r
}

func (v *venue) take(req exchange.OrderRequest) *held {
	v.accepted[req.ClientOrderID]++
	o := &held{amount: req.QuoteAmount, Order: exchange.Order{
		ClientOrderID: req.ClientOrderID, VenueOrderID: fmt.Sprint(len(v.orders) + 1), Symbol: req.Symbol,
		Side: req.Side, Type: req.Type,
		Status: exchange.OrderOpen, Quantity: req.Quantity, LimitPrice: req.LimitPrice,
		StopPrice: req.StopPrice,
	}}
	v.orders = append(v.orders, o)
	could := v.coins
	for _, o := range v.orders {
		if o.Status == exchange.OrderOpen && o.Side == market.Buy {
			could = order.Plus(could, order.Minus(o.Quantity, o.CumQuantity))
		}
	}
	v.peak = v.peak.Max(could)
	v.show(o)
	return o
}

func (v *venue) Submit(ctx context.Context, req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	if v.submitted != nil {
		v.submitted(req.ClientOrderID)
	}
	var got exchange.Order
	r := v.call(ctx, "submit", func() exchange.Result {
		o := v.take(req)
		if req.Type == market.Market {
			v.fill(o, must(decimal.NewFromFloat64(v.price(nth(time.Now())-1))))
		}
		got = o.Order
		return exchange.Result{Outcome: exchange.Accepted}
	})
	return r, got
}

func (v *venue) SubmitPair(ctx context.Context,
	req exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	if v.submitted != nil {
		v.submitted(req.LimitID)
		v.submitted(req.StopID)
	}
	var got [2]exchange.Order
	r := v.call(ctx, "submit", func() exchange.Result {
		a := v.take(exchange.OrderRequest{ClientOrderID: req.LimitID, Symbol: req.Symbol, Side: req.Side,
			Type: market.Limit, Quantity: req.Quantity, LimitPrice: req.LimitPrice})
		b := v.take(exchange.OrderRequest{ClientOrderID: req.StopID, Symbol: req.Symbol, Side: req.Side,
			Type: market.Stop, Quantity: req.Quantity, StopPrice: req.StopPrice})
		a.pair, b.pair = b, a
		got = [2]exchange.Order{a.Order, b.Order}
		return exchange.Result{Outcome: exchange.Accepted}
	})
	return r, got
}

func (v *venue) Cancel(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	var got exchange.Order
	r := v.call(ctx, "cancel", func() exchange.Result {
		o := v.find(ref.ClientOrderID)
		if o == nil || o.Status != exchange.OrderOpen {
			return exchange.Result{Outcome: exchange.NotOpen}
		}
		for _, x := range []*held{o, o.pair} {
			if x != nil {
				x.Status = exchange.OrderCanceled
				v.show(x)
			}
		}
		got = o.Order
		return exchange.Result{Outcome: exchange.Accepted}
	})
	return r, got
}

func (v *venue) Query(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	var got exchange.Order
	r := v.call(ctx, "query", func() exchange.Result {
		o := v.find(ref.ClientOrderID)
		if o == nil {
			return exchange.Result{Outcome: exchange.NotFound}
		}
		got = o.Order
		return exchange.Result{Outcome: exchange.Accepted}
	})
	return r, got
}

// read returns a call for a list.
func (v *venue) read(ctx context.Context, kind string, do func()) error {
	r := v.call(ctx, kind, func() exchange.Result {
		do()
		return exchange.Result{Outcome: exchange.Accepted}
	})
	if r.Outcome != exchange.Accepted {
		return &exchange.Error{Result: r}
	}
	return nil
}

func (v *venue) OpenOrders(ctx context.Context) (list []exchange.Order, err error) {
	err = v.read(ctx, "orders", func() {
		for _, o := range v.orders {
			if o.Status == exchange.OrderOpen {
				list = append(list, o.Order)
			}
		}
	})
	return list, err
}

func (v *venue) Fills(ctx context.Context, of market.Symbol,
	since market.Time) (page exchange.Fills, err error) {
	page.Complete = true
	err = v.read(ctx, "fills", func() {
		if v.fillsAsked != nil {
			v.fillsAsked(of)
		}
		for _, f := range v.trades {
			if f.Time >= since {
				page.Fills = append(page.Fills, f)
			}
		}
	})
	return page, err
}

func (v *venue) Balances(ctx context.Context) (list []exchange.Balance, err error) {
	err = v.read(ctx, "balances", func() {
		locked := dec{}
		for _, o := range v.orders {
			if o.Status == exchange.OrderOpen && o.Side == market.Sell &&
				(o.pair == nil || o.Type == market.Limit) {
				locked = order.Plus(locked, o.Quantity)
			}
		}
		list = []exchange.Balance{{Asset: "USDT", Free: v.cash},
			{Asset: "BTC", Free: order.Minus(v.coins, locked), Locked: locked}}
		if v.bnb.IsPos() {
			list = append(list, exchange.Balance{Asset: "BNB", Free: v.bnb})
		}
	})
	return list, err
}

func (v *venue) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	v.mu.Lock()
	if v.refusal != "" {
		defer v.mu.Unlock()
		return &exchange.Error{Result: exchange.Result{Outcome: v.refusal}}
	}
	mine := make(chan exchange.AccountEvent, 100_000)
	v.subs = append(v.subs, mine)
	v.mu.Unlock()
	if v.streaming != nil {
		v.streaming()
	}
	on(exchange.AccountEvent{State: exchange.Connected})
	for {
		select {
		case <-ctx.Done():
			return nil
		case ev, ok := <-mine:
			if !ok {
				return errors.New("the connection is gone")
			}
			on(ev)
		}
	}
}

// cutStreams ends the account streams; they are begun again by whoever wants them.
func (v *venue) cutStreams() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, s := range v.subs {
		close(s)
	}
	v.subs = nil
}

func (v *venue) ArmDeadMan(context.Context, time.Duration) error { return errors.ErrUnsupported }

func (v *venue) Beat(context.Context, int64) (exchange.Ack, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return exchange.Ack{VenueTime: market.FromTime(time.Now().Add(v.offset))}, nil
}

// net returns what trades with ids of the run left of the base.
func (v *venue) net(ours func(string) bool) dec {
	v.mu.Lock()
	defer v.mu.Unlock()
	sum := dec{}
	for _, f := range v.trades {
		switch {
		case !ours(f.ClientOrderID):
		case f.Side == market.Buy:
			sum = order.Plus(sum, f.Quantity)
			if f.FeeAsset == "BTC" {
				sum = order.Minus(sum, f.Fee)
			}
		default:
			sum = order.Minus(sum, f.Quantity)
		}
	}
	return sum
}
