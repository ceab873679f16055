package trade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/assay-run/assay/host/candle"
	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/sim"
	"github.com/assay-run/assay/host/proc"
	"github.com/assay-run/assay/host/run"
	"github.com/assay-run/assay/host/runner"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// The codes of runs that an exchange refuses, besides those of package run.
const (
	CodeExchangeUnavailable = "EXCHANGE_UNAVAILABLE"
	CodeCredentialsRequired = "CREDENTIALS_REQUIRED"
	// CodeAuthFailed: the exchange did not accept the keys.
	CodeAuthFailed = "EXCHANGE_AUTH_FAILED"
)

// Connector is an executable connector that was found at the start.
type Connector struct {
	Description exchange.Description
	// Fault is why it cannot be used; nil when it can.
	Fault *proc.Fault
	// Certified connectors may trade real money.
	Certified bool
	// Endpoint replaces the exchange's base URL. On loopback no real money is traded there.
	Endpoint         string
	LoopbackEndpoint bool
	// Connect makes the connection of one run, which may leave files in the folder.
	Connect func(ctx context.Context, folder string) (*exchange.Connection, error)
}

// missing reports whether nothing is known of the connector but that it should be there.
func (c Connector) missing() bool { return c.Fault != nil && c.Connect == nil }

// Exchanges are all exchanges of a service: those of the candle store, the simulated
// market, and the connectors.
type Exchanges struct {
	Store      *candle.Store
	Connectors []Connector
}

// Entry is one exchange of GET /exchanges.
type Entry struct {
	exchange.Description
	Default, Certified bool
	Fault              *proc.Fault
	// DateRange has the stored candles, by symbol and timeframe.
	DateRange map[market.Symbol]map[string]candle.Range
	connect   func(context.Context) (*exchange.Connection, error)
	connectIn func(ctx context.Context, folder string) (*exchange.Connection, error) // of a connector
	// offers reports whether stored candles of a symbol are there in a timeframe or can be put together to
	// it.
	offers func(context.Context, market.Symbol, market.Timeframe) error
	// replays refuses settings of the simulated market that replay candles which are not there.
	replays  func(context.Context, exchange.Config, *run.Plan) error
	endpoint string
	loopback bool // of the endpoint
}

// List returns every exchange: stored ones by id, then sim, then connectors by id. A connector whose id
// the store holds candles under is one entry, which can do both.
func (e *Exchanges) List(ctx context.Context) ([]Entry, error) {
	stored, err := e.Store.Exchanges(ctx)
	if err != nil {
		return nil, err
	}
	connectors := slices.DeleteFunc(slices.Clone(e.Connectors), func(c Connector) bool {
		// One that is not there hides nothing that is.
		return c.missing() &&
			(c.Description.ID == sim.ID ||
				slices.ContainsFunc(stored, func(s candle.Exchange) bool { return s.ID == c.Description.ID }))
	})
	var list []Entry
	taken := map[string]candle.Exchange{}
	for _, s := range stored {
		if s.ID == sim.ID || slices.ContainsFunc(connectors, func(c Connector) bool {
			return c.Description.ID == s.ID
		}) {
			taken[s.ID] = s
			continue
		}
		list = append(list, Stored(e.Store, s))
	}
	own := Entry{Description: sim.Describe(), Certified: true, replays: e.replays,
		connect: func(context.Context) (*exchange.Connection, error) {
			c := sim.New(e.Store)
			return &c, nil
		}}
	list = append(list, own)
	for _, c := range connectors {
		list = append(list,
			Entry{Description: c.Description, Certified: c.Certified, Fault: c.Fault, connectIn: c.Connect,
				endpoint: c.Endpoint, loopback: c.LoopbackEndpoint})
	}
	for i := range list {
		if s, ok := taken[list[i].ID]; ok {
			list[i].Modes = append([]string{runner.ModeBacktest}, list[i].Modes...)
			list[i].DateRange = s.DateRange
		}
	}
	return list, nil
}

// Stored returns the entry of a stored exchange, whose paper runs replay the store.
func Stored(store *candle.Store, s candle.Exchange) Entry {
	d := sim.DescribeStore(s)
	d.Sandbox = false
	d.Name = "Imported candles of " + s.ID
	if s.ID == run.DefaultExchange {
		d.Name = "Bundled sample candles"
	}
	d.Modes = append([]string{runner.ModeBacktest}, d.Modes...)
	return Entry{Description: d, Default: s.ID == run.DefaultExchange, Certified: true,
		DateRange: s.DateRange,
		offers: func(ctx context.Context, symbol market.Symbol, tf market.Timeframe) error {
			return store.Offers(ctx, s.ID, symbol, tf)
		},
		connect: func(context.Context) (*exchange.Connection, error) {
			c := sim.NewStore(store, s)
			return &c, nil
		}}
}

// Choose implements Venues: the exchange that was named, or, for paper, the first by id that
// offers everything, the default one before the others.
func (e *Exchanges) Choose(ctx context.Context, req runner.StartRequest, p *run.Plan) (Venue, error) {
	all, err := e.List(ctx)
	if err != nil {
		return Venue{}, err
	}
	if req.Exchange != "" {
		i := slices.IndexFunc(all, func(x Entry) bool {
			return x.ID == req.Exchange || slices.Contains(x.Aliases, req.Exchange)
		})
		if i < 0 {
			ids := []string{}
			for _, x := range all {
				ids = append(ids, x.ID)
			}
			return Venue{},
				run.Refuse(run.CodeExchangeNotFound, map[string]any{"available": ids},
					"There is no exchange %q.", req.Exchange)
		}
		return all[i].venue(ctx, req, p)
	}
	slices.SortFunc(all, func(a, b Entry) int { return cmp.Or(rank(b)-rank(a), cmp.Compare(a.ID, b.ID)) })
	var refusal error
	for _, x := range all {
		v, err := x.venue(ctx, req, p)
		if err == nil {
			return v, nil
		}
		if refusal == nil {
			refusal = err
		}
	}
	return Venue{}, refusal
}

func rank(e Entry) int {
	if e.Default {
		return 1
	}
	return 0
}

// venue reports whether an exchange can do what a request asks for.
func (e Entry) venue(ctx context.Context, req runner.StartRequest, p *run.Plan) (Venue, error) {
	offered, err := e.offered(ctx, p)
	if err != nil {
		return Venue{}, err
	}
	switch {
	case e.Fault != nil:
		return Venue{},
			run.Refuse(CodeExchangeUnavailable, map[string]any{"reason": e.Fault.Code},
				"The exchange %q cannot be used: %s", e.ID, e.Fault.Message)
	case !slices.Contains(e.Modes, req.Mode):
		return Venue{},
			run.Refuse(run.CodeModeNotSupported, map[string]any{"reason": "mode"},
				"Exchange %q offers %v, not %s.", e.ID, e.Modes, req.Mode)
	case !offered:
		return Venue{},
			run.Refuse(run.CodeUnsupportedTimeframe, map[string]any{"available": names(e.Timeframes)},
				"Exchange %q has no %s candles.", e.ID, p.Timeframe)
	}
	if unknown := e.unknown(p.Symbols); len(unknown) > 0 {
		return Venue{},
			run.Refuse(run.CodeUnsupportedSymbol, map[string]any{"symbols": unknown, "available": e.Symbols},
				"Exchange %q has no candles of %v.", e.ID, unknown)
	}
	config, err := e.config(req)
	if err != nil {
		return Venue{}, err
	}
	if e.replays != nil {
		if err := e.replays(ctx, config, p); err != nil {
			return Venue{}, err
		}
	}
	if pretend := e.pretends() || config.Sandbox; req.Mode == runner.ModeLive && !e.Certified && !pretend {
		return Venue{},
			run.Refuse(run.CodeModeNotSupported, map[string]any{"reason": "uncertified"},
				"The connector of %q is not certified: it trades no real money.", e.ID)
	}
	return Venue{ID: e.ID, Description: e.Description, Config: config, Certified: e.Certified,
		Pretend: e.pretends(), Endpoint: e.endpoint, Connect: e.connect, connectIn: e.connectIn}, nil
}

// offered reports whether the exchange has the timeframe. Stored candles are put together to one
// that is not listed, as for a backtest. A symbol that is not there is refused as such.
func (e Entry) offered(ctx context.Context, p *run.Plan) (bool, error) {
	if e.offers == nil {
		return slices.Contains(e.Timeframes, p.Timeframe), nil
	}
	for _, s := range p.Symbols {
		err := e.offers(ctx, s, p.Timeframe)
		none, missing := errors.AsType[*candle.NotFoundError](err)
		switch {
		case missing && none.What != "symbol":
			return false, nil
		case err != nil && !missing:
			return false, err
		}
	}
	return true, nil
}

// replays reports whether the candles are there that the simulated market is to replay.
func (e *Exchanges) replays(ctx context.Context, c exchange.Config, p *run.Plan) error {
	source := sim.Replayed(c.Settings)
	if source == "" {
		return nil
	}
	for _, s := range p.Symbols {
		err := e.Store.Offers(ctx, source, s, p.Timeframe)
		none, missing := errors.AsType[*candle.NotFoundError](err)
		switch {
		case err == nil:
		case !missing:
			return err
		case none.What == "symbol":
			return run.Refuse(run.CodeUnsupportedSymbol,
				map[string]any{"symbols": []market.Symbol{s}, "available": none.Have},
				"The replayed exchange has no candles of %s.", s)
		case none.What == "timeframe":
			return run.Refuse(run.CodeUnsupportedTimeframe,
				map[string]any{"available": append([]string{}, none.Have...)},
				"The replayed exchange has no %s candles of %s and none that they could be made from.",
				p.Timeframe, s)
		default:
			return run.Invalid("/exchange_config", errors.New("names a source without stored candles"))
		}
	}
	return nil
}

// pretends reports whether no real money is there, whatever the request.
func (e Entry) pretends() bool { return e.Kind == "sim" || e.Kind == "store" || e.loopback }

func names(list []market.Timeframe) []string {
	out := []string{}
	for _, t := range list {
		out = append(out, t.String())
	}
	return out
}

func (e Entry) unknown(symbols []market.Symbol) []market.Symbol {
	var unknown []market.Symbol
	for _, s := range symbols {
		if e.Symbols != nil && !slices.Contains(e.Symbols, s) {
			unknown = append(unknown, s)
		}
	}
	return unknown
}

// config decodes exchange_config. Paper keeps no credentials.
func (e Entry) config(req runner.StartRequest) (exchange.Config, error) {
	c, err := exchange.DecodeConfig(e.ConfigSchema, []byte(req.ExchangeConfig.Reveal()))
	var bad *exchange.ConfigError
	switch {
	case errors.As(err, &bad):
		return c, run.InvalidFields(run.FieldError{
			Pointer: bad.Pointer(), Message: bad.Error(), Rule: bad.Rule})
	case err != nil:
		return c, fmt.Errorf("exchange %s: %w", e.ID, err)
	case c.Sandbox && !e.Sandbox:
		return c, run.Refuse(run.CodeModeNotSupported, map[string]any{"reason": "sandbox"},
			"Exchange %q has no sandbox.", e.ID)
	}
	if req.Mode != runner.ModeLive {
		c.APIKey.Wipe()
		c.Secret.Wipe()
		c.Password.Wipe()
		c.APIKey, c.Secret, c.Password = exchange.Secret{}, exchange.Secret{}, exchange.Secret{}
		return c, nil
	}
	missing := []string{}
	if e.RequiresCredentials && c.APIKey.Empty() {
		missing = append(missing, "apiKey")
	}
	if e.RequiresCredentials && c.Secret.Empty() {
		missing = append(missing, "secret")
	}
	if len(missing) > 0 {
		return c, run.Refuse(CodeCredentialsRequired, map[string]any{"missing": missing},
			"Live trading on %q needs %v in exchange_config.", e.ID, missing)
	}
	return c, nil
}
