// Package admission answers one question: may this order leave, now?
//
// Everything that decides is a condition of [Conditions], everything that an order is judged by is its
// [Kind], and the table in this file holds what follows from both. Whoever is about to do something with an
// order asks [Judge] with what it knows: the order manager before it accepts or places an order and before
// it takes an exit back, the engine before it writes an order down and before it sends it, and the call
// right before the connector gets the request. Orders that only reduce a position have a column of their
// own, and so have those that protect one.
//
// It knows orders and limits of risk, and nothing of engines and venues.
//
// It is a package of its own because the order manager and the engine above it ask the same table.
package admission

import (
	"time"

	"github.com/assay-run/assay/host/exchange"
	"github.com/assay-run/assay/host/trade/order"
	"github.com/assay-run/assay/host/trade/risk"
	"github.com/assay-run/assay/plugin-sdk/market"
)

// Kind is the column by which an order is judged.
type Kind uint8

// The kinds.
const (
	// Entry may make a position larger.
	Entry Kind = iota
	// Reduces can only make one smaller: a sale of the strategy's.
	Reduces
	// Protects is an exit of a bracket, the sale of what has none, or one of the operator's.
	Protects
	// Request is no new order: a cancel, a query, the reading of the account.
	Request
)

func (k Kind) String() string { return [...]string{"entry", "reduces", "protects", "request"}[k] }

// KindOf returns the kind of an order that only shrinks a position, or that protects one.
func KindOf(shrinks, protects bool) Kind {
	switch {
	case protects:
		return Protects
	case shrinks:
		return Reduces
	}
	return Entry
}

// Conditions are what decides. What is not known at a moment, or has no say in it, is left at its zero value.
type Conditions struct {
	// Barrier is what a stop closes; nil where none can fall.
	Barrier *order.Barrier
	// Expired reports whether the close came by which the order had to leave.
	Expired bool
	// Reconciling reports whether the account stream missed something and the books are not compared yet.
	Reconciling bool
	// InputStale reports whether the newest value of an input was too old at the last close.
	InputStale bool
	// Guard holds the trading state: pauses, drift, losses, a lost connector, positions without protection.
	Guard *risk.Guard
	// Limits judges the order itself by every limit and by the trading state, and returns the code of a
	// breach that counts; nil where the order is not about to be written down.
	Limits func() risk.Code
	// Unresolved reports whether the fate of an order of the symbol is unknown, UnknownSale whether that of
	// a sale is.
	Unresolved, UnknownSale bool
	// MarketHalted reports whether the venue does not trade the symbol at present.
	MarketHalted bool
	// Unlinked reports whether there is no connector, Ban is how long the venue still refuses every request.
	Unlinked bool
	Ban      time.Duration
}

// The codes of denials, besides those of packages order and risk.
const (
	// CodeEndOfRun is the reason of orders that the end of the run ends, as in a backtest.
	CodeEndOfRun = "end_of_data"
	// CodeStreamReconciling: the account stream was cut, and the account is being read again.
	CodeStreamReconciling = "STREAM_RECONCILING"
	// CodeInputStale: the newest value of an input is older than the strategy lets it be.
	CodeInputStale = string(market.ReasonInputStale)
	// CodeUnlinked: there is no connector at present.
	CodeUnlinked = "CONNECTOR_CRASHED"
)

// Denial is why an order may not leave now. Its zero value means that it may.
type Denial struct {
	Code string
	// Message is for people; empty where the code is enough.
	Message string
	// Outcome is that of a request which is not made, RetryAfterMS how long it makes no sense to try again.
	Outcome      exchange.Outcome
	RetryAfterMS int64
}

// Denies reports whether the order has to stay.
func (d Denial) Denies() bool { return d.Code != "" }

// Result returns the answer to a request that is not made.
func (d Denial) Result() exchange.Result {
	return exchange.Result{Outcome: d.Outcome, Message: d.Message, RetryAfterMS: d.RetryAfterMS}
}

// row is one condition, with the kinds of orders that it denies.
type row struct {
	name   string
	denies [Request + 1]bool
	holds  func(c *Conditions) Denial
}

// when returns the denial of a condition that holds.
func when(holds bool, d Denial) Denial {
	if holds {
		return d
	}
	return Denial{}
}

// state returns the row of a trading state: the one by which the limits would deny an order of a kind.
func state(of Kind, code risk.Code) func(*Conditions) Denial {
	return func(c *Conditions) Denial {
		o := risk.Order{Shrinks: of != Entry, Protects: of == Protects}
		return when(c.Guard != nil && c.Guard.Admits(o) == code, Denial{Code: string(code)})
	}
}

const (
	yes = true
	no  = false
)

// table holds every denial, by entry, reduces, protects and request. The first row that holds counts.
var table = []row{
	{"the run is ending and no order leaves any more", [...]bool{yes, yes, yes, no},
		func(c *Conditions) Denial {
			return when(c.Barrier.Closed() && !c.Barrier.Passes(true), barred)
		}},
	{"the run is ending and exits leave", [...]bool{yes, no, no, no}, func(c *Conditions) Denial {
		return when(c.Barrier.Closed(), barred)
	}},
	{"the close has come by which the order had to leave", [...]bool{yes, yes, yes, no},
		func(c *Conditions) Denial {
			return when(c.Expired, Denial{Code: order.CodeNotSent})
		}},
	{"the account stream was cut and the account is not read again yet", [...]bool{yes, yes, yes, no},
		func(c *Conditions) Denial {
			return when(c.Reconciling, Denial{Code: CodeStreamReconciling})
		}},
	{"the newest value of an input is older than its `max_age`", [...]bool{yes, no, no, no},
		func(c *Conditions) Denial {
			return when(c.InputStale, Denial{Code: CodeInputStale})
		}},
	{"the drawdown limit ends the run", [...]bool{yes, no, no, no}, func(c *Conditions) Denial {
		return when(c.Guard != nil && c.Guard.Killed(), Denial{Code: string(risk.Kill)})
	}},
	{"a limit of risk or the rate of orders is exceeded by what does not only reduce",
		[...]bool{yes, yes, yes, no}, func(c *Conditions) Denial {
			if c.Limits == nil {
				return Denial{}
			}
			return Denial{Code: string(c.Limits())}
		}},
	{"halted: no connector, no candles, an order of unknown fate", [...]bool{yes, yes, no, no},
		state(Reduces, risk.StateHalted)},
	{"halted: a position is without its exits", [...]bool{yes, no, no, no}, state(Entry, risk.StateHalted)},
	{"reducing: paused, drift, a daily loss, rejects, fills, an entry suspended", [...]bool{yes, no, no, no},
		state(Entry, risk.StateReducing)},
	{"the fate of an order of the symbol is unknown", [...]bool{yes, no, no, no}, func(c *Conditions) Denial {
		return when(c.Unresolved, Denial{Code: order.CodeUnresolved})
	}},
	{"the fate of a sale of the symbol is unknown", [...]bool{yes, no, yes, no}, func(c *Conditions) Denial {
		return when(c.UnknownSale, Denial{Code: order.CodeUnresolved})
	}},
	{"the venue does not trade the symbol", [...]bool{yes, no, yes, no}, func(c *Conditions) Denial {
		return when(c.MarketHalted, Denial{Code: order.CodeMarketHalted})
	}},
	{"there is no connector", [...]bool{yes, yes, yes, yes}, func(c *Conditions) Denial {
		return when(c.Unlinked, Denial{
			Code: CodeUnlinked, Message: "there is no connector", Outcome: exchange.NotSent,
			RetryAfterMS: 1000,
		})
	}},
	{"the venue refuses all requests for a while", [...]bool{yes, yes, yes, yes}, func(c *Conditions) Denial {
		return when(c.Ban > 0, Denial{
			Code: string(exchange.Banned), Message: "the venue wants silence", Outcome: exchange.Banned,
			RetryAfterMS: c.Ban.Milliseconds() + 1,
		})
	}},
}

var barred = Denial{Code: CodeEndOfRun, Message: "the run is ending", Outcome: exchange.NotSent}

// Judge returns why an order of a kind may not leave under the conditions.
func Judge(c Conditions, k Kind) Denial {
	for i := range table {
		if !table[i].denies[k] {
			continue
		}
		if d := table[i].holds(&c); d.Denies() {
			return d
		}
	}
	return Denial{}
}
