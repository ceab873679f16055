package exchange

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/govalues/decimal"

	"github.com/assay-run/assay/plugin-sdk/market"
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
	Message string `wire:"people"`
	// RawSHA256 is of the answer's body, RequestSHA256 of the request without signature; hex.
	RawSHA256, RequestSHA256 string
}

// Error carries the Result of a read that failed.
type Error struct{ Result Result }

// Error returns the message.
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

// maxMessage bounds the message of a Result, in characters.
const maxMessage = 200

// Clip makes a text fit for the message of a Result.
func Clip(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) <= maxMessage {
		return s
	}
	return string([]rune(s)[:maxMessage-1]) + "…"
}

// NewError returns an error with nothing but an outcome and a message.
func NewError(o Outcome, message string) error {
	return &Error{Result: Result{Outcome: o, Message: Clip(message)}}
}

// ResultOf returns the outcome of a read.
func ResultOf(err error) Result {
	if err == nil {
		return Result{Outcome: Accepted}
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own.Result
	}
	return Result{Outcome: Unknown, Message: err.Error()}
}

// Fingerprint returns the SHA-256 of a request or an answer, in hex.
func Fingerprint(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// The tags wire of the nouns say what a message about them may hold; package wire lists them.

// OrderRequest is one order to send. Exactly one of Quantity and QuoteAmount is above 0.
type OrderRequest struct {
	ClientOrderID string `wire:"name"`
	Symbol        market.Symbol
	Side          market.Side
	// Type is market, limit, stop (market at the trigger) or stop_limit.
	Type                  market.OrderType
	TimeInForce           market.TimeInForce
	Quantity, QuoteAmount decimal.Decimal
	LimitPrice, StopPrice decimal.Decimal // zero: none
	// Reduces reports whether it can only make a position smaller.
	Reduces bool
	// PostOnly: a limit order that would take is refused with the VenueCode would_take, or ends unfilled
	// with that Reason. Only venues with the order type post_only are asked for one.
	PostOnly bool `json:",omitzero"`
}

// PairRequest is a take profit (limit) and a stop loss (stop) of the same quantity; when one fills
// the venue cancels the other.
type PairRequest struct {
	ListID                string `wire:"name"` // client id of the pair
	LimitID, StopID       string `wire:"name"` // client order ids of the legs
	Symbol                market.Symbol
	Side                  market.Side
	Quantity              decimal.Decimal
	LimitPrice, StopPrice decimal.Decimal
}

// OrderRef names an order.
type OrderRef struct {
	ClientOrderID string `wire:"name"`
	Symbol        market.Symbol
}

// OrderStatus is the status of an order at the venue.
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
	Status                      OrderStatus `wire:"open|partially_filled|filled|canceled|rejected|expired"`
	Quantity, CumQuantity       decimal.Decimal
	LimitPrice, StopPrice       decimal.Decimal
	AveragePrice                decimal.Decimal `wire:"shown"`  // 0 before the first fill
	Reason                      string          `wire:"people"` // of a reject, for people
	UpdatedAt                   market.Time
}

// Fill is one execution as the venue has it.
type Fill struct {
	// TradeID is unique within symbol and account.
	TradeID string `wire:"name"`
	// ClientOrderID is empty when the fill is certainly not of an order of ours.
	ClientOrderID, VenueOrderID string
	Symbol                      market.Symbol
	Side                        market.Side
	Price, Quantity             decimal.Decimal
	Fee                         decimal.Decimal `wire:"signed"`
	FeeAsset                    string
	Liquidity                   market.Liquidity
	Time                        market.Time
}

// Fills is a page of fills. Complete reports that no fill of the symbol since the asked time is missing.
type Fills struct {
	Fills    []Fill
	Complete bool
}

// Transfer is money that came to the account or left it otherwise than by a trade: a deposit, a withdrawal.
type Transfer struct {
	Asset  string          `wire:"name"`
	Amount decimal.Decimal `wire:"signed"` // negative: it left
	Time   market.Time
}

// Balance of one asset.
type Balance struct {
	Asset        string `wire:"name"`
	Free, Locked decimal.Decimal
}

// Market is the rules of one symbol. A zero bound is no bound.
type Market struct {
	Symbol market.Symbol `json:"symbol"`
	// Trading is false while the venue has halted the symbol; Status is the venue's own word.
	Trading            bool            `json:"trading"`
	Status             string          `json:"status"`
	PriceTick          decimal.Decimal `json:"price_tick"`    // quote currency
	QuantityStep       decimal.Decimal `json:"quantity_step"` // units of the base
	MinQuantity        decimal.Decimal `json:"min_quantity"`
	MaxQuantity        decimal.Decimal `json:"max_quantity"`
	MarketMinQuantity  decimal.Decimal `json:"market_min_quantity"`
	MarketMaxQuantity  decimal.Decimal `json:"market_max_quantity"`
	MarketQuantityStep decimal.Decimal `json:"market_quantity_step"`
	MinNotional        decimal.Decimal `json:"min_notional"` // quote currency
	MaxNotional        decimal.Decimal `json:"max_notional"`
	PercentPriceUp     decimal.Decimal `json:"percent_price_up"`        // limit <= reference x this
	PercentPriceDown   decimal.Decimal `json:"percent_price_down"`      // limit >= reference x this
	MakerFee           decimal.Decimal `json:"maker_fee" wire:"signed"` // fraction of notional
	TakerFee           decimal.Decimal `json:"taker_fee" wire:"signed"`
	// OrderTypes are those of Description.OrderTypes that the symbol takes; empty: all of them.
	OrderTypes []string `json:"order_types,omitempty" wire:"few"`
	// MaxStops is how many orders with a stop price may be open, MaxPosition how much of the base may be
	// held; 0: no bound.
	MaxStops    int             `json:"max_stops,omitempty"`
	MaxPosition decimal.Decimal `json:"max_position,omitzero"`
}

// Description is one entry of GET /exchanges as a connector gives it.
type Description struct {
	ID, Name string `wire:"name"`
	Aliases  []string
	Version  string
	// Kind is store, sim, native or bridge.
	Kind                string `wire:"store|sim|native|bridge"`
	Sandbox             bool
	Modes               []string        `wire:"paper|live"`
	Symbols             []market.Symbol // nil: the venue decides at start
	Timeframes          []market.Timeframe
	OrderTypes          []string
	MakerFee, TakerFee  decimal.Decimal `wire:"signed"`
	RequiresCredentials bool
	RateLimitMS         int
	// DeadMan is lease, native or none.
	DeadMan string `wire:"lease|native|none"`
	Comment string `wire:"long"`
	// ConfigSchema is JSON Schema 2020-12 of exchange_config, closed.
	ConfigSchema json.RawMessage
}
