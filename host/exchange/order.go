package exchange

import (
	"github.com/assay-run/assay/plugin-sdk/market"
	"github.com/govalues/decimal"
)

// Outcome is what is known about a request after it was made.
type Outcome string

// The outcomes. Everything that is not named is Unknown: any error of transport, a dead
// connector, an answer that does not parse or is about something else.
const (
	Unknown   Outcome = "UNKNOWN"
	Accepted  Outcome = "ACCEPTED"
	Rejected  Outcome = "REJECTED"
	Duplicate Outcome = "DUPLICATE" // the client order id is already open
	NotOpen   Outcome = "NOT_OPEN"  // cancel: nothing open under the id
	NotFound  Outcome = "NOT_FOUND" // query: the venue has no such order
	// NotSent: no byte can have reached the venue.
	NotSent Outcome = "NOT_SENT"
	// Throttled, Banned, Clock: refused unexecuted; the same id may be sent again.
	Throttled Outcome = "THROTTLED"
	Banned    Outcome = "BANNED"
	Clock     Outcome = "CLOCK"
	// AuthFailed: the credentials are not good (any more); the run ends.
	AuthFailed Outcome = "AUTH_FAILED"
)

// Result is an outcome with its evidence.
type Result struct {
	Outcome Outcome
	// VenueCode and HTTPStatus as the venue gave them; empty and 0 without an answer.
	VenueCode  string
	HTTPStatus int
	// RetryAfterMS is how long to be silent, for Throttled and Banned.
	RetryAfterMS int64
	// Message is redacted and at most 200 characters.
	Message string
	// RawSHA256 is of the answer's body, RequestSHA256 of the request without signature; hex.
	RawSHA256, RequestSHA256 string
}

// Error carries the Result of a read that failed.
type Error struct{ Result Result }

// Error is the message.
func (e *Error) Error() string {
	text := string(e.Result.Outcome)
	if e.Result.VenueCode != "" {
		text += " " + e.Result.VenueCode
	}
	if e.Result.Message != "" {
		text += ": " + e.Result.Message
	}
	return text
}

// OrderRequest is one order to send. Exactly one of Quantity and QuoteAmount is above 0.
type OrderRequest struct {
	ClientOrderID string
	Symbol        market.Symbol
	Side          market.Side
	// Type is market, limit, stop (market at the trigger) or stop_limit.
	Type                  market.OrderType
	TimeInForce           market.TimeInForce
	Quantity, QuoteAmount decimal.Decimal
	LimitPrice, StopPrice decimal.Decimal // zero: none
	// Reduces says that it can only make a position smaller.
	Reduces bool
}

// PairRequest is a take profit (limit) and a stop loss (stop) of the same quantity; when one fills
// the venue cancels the other.
type PairRequest struct {
	ListID                string // client id of the pair
	LimitID, StopID       string // client order ids of the legs
	Symbol                market.Symbol
	Side                  market.Side
	Quantity              decimal.Decimal
	LimitPrice, StopPrice decimal.Decimal
}

// OrderRef names an order.
type OrderRef struct {
	ClientOrderID string
	Symbol        market.Symbol
}

// OrderStatus is where the venue says that an order stands.
type OrderStatus string

// The statuses of a venue.
const (
	OrderOpen            OrderStatus = "open"
	OrderPartiallyFilled OrderStatus = "partially_filled"
	OrderFilled          OrderStatus = "filled"
	OrderCanceled        OrderStatus = "canceled"
	OrderRejected        OrderStatus = "rejected"
	OrderExpired         OrderStatus = "expired"
)

// Order is an order as the venue has it.
type Order struct {
	ClientOrderID, VenueOrderID string
	Symbol                      market.Symbol
	Side                        market.Side
	Type                        market.OrderType
	Status                      OrderStatus
	Quantity, CumQuantity       decimal.Decimal
	LimitPrice, StopPrice       decimal.Decimal
	AveragePrice                decimal.Decimal // 0 before the first fill
	Reason                      string          // of a reject, for people
	UpdatedAt                   market.Time
}

// Fill is one execution as the venue has it.
type Fill struct {
	// TradeID is unique within symbol and account.
	TradeID string
	// ClientOrderID is empty when the fill is certainly not of an order of ours.
	ClientOrderID, VenueOrderID string
	Symbol                      market.Symbol
	Side                        market.Side
	Price, Quantity             decimal.Decimal
	Fee                         decimal.Decimal
	FeeAsset                    string
	Liquidity                   market.Liquidity
	Time                        market.Time
}

// Fills is a page of fills. Complete says that no fill of the symbol since the asked time is missing.
type Fills struct {
	Fills    []Fill
	Complete bool
}

// Transfer is money that came to the account or left it otherwise than by a trade: a deposit, a withdrawal.
type Transfer struct {
	Asset  string
	Amount decimal.Decimal // negative: it left
	Time   market.Time
}

// Balance of one asset.
type Balance struct {
	Asset        string
	Free, Locked decimal.Decimal
}
