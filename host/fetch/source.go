package fetch

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/wire/launch"
	"github.com/assay-run/assay/host/proc/sandbox"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Origin names where candles come from.
type Origin struct {
	// Connector is the id of the connector, SHA256 the hash of its program.
	Connector string `json:"id"`
	Version   string `json:"version"`
	SHA256    string `json:"sha256"`
	// Endpoint is the host that the connector was sent to; empty: its own.
	Endpoint string `json:"endpoint"`
}

// Options say which connector to start, and where.
type Options struct {
	// Dir is the connectors folder, StateDir the folder of everything that is stored.
	Dir, StateDir string
	// Connector is its id, or an alias.
	Connector string
	// Endpoint replaces the connector's base URL; empty: its own.
	Endpoint string
	// Listed refuses a connector that may not trade real money either.
	Listed    bool
	Symbol    market.Symbol
	Timeframe market.Timeframe
	Sandbox   sandbox.Mode
	Logger    hclog.Logger
}

// UnsupportedError reports a timeframe that the exchange does not have.
type UnsupportedError struct {
	Timeframe market.Timeframe
	Have      []market.Timeframe
}

// Error lists those that it has.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("the exchange has no candles of %s; there are %v", e.Timeframe, e.Have)
}

// UnlistedError reports a connector that is not in the compiled list of those that passed every
// conformance card.
type UnlistedError struct{ ID, Version string }

// Error names it.
func (e *UnlistedError) Error() string {
	return fmt.Sprintf("the connector %s %s is not in the list of connectors that passed every card", e.ID,
		e.Version)
}

// Source is a connector with a session that trades nothing and has no credentials.
type Source struct {
	Origin
	manager    *launch.Manager
	connection *exchange.Connection
	end        context.CancelFunc
	beat       sync.WaitGroup
}

// Open starts a connector. Close ends it. Errors: those of launch, *UnlistedError, *UnsupportedError,
// *exchange.Error.
func Open(ctx context.Context, o Options) (_ *Source, err error) {
	m, err := launch.Open(ctx, launch.Options{Dir: o.Dir, StateDir: o.StateDir, Sandbox: o.Sandbox,
		Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	s := &Source{manager: m, end: func() {}}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	c, err := m.Lookup(o.Connector)
	if err != nil {
		return nil, err
	}
	if o.Listed && !exchange.Certified(c.Description) {
		return nil, &UnlistedError{c.ID, c.Description.Version}
	}
	if !slices.Contains(c.Description.Timeframes, o.Timeframe) {
		return nil, &UnsupportedError{o.Timeframe, c.Description.Timeframes}
	}
	s.Origin = Origin{Connector: c.ID, Version: c.Description.Version, SHA256: c.SHA256}
	if o.Endpoint != "" {
		u, err := url.Parse(o.Endpoint)
		if err != nil || u.Host == "" {
			return nil, fmt.Errorf("the endpoint %q is not an address like http://127.0.0.1:8080", o.Endpoint)
		}
		s.Endpoint = u.Host
	}
	p, err := m.Launch(ctx, c.ID, launch.LaunchOptions{})
	if err != nil {
		return nil, err
	}
	s.connection = p.Connection()
	err = s.connection.While(ctx, func(ctx context.Context) error {
		_, err := s.connection.Open(ctx, exchange.OpenRequest{RunID: "fetch", RunTag: "fetch0",
			Symbols: []market.Symbol{o.Symbol}, Timeframe: o.Timeframe, LeaseTTL: 10 * time.Second,
			Endpoint: o.Endpoint})
		return err
	})
	if err != nil {
		return nil, cmp.Or(p.Err(), err)
	}
	background, end := context.WithCancel(context.WithoutCancel(ctx))
	s.end = end
	s.beat.Go(func() { s.connection.KeepLease(background, func(exchange.Ack, time.Time) {}) })
	return s, nil
}

// Close ends the session and the connector.
func (s *Source) Close() {
	s.end()
	s.beat.Wait()
	if s.connection != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		_, _ = s.connection.Close(ctx, false) // nothing is open there
		cancel()
		s.connection.Release()
	}
	s.manager.Close()
}
