package binance

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	gb "github.com/adshao/go-binance/v2"
	"github.com/adshao/go-binance/v2/common"
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The deadlines of the contract, for callers that have none.
const (
	tradeDeadline = 10 * time.Second
	queryDeadline = 5 * time.Second
)

// about makes one request about an order, once and within a limit; an accepted answer is about that order.
func (s *session) about(
	ctx context.Context, limit time.Duration, ref exchange.OrderRef, k kind, p priority, weight int,
	do func(context.Context, *gb.Client) (*gb.Order, error), orders ...int,
) (exchange.Result, exchange.Order) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := s.ready(true); err != nil {
		return exchange.ResultOf(err), exchange.Order{}
	}
	got, r := call(&s.rest, ctx, k, p, weight, do, orders...)
	if r.Outcome != exchange.Accepted {
		return r, exchange.Order{}
	}
	return s.echoed(r, ref, got)
}

// Submit implements exchange.Connector: one request at most.
func (s *session) Submit(ctx context.Context, q exchange.OrderRequest) (exchange.Result, exchange.Order) {
	kind, ok := typeNames[q.Type]
	if !ok {
		err := exchange.NewError(exchange.NotSent, "the exchange has no order type "+q.Type.String())
		return exchange.ResultOf(err), exchange.Order{}
	}
	if q.PostOnly {
		kind = gb.OrderTypeLimitMaker
	}
	ref := exchange.OrderRef{ClientOrderID: q.ClientOrderID, Symbol: q.Symbol}
	send := func(ctx context.Context, c *gb.Client) (*gb.Order, error) {
		o := c.NewCreateOrderService().Symbol(venueName(q.Symbol)).Side(sideName(q.Side)).Type(
			kind).NewClientOrderID(q.ClientOrderID).
			NewOrderRespType(gb.NewOrderRespTypeRESULT)
		if q.Type.NeedsLimit() {
			o.Price(q.LimitPrice.String())
		}
		if q.Type.NeedsLimit() && !q.PostOnly { // a maker has none
			o.TimeInForce(gb.TimeInForceType(tifName(q.TimeInForce)))
		}
		if q.Type.NeedsStop() {
			o.StopPrice(q.StopPrice.String())
		}
		if q.QuoteAmount.IsPos() {
			o.QuoteOrderQty(q.QuoteAmount.String())
		} else {
			o.Quantity(q.Quantity.String())
		}
		got, err := o.Do(ctx, gb.WithRecvWindow(recvWindow))
		if err != nil {
			return nil, err
		}
		return &gb.Order{
			Symbol: got.Symbol, OrderID: got.OrderID, ClientOrderID: got.ClientOrderID, Price: got.Price,
			OrigQuantity: got.OrigQuantity, ExecutedQuantity: got.ExecutedQuantity,
			CummulativeQuoteQuantity: got.CummulativeQuoteQuantity, Status: got.Status, Type: got.Type,
			Side:      got.Side,
			StopPrice: q.StopPrice.String(), UpdateTime: got.TransactTime,
		}, nil
	}
	r, o := s.about(ctx, tradeDeadline, ref, submitting, submits, 1, send, 1)
	if q.PostOnly && r.Outcome == exchange.Rejected && strings.Contains(r.Message, wouldTakeText) {
		r.VenueCode = string(market.ReasonWouldTake)
	}
	return r, o
}

// wouldTakeText is in the refusal of a maker that would take, whose code is that of others too.
const wouldTakeText = "immediately match and take"

// echoed returns an accepted answer that is about the order that was meant; any other is Unknown.
func (s *session) echoed(r exchange.Result, ref exchange.OrderRef,
	got *gb.Order) (exchange.Result, exchange.Order) {
	o, err := s.order(got)
	if err == nil && (got.ClientOrderID != ref.ClientOrderID || got.Symbol != venueName(ref.Symbol)) {
		err = fmt.Errorf("the answer is about another order")
	}
	if err != nil {
		r.Outcome, r.Message = exchange.Unknown, exchange.Clip(err.Error())
		return r, exchange.Order{}
	}
	o.Symbol = ref.Symbol
	s.learn(venueName(ref.Symbol), got.OrderID, ref.ClientOrderID)
	return r, o
}

// SubmitPair implements exchange.Connector with an OCO list, which the library does not know
// under its present address.
func (s *session) SubmitPair(ctx context.Context,
	q exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	var none [2]exchange.Order
	ctx, cancel := context.WithTimeout(ctx, tradeDeadline)
	defer cancel()
	if err := s.ready(true); err != nil {
		return exchange.ResultOf(err), none
	}
	form := url.Values{
		"symbol": {venueName(q.Symbol)}, "side": {string(sideName(q.Side))},
		"quantity": {q.Quantity.String()}, "listClientOrderId": {q.ListID},
		"newOrderRespType": {"RESULT"}, "recvWindow": {strconv.Itoa(recvWindow)},
	}
	limit, stop := "above", "below"
	if q.Side == market.Buy {
		limit, stop = stop, limit
	}
	form.Set(limit+"Type", "LIMIT_MAKER")
	form.Set(limit+"Price", q.LimitPrice.String())
	form.Set(limit+"ClientOrderId", q.LimitID)
	form.Set(stop+"Type", "STOP_LOSS")
	form.Set(stop+"StopPrice", q.StopPrice.String())
	form.Set(stop+"ClientOrderId", q.StopID)
	reports, r := call(&s.rest, ctx, submitting, submits, 1,
		func(ctx context.Context, c *gb.Client) ([]*gb.Order, error) {
			return postPair(ctx, c, form)
		}, 2)
	if r.Outcome != exchange.Accepted {
		return r, none
	}
	var legs [2]exchange.Order
	for i, id := range []string{q.LimitID, q.StopID} {
		found := &gb.Order{}
		for _, o := range reports {
			if o.ClientOrderID == id {
				found = o
			}
		}
		echo, o := s.echoed(r, exchange.OrderRef{ClientOrderID: id, Symbol: q.Symbol}, found)
		if echo.Outcome != exchange.Accepted {
			return echo, none
		}
		legs[i] = o
	}
	return r, legs
}

// postPair signs the percent-encoded form and sends it.
func postPair(ctx context.Context, c *gb.Client, form url.Values) ([]*gb.Order, error) {
	form.Set("timestamp", strconv.FormatInt(time.Now().UnixMilli()-c.TimeOffset, 10))
	payload := form.Encode()
	signature, err := common.Hmac(c.SecretKey, payload)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BaseURL+"/api/v3/orderList/oco",
		strings.NewReader(payload+"&signature="+*signature))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("X-MBX-APIKEY", c.APIKey)
	resp, err := c.HTTPClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %d", resp.StatusCode)
	}
	var out struct {
		OrderReports []*gb.Order `json:"orderReports"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		return nil, err
	}
	if slices.Contains(out.OrderReports, nil) {
		return nil, errShape
	}
	return out.OrderReports, nil
}

// Cancel implements exchange.Connector.
func (s *session) Cancel(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	send := func(ctx context.Context, c *gb.Client) (*gb.Order, error) {
		got, err := c.NewCancelOrderService().Symbol(venueName(ref.Symbol)).OrigClientOrderID(
			ref.ClientOrderID).Do(ctx, gb.WithRecvWindow(recvWindow))
		if err == nil && got.OrderID == 0 {
			got, err = canceledLeg(ctx, ref.ClientOrderID)
		}
		if err != nil {
			return nil, err
		}
		return &gb.Order{
			Symbol: got.Symbol, OrderID: got.OrderID, ClientOrderID: got.OrigClientOrderID, Price: got.Price,
			OrigQuantity: got.OrigQuantity, ExecutedQuantity: got.ExecutedQuantity,
			CummulativeQuoteQuantity: got.CummulativeQuoteQuantity, Status: got.Status, Type: got.Type,
			Side:       got.Side,
			UpdateTime: got.TransactTime,
		}, nil
	}
	return s.about(ctx, tradeDeadline, ref, canceling, cancels, 1, send)
}

// canceledLeg returns the report about one leg: the cancel of a leg ends the pair, and the answer is about
// the list.
func canceledLeg(ctx context.Context, client string) (*gb.CancelOrderResponse, error) {
	var out struct {
		OrderReports []*gb.CancelOrderResponse `json:"orderReports"`
	}
	if e, _ := ctx.Value(evidenceKey{}).(*evidence); e == nil || json.Unmarshal(e.body, &out) != nil {
		return nil, errShape
	}
	for _, leg := range out.OrderReports {
		if leg != nil && leg.OrigClientOrderID == client {
			return leg, nil
		}
	}
	return nil, errShape
}

// Query implements exchange.Connector.
func (s *session) Query(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	send := func(ctx context.Context, c *gb.Client) (*gb.Order, error) {
		q := c.NewGetOrderService().Symbol(venueName(ref.Symbol)).OrigClientOrderID(ref.ClientOrderID)
		return q.Do(ctx, gb.WithRecvWindow(recvWindow))
	}
	return s.about(ctx, queryDeadline, ref, querying, queries, 4, send)
}

// The venue's words.
var (
	typeNames = map[market.OrderType]gb.OrderType{
		market.Market: gb.OrderTypeMarket, market.Limit: gb.OrderTypeLimit, market.Stop: gb.OrderTypeStopLoss,
		market.StopLimit: gb.OrderTypeStopLossLimit,
	}
	// Any other name stands for market.
	types = map[gb.OrderType]market.OrderType{
		gb.OrderTypeLimit: market.Limit, gb.OrderTypeLimitMaker: market.Limit,
		gb.OrderTypeStopLoss: market.Stop, gb.OrderTypeTakeProfit: market.Stop,
		gb.OrderTypeStopLossLimit: market.StopLimit, gb.OrderTypeTakeProfitLimit: market.StopLimit,
	}
	sides    = map[gb.SideType]market.Side{gb.SideTypeBuy: market.Buy, gb.SideTypeSell: market.Sell}
	statuses = map[gb.OrderStatusType]exchange.OrderStatus{
		"NEW": exchange.OrderOpen, "PENDING_NEW": exchange.OrderOpen, "PENDING_CANCEL": exchange.OrderOpen,
		"PARTIALLY_FILLED": exchange.OrderPartiallyFilled, "FILLED": exchange.OrderFilled,
		"CANCELED": exchange.OrderCanceled, "REJECTED": exchange.OrderRejected,
		"EXPIRED": exchange.OrderExpired, "EXPIRED_IN_MATCH": exchange.OrderExpired,
	}
)

func sideName(s market.Side) gb.SideType { return gb.SideType(strings.ToUpper(s.String())) }

func tifName(t market.TimeInForce) string {
	if t == market.IOC {
		return "IOC"
	}
	return "GTC"
}

// order reads the venue's order; a word or a number that is not known is an error.
func (s *session) order(g *gb.Order) (exchange.Order, error) {
	o := exchange.Order{
		ClientOrderID: g.ClientOrderID, VenueOrderID: strconv.FormatInt(g.OrderID, 10),
		Symbol: s.names[g.Symbol], UpdatedAt: market.Time(g.UpdateTime),
	}
	var known bool
	if o.Status, known = statuses[g.Status]; !known {
		return o, fmt.Errorf("an order has the status %q", g.Status)
	}
	if o.Side, known = sides[g.Side]; !known {
		return o, fmt.Errorf("an order has the side %q", g.Side)
	}
	o.Type = types[g.Type]
	r := numbers{}
	o.Quantity, o.CumQuantity = r.read("origQty", g.OrigQuantity), r.read("executedQty", g.ExecutedQuantity)
	o.LimitPrice, o.StopPrice = r.read("price", g.Price), r.read("stopPrice", g.StopPrice)
	spent := r.read("cummulativeQuoteQty", g.CummulativeQuoteQuantity)
	if r.err == nil && o.CumQuantity.IsPos() && spent.IsPos() {
		o.AveragePrice, r.err = spent.Quo(o.CumQuantity)
		o.AveragePrice = o.AveragePrice.Round(12).Trim(0)
	}
	return o, r.err
}

// numbers reads decimals and keeps the first error.
type numbers struct{ err error }

func (n *numbers) read(name, text string) decimal.Decimal {
	if text == "" {
		return decimal.Decimal{}
	}
	d, err := decimal.Parse(text)
	if err == nil && d.IsNeg() {
		err = fmt.Errorf("it is negative")
	}
	if err != nil {
		if n.err == nil {
			n.err = fmt.Errorf("%s is no amount: %w", name, err)
		}
		return decimal.Decimal{}
	}
	return d.Trim(0)
}

const pageLimit = 1000

// ownID is the form of the ids that this product gives to its orders.
var ownID = regexp.MustCompile(`^as[0-9a-v]{16}$`)

// orderKey is an order of the venue, whose numbers are those of a symbol, by the venue's name.
type orderKey struct {
	symbol string
	id     int64
}

// learn notes which order of the venue has which client order id.
func (s *session) learn(symbol string, order int64, client string) {
	if !ownID.MatchString(client) {
		client = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ours[orderKey{symbol, order}] = client
}

// What the list of open orders weighs, of one symbol and of all.
const (
	openOrdersOfOne = 6
	openOrdersOfAll = 80
)

// OpenOrders implements exchange.Connector: symbol by symbol, or all at once where that weighs less.
func (s *session) OpenOrders(ctx context.Context) ([]exchange.Order, error) {
	if err := s.ready(true); err != nil {
		return nil, err
	}
	var all []exchange.Order
	names, weight := s.symbols(), openOrdersOfOne
	if openOrdersOfOne*len(names) > openOrdersOfAll {
		names, weight = []string{""}, openOrdersOfAll
	}
	for _, name := range names {
		orders, r := list(&s.rest, ctx, queries, weight,
			func(ctx context.Context, c *gb.Client) ([]*gb.Order, error) {
				q := c.NewListOpenOrdersService()
				if name != "" {
					q.Symbol(name)
				}
				return q.Do(ctx, gb.WithRecvWindow(recvWindow))
			})
		if r.Outcome != exchange.Accepted {
			return nil, &exchange.Error{Result: r}
		}
		for _, g := range orders {
			if _, ours := s.names[g.Symbol]; !ours && name == "" {
				continue // of another symbol of the account
			}
			o, err := s.order(g)
			if err != nil {
				return nil, exchange.NewError(exchange.Unknown, err.Error())
			}
			s.learn(g.Symbol, g.OrderID, g.ClientOrderID)
			all = append(all, o)
		}
	}
	return all, nil
}

// Fills implements exchange.Connector: all pages, and for every order that is not known yet
// one question whose it is.
func (s *session) Fills(ctx context.Context, symbol market.Symbol,
	since market.Time) (exchange.Fills, error) {
	if err := s.ready(true); err != nil {
		return exchange.Fills{}, err
	}
	var out exchange.Fills
	for from := int64(-1); ; {
		page, r := list(&s.rest, ctx, queries, 20,
			func(ctx context.Context, c *gb.Client) ([]*gb.TradeV3, error) {
				q := c.NewListTradesService().Symbol(venueName(symbol)).Limit(pageLimit)
				switch {
				case from >= 0:
					q.FromID(from)
				case since > 0:
					q.StartTime(int64(since))
				default:
					q.FromID(0)
				}
				return q.Do(ctx, gb.WithRecvWindow(recvWindow))
			})
		if r.Outcome != exchange.Accepted {
			return exchange.Fills{}, &exchange.Error{Result: r}
		}
		for _, t := range page {
			f, err := s.fill(ctx, symbol, t)
			if err != nil {
				return exchange.Fills{}, err
			}
			if t.ID < from {
				return exchange.Fills{}, exchange.NewError(exchange.Unknown, "the trades do not ascend")
			}
			from = t.ID + 1
			out.Fills = append(out.Fills, f)
		}
		if len(page) < pageLimit {
			out.Complete = true
			return out, nil
		}
	}
}

func (s *session) fill(ctx context.Context, symbol market.Symbol, t *gb.TradeV3) (exchange.Fill, error) {
	client, err := s.whose(ctx, symbol, t.OrderID)
	if err != nil {
		return exchange.Fill{}, err
	}
	r := numbers{}
	f := exchange.Fill{
		TradeID: strconv.FormatInt(t.ID, 10), ClientOrderID: client,
		VenueOrderID: strconv.FormatInt(t.OrderID, 10), Symbol: symbol,
		Price: r.read("price", t.Price), Quantity: r.read("qty", t.Quantity),
		Fee: r.read("commission", t.Commission), FeeAsset: t.CommissionAsset,
		Time: market.Time(t.Time),
	}
	if !t.IsBuyer {
		f.Side = market.Sell
	}
	if t.IsMaker {
		f.Liquidity = market.Maker
	}
	if r.err != nil {
		return f, exchange.NewError(exchange.Unknown, r.err.Error())
	}
	return f, nil
}

// whose returns the client order id of an order, "" if it is certainly none of ours.
func (s *session) whose(ctx context.Context, symbol market.Symbol, order int64) (string, error) {
	s.mu.Lock()
	client, known := s.ours[orderKey{venueName(symbol), order}]
	s.mu.Unlock()
	if known {
		return client, nil
	}
	got, r := call(&s.rest, ctx, querying, queries, 4,
		func(ctx context.Context, c *gb.Client) (*gb.Order, error) {
			return c.NewGetOrderService().Symbol(venueName(symbol)).OrderID(order).Do(ctx,
				gb.WithRecvWindow(recvWindow))
		})
	if r.Outcome != exchange.Accepted || got.OrderID != order {
		r.Message = exchange.Clip(fmt.Sprintf("whose trade it is, of order %d, is not known: %s", order,
			r.Message))
		return "", &exchange.Error{Result: r}
	}
	s.learn(venueName(symbol), order, got.ClientOrderID)
	if !ownID.MatchString(got.ClientOrderID) {
		return "", nil
	}
	return got.ClientOrderID, nil
}

// account returns the account with what it holds.
func (s *session) account(ctx context.Context) (*gb.Account, exchange.Result) {
	return call(&s.rest, ctx, reading, queries, 20,
		func(ctx context.Context, c *gb.Client) (*gb.Account, error) {
			a, err := c.NewGetAccountService().OmitZeroBalances(true).Do(ctx, gb.WithRecvWindow(recvWindow))
			if err == nil && (a.UID == 0 || a.Balances == nil) {
				err = errShape
			}
			return a, err
		})
}

// Balances implements exchange.Connector.
func (s *session) Balances(ctx context.Context) ([]exchange.Balance, error) {
	if err := s.ready(true); err != nil {
		return nil, err
	}
	account, r := s.account(ctx)
	if r.Outcome != exchange.Accepted {
		return nil, &exchange.Error{Result: r}
	}
	var list []exchange.Balance
	n := numbers{}
	for _, b := range account.Balances {
		list = append(list,
			exchange.Balance{Asset: b.Asset, Free: n.read("free", b.Free),
				Locked: n.read("locked", b.Locked)})
	}
	if n.err != nil {
		return nil, exchange.NewError(exchange.Unknown, n.err.Error())
	}
	return list, nil
}
