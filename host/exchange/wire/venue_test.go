package wire_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

const (
	testSymbol = market.Symbol("BTC/USDT")
	testTag    = "o4iqle"
	ourID      = "aso4iqles1kfl9am0u"
	otherID    = "aso4iqle5nr33he99r"
	exitID     = "aso4iqle7exit0000a"
	oldExitID  = "aso4iqle8exit0000b"
	foreignID  = "asxxxxxx5nr33he99r"
)

var one = decimal.MustNew(1, 0)

// fake is a venue of limit orders that rest for ever. What it is asked goes to a file, if
// Open names one as the endpoint. Hooks replace what a test needs otherwise.
type fake struct {
	mu     sync.Mutex
	file   string
	key    string
	opens  int
	closes []bool
	orders map[string]*exchange.Order
	asked  []string

	onOpen   func(exchange.OpenRequest) error
	onSubmit func(context.Context, exchange.OrderRequest) (exchange.Result, exchange.Order)
	onCancel func(exchange.OrderRef) (exchange.Result, exchange.Order)
	onQuery  func(exchange.OrderRef) (exchange.Result, exchange.Order)
	candles  func(context.Context, func(exchange.CandleEvent)) error
	account  func(context.Context, func(exchange.AccountEvent)) error
	venueAt  market.Time // told with each beat
}

func newFake() *fake {
	f := &fake{orders: map[string]*exchange.Order{}}
	for _, id := range []string{foreignID, "manual"} {
		f.orders[id] = &exchange.Order{ClientOrderID: id, Symbol: testSymbol, Status: exchange.OrderOpen,
			Type: market.Limit, Quantity: one}
	}
	return f
}

func (f *fake) connection() exchange.Connection {
	return exchange.Connection{Connector: f}
}

// note is called with the lock held.
func (f *fake) note(what, id string) {
	f.asked = append(f.asked, what+" "+id)
	if f.file == "" {
		return
	}
	log, err := os.OpenFile(f.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer log.Close()
	fmt.Fprintln(log, what, id)
}

func (f *fake) count(what string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asked {
		if strings.HasPrefix(a, what) {
			n++
		}
	}
	return n
}

func (f *fake) open(id string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := f.orders[id]
	return o != nil && o.Status == exchange.OrderOpen
}

func (f *fake) Describe(context.Context) (exchange.Description, error) {
	return exchange.Description{
		ID: "fake", Name: "Fake", Version: "1.0.0", Kind: "native", Modes: []string{"paper", "live"},
		DeadMan:    "lease",
		Timeframes: []market.Timeframe{market.MustTimeframe("1m")}, OrderTypes: []string{"limit"},
		ConfigSchema: exchange.ConfigSchema(nil),
	}, nil
}

func (f *fake) Open(_ context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opens++
	f.file, f.key = req.Endpoint, req.Config.APIKey.Reveal()
	if f.onOpen != nil {
		if err := f.onOpen(req); err != nil {
			return exchange.Opened{}, err
		}
	}
	return exchange.Opened{AccountID: "42", ClockOffset: 15 * time.Millisecond}, nil
}

func (f *fake) Markets(context.Context) ([]exchange.Market, error) {
	return []exchange.Market{{Symbol: testSymbol, Trading: true, PriceTick: decimal.MustParse("0.01"),
		QuantityStep: decimal.MustParse("0.00001")}}, nil
}

func (f *fake) Close(_ context.Context, cancelOpen bool) ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closes = append(f.closes, cancelOpen)
	return nil, nil
}

func (f *fake) Candles(context.Context, exchange.CandleQuery) ([]market.Candle, error) {
	return []market.Candle{{OpenTime: 60000, CloseTime: 120000, Open: 1, High: 2, Low: 0.5, Close: 1.5,
		Volume: 3}}, nil
}

func (f *fake) StreamCandles(ctx context.Context, on func(exchange.CandleEvent)) error {
	if f.candles != nil {
		return f.candles(ctx, on)
	}
	on(exchange.CandleEvent{State: exchange.Connected})
	<-ctx.Done()
	return nil
}

func accepted() exchange.Result {
	return exchange.Result{Outcome: exchange.Accepted, HTTPStatus: 200}
}

func (f *fake) Submit(ctx context.Context, req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	if f.onSubmit != nil {
		return f.onSubmit(ctx, req)
	}
	return f.rest(req)
}

func (f *fake) rest(req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("submit", req.ClientOrderID)
	o := exchange.Order{
		ClientOrderID: req.ClientOrderID, VenueOrderID: "v-" + req.ClientOrderID, Symbol: req.Symbol,
		Side: req.Side, Type: req.Type,
		Status: exchange.OrderOpen, Quantity: req.Quantity, LimitPrice: req.LimitPrice,
	}
	f.orders[o.ClientOrderID] = &o
	return accepted(), o
}

func (f *fake) SubmitPair(_ context.Context, req exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	var legs [2]exchange.Order
	_, legs[0] = f.rest(exchange.OrderRequest{ClientOrderID: req.LimitID, Symbol: req.Symbol, Side: req.Side,
		Type: market.Limit, Quantity: req.Quantity})
	_, legs[1] = f.rest(exchange.OrderRequest{ClientOrderID: req.StopID, Symbol: req.Symbol, Side: req.Side,
		Type: market.Stop, Quantity: req.Quantity})
	return accepted(), legs
}

func (f *fake) Cancel(_ context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("cancel", ref.ClientOrderID)
	if f.onCancel != nil {
		return f.onCancel(ref)
	}
	o := f.orders[ref.ClientOrderID]
	if o == nil || o.Status != exchange.OrderOpen {
		return exchange.Result{Outcome: exchange.NotOpen}, exchange.Order{}
	}
	o.Status = exchange.OrderCanceled
	return accepted(), *o
}

func (f *fake) Query(_ context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.note("query", ref.ClientOrderID)
	if f.onQuery != nil {
		return f.onQuery(ref)
	}
	o := f.orders[ref.ClientOrderID]
	if o == nil {
		return exchange.Result{Outcome: exchange.NotFound, HTTPStatus: 400, VenueCode: "-2013"},
			exchange.Order{}
	}
	return accepted(), *o
}

func (f *fake) OpenOrders(context.Context) ([]exchange.Order, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []exchange.Order
	for _, o := range f.orders {
		if o.Status == exchange.OrderOpen {
			list = append(list, *o)
		}
	}
	return list, nil
}

func (f *fake) Fills(_ context.Context, symbol market.Symbol, _ market.Time) (exchange.Fills, error) {
	return exchange.Fills{Complete: true,
		Fills: []exchange.Fill{{TradeID: "7", Symbol: symbol, Price: one, Quantity: one, Fee: one.Neg(),
			FeeAsset: "BNB", Time: 5}}}, nil
}

func (f *fake) Balances(context.Context) ([]exchange.Balance, error) {
	return []exchange.Balance{{Asset: "USDT", Free: one}}, nil
}

func (f *fake) StreamAccount(ctx context.Context, on func(exchange.AccountEvent)) error {
	if f.account != nil {
		return f.account(ctx, on)
	}
	on(exchange.AccountEvent{State: exchange.Connected})
	<-ctx.Done()
	return nil
}

func (f *fake) ArmDeadMan(context.Context, time.Duration) error { return errors.ErrUnsupported }

func (f *fake) Beat(context.Context, int64) (exchange.Ack, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.venueAt == 0 {
		return exchange.Ack{}, errors.ErrUnsupported
	}
	return exchange.Ack{VenueTime: f.venueAt}, nil
}

func openRequest() exchange.OpenRequest {
	return exchange.OpenRequest{
		RunID: "svc_01jd2q7z9v8k3m6t4r1x5c0wbn", RunTag: testTag, Trading: true,
		Symbols:   []market.Symbol{testSymbol},
		Timeframe: market.MustTimeframe("1m"), LeaseTTL: 10 * time.Second,
	}
}

func limitOrder(id string) exchange.OrderRequest {
	return exchange.OrderRequest{ClientOrderID: id, Symbol: testSymbol, Side: market.Buy, Type: market.Limit,
		Quantity: one, LimitPrice: one}
}

func ref(id string) exchange.OrderRef {
	return exchange.OrderRef{ClientOrderID: id, Symbol: testSymbol}
}
