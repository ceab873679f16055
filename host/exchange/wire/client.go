package wire

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The deadlines of the calls.
const (
	shortLimit = 5 * time.Second  // Describe, Query, ArmDeadMan
	callLimit  = 10 * time.Second // everything else but
	openLimit  = 30 * time.Second // Open, Close, the first message of StreamAccount
	maxCandles = 1000             // of one page
)

// ClientOptions are what a client needs besides its connection.
type ClientOptions struct {
	// Broken is called once, when the connector has broken the protocol; it should kill the
	// process. Nil: no call.
	Broken func(error)
	// Redactor takes credentials out of what comes back. It learns them in Open. Nil: one of its own.
	Redactor *Redactor
}

// Client is the host's side of a connector: an [exchange.Connector] that
// may be used from any goroutine.
type Client struct {
	rpc    connectorpb.ConnectorClient
	broken func(error)
	redact *Redactor
	life   context.Context // of the lease's stream
	end    context.CancelFunc

	mu    sync.Mutex
	known map[market.Symbol]bool // of the session
	fault error                  // the protocol was broken
	lease *leaseStream
}

var _ exchange.Connector = (*Client)(nil)

// NewClient speaks to a connector over a connection, which stays the caller's.
func NewClient(cc grpc.ClientConnInterface, o ClientOptions) *Client {
	c := &Client{rpc: connectorpb.NewConnectorClient(cc), broken: o.Broken, redact: o.Redactor}
	if c.redact == nil {
		c.redact = &Redactor{}
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Release ends the lease's stream and waits for it. A connector whose session is open
// takes that for the loss of its host.
func (c *Client) Release() {
	c.end()
	c.mu.Lock()
	lease := c.lease
	c.mu.Unlock()
	if lease != nil {
		<-lease.done
	}
}

// Fault returns the *ProtocolError that made the connector useless; nil as long as there is none.
func (c *Client) Fault() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.fault
}

// reader checks a message against the symbols of the session, and the one that was asked about.
func (c *Client) reader(asked market.Symbol) *reader {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &reader{known: c.known, asked: asked}
	errors.As(c.fault, &r.fault) // after one lie nothing is believed
	return r
}

// judged keeps the first fault of a message and reports it.
func (c *Client) judged(err error) error {
	if err == nil {
		return nil
	}
	var fault *ProtocolError
	if !errors.As(err, &fault) {
		return err
	}
	fault = &ProtocolError{Field: fault.Field, Message: c.redact.Text(fault.Message)}
	c.mu.Lock()
	first := c.fault == nil
	if first {
		c.fault = fault
	}
	c.mu.Unlock()
	if first && c.broken != nil {
		c.broken(fault)
	}
	return fault
}

// unknown returns the error of a call whose outcome is not known.
func unknown(message string) error { return exchange.NewError(exchange.Unknown, message) }

// transport returns an error of gRPC as the contract has it.
func (c *Client) transport(err error) error {
	s, _ := status.FromError(err)
	switch s.Code() {
	case codes.DeadlineExceeded:
		return unknown("the connector did not answer in time")
	case codes.Canceled:
		return unknown("the call was given up")
	case codes.Unavailable:
		return unknown("the connector is gone")
	}
	return unknown(c.redact.Text("the connector failed: " + s.Message()))
}

// verdict returns the error of a read whose reply has arrived.
func (c *Client) verdict(r *reader, p *connectorpb.Result) error {
	result := r.result(p)
	if err := c.judged(r.err()); err != nil {
		return err
	}
	if result.Outcome != exchange.Accepted {
		return &exchange.Error{Result: c.redact.Result(result)}
	}
	return nil
}

// reply is one to a call.
type reply interface{ GetResult() *connectorpb.Result }

// ask makes a call about a symbol, or about none, within a limit and reads its reply. After an
// error the answer is zero.
func ask[Q any, P reply, T any](
	ctx context.Context, c *Client, limit time.Duration, about market.Symbol,
	call func(context.Context, Q, ...grpc.CallOption) (P, error), question Q, read func(*reader, P) T,
) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, err := call(ctx, question)
	if err != nil {
		return answer, c.transport(err)
	}
	r := c.reader(about)
	got := read(r, p)
	if err := c.verdict(r, p.GetResult()); err != nil {
		return answer, err
	}
	return got, nil
}

// Describe implements exchange.Connector.
func (c *Client) Describe(ctx context.Context) (exchange.Description, error) {
	ctx, cancel := context.WithTimeout(ctx, shortLimit)
	defer cancel()
	p, err := c.rpc.Describe(ctx, &connectorpb.DescribeRequest{})
	if err != nil {
		return exchange.Description{}, c.transport(err)
	}
	d, err := readDescription(p)
	return d, c.judged(err)
}

// Open implements exchange.Connector.
func (c *Client) Open(ctx context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	c.redact.Add(req.Config.APIKey, req.Config.Secret, req.Config.Password)
	known := map[market.Symbol]bool{}
	for _, s := range req.Symbols {
		known[s] = true
	}
	out, err := ask(ctx, c, openLimit, "", c.rpc.Open, message[connectorpb.OpenRequest](req),
		func(r *reader, p *connectorpb.OpenReply) exchange.Opened { return readOpened(r, p, req.Endpoint) })
	if err != nil {
		return out, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = known
	}
	return out, nil
}

// Markets implements exchange.Connector.
func (c *Client) Markets(ctx context.Context) ([]exchange.Market, error) {
	return ask(ctx, c, callLimit, "", c.rpc.Markets, &connectorpb.MarketsRequest{},
		func(r *reader, p *connectorpb.MarketsReply) []exchange.Market {
			return nouns[exchange.Market](r, "markets", p.GetMarkets())
		})
}

// Close implements exchange.Connector. The lease ends with the session.
func (c *Client) Close(ctx context.Context, cancelOpen bool) (left []string, err error) {
	_, err = ask(ctx, c, openLimit, "", c.rpc.Close, &connectorpb.CloseRequest{CancelOpen: cancelOpen},
		func(r *reader, p *connectorpb.CloseReply) bool {
			for i, id := range p.GetUnconfirmed() {
				left = append(left, r.text(at("unconfirmed", i), id, "name"))
			}
			return true
		})
	if err == nil {
		c.Release()
	}
	return left, err
}

// Candles implements exchange.Connector.
func (c *Client) Candles(ctx context.Context, q exchange.CandleQuery) ([]market.Candle, error) {
	q.Limit = min(q.Limit, maxCandles)
	return ask(ctx, c, callLimit, "", c.rpc.Candles, message[connectorpb.CandlesRequest](q),
		func(r *reader, p *connectorpb.CandlesReply) []market.Candle {
			if n := len(p.GetCandles()); n > maxCandles {
				r.wrong("candles", "%d candles, at most %d are allowed", n, maxCandles)
			}
			return nouns[market.Candle](r, "candles", p.GetCandles())
		})
}

// send makes a call about orders within a limit and reads its reply. Without one that can be understood the
// outcome is Unknown.
func send[Q any, P reply, T any](
	ctx context.Context, c *Client, limit time.Duration, about market.Symbol,
	call func(context.Context, Q, ...grpc.CallOption) (P, error), question Q,
	read func(*reader, exchange.Result, P) T,
) (result exchange.Result, orders T) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, err := call(ctx, question)
	if err != nil {
		return exchange.ResultOf(c.transport(err)), orders
	}
	r := c.reader(about)
	result = r.result(p.GetResult())
	got := read(r, result, p)
	if err := c.judged(r.err()); err != nil {
		return exchange.Result{Outcome: exchange.Unknown, Message: exchange.Clip(err.Error())}, orders
	}
	return c.redact.Result(result), got
}

// order reads the reply to a call about one order.
func (c *Client) order(
	ref exchange.OrderRef,
) func(*reader, exchange.Result, *connectorpb.OrderReply) exchange.Order {
	return func(r *reader, result exchange.Result, p *connectorpb.OrderReply) exchange.Order {
		return c.echoed(r, "order", ref, result, p.GetOrder())
	}
}

// echoed reads an order that must be the one asked for. Accepted needs one.
func (c *Client) echoed(r *reader, field string, ref exchange.OrderRef, result exchange.Result,
	p *connectorpb.Order) (o exchange.Order) {
	if p == nil {
		if result.Outcome == exchange.Accepted {
			r.wrong(field, "is missing in an ACCEPTED reply")
		}
		return o
	}
	r.within(field, func() {
		o = noun[exchange.Order](r, p)
		if o.ClientOrderID != ref.ClientOrderID {
			r.wrong("client_order_id", "%.40q is not the order that was asked for", o.ClientOrderID)
		}
		if o.Symbol != ref.Symbol {
			r.wrong("symbol", "%.40q is not the symbol that was asked for", o.Symbol)
		}
	})
	o.Reason = c.redact.Text(o.Reason)
	return o
}

// Submit implements exchange.Connector.
func (c *Client) Submit(ctx context.Context, req exchange.OrderRequest) (exchange.Result, exchange.Order) {
	ref := exchange.OrderRef{ClientOrderID: req.ClientOrderID, Symbol: req.Symbol}
	q := message[connectorpb.SubmitRequest](req)
	return send(ctx, c, callLimit, req.Symbol, c.rpc.Submit, q, c.order(ref))
}

// SubmitPair implements exchange.Connector.
func (c *Client) SubmitPair(ctx context.Context,
	req exchange.PairRequest) (exchange.Result, [2]exchange.Order) {
	return send(ctx, c, callLimit, "", c.rpc.SubmitPair, message[connectorpb.SubmitPairRequest](req),
		func(r *reader, result exchange.Result, p *connectorpb.PairReply) [2]exchange.Order {
			limit := exchange.OrderRef{ClientOrderID: req.LimitID, Symbol: req.Symbol}
			stop := exchange.OrderRef{ClientOrderID: req.StopID, Symbol: req.Symbol}
			return [2]exchange.Order{
				c.echoed(r, "limit", limit, result, p.GetLimit()),
				c.echoed(r, "stop", stop, result, p.GetStop()),
			}
		})
}

// Cancel implements exchange.Connector.
func (c *Client) Cancel(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	return send(ctx, c, callLimit, ref.Symbol, c.rpc.Cancel, message[connectorpb.OrderRef](ref), c.order(ref))
}

// Query implements exchange.Connector.
func (c *Client) Query(ctx context.Context, ref exchange.OrderRef) (exchange.Result, exchange.Order) {
	return send(ctx, c, shortLimit, ref.Symbol, c.rpc.Query, message[connectorpb.OrderRef](ref), c.order(ref))
}

// OpenOrders implements exchange.Connector.
func (c *Client) OpenOrders(ctx context.Context) ([]exchange.Order, error) {
	return ask(ctx, c, callLimit, "", c.rpc.OpenOrders, &connectorpb.OpenOrdersRequest{},
		func(r *reader, p *connectorpb.OpenOrdersReply) []exchange.Order {
			return nouns[exchange.Order](r, "orders", p.GetOrders())
		})
}

// Fills implements exchange.Connector.
func (c *Client) Fills(ctx context.Context, symbol market.Symbol, since market.Time) (exchange.Fills, error) {
	q := &connectorpb.FillsRequest{Symbol: string(symbol), Since: int64(since)}
	return ask(ctx, c, callLimit, symbol, c.rpc.Fills, q,
		func(r *reader, p *connectorpb.FillsReply) exchange.Fills {
			list := nouns[exchange.Fill](r, "fills", p.GetFills())
			for i, f := range list {
				if f.Symbol != symbol {
					r.wrong(at("fills", i)+".symbol", "%.40q is not the symbol that was asked for", f.Symbol)
				}
			}
			return exchange.Fills{Fills: list, Complete: p.GetComplete()}
		})
}

// Balances implements exchange.Connector.
func (c *Client) Balances(ctx context.Context) ([]exchange.Balance, error) {
	return ask(ctx, c, callLimit, "", c.rpc.Balances, &connectorpb.BalancesRequest{},
		func(r *reader, p *connectorpb.BalancesReply) []exchange.Balance {
			return nouns[exchange.Balance](r, "balances", p.GetBalances())
		})
}

// ArmDeadMan implements exchange.Connector.
func (c *Client) ArmDeadMan(ctx context.Context, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, shortLimit)
	defer cancel()
	p, err := c.rpc.ArmDeadMan(ctx, &connectorpb.ArmDeadManRequest{TtlMs: ttl.Milliseconds()})
	if status.Code(err) == codes.Unimplemented {
		return errors.ErrUnsupported
	}
	if err != nil {
		return c.transport(err)
	}
	return c.verdict(c.reader(""), p.GetResult())
}
