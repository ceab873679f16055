// Package binance is the connector for Binance spot: go-binance for the models and the
// signing of REST, its own transport, queue and WebSocket loop, because what became of an
// order must be known more exactly than a library reports.
//
// An answer is a reject only where (HTTP status, code) is on the allow-list of outcome.go;
// everything else is Unknown. Nothing is ever sent twice. A request that found no
// connection was certainly not sent, which the transport knows from httptrace.
//
//	Trader, Account, Data -> session.call -> queue (priorities, weight) -> transport -> judge
//	StreamCandles, StreamAccount -> link (deadline, back-off, overlap)
package binance

import (
	"context"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	gb "github.com/adshao/go-binance/v2"
	"github.com/govalues/decimal"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// ID is the id of the exchange.
const ID = "binance"

const (
	version      = "1.0.0"
	recvWindow   = 5000
	spacing      = 50 * time.Millisecond
	banTime      = 2 * time.Minute // of a 418 that does not say how long
	throttleTime = 10 * time.Second
	clockSamples = 5
	clockEvery   = 10 * time.Minute
)

// Endpoints are the base URLs of one network: REST, streams, and the WebSocket API.
type Endpoints struct{ REST, Streams, API string }

// Production and Testnet are Binance's own.
func Production() Endpoints {
	return Endpoints{"https://api.binance.com", "wss://stream.binance.com:9443", "wss://ws-api.binance.com:443"}
}

// Testnet returns the spot test network.
func Testnet() Endpoints {
	return Endpoints{"https://testnet.binance.vision", "wss://stream.testnet.binance.vision", "wss://ws-api.testnet.binance.vision"}
}

// At are the endpoints of a venue that serves everything under one URL.
func At(base string) Endpoints {
	ws := "ws" + strings.TrimPrefix(strings.TrimRight(base, "/"), "http")
	return Endpoints{strings.TrimRight(base, "/"), ws, ws}
}

// session is one run's connection.
type session struct {
	networks [2]Endpoints // production, testnet
	tuning   tuning

	mu    sync.Mutex
	state int // fresh, opened, closed
	req   exchange.OpenRequest
	names map[string]market.Symbol // BTCUSDT -> BTC/USDT
	ours  map[orderKey]string      // client order id; "": certainly not ours
	maker decimal.Decimal
	taker decimal.Decimal
	rest  rest
	stop  context.CancelFunc
	wg    sync.WaitGroup
}

const (
	fresh = iota
	opened
	closed
)

// New returns the connector on Binance's networks, not opened yet.
func New() exchange.Connection { return NewAt(Production(), Testnet()) }

// NewAt returns the connector on other networks, for tests.
func NewAt(production, testnet Endpoints) exchange.Connection {
	s := &session{networks: [2]Endpoints{production, testnet}, tuning: defaults()}
	return exchange.Connection{Connector: s}
}

// Describe implements exchange.Connector.
func (*session) Describe(context.Context) (exchange.Description, error) {
	fee := decimal.MustNew(1, 3)
	d := exchange.Description{
		ID: ID, Name: "Binance", Aliases: []string{}, Version: version, Kind: "native", Sandbox: true,
		Modes: []string{"paper", "live"},
		OrderTypes: []string{"market", "market_quote", "limit", "stop", "stop_limit", "post_only",
			"exit_pair"},
		MakerFee: fee, TakerFee: fee,
		RequiresCredentials: true, RateLimitMS: int(spacing.Milliseconds()), DeadMan: "lease",
		ConfigSchema: exchange.ConfigSchema(nil),
	}
	for _, name := range []string{"1m", "3m", "5m", "15m", "30m", "1h", "2h", "4h", "6h", "8h", "12h", "1d"} {
		d.Timeframes = append(d.Timeframes, market.MustTimeframe(name))
	}
	return d, nil
}

// Open implements exchange.Connector: it takes the time, and with credentials the account.
func (s *session) Open(ctx context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	s.mu.Lock()
	if s.state != fresh {
		s.mu.Unlock()
		return exchange.Opened{}, exchange.NewError(exchange.Rejected,
			"the session has been opened already; a run needs a new one")
	}
	s.state = opened
	s.mu.Unlock()
	out, err := s.begin(ctx, req)
	if err != nil {
		s.end()
		s.mu.Lock()
		s.state = fresh
		s.mu.Unlock()
	}
	return out, err
}

// begin makes its few requests without spacing: with the widest one they would take minutes.
func (s *session) begin(ctx context.Context, req exchange.OpenRequest) (exchange.Opened, error) {
	s.rest.at = s.networks[0]
	if req.Config.Sandbox {
		s.rest.at = s.networks[1]
	}
	if req.Endpoint != "" {
		if err := checkEndpoint(req.Endpoint); err != nil {
			return exchange.Opened{}, exchange.NewError(exchange.Rejected, err.Error())
		}
		s.rest.at = At(req.Endpoint)
	}
	if !req.Trading {
		req.Config.APIKey, req.Config.Secret = exchange.Secret{}, exchange.Secret{}
	}
	if strings.Contains(req.Config.Secret.Reveal(), "-----BEGIN") {
		return exchange.Opened{}, exchange.NewError(exchange.AuthFailed,
			"the secret is a private key of Ed25519 or RSA: "+keysWanted)
	}
	s.req, s.rest.config, s.rest.http, s.rest.resync = req, req.Config, newTransport(), make(chan struct{}, 1)
	if s.rest.queue == nil { // another attempt keeps the silence that the last one was told of
		s.rest.queue = &queue{}
	}
	s.names, s.ours = map[string]market.Symbol{}, map[orderKey]string{}
	s.maker, s.taker = decimal.MustNew(1, 3), decimal.MustNew(1, 3)
	for _, symbol := range req.Symbols {
		s.names[venueName(symbol)] = symbol
	}
	if err := s.rest.takeTime(ctx); err != nil {
		return exchange.Opened{}, err
	}
	id, fees := req.RunID, ""
	if req.Trading {
		account, r := s.account(ctx)
		switch {
		case r.Outcome != exchange.Accepted:
			return exchange.Opened{}, &exchange.Error{Result: r}
		case !account.CanTrade:
			return exchange.Opened{}, exchange.NewError(exchange.AuthFailed,
				"the key may not trade: allow spot trading for it at the exchange")
		}
		id, fees = strconv.FormatInt(account.UID, 10), feeAsset(account)
		rates := account.CommissionRates
		s.maker, s.taker = rate(rates.Maker, s.maker), rate(rates.Taker, s.taker)
	}
	if err := s.rest.takeMarketTime(ctx, req.Endpoint); err != nil {
		return exchange.Opened{}, err
	}
	s.rest.queue.space(spaced(req.Config))
	background, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wg.Go(func() { s.rest.keepTime(background) })
	return exchange.Opened{AccountID: id, ClockOffset: s.rest.clockOffset(), Clock: s.rest.market,
		FeeAsset: fees}, nil
}

// rate reads a commission; one that cannot be read is the usual one.
func rate(text string, usual decimal.Decimal) decimal.Decimal {
	if d, err := decimal.Parse(text); err == nil {
		return d.Trim(0)
	}
	return usual
}

// feeAsset returns what the exchange may take fees in: who holds BNB gets a discount for it, unless that is
// turned off.
func feeAsset(a *gb.Account) string {
	for _, b := range a.Balances {
		if b.Asset == "BNB" {
			return b.Asset
		}
	}
	return ""
}

// spaced returns the least time between the requests of a session.
func spaced(c exchange.Config) time.Duration {
	switch {
	case c.Unspaced:
		return 0
	case c.RateLimitMS > 0:
		return time.Duration(c.RateLimitMS) * time.Millisecond
	}
	return spacing
}

// checkEndpoint allows plain HTTP on loopback only.
func checkEndpoint(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return errors.New("the endpoint is not a base URL")
	case u.Scheme == "https":
		return nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return errors.New("an endpoint needs https unless it is on loopback")
}

func venueName(s market.Symbol) string { return s.Base() + s.Quote() }

// end forgets the session's resources.
func (s *session) end() {
	if s.stop != nil {
		s.stop()
	}
	s.wg.Wait()
	if s.rest.queue != nil {
		s.rest.queue.close()
	}
	if s.rest.http.base != nil {
		s.rest.http.base.CloseIdleConnections()
	}
}

// Close implements exchange.Connector. The guard around a connector has cancelled the orders of the run.
func (s *session) Close(context.Context, bool) ([]string, error) {
	s.mu.Lock()
	was := s.state
	if was == opened {
		s.state = closed
	}
	s.mu.Unlock()
	if was == opened {
		s.end()
	}
	return nil, nil
}

// ready is why a call cannot be made now.
func (s *session) ready(keyed bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.state != opened:
		return exchange.NewError(exchange.NotSent, "the session is not open")
	case keyed && !s.req.Trading:
		return exchange.NewError(exchange.NotSent,
			"the session was opened for paper: it makes no request with credentials")
	}
	return nil
}

// symbols are the session's, by the venue's name.
func (s *session) symbols() []string { return slices.Sorted(maps.Keys(s.names)) }

// ArmDeadMan implements exchange.Connector: spot has none.
func (*session) ArmDeadMan(context.Context, time.Duration) error { return errors.ErrUnsupported }
