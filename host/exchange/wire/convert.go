package wire

import (
	"encoding/json"
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/exchange/connectorpb"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// outcomes in the order of the enum; what is not in it is a fault.
var outcomes = [...]exchange.Outcome{
	connectorpb.Outcome_OUTCOME_UNKNOWN:     exchange.Unknown,
	connectorpb.Outcome_OUTCOME_ACCEPTED:    exchange.Accepted,
	connectorpb.Outcome_OUTCOME_REJECTED:    exchange.Rejected,
	connectorpb.Outcome_OUTCOME_DUPLICATE:   exchange.Duplicate,
	connectorpb.Outcome_OUTCOME_NOT_OPEN:    exchange.NotOpen,
	connectorpb.Outcome_OUTCOME_NOT_FOUND:   exchange.NotFound,
	connectorpb.Outcome_OUTCOME_NOT_SENT:    exchange.NotSent,
	connectorpb.Outcome_OUTCOME_THROTTLED:   exchange.Throttled,
	connectorpb.Outcome_OUTCOME_BANNED:      exchange.Banned,
	connectorpb.Outcome_OUTCOME_CLOCK:       exchange.Clock,
	connectorpb.Outcome_OUTCOME_AUTH_FAILED: exchange.AuthFailed,
}

// link is how a stream stands, of either kind.
type link struct {
	State  exchange.LinkState `wire:"connected|reconnecting|gap"`
	Reason string             `wire:"people"`
}

// result reads a Result; without one the outcome is Unknown.
func (r *reader) result(p *connectorpb.Result) (out exchange.Result) {
	r.within("result", func() { out = noun[exchange.Result](r, p) })
	return out
}

func descriptionMessage(d exchange.Description) *connectorpb.Description {
	p := message[connectorpb.Description](d)
	p.SymbolsListed = d.Symbols != nil
	return p
}

func readDescription(p *connectorpb.Description) (exchange.Description, error) {
	r := &reader{anySymbol: true}
	d := noun[exchange.Description](r, p)
	if !p.GetSymbolsListed() && len(d.Symbols) == 0 {
		d.Symbols = nil
	}
	if len(d.ConfigSchema) > maxDocument || !json.Valid(d.ConfigSchema) {
		r.wrong("config_schema", "is not a JSON document of at most %d bytes", maxDocument)
	}
	return d, r.err()
}

// request reads what a host asks for. Nonsense is an error, which is NotSent there.
func request[N, P any](p *P) (N, error) {
	r := &reader{anySymbol: true}
	n := noun[N](r, p)
	return n, r.err()
}

func openedMessage(o exchange.Opened, err error) *connectorpb.OpenReply {
	p := message[connectorpb.OpenReply](o)
	p.Result = outcome(err)
	if o.Clock != nil {
		p.MarketTimeMs, p.MarketPace = int64(o.Clock.Now()), o.Clock.Pace
	}
	return p
}

// readOpened reads where the session is. A time of its own is believed of nothing but what
// the operator has put in an exchange's place.
func readOpened(r *reader, p *connectorpb.OpenReply, endpoint string) exchange.Opened {
	o := noun[exchange.Opened](r, p)
	pace := p.GetMarketPace()
	switch {
	case pace == 0:
	case endpoint == "":
		r.wrong("market_pace", "%g: an exchange has no time of its own", pace)
	case !(pace >= exchange.LeastPace && pace <= exchange.MostPace): // NaN too
		r.wrong("market_pace", "%g is not from %g to %d", pace, exchange.LeastPace, exchange.MostPace)
	case p.GetMarketTimeMs() < 0:
		r.wrong("market_time_ms", "%d is before 1970", p.GetMarketTimeMs())
	default:
		o.Clock = &exchange.PacedClock{Then: market.Time(p.GetMarketTimeMs()), Since: time.Now(), Pace: pace}
	}
	return o
}

func candleEventMessage(e exchange.CandleEvent) *connectorpb.CandleEvent {
	if e.State != "" {
		state := message[connectorpb.Link](link{e.State, e.Reason})
		return &connectorpb.CandleEvent{Event: &connectorpb.CandleEvent_State{State: state}}
	}
	return &connectorpb.CandleEvent{Event: &connectorpb.CandleEvent_Candle{Candle: message[connectorpb.SymbolCandle](e)}}
}

// readCandleEvent reads a candle or a state. It leaves to the feed what a venue itself can get wrong: order,
// grid, high below low. A number that is none is the connector's own fault.
func readCandleEvent(r *reader, p *connectorpb.CandleEvent) (e exchange.CandleEvent) {
	switch x := p.GetEvent().(type) {
	case *connectorpb.CandleEvent_Candle:
		r.within("candle", func() { e = noun[exchange.CandleEvent](r, x.Candle) })
	case *connectorpb.CandleEvent_State:
		r.within("state", func() { e.State, e.Reason = state(r, x.State) })
	default:
		r.wrong("event", "is missing")
	}
	return e
}

// orderMessage is nil for no order: only an Order with a symbol is one.
func orderMessage(o exchange.Order) *connectorpb.Order {
	if o.Symbol == "" {
		return nil
	}
	return message[connectorpb.Order](o)
}

func accountEventMessage(e exchange.AccountEvent) *connectorpb.AccountEvent {
	p := &connectorpb.AccountEvent{}
	switch {
	case e.Order != nil:
		p.Event = &connectorpb.AccountEvent_Order{Order: orderMessage(*e.Order)}
	case e.Fill != nil:
		p.Event = &connectorpb.AccountEvent_Fill{Fill: message[connectorpb.Fill](*e.Fill)}
	case e.Balance != nil:
		p.Event = &connectorpb.AccountEvent_Balance{Balance: message[connectorpb.Balance](*e.Balance)}
	case e.Transfer != nil:
		p.Event = &connectorpb.AccountEvent_Transfer{Transfer: message[connectorpb.Transfer](*e.Transfer)}
	default:
		p.Event = &connectorpb.AccountEvent_State{State: message[connectorpb.Link](link{e.State, e.Reason})}
	}
	return p
}

// readAccountEvent reads everything but a failure.
func readAccountEvent(r *reader, p *connectorpb.AccountEvent) (e exchange.AccountEvent) {
	switch x := p.GetEvent().(type) {
	case *connectorpb.AccountEvent_State:
		r.within("state", func() { e.State, e.Reason = state(r, x.State) })
	case *connectorpb.AccountEvent_Order:
		r.within("order", func() { e.Order = new(noun[exchange.Order](r, x.Order)) })
	case *connectorpb.AccountEvent_Fill:
		r.within("fill", func() { e.Fill = new(noun[exchange.Fill](r, x.Fill)) })
	case *connectorpb.AccountEvent_Balance:
		r.within("balance", func() { e.Balance = new(noun[exchange.Balance](r, x.Balance)) })
	case *connectorpb.AccountEvent_Transfer:
		r.within("transfer", func() { e.Transfer = new(noun[exchange.Transfer](r, x.Transfer)) })
	default:
		r.wrong("event", "is missing")
	}
	return e
}

func state(r *reader, p *connectorpb.Link) (exchange.LinkState, string) {
	l := noun[link](r, p)
	return l.State, l.Reason
}
