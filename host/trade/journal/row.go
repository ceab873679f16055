package journal

import (
	"encoding/json"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
)

// The modes of a run.
const (
	Paper = "paper"
	Live  = "live"
)

// The statuses of a run.
const (
	Running   = "running"
	Completed = "completed"
	Failed    = "failed"
)

// Info is a row of runs.
type Info struct {
	RunID string
	// RunTag is the six characters of this run in its client order ids.
	RunTag string
	// Mode is Paper or Live.
	Mode     string
	Exchange string
	// AccountID is the venue's own id of the account, the run id in paper; empty until the
	// venue told it.
	AccountID string
	Symbols   []market.Symbol
	Timeframe market.Timeframe
	// Request is the request as it was asked, without secrets.
	Request        json.RawMessage
	StrategySHA256 string
	// Markets are the rules of the symbols, Risk the effective limits; nil: not known.
	Markets, Risk json.RawMessage
	// StartCash is the free quote currency at the start, once it is known.
	StartCash decimal.NullDecimal
	StartedAt market.Time
	// EndedAt is zero while the run goes on, and for ever when it was interrupted.
	EndedAt            market.Time
	Status, StopReason string
	// Error is what a failed run shows, an object; nil: none.
	Error json.RawMessage
}

// Intent is an order that was decided.
type Intent struct {
	// Seq counts the orders of the run from 1.
	Seq           int64
	ClientOrderID string
	Step          int64
	Symbol        market.Symbol
	// Body is the order.
	Body      json.RawMessage
	CreatedAt market.Time
}

// State is the kind of an event that says where an order stands from then on. The names
// are those of the order life cycle. An order without such an event is an intent.
type State string

// The states.
const (
	StateIntent   State = "intent"
	StateSent     State = "sent"
	StateUnknown  State = "unknown"
	StateOpen     State = "open"
	StatePartial  State = "partial"
	StateFilled   State = "filled"
	StateCanceled State = "canceled"
	StateRejected State = "rejected"
	StateExpired  State = "expired"
	StateDenied   State = "denied"
)

// Terminal says that nothing more is expected of the order. A late fill opens it again.
func (s State) Terminal() bool {
	switch s {
	case StateFilled, StateCanceled, StateRejected, StateExpired, StateDenied:
		return true
	}
	return false
}

// Event is something that was learnt of an order or done with it.
type Event struct {
	// ID is given by the journal.
	ID            int64
	ClientOrderID string
	// Kind is a State that the order took, or another word for what was learnt.
	Kind string
	// Source is reply, stream, query, fills or local.
	Source string
	// Outcome of a reply; empty otherwise.
	Outcome      string
	VenueOrderID string
	CumQuantity  decimal.Decimal
	// RawSHA256 is of the venue's answer.
	RawSHA256 string
	At        market.Time
}

// Fill is one execution of an order of ours.
type Fill struct {
	Symbol market.Symbol
	// TradeID is unique within exchange, account and symbol.
	TradeID       string
	ClientOrderID string
	Side          market.Side
	Quantity      decimal.Decimal
	Price         decimal.Decimal
	Fee           decimal.Decimal
	FeeAsset      string
	Liquidity     market.Liquidity
	// At is the venue's time.
	At market.Time
}

// Same says that two reports of a trade tell the same.
func (f Fill) Same(g Fill) bool {
	return f.Symbol == g.Symbol && f.TradeID == g.TradeID && f.ClientOrderID == g.ClientOrderID && f.Side == g.Side &&
		f.Quantity.Cmp(g.Quantity) == 0 && f.Price.Cmp(g.Price) == 0 && f.Fee.Cmp(g.Fee) == 0 &&
		f.FeeAsset == g.FeeAsset && f.Liquidity == g.Liquidity && f.At == g.At
}

// The sources of candles.
const (
	Warmup   = "warmup"
	Stream   = "stream"
	Backfill = "backfill"
)

// Candle is a closed candle as the strategy got it.
type Candle struct {
	Symbol market.Symbol
	// Candle has its CloseTime from the run's timeframe when it is read.
	Candle market.Candle
	Step   int64
	// Source is Warmup, Stream or Backfill.
	Source string
}

// Equity is the account at the close of a step, in quote currency.
type Equity struct {
	At           market.Time
	Equity, Cash decimal.Decimal
}

// Entry is a line of the log: a phase, an alarm, a verdict of risk.
type Entry struct {
	// N counts the entries of the run; given by the journal, which keeps some for itself.
	N int64
	// Kind is a word of letters, digits, dots, dashes and underscores, at most 64.
	Kind string
	// At is the journal's clock when it is zero.
	At market.Time
	// Data is anything that has canonical JSON; when it is read, json.RawMessage.
	Data any
	// Version is the form of Data, given by the journal: 1 or Version.
	Version int
}
