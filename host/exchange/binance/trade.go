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

func unsent(message string) exchange.Result {
	return exchange.Result{Outcome: exchange.NotSent, Message: message}
}

// Submit implements exchange.Connector: one request at most.
func (s *session) Submit(ctx context.Context, q exchange.OrderRequest) (exchange.Result, exchange.Order) {
	ctx, cancel := context.WithTimeout(ctx, tradeDeadline)
	defer cancel()
	if why := s.ready(true); why != "" {
		return unsent(why), exchange.Order{}
	}
	kind, ok := typeName(q.Type)
	if !ok {
		return unsent("the exchange has no order type " + q.Type.String()), exchange.Order{}
	}
	got, r := call(&s.rest, ctx, submitting, submits, 1, func(ctx context.Context, c *gb.Client) (*gb.CreateOrderResponse, error) {
		o := c.NewCreateOrderService().Symbol(venueName(q.Symbol)).Side(sideName(q.Side)).Type(kind).NewClientOrderID(q.ClientOrderID).
			NewOrderRespType(gb.NewOrderRespTypeRESULT)
		if q.Type.NeedsLimit() {
			o.TimeInForce(gb.TimeInForceType(tifName(q.TimeInForce))).Price(q.LimitPrice.String())
		}
		if q.Type.NeedsStop() {
			o.StopPrice(q.StopPrice.String())
		}
		if q.QuoteAmount.IsPos() {
			o.QuoteOrderQty(q.QuoteAmount.String())
		} else {
			o.Quantity(q.Quantity.String())
		}
		return o.Do(ctx, gb.WithRecvWindow(recvWindow))
	}, 1)
	if r.Outcome != exchange.Accepted {
		return r, exchange.Order{}
	}
	return s.echoed(r, exchange.OrderRef{ClientOrderID: q.ClientOrderID, Symbol: q.Symbol}, &gb.Order{
		Symbol: got.Symbol, OrderID: got.OrderID, ClientOrderID: got.ClientOrderID, Price: got.Price, OrigQuantity: got.OrigQuantity,
		ExecutedQuantity: got.ExecutedQuantity, CummulativeQuoteQuantity: got.CummulativeQuoteQuantity, Status: got.Status, Type: got.Type,
		Side: got.Side, StopPrice: q.StopPrice.String(), UpdateTime: got.TransactTime,
	})
}

// echoed is an accepted answer that is about the order that was meant; any other is Unknown.
func (s *session) echoed(r exchange.Result, ref exchange.OrderRef, got *gb.Order) (exchange.Result, exchange.Order) {
	o, err := s.order(got)
	if err == nil && (got.ClientOrderID != ref.ClientOrderID || got.Symbol != venueName(ref.Symbol)) {
		err = fmt.Errorf("the answer is about another order")
	}
	if err != nil {
		r.Outcome, r.Message = exchange.Unknown, clip(err.Error())
		return r, exchange.Order{}
	}
	o.Symbol = ref.Symbol
	s.learn(venueName(ref.Symbol), got.OrderID, ref.ClientOrderID)
	return r, o
}

// SubmitPair implements exchange.Connector with an OCO list, which the library does not know
// under its present address.
func (s *session) SubmitPair(ctx context.Context, q exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	var none [2]exchange.Order
	ctx, cancel := context.WithTimeout(ctx, tradeDeadline)
	defer cancel()
	if why := s.ready(true); why != "" {
		return unsent(why), none
	}
	form := url.Values{
		"symbol": {venueName(q.Symbol)}, "side": {string(sideName(q.Side))}, "quantity": {q.Quantity.String()}, "listClientOrderId": {q.ListID},
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
	reports, r := call(&s.rest, ctx, submitting, submits, 1, func(ctx context.Context, c *gb.Client) ([]*gb.Order, error) {
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
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.BaseURL+"/api/v3/orderList/oco", strings.NewReader(payload+"&signature="+*signature))
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
	ctx, cancel := context.WithTimeout(ctx, tradeDeadline)
	defer cancel()
	if why := s.ready(true); why != "" {
		return unsent(why), exchange.Order{}
	}
	got, r := call(&s.rest, ctx, canceling, cancels, 1, func(ctx context.Context, c *gb.Client) (*gb.CancelOrderResponse, error) {
		got, err := c.NewCancelOrderService().Symbol(venueName(ref.Symbol)).OrigClientOrderID(ref.ClientOrderID).Do(ctx, gb.WithRecvWindow(recvWindow))
		if err == nil && got.OrderID == 0 {
			got, err = canceledLeg(ctx, ref.ClientOrderID)
		}
		return got, err
	})
	if r.Outcome != exchange.Accepted {
		return r, exchange.Order{}
	}
	return s.echoed(r, ref, &gb.Order{
		Symbol: got.Symbol, OrderID: got.OrderID, ClientOrderID: got.OrigClientOrderID, Price: got.Price, OrigQuantity: got.OrigQuantity,
		ExecutedQuantity: got.ExecutedQuantity, CummulativeQuoteQuantity: got.CummulativeQuoteQuantity, Status: got.Status, Type: got.Type,
		Side: got.Side, UpdateTime: got.TransactTime,
	})
}

// canceledLeg is the report about one leg: the cancel of a leg ends the pair, and the answer is about the list.
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
	ctx, cancel := context.WithTimeout(ctx, queryDeadline)
	defer cancel()
	if why := s.ready(true); why != "" {
		return unsent(why), exchange.Order{}
	}
	got, r := call(&s.rest, ctx, querying, queries, 4, func(ctx context.Context, c *gb.Client) (*gb.Order, error) {
		return c.NewGetOrderService().Symbol(venueName(ref.Symbol)).OrigClientOrderID(ref.ClientOrderID).Do(ctx, gb.WithRecvWindow(recvWindow))
	})
	if r.Outcome != exchange.Accepted {
		return r, exchange.Order{}
	}
	return s.echoed(r, ref, got)
}

// The venue's words.

func typeName(t market.OrderType) (gb.OrderType, bool) {
	switch t {
	case market.Market:
		return gb.OrderTypeMarket, true
	case market.Limit:
		return gb.OrderTypeLimit, true
	case market.Stop:
		return gb.OrderTypeStopLoss, true
	case market.StopLimit:
		return gb.OrderTypeStopLossLimit, true
	}
	return "", false
}

func sideName(s market.Side) gb.SideType {
	if s == market.Sell {
		return gb.SideTypeSell
	}
	return gb.SideTypeBuy
}

func tifName(t market.TimeInForce) string {
	if t == market.IOC {
		return "IOC"
	}
	return "GTC"
}

// order reads the venue's order; a word or a number that is not known is an error.
func (s *session) order(g *gb.Order) (exchange.Order, error) {
	o := exchange.Order{
		ClientOrderID: g.ClientOrderID, VenueOrderID: strconv.FormatInt(g.OrderID, 10), Symbol: s.names[g.Symbol], UpdatedAt: market.Time(g.UpdateTime),
	}
	var known bool
	if o.Status, known = status(string(g.Status)); !known {
		return o, fmt.Errorf("an order has the status %q", g.Status)
	}
	switch g.Side {
	case gb.SideTypeBuy:
	case gb.SideTypeSell:
		o.Side = market.Sell
	default:
		return o, fmt.Errorf("an order has the side %q", g.Side)
	}
	o.Type = orderType(string(g.Type))
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

func orderType(name string) market.OrderType {
	switch name {
	case "LIMIT", "LIMIT_MAKER":
		return market.Limit
	case "STOP_LOSS", "TAKE_PROFIT":
		return market.Stop
	case "STOP_LOSS_LIMIT", "TAKE_PROFIT_LIMIT":
		return market.StopLimit
	}
	return market.Market
}

func status(name string) (exchange.OrderStatus, bool) {
	switch name {
	case "NEW", "PENDING_NEW", "PENDING_CANCEL":
		return exchange.OrderOpen, true
	case "PARTIALLY_FILLED":
		return exchange.OrderPartiallyFilled, true
	case "FILLED":
		return exchange.OrderFilled, true
	case "CANCELED":
		return exchange.OrderCanceled, true
	case "REJECTED":
		return exchange.OrderRejected, true
	case "EXPIRED", "EXPIRED_IN_MATCH":
		return exchange.OrderExpired, true
	}
	return "", false
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
	if why := s.ready(true); why != "" {
		return nil, failed(exchange.NotSent, why)
	}
	var all []exchange.Order
	names, weight := s.symbols(), openOrdersOfOne
	if openOrdersOfOne*len(names) > openOrdersOfAll {
		names, weight = []string{""}, openOrdersOfAll
	}
	for _, name := range names {
		orders, r := list(&s.rest, ctx, queries, weight, func(ctx context.Context, c *gb.Client) ([]*gb.Order, error) {
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
				return nil, failed(exchange.Unknown, err.Error())
			}
			s.learn(g.Symbol, g.OrderID, g.ClientOrderID)
			all = append(all, o)
		}
	}
	return all, nil
}

// Fills implements exchange.Connector: all pages, and for every order that is not known yet
// one question whose it is.
func (s *session) Fills(ctx context.Context, symbol market.Symbol, since market.Time) (exchange.Fills, error) {
	if why := s.ready(true); why != "" {
		return exchange.Fills{}, failed(exchange.NotSent, why)
	}
	var out exchange.Fills
	for from := int64(-1); ; {
		page, r := list(&s.rest, ctx, queries, 20, func(ctx context.Context, c *gb.Client) ([]*gb.TradeV3, error) {
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
				return exchange.Fills{}, failed(exchange.Unknown, "the trades do not ascend")
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
		TradeID: strconv.FormatInt(t.ID, 10), ClientOrderID: client, VenueOrderID: strconv.FormatInt(t.OrderID, 10), Symbol: symbol,
		Price: r.read("price", t.Price), Quantity: r.read("qty", t.Quantity), Fee: r.read("commission", t.Commission), FeeAsset: t.CommissionAsset,
		Time: market.Time(t.Time),
	}
	if !t.IsBuyer {
		f.Side = market.Sell
	}
	if t.IsMaker {
		f.Liquidity = market.Maker
	}
	if r.err != nil {
		return f, failed(exchange.Unknown, r.err.Error())
	}
	return f, nil
}

// whose is the client order id of an order, "" if it is certainly none of ours.
func (s *session) whose(ctx context.Context, symbol market.Symbol, order int64) (string, error) {
	s.mu.Lock()
	client, known := s.ours[orderKey{venueName(symbol), order}]
	s.mu.Unlock()
	if known {
		return client, nil
	}
	got, r := call(&s.rest, ctx, querying, queries, 4, func(ctx context.Context, c *gb.Client) (*gb.Order, error) {
		return c.NewGetOrderService().Symbol(venueName(symbol)).OrderID(order).Do(ctx, gb.WithRecvWindow(recvWindow))
	})
	if r.Outcome != exchange.Accepted || got.OrderID != order {
		r.Message = clip(fmt.Sprintf("whose trade it is, of order %d, is not known: %s", order, r.Message))
		return "", &exchange.Error{Result: r}
	}
	s.learn(venueName(symbol), order, got.ClientOrderID)
	if !ownID.MatchString(got.ClientOrderID) {
		return "", nil
	}
	return got.ClientOrderID, nil
}

// account is the account with what it holds.
func (s *session) account(ctx context.Context) (*gb.Account, exchange.Result) {
	return call(&s.rest, ctx, reading, queries, 20, func(ctx context.Context, c *gb.Client) (*gb.Account, error) {
		a, err := c.NewGetAccountService().OmitZeroBalances(true).Do(ctx, gb.WithRecvWindow(recvWindow))
		if err == nil && (a.UID == 0 || a.Balances == nil) {
			err = errShape
		}
		return a, err
	})
}

// Balances implements exchange.Connector.
func (s *session) Balances(ctx context.Context) ([]exchange.Balance, error) {
	if why := s.ready(true); why != "" {
		return nil, failed(exchange.NotSent, why)
	}
	account, r := s.account(ctx)
	if r.Outcome != exchange.Accepted {
		return nil, &exchange.Error{Result: r}
	}
	var list []exchange.Balance
	n := numbers{}
	for _, b := range account.Balances {
		list = append(list, exchange.Balance{Asset: b.Asset, Free: n.read("free", b.Free), Locked: n.read("locked", b.Locked)})
	}
	if n.err != nil {
		return nil, failed(exchange.Unknown, n.err.Error())
	}
	return list, nil
}
