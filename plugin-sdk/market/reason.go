package market

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
	ReasonInvalidType  Reason = "invalid_type"  // a market order cannot be replaced
)

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
