package binance

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	gb "github.com/adshao/go-binance/v2"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

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
		orders, r := list(s, ctx, queries, weight, func(ctx context.Context, c *gb.Client) ([]*gb.Order, error) {
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
		page, r := list(s, ctx, queries, 20, func(ctx context.Context, c *gb.Client) ([]*gb.TradeV3, error) {
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
	got, r := call(s, ctx, querying, queries, 4, func(ctx context.Context, c *gb.Client) (*gb.Order, error) {
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
	return call(s, ctx, reading, queries, 20, func(ctx context.Context, c *gb.Client) (*gb.Account, error) {
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
