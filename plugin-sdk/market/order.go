package market

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/govalues/decimal"
)

// Action is what an Intent asks for.
type Action uint8

// The actions.
const (
	// Submit asks for a new order.
	Submit Action = iota
	// Cancel takes back the order that Ref names.
	Cancel
	// Replace changes size, prices or expiry of the open non-market order that Ref names.
	// The order keeps its id and loses its place: it counts as newly arrived.
	Replace
	// Close flattens Symbol with a reduce-only market order. Resting entries stay.
	Close
	// SetLeg moves the legs of the position in Symbol: the stop losses to the price of StopLoss, the take
	// profits to that of TakeProfit.
	SetLeg
	// CancelAll takes back every open order of Symbol. It comes last: the protocol has no number for it.
	CancelAll
)

var actionNames = names[Action]{"action", []string{"submit", "cancel", "replace", "close", "set_leg",
	"cancel_all"}}

// String is the name in JSON.
func (a Action) String() string { return actionNames.text(a) }

// MarshalText is String, and an error for a value without a name.
func (a Action) MarshalText() ([]byte, error) { return actionNames.marshal(a) }

// UnmarshalText reads what MarshalText writes.
func (a *Action) UnmarshalText(text []byte) error { return actionNames.unmarshal(a, text) }

// ParseAction reads the name in JSON.
func ParseAction(s string) (Action, error) { return actionNames.parse(s) }

// SizeKind is what Size.Value counts.
type SizeKind uint8

// The kinds of size.
const (
	// SizeNone is no size: a replace that leaves the size as it is. A new order needs one.
	SizeNone SizeKind = iota
	// SizeQuantity counts units of the base.
	SizeQuantity
	// SizeQuoteAmount counts quote currency, fee included.
	SizeQuoteAmount
	// SizeCashFraction is a share of the free cash at the fill, in (0, 1].
	SizeCashFraction
	// SizePosition is the whole position at the fill, without a Value. The order is reduce-only.
	SizePosition
	// SizeEquityFraction is a share of the equity, in (0, 1], and SizeRiskFraction the share of it that
	// a fill at the stop loss would lose. Both become a quantity at the close of the decision.
	SizeEquityFraction
	SizeRiskFraction
	// SizeTargetFraction is the share of the equity, in [-1, 1], that the position is to be; below zero is
	// short. Side counts for nothing: the order is what is missing at the close of the decision.
	SizeTargetFraction
)

var sizeKindNames = names[SizeKind]{"kind of size",
	[]string{"none", "quantity", "quote_amount", "cash_fraction", "position", "equity_fraction",
		"risk_fraction", "target_fraction"}}

// String is the name in JSON.
func (k SizeKind) String() string { return sizeKindNames.text(k) }

// MarshalText is String, and an error for a value without a name.
func (k SizeKind) MarshalText() ([]byte, error) { return sizeKindNames.marshal(k) }

// UnmarshalText reads what MarshalText writes.
func (k *SizeKind) UnmarshalText(text []byte) error { return sizeKindNames.unmarshal(k, text) }

// OfEquity reports whether the size is a share of the equity, which becomes a quantity at the close of the
// decision; an order of it is cut at its fill to what the free cash pays for.
func (k SizeKind) OfEquity() bool { return k >= SizeEquityFraction && k <= SizeTargetFraction }

// ParseSizeKind reads the name in JSON.
func ParseSizeKind(s string) (SizeKind, error) { return sizeKindNames.parse(s) }

// Size is how much an Intent asks for, in exactly one way.
type Size struct {
	Kind  SizeKind `json:"kind"`
	Value float64  `json:"value,omitzero"`
}

// Child is one leg of a bracket: an order made when its parent fills. Exactly one of the first four
// fields is set; zero means absent. What trails and tightens is a stop loss.
type Child struct {
	Price        float64 `json:"price,omitzero"`         // absolute
	Percent      float64 `json:"percent,omitzero"`       // fraction of the parent's fill price
	TrailPercent float64 `json:"trail_percent,omitzero"` // fraction, in (0, 1)
	TrailAmount  float64 `json:"trail_amount,omitzero"`  // quote currency per unit
	// TightenTo is the fraction, in (0, 1), at which the stop follows from a gain of more than TightenAfter
	// on, a fraction of the fill price.
	TightenTo    float64 `json:"tighten_to,omitzero"`
	TightenAfter float64 `json:"tighten_after,omitzero"`
}

// Numbers are the values of all fields, that of the level first.
func (c *Child) Numbers() [6]float64 {
	return [...]float64{c.Price, c.Percent, c.TrailPercent, c.TrailAmount, c.TightenTo, c.TightenAfter}
}

// IsLevel reports whether the child says in one way where it sits, and nothing that a leg of its kind, the
// stop loss or a target, cannot do.
func (c *Child) IsLevel(stop bool) bool {
	set := 0
	for i, v := range c.Numbers() {
		if v < 0 {
			return false
		}
		if i < 4 && v != 0 {
			set++
		}
	}
	moves := c.Trails() || c.TightenAfter != 0
	return set == 1 && (stop || !moves) && c.TrailPercent < 1 && c.TightenTo < 1 &&
		(c.TightenTo != 0 || c.TightenAfter == 0)
}

// Trails reports whether the leg is a trailing stop.
func (c *Child) Trails() bool { return c.TrailPercent != 0 || c.TrailAmount != 0 || c.TightenTo != 0 }

// TakeProfit is one of several targets of an entry: the level at which a share of what the entry brought is
// sold. The shares of an entry sum to at most 1.
type TakeProfit struct {
	Level Child   `json:"level"`
	Share float64 `json:"share"` // in (0, 1]
}

// MaxTargets is how many targets an entry may have.
const MaxTargets = 16

// Intent is what a strategy asks for. It has no id and may be rejected with a reason.
// Zero prices, trails and expiry mean absent.
type Intent struct {
	Action Action `json:"action"`
	// Symbol may be empty in a run of one symbol.
	Symbol Symbol    `json:"symbol,omitzero"`
	Side   Side      `json:"side"`
	Type   OrderType `json:"type"`
	Size   Size      `json:"size"`
	// LimitPrice is for limit and stop_limit orders: required there, forbidden elsewhere.
	LimitPrice float64 `json:"limit_price,omitzero"`
	// StopPrice is for stop and stop_limit orders: required there, forbidden elsewhere.
	StopPrice float64 `json:"stop_price,omitzero"`
	// TrailPercent, a fraction in (0, 1), or TrailAmount, quote per unit: a trailing_stop has one of them.
	TrailPercent float64     `json:"trail_percent,omitzero"`
	TrailAmount  float64     `json:"trail_amount,omitzero"`
	TimeInForce  TimeInForce `json:"time_in_force"`
	// ExpireAfter is the number of candles of the symbol that a gtd order lives on.
	ExpireAfter int `json:"expire_after,omitzero"`
	// ReduceOnly cuts the order to the position; it never turns it. Ask Reduces, which knows the size too.
	ReduceOnly bool `json:"reduce_only,omitzero"`
	// PostOnly rejects a limit order that would take at its first open (would_take).
	PostOnly   bool   `json:"post_only,omitzero"`
	StopLoss   *Child `json:"stop_loss,omitzero"`
	TakeProfit *Child `json:"take_profit,omitzero"`
	// Targets are take profits of shares of the entry, instead of TakeProfit.
	Targets []TakeProfit `json:"targets,omitzero"`
	// OCO numbers, from 1, the new orders of one symbol that follow each other in a decision, are accepted
	// all or none, and of which the first fill cancels the others. Zero: the order is by itself.
	OCO int `json:"oco,omitzero"`
	// Guard is a condition without which the intent is dropped; nil for none.
	Guard *Guard `json:"guard,omitzero"`
	// Tag is free text that ends up on orders, fills and trades.
	Tag string `json:"tag,omitzero"`
	// ClientRef names the order for a later cancel or replace. When several open orders share it the newest
	// is meant.
	ClientRef string `json:"client_ref,omitzero"`
	// Ref is what cancel and replace refer to: a ClientRef or an order id such as o-000143.
	Ref string `json:"ref,omitzero"`
}

// Reduces reports whether the order can only cut a position: by its flag, or because its size is the
// whole position.
func (in *Intent) Reduces() bool { return in.ReduceOnly || in.Size.Kind == SizePosition }

// TakeProfits are the targets of an entry: Targets, or TakeProfit as one of the whole.
func (in *Intent) TakeProfits() []TakeProfit {
	if in.TakeProfit != nil {
		return []TakeProfit{{Level: *in.TakeProfit, Share: 1}}
	}
	return in.Targets
}

// OrderID numbers the orders of a run from 1 in the order of acceptance.
type OrderID int64

// String is the id used in JSON: o-000143; "" for zero.
func (id OrderID) String() string { return formatID('o', int64(id)) }

// Append appends String.
func (id OrderID) Append(b []byte) []byte { return appendID(b, 'o', int64(id)) }

// MarshalText makes it a JSON string.
func (id OrderID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *OrderID) UnmarshalText(text []byte) error { return parseID(id, 'o', text) }

// FillID numbers the fills of a run from 1.
type FillID int64

// String is the id used in JSON: f-000201; "" for zero.
func (id FillID) String() string { return formatID('f', int64(id)) }

// Append appends String.
func (id FillID) Append(b []byte) []byte { return appendID(b, 'f', int64(id)) }

// MarshalText makes it a JSON string.
func (id FillID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *FillID) UnmarshalText(text []byte) error { return parseID(id, 'f', text) }

// TradeID numbers the trades of a run from 1 in the order in which they close.
type TradeID int64

// String is the id used in JSON: t-000071; "" for zero.
func (id TradeID) String() string { return formatID('t', int64(id)) }

// Append appends String.
func (id TradeID) Append(b []byte) []byte { return appendID(b, 't', int64(id)) }

// MarshalText makes it a JSON string.
func (id TradeID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *TradeID) UnmarshalText(text []byte) error { return parseID(id, 't', text) }

func formatID(prefix byte, n int64) string {
	var room [24]byte
	return string(appendID(room[:0], prefix, n))
}

func appendID(b []byte, prefix byte, n int64) []byte {
	if n == 0 {
		return b
	}
	b = append(b, prefix, '-')
	for limit := int64(100_000); limit > n && limit > 1; limit /= 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, n, 10)
}

// AppendDecimal appends d in full, without trailing zeros.
func AppendDecimal(b []byte, d decimal.Decimal) []byte {
	coef, scale := d.Coef(), d.Scale()
	for scale > 0 && coef%10 == 0 {
		coef, scale = coef/10, scale-1
	}
	if d.IsNeg() {
		b = append(b, '-')
	}
	var room [20]byte
	digits := strconv.AppendUint(room[:0], coef, 10)
	whole := len(digits) - scale
	switch {
	case whole <= 0:
		b = append(b, "0.0000000000000000000"[:len("0.")-whole]...)
	case scale > 0:
		b = append(append(b, digits[:whole]...), '.')
		digits = digits[whole:]
	}
	return append(b, digits...)
}

// parseID takes only the form that formatID gives, so that a number has one text.
func parseID[T ~int64](into *T, prefix byte, text []byte) error {
	if len(text) == 0 {
		*into = 0
		return nil
	}
	number, ok := strings.CutPrefix(string(text), string(prefix)+"-")
	n, err := strconv.ParseInt(number, 10, 64)
	if !ok || err != nil || n < 1 || formatID(prefix, n) != string(text) {
		return fmt.Errorf("%q is not an id of the form %s", text, formatID(prefix, 143))
	}
	*into = T(n)
	return nil
}

// Order is an accepted (or rejected) Intent with id and state. Zero prices and
// times mean absent.
type Order struct {
	ID OrderID `json:"order_id"`
	// ParentID is the entry that a bracket child belongs to.
	ParentID OrderID `json:"parent_order_id,omitzero"`
	// Ref is the ClientRef of the intent.
	Ref         string      `json:"client_ref,omitzero"`
	Symbol      Symbol      `json:"symbol"`
	Side        Side        `json:"side"`
	Type        OrderType   `json:"type"`
	Role        Role        `json:"role"`
	TimeInForce TimeInForce `json:"time_in_force"`
	ReduceOnly  bool        `json:"reduce_only"`
	// Quantity in units of the base; zero until the fill for orders sized by cash or by position.
	Quantity       decimal.Decimal `json:"quantity"`
	FilledQuantity decimal.Decimal `json:"filled_quantity"`
	LimitPrice     decimal.Decimal `json:"limit_price"`
	StopPrice      decimal.Decimal `json:"stop_price"`
	AveragePrice   decimal.Decimal `json:"average_price"`
	Fee            decimal.Decimal `json:"fee"` // in quote currency
	Status         OrderStatus     `json:"status"`
	// Reason is the code of a rejected, canceled or expired order.
	Reason Reason `json:"reason,omitzero"`
	// Clamped reports whether an order sized by equity was cut to what the free cash paid for.
	Clamped bool   `json:"clamped,omitzero"`
	Tag     string `json:"tag,omitzero"`
	// ExchangeID is what an exchange calls the newest order that it has behind this one; "" without one.
	// It is for people who look at the exchange: strategies are not told it.
	ExchangeID string `json:"exchange_order_id,omitzero"`
	// CreatedAt is the close time of the candle that led to the order; FilledAt the open time of the candle
	// of the fill.
	CreatedAt Time `json:"created_at"`
	UpdatedAt Time `json:"updated_at"`
	FilledAt  Time `json:"filled_at"`
}

// Fill is one execution of an Order.
type Fill struct {
	ID      FillID  `json:"fill_id"`
	OrderID OrderID `json:"order_id"`
	Symbol  Symbol  `json:"symbol"`
	Side    Side    `json:"side"`
	Role    Role    `json:"role"`
	// Quantity in units of the base, always positive.
	Quantity decimal.Decimal `json:"quantity"`
	// Price after slippage; ReferencePrice before it.
	Price          decimal.Decimal `json:"price"`
	ReferencePrice decimal.Decimal `json:"reference_price"`
	// Slippage is |Price - ReferencePrice| x Quantity, Fee what the venue charges; both in quote currency.
	Slippage  decimal.Decimal `json:"slippage"`
	Fee       decimal.Decimal `json:"fee"`
	Liquidity Liquidity       `json:"liquidity"`
	// Time is the open time of the candle in which the fill happened.
	Time Time `json:"time"`
	// PositionAfter is the signed quantity held after the fill, RealizedPnL the gross profit that it
	// realised.
	PositionAfter decimal.Decimal `json:"position_after"`
	RealizedPnL   decimal.Decimal `json:"realized_pnl"`
	// Ambiguous reports whether the candle leaves open that it happened this way.
	Ambiguous bool   `json:"ambiguous"`
	Tag       string `json:"tag,omitzero"`
}

// Trade is a closed round trip, flat to flat.
type Trade struct {
	ID        TradeID   `json:"trade_id"`
	Symbol    Symbol    `json:"symbol"`
	Direction Direction `json:"direction"`
	// Quantity is the sum of the opening fills.
	Quantity decimal.Decimal `json:"quantity"`
	// EntryTime and ExitTime are open times of candles; prices are weighted by quantity.
	EntryTime  Time            `json:"entry_time"`
	ExitTime   Time            `json:"exit_time"`
	EntryPrice decimal.Decimal `json:"entry_price"`
	ExitPrice  decimal.Decimal `json:"exit_price"`
	// GrossPnL - Fees = PnL, in quote currency. Slippage is inside the prices already.
	GrossPnL decimal.Decimal `json:"gross_pnl"`
	Fees     decimal.Decimal `json:"fees"`
	Slippage decimal.Decimal `json:"slippage"`
	PnL      decimal.Decimal `json:"pnl"`
	// Return is PnL / opening notional, a fraction.
	Return     float64    `json:"return"`
	ExitReason ExitReason `json:"exit_reason"`
	// CandlesHeld counts candles of the symbol from entry to exit; the same candle is 0.
	CandlesHeld int `json:"candles_held"`
	// MAE <= 0 <= MFE: worst and best excursion in quote currency, before fees.
	MAE       decimal.Decimal `json:"mae"`
	MFE       decimal.Decimal `json:"mfe"`
	EntryTag  string          `json:"entry_tag,omitzero"`
	ExitTag   string          `json:"exit_tag,omitzero"`
	OrderIDs  []OrderID       `json:"order_ids"`
	Ambiguous bool            `json:"ambiguous"`
}

// Position is the signed net quantity of one symbol at average entry. Flat is
// Quantity zero.
type Position struct {
	Symbol    Symbol    `json:"symbol"`
	Direction Direction `json:"direction"`
	// Quantity and MarketValue are signed: negative when short.
	Quantity          decimal.Decimal `json:"quantity"`
	AverageEntryPrice decimal.Decimal `json:"average_entry_price"`
	MarkPrice         decimal.Decimal `json:"mark_price"`
	MarketValue       decimal.Decimal `json:"market_value"`
	// UnrealizedPnL and RealizedPnL are gross, Fees beside them; all since the position was opened, in quote
	// currency.
	UnrealizedPnL decimal.Decimal `json:"unrealized_pnl"`
	RealizedPnL   decimal.Decimal `json:"realized_pnl"`
	Fees          decimal.Decimal `json:"fees"`
	// StopLoss and TakeProfit are the prices of the live bracket children; zero if there are none.
	StopLoss   decimal.Decimal `json:"stop_loss"`
	TakeProfit decimal.Decimal `json:"take_profit"`
	OpenedAt   Time            `json:"opened_at"`
	UpdatedAt  Time            `json:"updated_at"`
}

// EquityPoint is the account at the close of one step, in quote currency.
type EquityPoint struct {
	// Time is the close time of the step.
	Time Time `json:"time"`
	// Equity = Cash + PositionValue (signed).
	Equity        float64 `json:"equity"`
	Cash          float64 `json:"cash"`
	PositionValue float64 `json:"position_value"`
	// Drawdown is (peak - equity) / peak, a fraction >= 0.
	Drawdown float64 `json:"drawdown"`
	// Exposure is the sum of notional / equity.
	Exposure float64 `json:"exposure"`
}

// Reason is the code of why an order was rejected, canceled or expired, or why a
// cancel or replace did nothing. The constants are the simulator's own, which live
// trading uses too. A venue and the limits of an account have further codes: a
// program that compares reasons must expect one that it does not know.
type Reason string

// Orders rejected when they are accepted.
const (
	ReasonWarmup            Reason = "warmup"           // the window has not begun
	ReasonInvalidSize       Reason = "invalid_size"     // none, or one that the order cannot have
	ReasonInvalidQuantity   Reason = "invalid_quantity" // not above zero, or too large
	ReasonInvalidPrice      Reason = "invalid_price"    // missing, not above zero, or not of this type
	ReasonInvalidBracket    Reason = "invalid_bracket"  // a leg on the wrong side, or one that makes no sense
	ReasonInvalidExpiry     Reason = "invalid_expiry"
	ReasonTooManyOpenOrders Reason = "too_many_open_orders"
)

// ReasonInputStale rejects an entry while the newest value of an input is older than the strategy lets it be.
const ReasonInputStale Reason = "INPUT_STALE"

// ReasonWouldTake rejects a post-only order at its first open, where it would have taken.
const ReasonWouldTake Reason = "would_take"

// Orders rejected at their fill.
const (
	ReasonInsufficientCash  Reason = "insufficient_cash"
	ReasonShortNotAllowed   Reason = "short_not_allowed"
	ReasonQuantityBelowStep Reason = "quantity_below_step" // at acceptance too
)

// Orders canceled or expired.
const (
	ReasonStrategy             Reason = "strategy"                // the strategy took it back
	ReasonOCO                  Reason = "oco"                     // its sibling filled
	ReasonPositionClosed       Reason = "position_closed"         // a leg whose position is gone
	ReasonReduceOnlyNoPosition Reason = "reduce_only_no_position" // nothing to reduce
	ReasonEndOfData            Reason = "end_of_data"
	ReasonLiquidation          Reason = "liquidation"
	ReasonGTD                  Reason = "gtd" // its candles are over
	ReasonIOC                  Reason = "ioc" // its open is over
)

// Cancels and replaces that did nothing; they may also fail for a reason of rejection.
const (
	ReasonUnknownOrder Reason = "unknown_order" // no open order has the reference
	// ReasonInvalidType: a market order cannot be replaced. It rejects also a post-only order that is no
	// limit order, or one of the next open only.
	ReasonInvalidType Reason = "invalid_type"
)

// Moves of legs that did nothing; they may also fail for another reason of a replace.
const (
	ReasonNoPosition Reason = "no_position" // nothing is held
	ReasonNoLeg      Reason = "no_leg"      // the position has no such leg
	ReasonWouldFill  Reason = "would_fill"  // the last close has reached the price already
)

// ReasonGuarded marks an intent that its guard has dropped: there is no order, and nothing was refused.
const ReasonGuarded Reason = "guarded"

// ExitReason is why a trade ended: what its closing order was for.
type ExitReason string

// The ends of a trade.
const (
	ExitSignal      ExitReason = "signal" // an order of the strategy
	ExitStopLoss    ExitReason = "stop_loss"
	ExitTakeProfit  ExitReason = "take_profit"
	ExitEndOfData   ExitReason = "end_of_data"
	ExitLiquidation ExitReason = "liquidation"
	ExitManual      ExitReason = "manual" // closed by a person, not by the strategy
)
